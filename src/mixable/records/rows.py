"""What an encoder makes of records: a dense part, a sparse part, and crosses."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from mixable import _core
from mixable._types import Array
from mixable.records.cells import as_text, number, plain
from mixable.records.column import Ends, Keys, Part, Values
from mixable.records.declaration import Name, name_text
from mixable.records.kinds import kind_of_text
from mixable.records.tables import Table

T = TypeVar("T", np.float64, np.uint64)

MOST_PAIRS = 256
"""Pairs of one cross in one record; lists and texts have many."""


@dataclass(slots=True, kw_only=True)
class Row:
    """One record as numbers. `learned` is what `Encoder.commit` learns; it can be saved."""

    dense: Array  # (d,), NaN for what is missing
    keys: Keys  # (m,)
    values: Values  # (m,)
    cross_keys: Keys
    cross_values: Values
    shown: bytes = b""  # what experts on keys see of the dense part; see records/column.py
    categories: Keys  # (c,) a key for each column of categories, 0 where there is no value
    learned: dict[str, Any]

    def dense_at(self, width: int) -> Array:
        """The dense part with NaN at its end, or without its end, so that it has this width."""
        return at_width(self.dense, width)

    def as_rows(self, width: int) -> Rows:
        """A table of this row, with that many numbers."""
        return Rows(
            dense=at_width(self.dense, width)[None, :],
            indptr=np.array([0, len(self.keys)]),
            keys=self.keys,
            values=self.values,
            cross_indptr=np.array([0, len(self.cross_keys)]),
            cross_keys=self.cross_keys,
            cross_values=self.cross_values,
            shown=self.shown,
            categories=self.categories[None, :],
        )


@dataclass(slots=True, kw_only=True)
class Rows:
    """Records as numbers: row t has keys[indptr[t]:indptr[t + 1]], as in a CSR matrix."""

    dense: Array  # (n, d)
    indptr: Ends  # (n + 1,)
    keys: Keys
    values: Values
    cross_indptr: Ends
    cross_keys: Keys
    cross_values: Values
    shown: bytes = b""
    categories: Keys  # (n, c)
    kept: Array | None = None  # what a pool kept of their forecasts, if those were made before

    ndim: ClassVar[int] = 2

    @classmethod
    def of(cls, dense: Array, indptr: Ends, keys: Keys, values: Values) -> Rows:
        """Rows without crosses."""
        none = np.zeros(len(dense) + 1, np.int64), np.empty(0, np.uint64), np.empty(0, np.float32)
        return cls(
            dense=dense,
            indptr=indptr,
            keys=keys,
            values=values,
            cross_indptr=none[0],
            cross_keys=none[1],
            cross_values=none[2],
            categories=np.empty((len(dense), 0), np.uint64),
        )

    def __len__(self) -> int:
        return len(self.dense)

    def __getitem__(self, rows: slice) -> Rows:
        begin, end, _ = rows.indices(len(self))
        at, cross_at = self.indptr[begin : end + 1], self.cross_indptr[begin : end + 1]
        some, crossed = slice(at[0], at[-1]), slice(cross_at[0], cross_at[-1])
        return Rows(
            dense=self.dense[begin:end],
            indptr=at - at[0],
            keys=self.keys[some],
            values=self.values[some],
            cross_indptr=cross_at - cross_at[0],
            cross_keys=self.cross_keys[crossed],
            cross_values=self.cross_values[crossed],
            shown=self.shown,
            categories=self.categories[begin:end],
        )

    def dense_at(self, width: int) -> Array:
        """The dense part with columns of NaN at its end, or without its last columns."""
        return at_width(self.dense, width)


def at_width(dense: Array, width: int) -> Array:
    """The same with NaN at the end of the last axis, or cut there."""
    return _at_width(dense, width, np.nan)


def categories_at(categories: Keys, width: int) -> Keys:
    """The same with 0 at the end of the last axis: columns that came later are absent."""
    return _at_width(categories, width, 0)


def _at_width(values: NDArray[T], width: int, rest: float) -> NDArray[T]:
    have = values.shape[-1]
    if have == width:
        return values
    out = np.full((*values.shape[:-1], width), rest, values.dtype)
    out[..., :have] = values[..., :width]
    return out


def side_by_side(parts: list[Part], n: int) -> tuple[Ends, Keys, Values]:
    """The keys of several columns, row by row: indptr, keys, values."""
    counts = np.zeros(n, np.int64)
    for part in parts:
        counts += part.counts
    indptr = np.concatenate([[0], np.cumsum(counts)])
    keys = np.empty(int(indptr[-1]), np.uint64)
    values = np.ones(len(keys), np.float32)
    begins = indptr[:-1].copy()
    for part in parts:
        if len(part.keys) == n and (part.counts == 1).all():
            at = begins
        else:
            inner = np.arange(len(part.keys)) - np.repeat(
                np.cumsum(part.counts) - part.counts, part.counts
            )
            at = np.repeat(begins, part.counts) + inner
        keys[at] = part.keys
        if part.values is not None:
            values[at] = part.values
        begins = begins + part.counts
    return indptr, keys, values


@dataclass(slots=True, kw_only=True)
class Piece:
    """What one column, or one cross, has put into a row.

    `keys` are the places begin to end in `row.keys` (of a cross, in `row.cross_keys`), `places`
    those in `row.dense`.
    """

    column: Name  # of a cross, both names
    value: Any  # as the record has it
    places: list[int]
    keys: range
    is_cross: bool = False


class Cross:
    """Two columns whose values count together: the keys of pairs of values."""

    def __init__(self, left: Name, right: Name) -> None:
        self.names = left, right
        seeds = (_core.hash_string(name_text(name), 2) for name in self.names)
        self.seed = _core.join_keys(*seeds)

    def keys(self, left: Iterable[int], right: Iterable[int]) -> list[int]:
        """The keys of all pairs of two cells, at most 256."""
        join, seed = _core.join_keys, self.seed
        return [join(join(a, b), seed) for a in left for b in right][:MOST_PAIRS]

    def labels(self, left: dict[int, str], right: dict[int, str]) -> dict[int, str]:
        """What stands for each key of two cells, by what stands for the keys of each."""
        pairs = [f"{a} & {b}" for a in left.values() for b in right.values()]
        return dict(zip(self.keys(left, right), pairs, strict=False))

    def stage(self, left: Part, right: Part) -> Part:
        """The keys of two columns of a table."""
        ends, keys = _core.cross_keys(
            np.cumsum(left.counts),
            left.keys,
            np.cumsum(right.counts),
            right.keys,
            self.seed,
            MOST_PAIRS,
        )
        return Part(counts=np.diff(ends, prepend=0), keys=keys)


def loose_keys(name: Name, cell: Any) -> list[tuple[int, float]]:
    """Keys and values of a cell that no column is kept for: absent, missing and 0 are nothing.

    A number x counts as log2(1 + |x|) with its sign, which is 1 for 1: it has no scale of its own.
    """
    cell = plain(cell, name)
    seed = _core.hash_string(name_text(name), 0)
    if isinstance(cell, list):
        return [(_core.hash_string(tag, seed), 1.0) for tag in cell]
    text = as_text(cell)
    if text is None:
        return []
    is_text = isinstance(cell, str) and kind_of_text(cell) != "number"
    if is_text or not isinstance(cell, (str, int, float)) or isinstance(cell, bool):
        return [(_core.hash_string(text, seed), 1.0)]
    value = number(cell, name)
    if not isinstance(value, float) or not value:
        return []
    return [(_core.join_keys(seed, 3), math.copysign(math.log2(1 + abs(value)), value))]


def loose_part(table: Table, known: dict[Name, Any]) -> Part:
    """The cells of a table under names that are not known."""
    counts = np.zeros(table.n, np.int64)
    found: list[tuple[int, float]] = []
    names: dict[int, dict[int, str]] = {}  # of the keys of each row
    for row, name, cell in table.others(known):
        try:
            pairs = loose_keys(name, cell)
        except (TypeError, ValueError) as error:
            raise type(error)(f"row {row}: {error}") from None
        found += pairs
        counts[row] += len(pairs)
        names.setdefault(row, {}).update((key, f"{name}") for key, _ in pairs)
    return Part(
        counts=counts,
        keys=np.array([key for key, _ in found], np.uint64),
        values=np.array([value for _, value in found], np.float32),
        cells={"names": names},
    )
