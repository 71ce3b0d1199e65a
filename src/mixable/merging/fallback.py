"""What stands beside a pool: counts, sums of gradients and curvature add; see core/bettor.hpp.

The wealth of a gambler is no sum. Merged, its logarithm is the mean by the squares of gradients
that each model has met, so that a weight of several models is about what it is in each.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mixable._types import Array
from mixable.learner.blend import Blend
from mixable.merging import gaussians
from mixable.merging.gaussians import Change, Gaussian, State
from mixable.merging.parts import Coordinates

NOTHING = -1e300  # as in core/fallback.hpp
MOST_LOG_WEALTH = 60.0  # floats hold it, too

Sums = dict[str, Array]


def combine(
    onto: Blend | None, terms: list[Blend], base: Blend | None, where: list[Coordinates]
) -> State | None:
    """onto + the sum of (term - base), as a state; None if one of them has no fallback."""
    models = [each for each in (onto, base, *terms) if each is not None]
    if any(each._fallback is None for each in models):
        return None
    new = terms[0]._new_fallback().state()
    start, before = (new if each is None else _state(each) for each in (onto, base))
    states = [_in_place(_state(term), own) for term, own in zip(terms, where, strict=True)]
    keys = np.unique(np.concatenate([each["keys"] for each in (start, before, *states)]))
    sums = [_sums(each, keys) for each in (start, before, *states)]
    total = {
        name: sums[0][name] + where[0].weight * sum(each[name] - sums[1][name] for each in sums[2:])
        for name in sums[0]
    }
    every = [start, *states] if onto is not None or base is None else states
    out = _written(total, every, keys, terms[0]._new_fallback().most_features)
    if "folklore.A" in new:
        out.update(_folklore(start, states, before, where))
    return out


def _state(blend: Blend) -> State:
    assert blend._fallback is not None
    return blend._fallback.state()


def _in_place(state: State, own: Coordinates) -> State:
    """The same with classes and features in their places in the merged model."""
    out = dict(state)
    order = np.argsort([0, *(1 + place for place in own.places)])
    C = np.eye(state["counts"].size) if own.classes is None else own.classes
    out["counts"] = state["counts"] @ C.T
    out["largest"] = state["largest"][:, order]
    classes = {name: state[name][:, order] for name in ("wealth", "gain", "square")}
    slots = state["slots"].astype(float)
    each = slots[:, 1:].reshape(len(slots), slots.shape[1] // 3, 3)
    if len(C) == 2:  # of two classes the second has weights; the first has them turned around
        if C[1, 0] == 1:
            classes["gain"], each = -classes["gain"], each * [1, -1, 1]
    else:
        known = (C.sum(axis=1) > 0)[:, None]
        classes = {name: C @ values for name, values in classes.items()}
        classes["wealth"] = np.where(known, classes["wealth"], 1.0)
        each = np.einsum("ec,ncs->nes", C, each)
        each[:, ~known[:, 0], 0] = 1.0
    slots[:, 1:] = each.reshape(len(slots), slots.shape[1] - 1)
    out.update(classes, slots=slots)
    return out


def _sums(state: State, keys: Any) -> Sums:
    """What adds."""
    slots = np.asarray(state["slots"], dtype=np.float64)
    C = slots.shape[1] // 3
    each = np.zeros((len(keys), C, 3))
    each[:, :, 0] = 1.0
    each[np.searchsorted(keys, state["keys"])] = slots[:, 1:].reshape(len(slots), C, 3)
    wealth, gain, square = each.transpose(2, 0, 1)
    return {
        "trust": state["trust"],
        "counts": state["counts"],
        "gain": state["gain"],
        "square": state["square"],
        "logs": state["square"] * np.log(state["wealth"]),
        "sparse gain": gain,
        "sparse square": square,
        "sparse logs": square * np.log(wealth),
    }


def _written(total: Sums, every: list[State], keys: Any, most: int) -> State:
    """The state that has these sums; `every` has what the largest inputs are among."""

    def wealth(logs: Array, square: Array) -> Array:
        mean = np.divide(logs, square, out=np.zeros_like(logs), where=square > 0)
        return np.asarray(np.exp(np.clip(mean, -MOST_LOG_WEALTH, MOST_LOG_WEALTH)))

    squares = [np.maximum(total[name], 0.0) for name in ("square", "sparse square")]
    largest = np.zeros(len(keys))
    for state in every:
        at = np.searchsorted(keys, state["keys"])
        largest[at] = np.maximum(largest[at], np.asarray(state["slots"])[:, 0])
    sparse = [wealth(total["sparse logs"], squares[1]), total["sparse gain"], squares[1]]
    # Those met most come first, should there be too many for one model.
    order = np.lexsort((keys, -squares[1].sum(axis=1)))
    order = order[largest[order] > 0][:most]
    each = np.stack(sparse, axis=-1)
    slots = np.column_stack([largest, each.reshape(len(keys), 3 * each.shape[1])])
    trust = np.where(total["trust"] > NOTHING / 2, total["trust"], -np.inf)
    trust -= trust.max() + np.log(np.exp(trust - trust.max()).sum())
    return {
        "trust": np.maximum(trust, NOTHING),
        "counts": np.maximum(total["counts"], 0.0),
        "largest": np.max([state["largest"] for state in every], axis=0),
        "wealth": wealth(total["logs"], squares[0]),
        "gain": total["gain"],
        "square": squares[0],
        "keys": keys[order],
        "slots": slots[order].astype(np.float32),
    }


def _folklore(start: State, states: list[State], before: State, where: list[Coordinates]) -> State:
    """Posteriors add once all are in the largest units."""
    orders = [np.argsort([0, *(1 + place for place in own.places)]) for own in where]
    own_units = [
        state["folklore.units"][0][order] for state, order in zip(states, orders, strict=True)
    ]
    units = np.max([start["folklore.units"][0], before["folklore.units"][0], *own_units], axis=0)
    changes = [
        Change(rows=np.eye(len(units))[order], classes=own.classes, weight=own.weight)
        for order, own in zip(orders, where, strict=True)
    ]
    merged = gaussians.combine(
        _gaussian(start, units),
        [
            _gaussian(state, units[np.argsort(order)])
            for state, order in zip(states, orders, strict=True)
        ],
        _gaussian(before, units),
        changes,
    )
    A = merged.A[0]
    S = np.linalg.inv(A)
    known = {"V": merged.mean.reshape(merged.sizes), "A": A, "S": 0.5 * (S + S.T)}
    known |= {"steps": merged.steps, "lam": merged.lam, "units": units[None]}
    return {f"folklore.{name}": value for name, value in known.items()}


def _gaussian(state: State, units: Array) -> Gaussian:
    """What Folklore knows, with inputs measured by these units; see `grow` in its header."""
    lam, V, A = (state[f"folklore.{name}"] for name in ("lam", "V", "A"))
    old = state["folklore.units"][0]
    by = np.tile(np.where(old > 0, old / np.where(units > 0, units, 1.0), 1.0), len(V))
    b = by * (A @ V.ravel())
    rest = (A - lam * np.eye(len(A))) * np.outer(by, by) + lam * np.eye(len(A))
    return Gaussian(
        kind="full",
        A=rest[None],
        mean=np.linalg.solve(rest, b)[None],
        steps=state["folklore.steps"],
        sizes=V.shape,
        lam=lam,
        drift=0.0,
    )
