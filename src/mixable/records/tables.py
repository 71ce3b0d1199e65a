"""Tables of pandas, Polars and Arrow, and lists of dictionaries, column by column, without
importing any of those libraries.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixable._types import Array
from mixable.records.cells import ABSENT
from mixable.records.column import Cells
from mixable.records.declaration import Name, checked_name
from mixable.records.grid import Grid


def is_records(table: Any) -> bool:
    """Whether a table is a list of dictionaries."""
    return isinstance(table, Sequence) and not isinstance(table, (str, bytes))


def records_of(table: Any) -> list[Mapping[Name, Any]]:
    """A list of dictionaries, checked."""
    for row, record in enumerate(table):
        if type(record) is not dict and not isinstance(record, Mapping):
            raise TypeError(f"row {row} must be a dictionary, got {type(record).__name__}")
    return list(table)


def column_of(records: Sequence[Mapping[Name, Any]], name: Name) -> Cells:
    """One column of a list of dictionaries."""
    try:
        return Cells(list(map(itemgetter(name), records)))
    except KeyError:
        return Cells([record.get(name, ABSENT) for record in records])


def frame_columns(table: Any) -> dict[Name, Cells]:
    """The columns of a frame, of a grid, or of a dictionary of lists, by name."""
    if isinstance(table, Grid):
        return table.columns
    if isinstance(table, Mapping):
        columns = {checked_name(name): list(cells) for name, cells in table.items()}
        if len({len(cells) for cells in columns.values()}) > 1:
            raise ValueError("the columns of the table differ in length")
        return {name: Cells(cells) for name, cells in columns.items()}
    kind = type(table)
    library = kind.__module__.partition(".")[0]
    if hasattr(kind, "collect"):
        raise TypeError(f"a {kind.__name__} is only a plan of a table; collect() it first")
    readers = {"pandas": _pandas, "polars": _polars, "pyarrow": _arrow}
    names = getattr(table, "column_names" if library == "pyarrow" else "columns", None)
    if library not in readers or names is None:
        raise TypeError(
            "a table must be a frame of pandas, Polars or Arrow, a list of dictionaries, or a "
            f"dictionary of lists, got {kind.__name__}"
        )
    names = [checked_name(_plain_name(name)) for name in names]
    refuse_twice(names)
    read = readers[library]
    return {name: read(_series(table, place)) for place, name in enumerate(names)}


def refuse_twice(names: Sequence[Any]) -> None:
    """Refuse names of which two are the same."""
    for name, count in Counter(names).items():
        if count > 1:
            raise ValueError(f"two columns of the table are called {name!r:.80}")


def _plain_name(name: Hashable) -> Any:
    return name.item() if isinstance(name, np.generic) else name


def _series(table: Any, place: int) -> Any:
    """A column by its place: names may be anything."""
    if hasattr(table, "iloc"):
        return table.iloc[:, place]
    return table.to_series(place) if hasattr(table, "to_series") else table.column(place)


def _seconds(moments: NDArray[Any]) -> Array:
    """Seconds since 1970 of an array of datetime64."""
    missing = np.isnat(moments)
    whole = moments.astype("datetime64[us]").astype(np.int64)
    return np.where(missing, np.nan, whole / 1e6)


def _pandas(series: Any) -> Cells:
    kind = getattr(series.dtype, "kind", "O")
    if kind == "M":
        wall = getattr(series.dt, "tz", None)
        local = series if wall is None else series.dt.tz_localize(None)
        utc = series if wall is None else series.dt.tz_convert(None)
        arrays = tuple(_seconds(each.to_numpy("datetime64[us]")) for each in (local, utc))
        return Cells(series.tolist, times=arrays)
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
        arrays = tuple(_seconds(each.to_numpy()) for each in (local, utc))
        return Cells(series.to_list, times=arrays)
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
