"""Records of text, column by column, as a file of CSV has them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, overload

import numpy as np

from mixable.records.cells import MISSING
from mixable.records.column import RECONSIDERED, Cells, Column
from mixable.records.declaration import Name
from mixable.records.number import Number
from mixable.records.registry import Registry

_ROLES = {"category": "c", "tags": "c", "text": "t", "time": "t", "ignore": "-"}

Record = dict[Name, Any]


def role_of(column: Column) -> str:
    """How `_core.read_grid` reads a column."""
    if isinstance(column, Number):
        return {"": "n", ".": "p", ",": "d"}[column.format]
    return _ROLES[column.kind]


def is_settled(registry: Registry) -> bool:
    """Whether no kind or format will be guessed again, so that columns can be read by them."""
    columns = registry.columns.values()
    return all(not each.may_change or each.n >= RECONSIDERED[-1] for each in columns)


class Grid:
    """A table that `Encoder.stage` takes; `empty` says which records have no values."""

    def __init__(self, columns: dict[Name, Cells], empty: list[bool]) -> None:
        self.columns, self.empty = columns, empty
        self._records: list[Record] | None = None

    @classmethod
    def read(cls, names: Sequence[Name], columns: list[Any], empty: list[bool]) -> Grid:
        """Of what `_core.read_grid` returned for each column; None is no feature."""
        grid = cls({}, empty)
        for name, column in zip(names, columns, strict=True):
            if isinstance(column, list):
                grid.columns[name] = Cells(column)
            elif column is not None and len(column) == 3:
                grid.columns[name] = Cells(partial(_numbers, *column), read=column)
            elif column is not None:
                grid.columns[name] = Cells(partial(_texts, *column), factors=column)
        return grid

    def __len__(self) -> int:
        return len(self.empty)

    @overload
    def __getitem__(self, rows: int) -> Record: ...
    @overload
    def __getitem__(self, rows: slice) -> Grid: ...
    def __getitem__(self, rows: int | slice) -> Record | Grid:
        if isinstance(rows, int):
            return self.records()[rows]
        begin, end, _ = rows.indices(len(self))
        if (begin, end) == (0, len(self)):
            return self
        columns = {name: _part(cells, begin, end) for name, cells in self.columns.items()}
        return Grid(columns, self.empty[begin:end])

    def records(self) -> list[Record]:
        """All as dictionaries: numbers, and texts as they stand."""
        if self._records is None:
            columns = [cells.items for cells in self.columns.values()]
            rows = zip(*columns, strict=True) if columns else [()] * len(self)
            self._records = [dict(zip(self.columns, row, strict=True)) for row in rows]
        return self._records


def _numbers(values: Any, kinds: Any, words: dict[int, str]) -> list[Any]:
    """The cells of a column of numbers."""
    cells: list[Any] = values.tolist()
    for row in np.flatnonzero(kinds == MISSING).tolist():
        cells[row] = None
    for row, word in words.items():
        cells[row] = word
    return cells


def _texts(codes: Any, texts: list[Any]) -> list[Any]:
    """The cells of a column of categories."""
    return [texts[code] for code in codes.tolist()]


def _part(cells: Cells, begin: int, end: int) -> Cells:
    """Some rows of a column."""
    if cells.read is not None:
        values, kinds, words = cells.read
        some = {row - begin: word for row, word in words.items() if begin <= row < end}
        part = values[begin:end].copy(), kinds[begin:end], some
        return Cells(partial(_numbers, *part), read=part)
    if cells.factors is not None:
        codes, texts = cells.factors
        old, first, new = np.unique(codes[begin:end], return_index=True, return_inverse=True)
        order = np.argsort(first)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        factors = rank[new], [texts[code] for code in old[order].tolist()]
        return Cells(partial(_texts, *factors), factors=factors)
    return Cells(cells.items[begin:end])
