"""Records of text, column by column, as a file of CSV has them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np

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
    """A table that `Encoder.stage` takes; `record` reads one row again, as a dictionary.

    `empty` says which records have no values.
    """

    def __init__(
        self, columns: dict[Name, Cells], empty: list[bool], record: Callable[[int], Record]
    ) -> None:
        self.columns, self.empty, self._record = columns, empty, record

    @classmethod
    def read(
        cls,
        names: Sequence[Name],
        columns: list[Any],
        empty: list[bool],
        record: Callable[[int], Any],
    ) -> Grid:
        """Of what `_core.read_grid` returned for each column; None is no feature."""
        grid = cls({}, empty, record)
        for name, column in zip(names, columns, strict=True):
            if isinstance(column, list):
                grid.columns[name] = Cells(column)
            elif column is not None and len(column) == 3:
                grid.columns[name] = Cells(grid._items(name), read=column)
            elif column is not None:
                grid.columns[name] = Cells(grid._items(name), factors=column)
        return grid

    def _items(self, name: Name) -> Callable[[], list[Any]]:
        return lambda: [record[name] for record in self.records()]

    def __len__(self) -> int:
        return len(self.empty)

    @overload
    def __getitem__(self, rows: int) -> Record: ...
    @overload
    def __getitem__(self, rows: slice) -> Grid: ...
    def __getitem__(self, rows: int | slice) -> Record | Grid:
        if isinstance(rows, int):
            return self._record(rows)
        begin, end, _ = rows.indices(len(self))
        if (begin, end) == (0, len(self)):
            return self
        part = Grid({}, self.empty[begin:end], lambda row: self._record(begin + row))
        for name, cells in self.columns.items():
            part.columns[name] = _part(cells, begin, end, part._items(name))
        return part

    def records(self) -> list[Record]:
        """All as dictionaries."""
        return [self._record(row) for row in range(len(self))]


def _part(cells: Cells, begin: int, end: int, items: Callable[[], list[Any]]) -> Cells:
    """Some rows of a column."""
    if cells.read is not None:
        values, kinds, words = cells.read
        some = {row - begin: word for row, word in words.items() if begin <= row < end}
        return Cells(items, read=(values[begin:end].copy(), kinds[begin:end], some))
    if cells.factors is not None:
        codes, texts = cells.factors
        old, first, new = np.unique(codes[begin:end], return_index=True, return_inverse=True)
        order = np.argsort(first)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        return Cells(items, factors=(rank[new], [texts[code] for code in old[order].tolist()]))
    return Cells(cells.items[begin:end])
