"""What stands beside a pool of labels, and how fallbacks are combined.

Counts, sums of gradients and curvature add; see core/pool/bettor.hpp. The wealth of a gambler is no
sum. Combined, its logarithm is the mean by the squares of gradients that each model has met, so
that a weight of several models is about what it is in each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mixable import _core, _natural
from mixable._natural import Change, Gaussian, State
from mixable._types import Array
from mixable.paper.bounds.parameter_free import fallback_plan

NOTHING = -1e300  # as in core/pool/fallback.hpp
MOST_LOG_WEALTH = 60.0  # floats hold it, too
MOST_FEATURES = 1 << 18  # sparse features that a fallback knows: those that come first


def new_fallback(n_features: int, n_classes: int, takes_features: bool) -> _core.Fallback:
    """What stands beside a pool; Folklore is a part of it where it is quick."""
    most = MOST_FEATURES if takes_features else 0
    plan = None if takes_features else fallback_plan(n_features, n_classes)
    lam, beta = (0.0, 0.0) if plan is None else (plan.lam, plan.beta)
    return _core.Fallback(n_features, n_classes, most, lam, beta)


def combine(
    start: State, terms: Sequence[State], base: State, changes: Sequence[Change], most: int
) -> State:
    """start + the sum of (term - base) of states; `rows` of changes is where raw features go.

    There are at most `most` sparse features.
    """
    states = [_in_place(term, change) for term, change in zip(terms, changes, strict=True)]
    keys = np.unique(np.concatenate([each["keys"] for each in (start, base, *states)]))
    first, before, *sums = (_sums(each, keys) for each in (start, base, *states))
    weight = changes[0].weight
    total = {
        name: first[name] + weight * sum(each[name] - before[name] for each in sums)
        for name in first
    }
    out = _written(total, [start, *states], keys, most)
    return {**out, **_folklore(start, terms, base, changes)} if "folklore.A" in start else out


def _in_place(state: State, change: Change) -> State:
    """The same with classes and features in their places in the combined model."""
    out, K, N = dict(state), state["counts"].size, change.rows
    C = np.eye(K) if change.classes is None else change.classes
    out["counts"] = state["counts"] @ C.T
    names = ("wealth", "gain", "square")
    if N is not None:
        out |= {name: state[name] @ N.T for name in ("largest", *names)}
    slots = state["slots"].astype(float)
    each = slots[:, 1:].reshape(len(slots), slots.shape[1] // 3, 3)
    if K == 2:  # of two classes the second has weights; the first has them turned around
        if C[1, 0] == 1:
            out["gain"], each = -out["gain"], each * [1, -1, 1]
    else:
        is_new = C.sum(axis=1) == 0
        out |= {name: C @ out[name] for name in names}
        out["wealth"] = np.where(is_new[:, None], 1.0, out["wealth"])
        each = np.einsum("ec,ncs->nes", C, each)
        each[:, is_new, 0] = 1.0
    slots[:, 1:] = each.reshape(len(slots), slots.shape[1] - 1)
    return {**out, "slots": slots}


def _sums(state: State, keys: Any) -> dict[str, Array]:
    """What adds."""
    slots = np.asarray(state["slots"], dtype=np.float64)
    C = slots.shape[1] // 3
    each = np.zeros((len(keys), C, 3))
    each[:, :, 0] = 1.0
    each[np.searchsorted(keys, state["keys"])] = slots[:, 1:].reshape(len(slots), C, 3)
    wealth, gain, square = each.transpose(2, 0, 1)
    return {
        **{name: state[name] for name in ("trust", "counts", "gain", "square")},
        "logs": state["square"] * np.log(state["wealth"]),
        "sparse gain": gain,
        "sparse square": square,
        "sparse logs": square * np.log(wealth),
    }


def _written(total: dict[str, Array], every: list[State], keys: Any, most: int) -> State:
    """The state that has these sums; `every` has what the largest inputs are among."""

    def wealth(logs: Array, square: Array) -> Array:
        mean = np.divide(logs, square, out=np.zeros_like(logs), where=square > 0)
        return np.asarray(np.exp(np.clip(mean, -MOST_LOG_WEALTH, MOST_LOG_WEALTH)))

    square, sparse = (np.maximum(total[name], 0.0) for name in ("square", "sparse square"))
    largest = np.zeros(len(keys))
    for state in every:
        at = np.searchsorted(keys, state["keys"])
        largest[at] = np.maximum(largest[at], np.asarray(state["slots"])[:, 0])
    # Those met most come first, should there be too many for one model.
    order = np.lexsort((keys, -sparse.sum(axis=1)))
    order = order[largest[order] > 0][:most]
    each = np.stack([wealth(total["sparse logs"], sparse), total["sparse gain"], sparse], axis=-1)
    slots = np.column_stack([largest, each.reshape(len(keys), 3 * each.shape[1])])
    shares = np.where(total["trust"] > NOTHING / 2, total["trust"], -np.inf)
    shares -= shares.max() + np.log(np.exp(shares - shares.max()).sum())
    return {
        "trust": np.maximum(shares, NOTHING),
        "counts": np.maximum(total["counts"], 0.0),
        "largest": np.max([state["largest"] for state in every], axis=0),
        "wealth": wealth(total["logs"], square),
        "gain": total["gain"],
        "square": square,
        "keys": keys[order],
        "slots": slots[order].astype(np.float32),
    }


def _folklore(
    start: State, terms: Sequence[State], base: State, changes: Sequence[Change]
) -> State:
    """Posteriors add once all are in the largest units."""

    def units_of(state: State, change: Change) -> Array:
        own: Array = state["folklore.units"][0]
        return own if change.rows is None else change.rows @ own

    every = list(zip((start, base, *terms), (Change(), Change(), *changes), strict=True))
    units = np.max([units_of(state, change) for state, change in every], axis=0)
    first, before, *known = (
        _gaussian(state, units if change.rows is None else change.rows.T @ units)
        for state, change in every
    )
    merged = _natural.combine(first, known, before, changes)
    A = merged.A[0]
    S = np.linalg.inv(A)
    out = {"V": merged.mean.reshape(merged.sizes), "A": A, "S": 0.5 * (S + S.T)}
    out |= {"steps": merged.steps, "lam": merged.lam, "units": units[None]}
    return {f"folklore.{name}": value for name, value in out.items()}


def _gaussian(state: State, units: Array) -> Gaussian:
    """What Folklore knows, with inputs measured by these units; see `grow` in its header."""
    lam, V, A, steps = (state[f"folklore.{name}"] for name in ("lam", "V", "A", "steps"))
    old = state["folklore.units"][0]
    by = np.tile(np.where(old > 0, old / np.where(units > 0, units, 1.0), 1.0), len(V))
    prior = lam * np.eye(len(A))
    b, A = by * (A @ V.ravel()), (A - prior) * np.outer(by, by) + prior
    options: dict[str, Any] = {"steps": steps, "sizes": V.shape, "lam": lam, "drift": 0.0}
    return Gaussian(kind="full", A=A[None], mean=np.linalg.solve(A, b)[None], **options)
