"""Tables in parts: a kernel makes rows many times wider, and whoever waits wants to be told."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mixable._types import Array

MOST_NUMBERS = 2**21
"""Tables are staged in parts of at most this many numbers."""

TOLD_ROWS = 256
"""After so many rows at most, whoever waits is told; they take some hundredths of a second."""

GROWTH, LEAST_ROWS = 1.41, 200
"""A table that is learned as a whole has so many times the rows from one end to the next."""

Advance: TypeAlias = Callable[[int], None] | None
"""What is called with the number of rows that have been learned since the last time."""


def parts_of(n: int, row_length: int) -> list[slice]:
    """A table of n rows in parts, by the length of a forecaster's row."""
    return _cut(slice(0, n), max(MOST_NUMBERS // row_length, 1))


def small(parts: Iterable[slice]) -> Iterator[slice]:
    """The same in parts of which none takes long."""
    for part in parts:
        yield from _cut(part, TOLD_ROWS)


def ends_of(n: int) -> list[int]:
    """Numbers of rows, each `GROWTH` times the one before, the last of which is n."""
    ends = [n]
    while ends[-1] >= GROWTH * LEAST_ROWS:
        ends.append(int(ends[-1] / GROWTH))
    return ends[::-1]


def cut_at(ends: Sequence[int], parts: Iterable[slice]) -> Iterator[slice]:
    """The same in parts of which some end after these numbers of rows."""
    for part in parts:
        inner = [end for end in ends if part.start < end < part.stop]
        yield from map(slice, [part.start, *inner], [*inner, part.stop])


def _cut(part: slice, most: int) -> list[slice]:
    return [slice(at, min(at + most, part.stop)) for at in range(part.start, part.stop, most)]


class InOrder:
    """The rows of a table in another order; they are copied part by part."""

    def __init__(self, rows: Array, order: NDArray[np.int_]) -> None:
        self.rows, self.order = rows, order

    def __len__(self) -> int:
        return len(self.order)

    def __getitem__(self, part: slice) -> Array:
        return self.rows[self.order[part]]


def largest_row(X: Array) -> int:
    """The place of the row with the largest |x|^2; what is missing counts as 0."""
    with np.errstate(over="ignore"):
        return int(np.nansum(X * X, axis=1).argmax())
