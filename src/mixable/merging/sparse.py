"""SparseGAF: accumulators add, and weights by how much of the base each model has let go.

Feature j of a setting (lam, b) has the precision a(acc) = lam + b acc^(3/4), which is not a sum
over examples, as that of a Gaussian is: a model forgets as it learns, and with b = 0 it never
becomes certain. So A theta cannot be added. What can be said is this: in expectation a step that
adds d acc to the accumulator moves a weight w by c (v - w) d acc / a towards the best one, v. A
model that went from acc_0 to acc_0 + D has kept the part r(D) = exp(-c I) of its first weight w_0,
where I is the integral of 1 / a, and w - w_0 = (1 - r) (v - w_0). The merged model is to have the
mean of all v by D, and to keep r(sum of D). So q(D) (w - w_0) adds, with q(D) = D / (1 - r(D)). Of
a Gaussian, with a = lam + acc and c = 1, q is a itself.

Where models have learned little, their steps are added; where they have learned much, their weights
are averaged. Adding A theta, or steps alone, would count what all have learned once for each.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixable._types import Array
from mixable.forecasters import SparseGAF, rounding
from mixable.merging import trust
from mixable.merging.gaussians import Change, State

PULL = 8.0
"""c above. It is 1/2 for a feature by itself. Features of one row move together, so each lets go
faster: with 60 to 190 of them, as bins and leaves have, sums of steps overshoot if c is small.

