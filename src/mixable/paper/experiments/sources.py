"""Where a race's data come from: the embedded sets, and files of all kinds, read in chunks.

A cell is read as `mixable stream` reads it. Whether text is a number, or stands for one that is
missing (nothing, "nan", "?" and "NA"), is said by core/text/csv.hpp. In a column that has words "?"
and "NA" are words, and so they are as labels: only an empty field is missing there.
"""

from __future__ import annotations

import glob
import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixable import _core, datasets
from mixable._types import Array, Labels, Stream
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


EMBEDDED = {
    "vehicle": datasets.load_vehicle,
    "shuttle": datasets.load_shuttle,
    "segment": datasets.load_segment,
}
CHUNK = 50_000
MOST_CATEGORIES = 50


@dataclass(frozen=True, kw_only=True)
class Layout:
    """What a first pass over a file has found: how its columns become numbers."""

    name: str
    path: str | None = None
    target: str
    numeric: tuple[str, ...]
    categories: tuple[tuple[str, tuple[str, ...]], ...] = ()
    classes: tuple[str, ...]
    rows: int
    remarks: tuple[str, ...] = ()
    fingerprint: str

    @property
    def has_words(self) -> bool:
        """Whether there are columns of other things than numbers."""
        return bool(self.categories)

    @property
    def n_features(self) -> int:
        """Columns of the table of numbers."""
        return len(self.numeric) + sum(len(values) for _, values in self.categories)


def survey(name: str, target: str | None) -> Layout:
    """Survey an embedded set or a file; BadDataError with one line if it can't be raced."""
    if name in EMBEDDED:
        X, _, names = _embedded(name)
        return Layout(
            name=name,
            target="class",
            numeric=tuple(names.features),
            classes=tuple(names.classes),
            rows=len(X),
            fingerprint="embedded",
        )
    path = Path(name)
    if not path.exists():
        near = f"; the embedded sets are {', '.join(EMBEDDED)}" if path.suffix == "" else ""
        raise BadDataError(f"{name}: no such file{near}")
    if path.is_dir():
        raise BadDataError(f"{name}: is a folder")
    if name != name.encode(errors="replace").decode():
        raise BadDataError(f"{name}: its name is not UTF-8; rename it")
    try:
        return _survey_file(path, target)
    except BadDataError:
        raise
    except Exception as error:  # readers raise all kinds of things; the user needs one line
        raise BadDataError(f"{name}: cannot be read: {one_line(error)}") from error


def chunks(layout: Layout, size: int = CHUNK) -> Iterator[Stream]:
    """Rows as numbers (n, n_features), NaN for what is missing, and labels (n,), in order."""
    if layout.path is None:
        X, y, _ = _embedded(layout.name)
        yield X, y
        return
    for frame in frames(Path(layout.path), size):
        columns = [numbers(frame[name])[0] for name in layout.numeric]
        for name, values in layout.categories:
            columns += [has(frame[name], value) for value in values]
        X = np.column_stack(columns) if columns else np.empty((len(frame), 0))
        yield np.ascontiguousarray(X), _codes(frame, layout)


def records(layout: Layout, size: int = CHUNK) -> Iterator[tuple[list[dict[str, Any]], Labels]]:
    """Records as `mixable stream` reads them, cells of CSV as they stand, and labels, in order."""
    assert layout.path is not None
    for frame in frames(Path(layout.path), size):
        yield frame.drop(layout.target).to_dicts(), _codes(frame, layout)


def _codes(frame: Any, layout: Layout) -> Labels:
    codes: dict[str | None, int] = {label: code for code, label in enumerate(layout.classes)}
    return np.array([codes[label] for label in labels(frame[layout.target])], dtype=np.int_)


@lru_cache(maxsize=1)
def all_records(layout: Layout) -> tuple[list[dict[str, Any]], Labels]:
    """All of them at once."""
    parts = list(records(layout))
    return [x for part, _ in parts for x in part], np.concatenate([y for _, y in parts])


