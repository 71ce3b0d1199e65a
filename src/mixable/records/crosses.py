"""Crosses: the keys of pairs of values, a part of their own."""

from __future__ import annotations

import numpy as np

from mixable import _core
from mixable.records.column import Column, Draft, Keys, Part
from mixable.records.declaration import Name, name_text
from mixable.records.number import Number

MOST_PAIRS = 256
"""Pairs of one cross in one record; lists and texts have many."""


class Cross:
    """Two columns whose values count together. Numbers count by their size, to half an octave."""

    def __init__(self, left: Name, right: Name) -> None:
        self.left, self.right = left, right
        self.seed = _core.join_keys(
            _core.hash_string(name_text(left), 2), _core.hash_string(name_text(right), 2)
        )

    def keys(self, left: list[int], right: list[int]) -> list[int]:
        """The keys of all pairs of two cells, at most 256."""
        join, seed = _core.join_keys, self.seed
        pairs = [join(join(a, b), seed) for a in left for b in right]
        return pairs[:MOST_PAIRS]

    def labels(self, left: dict[int, str], right: dict[int, str]) -> dict[int, str]:
        """What stands for each key of two cells, by what stands for the keys of each."""
        pairs = [f"{a} & {b}" for a in left.values() for b in right.values()]
        return dict(zip(self.keys(list(left), list(right)), pairs, strict=False))

    def stage(self, left: Part, right: Part) -> Part:
        """The keys of two columns of a table, as `crossed_part` has them."""
        ends_left, ends_right = np.cumsum(left.counts), np.cumsum(right.counts)
        ends, keys = _core.cross_keys(
            ends_left, left.keys, ends_right, right.keys, self.seed, MOST_PAIRS
        )
        return Part(counts=np.diff(ends, prepend=0), keys=keys)


def crossed(column: Column, draft: Draft, begin: int) -> list[int]:
    """The keys that a cell has in crosses: those it has put into a row from `begin` on."""
    if isinstance(column, Number):
        value = draft.dense[column.places[0]]
        if value == value:
            return [column.cross_key(value)]
    return draft.keys[begin:]


def crossed_part(column: Column, part: Part) -> Part:
    """The same for a column of a table."""
    if not isinstance(column, Number) or part.dense is None:
        return part
    values, there = part.dense[:, 0], ~part.cells["absent"]
    known = ~np.isnan(values)
    keys: Keys = np.empty(len(values), np.uint64)
    keys[known] = column.cross_keys(values[known])
    keys[~known] = part.keys
    return Part(counts=there.astype(np.int64), keys=keys[there])
