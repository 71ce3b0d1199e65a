"""The weights of SparseGAF by key: combined, and what single precision has lost by that.

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

Models may be combined in groups: what a model lost then by rounding counts when it is combined
again. It is kept until the model learns, and saved with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mixable._natural import Change, State
from mixable._types import Array

PULL = 8.0
"""c above. It is 1/2 for a feature by itself. Features of one row move together, so each lets go
faster: with 60 to 190 of them, as bins and leaves have, sums of steps overshoot if c is small.

Loss of 8 shards and 16 rounds over one pass, geometric mean and worst of 22 streams of bins, leaves
and words (benchmarks/sparse_merging.py): with 2, 1.014 (1.23) of 1,500 rows and 1.050 (1.34) of
2,500; with 8, 1.007 (1.09) and 1.052 (1.38); with 32 and 128, 1.057 and 1.069 of 2,500. On 11
streams held out, 1,500 rows, 1.024 (1.11) with 2 and 1.029 (1.17) with 8. On segment's default
pool, four orders, 1.075 and 1.049.
"""
SETTLED = 16  # rows after which the scale stays, as in core/sparse/sparse_row.hpp
MEMORY, MOST_OFFSET, MOST_SPREAD = 5000, 3.0, 1e18  # as in core/sparse/sparse.hpp
MOST_SUM, MOST_WEIGHT = 1e30, 1e9  # as in core/sparse/sparse_slot.hpp
NODES, WIDTHS = np.polynomial.legendre.leggauss(8)

Keys = NDArray[np.uint64]
Lost = tuple[int, Array]  # the steps at which it was lost, and how much, shaped as the slots

NAME = "lost"
MOST = 2.0**-23  # of a number


def with_lost(state: State, lost: Lost | None) -> State:
    """The state with what was lost, unless it has learned since."""
    is_known = lost is not None and lost[0] == state["steps"]
    if lost is None or not is_known or lost[1].shape != state["slots"].shape:
        return state
    return {**state, NAME: lost[1]}


def taken(state: State) -> tuple[State, Lost | None]:
    """A state that was saved, without what it had lost, and that; ValueError if it is not sound."""
    rest = dict(state)
    if NAME not in rest:
        return rest, None
    lost, slots = np.array(rest.pop(NAME)), rest["slots"]
    if lost.dtype != np.float32 or lost.shape != slots.shape:
        raise ValueError(f"what the slots have lost must be float32 of shape {slots.shape}")
    if not (np.abs(lost) <= MOST * np.abs(slots) + np.finfo(np.float32).tiny).all():
        raise ValueError("the slots cannot have lost so much by rounding")
    return rest, (int(rest["steps"]), lost)


@dataclass(frozen=True, kw_only=True)
class Slots:
    """Accumulators (n,) and weights (n, classes, lanes) by key; the first is the intercept."""

    keys: Keys  # of all but the first
    acc: Array
    weights: Array
    lam: Array  # (lanes,)
    b: Array

    @classmethod
    def of(cls, state: State, grid: Sequence[tuple[float, float]]) -> Slots:
        """What a state has for K classes, as exact as it is known."""
        slots = np.asarray(state["slots"], dtype=np.float64)
        slots = slots + state[NAME] if NAME in state else slots
        K = state["offsets"].size
        weights = slots[:, 1:].reshape(len(slots), 1 if K == 2 else K, -1)
        if K == 2:  # those of the first class are the negatives
            weights = np.concatenate([-weights, weights], axis=1)
        # Lanes behind the last setting do as it does.
        lanes = [grid[min(s, len(grid) - 1)] for s in range(weights.shape[-1])]
        lam, b = np.array(lanes).T
        return cls(keys=state["keys"], acc=slots[:, 0], weights=weights, lam=lam, b=b)

    def written(self) -> State:
        """The same for a state: in single precision, with what that has lost."""
        weights = self.weights[:, 1:] if self.weights.shape[1] == 2 else self.weights
        flat = np.clip(weights.reshape(len(weights), -1), -MOST_WEIGHT, MOST_WEIGHT)
        exact = np.column_stack([np.minimum(self.acc, MOST_SUM), flat])
        slots = exact.astype(np.float32)
        return {"keys": self.keys, "slots": slots, NAME: (exact - slots).astype(np.float32)}

    def moved(self, own: float, scale: float, change: Change) -> Slots:
        """The same for values measured by `scale`, not by `own`, and other classes."""
        acc, weights = change.weight * self.acc, self.weights
        if own > 0 and scale > 0 and own != scale:  # the intercept has no unit
            acc = np.concatenate([acc[:1], acc[1:] * (own / scale)])
            weights = np.concatenate([weights[:1], weights[1:] / np.sqrt(own / scale)])
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
        low, high = (each[:, None] ** 0.25 for each in (self.acc, self.acc + more))
        # high - low, without cancellation
        length = more[:, None] / np.maximum((high + low) * (high**2 + low**2), 1e-300)
        integral = np.zeros((len(more), len(self.lam)))
        for node, width in zip(NODES, WIDTHS, strict=True):
            cubed = (low + 0.5 * (1 + node) * length) ** 3
            integral += 2 * width * length * cubed / (self.lam + self.b * cubed)
        gone = -np.expm1(-PULL * integral)
        at_once = (self.lam + self.b * low**3) / PULL  # the limit for D = 0
        q = np.where(gone > 1e-12, more[:, None] / np.maximum(gone, 1e-12), at_once)
        return np.asarray(q[:, None, :])

    def folded(self, most: int) -> tuple[Slots, int]:
        """At most so many features with own slots; others share, as in core/sparse/slots.hpp."""
        rest = self.keys[most:]
        if not len(rest):
            return self, 0
        place = ((_hashes(rest) >> np.uint64(32)) * np.uint64(most)) >> np.uint64(32)
        linear = self.none().worth(self.acc) * self.weights
        acc, out = self.acc[: most + 1].copy(), linear[: most + 1].copy()
        np.add.at(acc, place.astype(np.int64) + 1, self.acc[most + 1 :])
        np.add.at(out, place.astype(np.int64) + 1, linear[most + 1 :])
        kept = replace(self, keys=self.keys[:most], acc=np.zeros(most + 1))
        return replace(kept, acc=acc, weights=out / kept.worth(acc)), len(rest)


def combine(
    start: State,
    terms: Sequence[State],
    base: State,
    changes: Sequence[Change],
    grid: Sequence[tuple[float, float]],
    most: int,
) -> State:
    """start + the sum of (term - base): all of a state but the weights of experts."""
    grown = [term["steps"] - base["steps"] for term in terms]
    scale = _scale(start, terms, grown)
    every = [start, base, *terms]
    begin, old, *known = (
        Slots.of(state, grid).moved(state["scale"], scale, change)
        for state, change in zip(every, [Change(), Change(), *changes], strict=True)
    )
    # Keys stay as they were, since a feature that shares a slot knows it by its place. New ones are
    # sorted, so that the order of the models does not matter.
    first = begin.keys if start["steps"] else old.keys
    new = np.unique(np.concatenate([each.keys for each in (begin, old, *known)]))
    keys = np.concatenate([first, new[~np.isin(new, first)]])
    begin, old, *known = (each.at(keys) for each in (begin, old, *known))
    is_delta = base["steps"] > 0 and not start["steps"]
    merged, folded = _added(begin, known, old, is_delta=is_delta).folded(most)
    collisions = start["collisions"] + folded
    collisions += sum(term["collisions"] - base["collisions"] for term in terms)
    return {
        **terms[0],
        "steps": start["steps"] + sum(grown),
        "collisions": max(collisions, 0) if len(merged.keys) >= most else 0,
        "inputs": SETTLED if scale > 0 else 0,
        "scale": scale,
        "sizes": np.full_like(start["sizes"], scale, shape=(1, SETTLED)),
        **_offsets(start, terms, base, grown, changes),
        **merged.written(),
    }


def _added(begin: Slots, terms: Sequence[Slots], old: Slots, *, is_delta: bool) -> Slots:
    more = [np.maximum(term.acc - old.acc, 0.0) for term in terms]
    total = np.sum(more, axis=0)
    if is_delta:  # so that it makes the model again, when it is added to the base
        (term,) = terms
        linear = begin.worth(term.acc) * term.weights - begin.worth(old.acc) * old.weights
    else:
        linear = np.zeros_like(begin.weights)
        for each, term in zip(more, terms, strict=True):
            linear += old.worth(each) * (term.weights - old.weights)
    weights = begin.weights + linear / begin.worth(total)
    return replace(begin, acc=begin.acc + total, weights=weights)


def _offsets(
    start: State, terms: Sequence[State], base: State, grown: list[int], changes: Sequence[Change]
) -> State:
    """Offsets of the classes: those of `start`, moved as the terms were since, by their examples.

    What offsets know of the past decays with each example; what the terms have added, adds.
    """
    total, decay = sum(grown), 1 - 1 / MEMORY
    offsets, spread = start["offsets"], start["spread"] * decay**total
    for term, n, change in zip(terms, grown, changes, strict=True):
        moved, more = term["offsets"], term["spread"]
        if change.classes is not None:
            moved, more = (each @ change.classes.T for each in (moved, more))
        offsets = offsets + (n / total if total else 0.0) * (moved - base["offsets"])
        spread = spread + np.maximum(change.weight * (more - base["spread"] * decay**n), 0.0)
    return {
        "corrects": min(term["corrects"] for term in terms),
        "offsets": np.clip(offsets, -MOST_OFFSET, MOST_OFFSET),
        "spread": np.minimum(spread, MOST_SPREAD),
    }


def _scale(start: State, terms: Sequence[State], grown: list[int]) -> float:
    """The mean square that values are measured by: as before, or the geometric mean by steps."""
    if start["scale"] > 0:
        return float(start["scale"])
    seen = [(n, each["scale"]) for n, each in zip(grown, terms, strict=True) if each["scale"] > 0]
    if len({scale for _, scale in seen}) <= 1:
        return float(seen[0][1]) if seen else 0.0
    return float(np.exp(np.average([np.log(s) for _, s in seen], weights=[n for n, _ in seen])))


def _hashes(keys: Keys) -> Keys:
    """SplitMix64, as hash_of in core/sparse/slots.hpp."""
    h = keys + np.uint64(0x9E3779B97F4A7C15)
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(h ^ (h >> np.uint64(31)), dtype=np.uint64)