@lru_cache(maxsize=4)
def table(layout: Layout) -> Stream:
    """All rows at once."""
    parts = list(chunks(layout))
    return np.vstack([X for X, _ in parts]), np.concatenate([y for _, y in parts])


@lru_cache(maxsize=3)
def _embedded(name: str) -> datasets.Dataset:
    return EMBEDDED[name]()


def _survey_file(path: Path, target: str | None) -> Layout:
    numeric: Counter[str] = Counter()  # values that are there, of columns of numbers
    text: dict[str, Counter[str]] = {}
    classes: set[str] = set()
    columns: list[str] = []
    rows = missing = infinite = 0
    has_words = {
        column.name
        for frame in frames(path, CHUNK)
        for column in frame
        if (numbers(column)[1] == WORD).any()
    }
    for frame in frames(path, CHUNK):
        if not columns:
            columns = frame.columns
            target = target or columns[-1]
            if target not in columns:
                raise BadDataError(
                    f"{path}: has no column {target!r}; its columns are {', '.join(columns)}"
                )
        found = labels(frame[target])
        if None in found:
            row = rows + found.index(None) + 1
            raise BadDataError(f"{path}: row {row} has no label in column {target!r}")
        classes.update(map(str, found))
        for column in frame.drop(target):
            name = column.name
            if name in has_words:
                counts = words(column).value_counts()
                text.setdefault(name, Counter()).update(dict(counts.iter_rows()))
            else:
                found_numbers, cells = numbers(column)
                absent = int(np.count_nonzero(np.isnan(found_numbers)))
                numeric[name] += len(column) - absent
                infinite += int(np.count_nonzero(cells == INFINITE))
                missing += absent
        rows += len(frame)
        if len(classes) > 1000:
            raise BadDataError(
                f"{path}: column {target!r} has more than 1,000 different labels; is it the target?"
            )
    if rows == 0:
        raise BadDataError(f"{path}: has no rows")
    if len(classes) < 2:
        raise BadDataError(
            f"{path}: all {rows} labels in column {target!r} are {classes.pop()!r}; there is "
            "nothing to forecast"
        )
    for name, values in {**numeric, **text}.items():
        if not values:
            raise BadDataError(f"{path}: column {name!r} has no values at all; remove it")
    remarks = []
    categories = []
    for name, counts in text.items():
        values = sorted(counts, key=lambda value: (-counts[value], value))[:MOST_CATEGORIES]
        categories.append((name, tuple(values)))
        more = ""
        if len(counts) > MOST_CATEGORIES:
            more = f", the {MOST_CATEGORIES} most frequent of {len(counts)}"
        remarks.append(f"text column {name!r} became {len(values)} columns of 0 and 1{more}")
    if categories:
        remarks.append(
            "that is for forecasters of numbers; nonlinear reads records, as a stream does"
        )
    if infinite:
        remarks.append(
            f"{infinite} values are infinite: a stream rejects them, here they are missing"
        )
    if missing:
        remarks.append(f"{missing} missing values count as the running mean of their column")
    if not numeric and not categories:
        raise BadDataError(f"{path}: has no column besides the target")
    assert target is not None
    return Layout(
        name=path.name,
        path=str(path.resolve()),
        target=target,
        numeric=tuple(numeric),
        categories=tuple(categories),
        classes=tuple(sorted(classes, key=_sort_key)),
        rows=rows,
        remarks=tuple(remarks),
        fingerprint=_fingerprint(path),
    )


def _fingerprint(path: Path) -> str:
    """A hash of a file's contents."""
    digest = hashlib.blake2b(digest_size=16)
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _sort_key(label: str) -> tuple[int, float, str]:
    try:
        return (0, float(label), label)
    except ValueError:
        return (1, 0.0, label)


def one_line(error: Exception) -> str:
    """The beginning of an error's message."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return re.sub(r"\s+", " ", lines[0])[:200] if lines else type(error).__name__
