"""Tables, column by column: frames of pandas, Polars and Arrow, none of which is imported here,
lists and dictionaries, and lines of CSV that the core has read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from mixable import _core
from mixable._types import Array, Truths
from mixable.records.cells import ABSENT, MISSING
from mixable.records.declaration import Name, checked_name

Record = Mapping[Name, Any]


class Cells:
    """One column of a table: `items` as Python has them, and as arrays where there are some."""

    def __init__(
        self,
        items: Any,
        *,
        numbers: Any = None,
        times: tuple[Array, Array] | None = None,
        read: tuple[Array, NDArray[np.int8], dict[int, str]] | None = None,
        factors: tuple[NDArray[np.int64], list[str | None]] | None = None,
    ) -> None:
        self._items = items  # a list, or what makes one
        self.numbers: NDArray[Any] | None = numbers  # of integers or floats; NaN is missing
        self.times = times  # seconds on the wall and in UTC
        # Text that was read as numbers: what each is (_core.read_numbers), those that are none.
        # It tells no formats: those are settled by then.
        self.read = read
        self.factors = factors  # text as codes, and the text of each code, by first appearance

    @property
    def items(self) -> list[Any]:
        if callable(self._items):
            self._items = self._items()
        items: list[Any] = self._items
        return items

    def absent(self, n: int) -> Truths:
        """Which of n rows do not have the column: only lists of records lack cells."""
        if callable(self._items) or self.read is not None:
            return np.zeros(n, bool)
        return np.array([cell is ABSENT for cell in self.items], bool)

    @classmethod
    def of_grid(cls, column: Any) -> Cells:
        """What `_core.read_grid` returned of a column: texts, numbers or categories."""
        if isinstance(column, list):
            return cls(column)
        if len(column) == 3:
            return cls(partial(_numbers, *column), read=column)
        return cls(partial(_texts, *column), factors=column)

    def part(self, begin: int, end: int) -> Cells:
        """Some rows of a column of a grid."""
        if self.read is not None:
            values, kinds, words = self.read
            some = {row - begin: word for row, word in words.items() if begin <= row < end}
            return Cells.of_grid((values[begin:end].copy(), kinds[begin:end], some))
        if self.factors is not None:
            codes, old = by_appearance(self.factors[0][begin:end])
            return Cells.of_grid((codes, [self.factors[1][code] for code in old.tolist()]))
        return Cells(self.items[begin:end])


def _numbers(values: Array, kinds: NDArray[np.int8], words: dict[int, str]) -> list[Any]:
    """The cells of a column of numbers."""
    cells: list[Any] = values.tolist()
    for row in np.flatnonzero(kinds == MISSING).tolist():
        cells[row] = None
    for row, word in words.items():
        cells[row] = word
    return cells


def _texts(codes: NDArray[np.int64], texts: list[Any]) -> list[Any]:
    """The cells of a column of categories."""
    return [texts[code] for code in codes.tolist()]


def by_appearance(values: Any) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """The code of each value, and the values by code, in the order in which they first appear."""
    unique, first, codes = np.unique(values, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return rank[codes], unique[order]


class Grid:
    """Records of text as a file of CSV has them; `empty` says which have no values."""

    def __init__(self, columns: dict[Name, Cells], empty: list[bool]) -> None:
        self.columns, self.empty = columns, empty
        self._records: list[dict[Name, Any]] | None = None

    @classmethod
    def read(cls, names: Sequence[Name], columns: list[Any], empty: list[bool]) -> Grid:
        """Of what `_core.read_grid` returned for each column; None is no feature."""
        found = zip(names, columns, strict=True)
        return cls({name: Cells.of_grid(each) for name, each in found if each is not None}, empty)

    def __len__(self) -> int:
        return len(self.empty)

    @overload
    def __getitem__(self, rows: int) -> dict[Name, Any]: ...
    @overload
    def __getitem__(self, rows: slice) -> Grid: ...
    def __getitem__(self, rows: int | slice) -> dict[Name, Any] | Grid:
        if isinstance(rows, int):
            return self.records()[rows]
        begin, end, _ = rows.indices(len(self))
        if (begin, end) == (0, len(self)):
            return self
        columns = {name: cells.part(begin, end) for name, cells in self.columns.items()}
        return Grid(columns, self.empty[begin:end])

    def records(self) -> list[dict[Name, Any]]:
        """All as dictionaries: numbers, and texts as they stand."""
        if self._records is None:
            columns = [cells.items for cells in self.columns.values()]
            rows = zip(*columns, strict=True) if columns else [()] * len(self)
            self._records = [dict(zip(self.columns, row, strict=True)) for row in rows]
        return self._records


class Table:
    """What `Encoder.stage` takes: `frame`, the columns by name, or a list of `records`."""

    def __init__(self, table: Any) -> None:
        self.records: list[Record] = []
        self.frame: dict[Name, Cells] = {}
        if isinstance(table, Sequence) and not isinstance(table, (str, bytes)):
            for row, record in enumerate(table):
                if type(record) is not dict and not isinstance(record, Mapping):
                    raise TypeError(f"row {row} must be a dictionary, got {type(record).__name__}")
            self.records = list(table)
        else:
            self.frame = frame_columns(table)
        self.n = len(table)
        if isinstance(table, Mapping):
            self.n = len(next(iter(self.frame.values())).items) if table else 0

    def column(self, name: Name) -> Cells:
        """A column by name, whose cells are absent if the table does not have it."""
        if not self.records:
            return self.frame.get(name) or Cells([ABSENT] * self.n)
        try:
            return Cells(list(map(itemgetter(name), self.records)))
        except KeyError:
            return Cells([record.get(name, ABSENT) for record in self.records])

    def has_others(self, known: dict[Name, Any]) -> bool:
        """Whether there are names that are not known."""
        return not self.frame.keys() <= known.keys() or _core.first_other(
            self.records, known
        ) < len(self.records)

    def others(self, known: dict[Name, Any]) -> Iterator[tuple[int, Name, Any]]:
        """The cells under names that are not known: row, name and cell."""
        columns = {n: cells.items for n, cells in self.frame.items() if n not in known}
        for row, cells in enumerate(zip(*columns.values(), strict=True)):
            for name, cell in zip(columns, cells, strict=True):
                yield row, name, cell
        first = _core.first_other(self.records, known)
        for row, record in enumerate(self.records[first:], first):
            if not record.keys() <= known.keys():
                for name, cell in record.items():
                    if name not in known:
                        yield row, name, cell


def frame_columns(table: Any) -> dict[Name, Cells]:
    """The columns of a frame, of a grid, or of a dictionary of lists, by name."""
    if isinstance(table, Grid):
        return table.columns
    if isinstance(table, Mapping):
        columns = {checked_name(name): list(cells) for name, cells in table.items()}
        if len({len(cells) for cells in columns.values()}) > 1:
            raise ValueError("the columns of the table differ in length")
        return {name: Cells(cells) for name, cells in columns.items()}
    names = frame_names(table)
    read = READERS[_library(table)]
    return {name: read(_series(table, place)) for place, name in enumerate(names)}


def frame_names(table: Any) -> list[Name]:
    """The names of the columns of a frame."""
    kind, library = type(table), _library(table)
    if hasattr(kind, "collect"):
        raise TypeError(f"a {kind.__name__} is only a plan of a table; collect() it first")
    names = getattr(table, "column_names" if library == "pyarrow" else "columns", None)
    if library not in READERS or names is None:
        raise TypeError(
            "a table must be a frame of pandas, Polars or Arrow, a list of dictionaries, or a "
            f"dictionary of lists, got {kind.__name__}"
        )
    names = [checked_name(name.item() if isinstance(name, np.generic) else name) for name in names]
    refuse_twice(names)
    return names


def _library(table: Any) -> str:
    return type(table).__module__.partition(".")[0]


def refuse_twice(names: Sequence[Any]) -> None:
    """Refuse names of which two are the same."""
    for name, count in Counter(names).items():
        if count > 1:
            raise ValueError(f"two columns of the table are called {name!r:.80}")


def _series(table: Any, place: int) -> Any:
    """A column by its place: names may be anything."""
    if hasattr(table, "iloc"):
        return table.iloc[:, place]
    return table.to_series(place) if hasattr(table, "to_series") else table.column(place)


def _times(local: Any, utc: Any) -> tuple[Array, Array]:
    """Seconds since 1970 of two arrays of datetime64."""

    def seconds(moments: NDArray[Any]) -> Array:
        whole = moments.astype("datetime64[us]").astype(np.int64)
        return np.where(np.isnat(moments), np.nan, whole / 1e6)

    return seconds(local), seconds(utc)


def _pandas(series: Any) -> Cells:
    kind = getattr(series.dtype, "kind", "O")
    if kind == "M":
        wall = getattr(series.dt, "tz", None)
        local = series if wall is None else series.dt.tz_localize(None)
        utc = series if wall is None else series.dt.tz_convert(None)
        pair = (each.to_numpy("datetime64[us]") for each in (local, utc))
        return Cells(series.tolist, times=_times(*pair))
    if kind in "iuf" and not hasattr(series.dtype, "categories"):
        whole = kind != "f" and not series.hasnans
        numbers = series.to_numpy() if whole else series.to_numpy(np.float64, na_value=np.nan)
        if numbers.dtype.kind in "iuf":
            return Cells(series.tolist, numbers=numbers)
    return Cells(series.tolist)


def _polars(series: Any) -> Cells:
    kind = series.dtype
    if str(kind).startswith("Datetime"):
        local = series if kind.time_zone is None else series.dt.replace_time_zone(None)
        utc = series if kind.time_zone is None else series.dt.convert_time_zone("UTC")
        utc = utc.dt.replace_time_zone(None)
        return Cells(series.to_list, times=_times(local.to_numpy(), utc.to_numpy()))
    if kind.is_integer() or kind.is_float():
        return Cells(series.to_list, numbers=_number_array(series.to_numpy()))
    return Cells(series.to_list)


def _arrow(column: Any) -> Cells:
    kind = str(column.type)
    if kind.startswith(("int", "uint", "float", "double", "halffloat")):
        numbers = np.asarray(column)
        if numbers.dtype.kind in "iuf":
            return Cells(column.to_pylist, numbers=_number_array(numbers))
    return Cells(column.to_pylist)


def _number_array(values: Any) -> NDArray[Any]:
    """What may be written to: the arrays of other libraries are often read-only."""
    out: NDArray[Any] = np.asarray(values)
    return out if out.dtype.kind in "iu" else out.astype(np.float64)


READERS = {"pandas": _pandas, "polars": _polars, "pyarrow": _arrow}