Loss of 8 shards and 16 rounds over one pass, geometric mean and worst of 22 streams of bins, leaves
and words (benchmarks/sparse_merging.py): with 2, 1.014 (1.23) of 1,500 rows and 1.050 (1.34) of
2,500; with 8, 1.007 (1.09) and 1.052 (1.38); with 32 and 128, 1.057 and 1.069 of 2,500. On 11
streams kept out, 1,500 rows, 1.024 (1.11) with 2 and 1.029 (1.17) with 8. On segment's default
pool, four orders, 1.075 and 1.049.
"""
SETTLED = 16  # rows after which the scale stays, as in core/sparse_row.hpp
MOST_SUM, MOST_WEIGHT = 1e30, 1e9  # as in core/sparse_slot.hpp
MEMORY, MOST_OFFSET, MOST_SPREAD = 5000, 3.0, 1e18  # as in core/sparse.hpp
NODES, WIDTHS = np.polynomial.legendre.leggauss(8)

Keys = NDArray[np.uint64]


@dataclass(frozen=True, kw_only=True)
class Slots:
    """Accumulators (n,) and weights (n, classes, lanes) by key; the first is the intercept."""

    keys: Keys  # of all but the first
    acc: Array
    weights: Array
    settings: tuple[Array, Array]  # lam and b of each lane

    @classmethod
    def of(cls, model: SparseGAF, known: State | None = None) -> Slots:
        """What a forecaster knows; `known` is its state, if that is at hand."""
        state: State = model._core.state() if known is None else known
        slots = rounding.exact_slots(state)
        K = model.n_classes
        with_weights = 1 if K == 2 else K
        weights = slots[:, 1:].reshape(len(slots), with_weights, -1)
        if K == 2:  # those of the first class are the negatives
            weights = np.concatenate([-weights, weights], axis=1)
        # Lanes behind the last setting do as it does.
        lanes = [model.grid[min(s, len(model.grid) - 1)] for s in range(weights.shape[-1])]
        lam, b = np.array(lanes).T
        return cls(keys=state["keys"], acc=slots[:, 0], weights=weights, settings=(lam, b))

    def moved(self, factor: float, change: Change) -> Slots:
        """The same for values that are `factor` times as large, and other classes."""
        acc, weights = change.weight * self.acc, self.weights
        if factor != 1.0:  # the intercept has no unit
            acc = np.concatenate([acc[:1], acc[1:] * factor**2])
            weights = np.concatenate([weights[:1], weights[1:] / factor])
        if change.classes is not None:
            weights = np.einsum("ec,ncs->nes", change.classes, weights)
        return replace(self, acc=acc, weights=weights)

    def at(self, keys: Keys) -> Slots:
        """The slots of some keys, all of its own among them; 0 where it has none."""
        order = np.argsort(keys)
        place = order[np.searchsorted(keys, self.keys, sorter=order)] + 1
        acc = np.zeros(len(keys) + 1)
        weights = np.zeros((len(acc), *self.weights.shape[1:]))
        acc[0], weights[0] = self.acc[0], self.weights[0]
        acc[place], weights[place] = self.acc[1:], self.weights[1:]
        return replace(self, keys=keys, acc=acc, weights=weights)

    def none(self) -> Slots:
        """The same slots before the first example."""
        return replace(self, acc=np.zeros_like(self.acc), weights=np.zeros_like(self.weights))

    def worth(self, more: Array) -> Array:
        """q(D) (n, 1, lanes): by what steps since these slots count, if acc grew by `more`."""
        lam, b = self.settings
        low, high = (each[:, None] ** 0.25 for each in (self.acc, self.acc + more))
        # high - low, without cancellation
        length = more[:, None] / np.maximum((high + low) * (high**2 + low**2), 1e-300)
        integral = np.zeros((len(more), len(lam)))
        for node, width in zip(NODES, WIDTHS, strict=True):
            cubed = (low + 0.5 * (1 + node) * length) ** 3
            integral += 2 * width * length * cubed / (lam + b * cubed)
        gone = -np.expm1(-PULL * integral)
        at_once = (lam + b * low**3) / PULL  # the limit for D = 0
        q = np.where(gone > 1e-12, more[:, None] / np.maximum(gone, 1e-12), at_once)
        return np.asarray(q[:, None, :])


def combine(onto: Any, terms: list[Any], base: Any, changes: list[Change]) -> State:
    """onto + the sum of (term - base), as a state; None stands for one without any example."""
    first = terms[0]
    # A base has lost what it lost: its models began with what was left.
    states = [term.__getstate__()["state"] for term in terms]
    start, before = (None if each is None else each._core.state() for each in (onto, base))
    grown = [state["steps"] - (before["steps"] if before else 0) for state in states]
    scale = _scale(start, states, grown)
    known = [
        Slots.of(term, state).moved(_factor(state, scale), change)
        for term, state, change in zip(terms, states, changes, strict=True)
    ]
    begin, old = (
        None if each is None else Slots.of(each, state).moved(_factor(state, scale), Change())
        for each, state in ((onto, start), (base, before))
    )
    keys = _united([each for each in (begin, old) if each is not None], known)
    known = [each.at(keys) for each in known]
    begin, old = (known[0].none() if each is None else each.at(keys) for each in (begin, old))
    merged = _added(begin, known, old, is_delta=onto is None and base is not None)
    merged, folded = _folded(merged, int(first._core.most_features))
    weights = merged.weights[:, 1:] if first.n_classes == 2 else merged.weights
    flat = np.clip(weights.reshape(len(weights), -1), -MOST_WEIGHT, MOST_WEIGHT)
    acc = np.minimum(merged.acc, MOST_SUM)
    shared = trust.merged(start, states, before, grown, first.share)
    collisions = sum(state["collisions"] for state in states) + folded
    if before:
        collisions -= before["collisions"] * (len(states) - (1 if start else 0))
    return {
        **states[0],
        **shared,
        "steps": sum(grown) + (start["steps"] if start else 0),
        "collisions": max(collisions, 0) if len(merged.keys) >= first._core.most_features else 0,
        "inputs": SETTLED if scale > 0 else 0,
        "scale": scale,
        "sizes": np.full_like(states[0]["sizes"], scale, shape=(1, SETTLED)),
        "keys": merged.keys,
        **_offsets(start, states, before, grown, changes),
        **rounding.rounded(np.column_stack([acc, flat])),
    }


def _offsets(
    start: State | None,
    states: list[State],
    before: State | None,
    grown: list[int],
    changes: list[Change],
) -> State:
    """Offsets of the classes: those of `start`, moved as the terms were since, by their examples.

    What offsets know of the past decays with each example; what the terms have added, adds.
    """
    total = sum(grown)
    offsets, spread = (
        np.zeros_like(states[0][name]) if start is None else start[name].copy()
        for name in ("offsets", "spread")
    )
    spread *= (1 - 1 / MEMORY) ** total
    for state, n, change in zip(states, grown, changes, strict=True):
        moved, more = state["offsets"], state["spread"]
        if change.classes is not None:
            moved, more = (each @ np.asarray(change.classes).T for each in (moved, more))
        if before is not None:
            moved = moved - before["offsets"]
            more = more - before["spread"] * (1 - 1 / MEMORY) ** n
        offsets = offsets + (n / total if total else 0.0) * moved
        spread = spread + np.maximum(change.weight * more, 0.0)
    return {
        "corrects": min(state["corrects"] for state in states),
        "offsets": np.clip(offsets, -MOST_OFFSET, MOST_OFFSET),
        "spread": np.minimum(spread, MOST_SPREAD),
    }


def _scale(start: State | None, states: list[State], grown: list[int]) -> float:
    """The mean square that values are measured by: as before, or the geometric mean by steps."""
    if start is not None and start["scale"] > 0:
        return float(start["scale"])
    seen = [(n, each["scale"]) for n, each in zip(grown, states, strict=True) if each["scale"] > 0]
    if len({scale for _, scale in seen}) <= 1:
        return float(seen[0][1]) if seen else 0.0
    return float(np.exp(np.average([np.log(s) for _, s in seen], weights=[n for n, _ in seen])))


def _factor(state: State | None, scale: float) -> float:
    """What values of a model are multiplied by in the merged one's units."""
    own = 0.0 if state is None else state["scale"]
    return float(np.sqrt(own / scale)) if own > 0 and scale > 0 else 1.0


