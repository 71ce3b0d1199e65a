"""Files of all kinds as frames of Polars, in chunks, and what their cells are.

A cell is read as `mixable stream` reads it. Whether text is a number, or stands for one that is
missing (nothing, "nan", "?" and "NA"), is said by core/csv.hpp. In a column that has words "?" and
"NA" are words, and so they are as labels: only an empty field is missing there.
"""

from __future__ import annotations

import glob
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixable import _core
from mixable._types import Array
from mixable.records.cells import INFINITE, NUMBER, WORD


class BadDataError(ValueError):
    """Data that cannot be raced, with a reason that fits on one line."""


def frames(path: Path, size: int) -> Iterator[Any]:
    """Polars data frames of at most `size` rows; cells of CSV as they stand."""
    import polars as pl

    def in_batches(lazy: Any) -> Iterator[Any]:
        yield from lazy.collect_batches(chunk_size=size, maintain_order=True)

    plain = glob.escape(str(path.resolve()))  # Polars takes brackets and stars for patterns
    suffixes = [suffix.lower() for suffix in path.suffixes]
    kind = next((suffix for suffix in reversed(suffixes) if suffix not in (".gz", ".zst")), "")
    if kind in (".csv", ".tsv", ".txt", ".data"):
        if path.stat().st_size == 0:
            raise BadDataError(f"{path}: is empty")
        separator = "\t" if kind == ".tsv" else ","
        yield from in_batches(pl.scan_csv(plain, separator=separator, infer_schema=False))
    elif kind in (".parquet", ".pq"):
        yield from in_batches(pl.scan_parquet(plain))
    elif kind in (".jsonl", ".ndjson"):
        yield from in_batches(pl.scan_ndjson(plain, infer_schema_length=None))
    elif kind == ".arff":
        from scipy.io import arff

        records, meta = arff.loadarff(path)
        kinds = dict(zip(meta.names(), meta.types(), strict=True))
        columns = {name: records[name] for name in meta.names()}
        for name, values in columns.items():
            if kinds[name] != "numeric":
                columns[name] = [None if v == b"?" else v.decode() for v in values]
        yield pl.DataFrame(columns)
    elif kind in (".libsvm", ".svm", ".svmlight", ".scale"):
        from sklearn.datasets import load_svmlight_file

        X, y = load_svmlight_file(str(path))
        features = {f"x{i}": column for i, column in enumerate(X.toarray().T, start=1)}
        yield pl.DataFrame({**features, "label": [f"{label:g}" for label in y]})
    else:
        raise BadDataError(
            f"{path}: its kind is not known; CSV, TSV, Parquet, JSON lines, ARFF and LIBSVM files "
            "are, by their extension"
        )


def numbers(column: Any) -> tuple[Array, NDArray[np.int8]]:
    """The numbers (n,) of a column, NaN for what is none, and what each cell is (n,).

    See `_core.read_numbers`.
    """
    import polars as pl

    if column.dtype == pl.String:
        values, cells, _ = _core.read_numbers(column.to_list(), "plain")
    elif column.dtype.is_numeric() or column.dtype in (pl.Boolean, pl.Null):
        values = column.cast(pl.Float64).to_numpy()
        cells = np.where(np.isinf(values), INFINITE, NUMBER).astype(np.int8)
    else:
        return np.full(len(column), np.nan), np.full(len(column), WORD, np.int8)
    finite: Array = np.where(np.isfinite(values), values, np.nan)
    return finite, cells


def labels(column: Any) -> list[str | None]:
    """Labels as text, None where there is none."""
    import polars as pl

    if column.dtype.is_float():
        column = column.fill_nan(None)
    return [label or None for label in column.cast(pl.String).to_list()]


def words(column: Any) -> Any:
    """All values of a column that are there, as text: those of lists one by one."""
    import polars as pl

    if isinstance(column.dtype, pl.List):
        column = column.explode()
    column = column.cast(pl.String).drop_nulls()
    return column.filter(column != "")


def has(column: Any, value: str) -> Array:
    """1.0 for each cell that is a value, or has it in its list; else 0.0."""
    import polars as pl

    if isinstance(column.dtype, pl.List):
        found = column.cast(pl.List(pl.String)).list.contains(value)
    else:
        found = column.cast(pl.String) == value
    flags: Array = found.fill_null(False).cast(pl.Float64).to_numpy()
    return flags