def _united(begin: list[Slots], terms: list[Slots]) -> Keys:
    """Keys as they were, since a feature that shares a slot knows it by its place; then new ones.

    New ones are sorted, so that the order of the models does not matter.
    """
    old = begin[0].keys if begin else np.empty(0, np.uint64)
    new = np.unique(np.concatenate([each.keys for each in [*begin, *terms]]))
    return np.concatenate([old, new[~np.isin(new, old)]])


def _added(begin: Slots, terms: list[Slots], old: Slots, *, is_delta: bool) -> Slots:
    more = [np.maximum(term.acc - old.acc, 0.0) for term in terms]
    total = np.sum(more, axis=0)
    if is_delta:  # so that it makes the model again, when it is added to the base
        none = begin.none()
        (term,) = terms
        linear = none.worth(term.acc) * term.weights - none.worth(old.acc) * old.weights
    else:
        linear = np.zeros_like(begin.weights)
        for each, term in zip(more, terms, strict=True):
            linear += old.worth(each) * (term.weights - old.weights)
    weights = begin.weights + linear / begin.worth(total)
    return replace(begin, acc=begin.acc + total, weights=weights)


def _folded(slots: Slots, most: int) -> tuple[Slots, int]:
    """At most so many features with slots of their own; the others share, as in core/slots.hpp."""
    n = len(slots.keys)
    if n <= most:
        return slots, 0
    rest = slots.keys[most:]
    place = ((_hashes(rest) >> np.uint64(32)) * np.uint64(most)) >> np.uint64(32)
    empty = slots.none()
    linear = empty.worth(slots.acc) * slots.weights
    acc = slots.acc[: most + 1].copy()
    out = linear[: most + 1].copy()
    np.add.at(acc, place.astype(np.int64) + 1, slots.acc[most + 1 :])
    np.add.at(out, place.astype(np.int64) + 1, linear[most + 1 :])
    kept = replace(empty, keys=slots.keys[:most], acc=np.zeros(most + 1))
    return replace(kept, acc=acc, weights=out / kept.worth(acc)), len(rest)


def _hashes(keys: Keys) -> Keys:
    """SplitMix64, as hash_of in core/slots.hpp."""
    h = keys + np.uint64(0x9E3779B97F4A7C15)
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(h ^ (h >> np.uint64(31)), dtype=np.uint64)
