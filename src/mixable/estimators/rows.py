"""Tables of NumPy, pandas, Polars or Arrow, without importing any of them.

Where one is refused, what to do next: a sentence after the error's own words, which are
scikit-learn's.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from mixable._types import Array
from mixable.records import Rows
from mixable.records.tables import refuse_twice


class Table(dict[str, Array]):
    """Columns by name, which any frame library takes, as a dictionary or by Arrow's interface.

    >>> import numpy as np
    >>> import pyarrow
    >>> pyarrow.table(Table(mean=np.zeros(2), std=np.ones(2))).shape
    (2, 2)
    """

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Arrow's PyCapsule interface, by the library that is here."""
        try:
            import pyarrow

            table = pyarrow.table(dict(self))
        except ModuleNotFoundError:
            import polars  # type: ignore[import-not-found, unused-ignore]

            table = polars.DataFrame(dict(self))
        return table.__arrow_c_stream__(requested_schema)


def of_known_library(X: Any) -> Any:
    """A table of any library by Arrow's PyCapsule interface, as one of Arrow or else Polars."""
    kind = type(X)
    own = kind.__module__.partition(".")[0] in ("pandas", "polars", "numpy")
    if own or not hasattr(kind, "__arrow_c_stream__") or hasattr(kind, "column_names"):
        return X
    try:
        import pyarrow

        return pyarrow.table(X)
    except ModuleNotFoundError:
        import polars  # type: ignore[import-not-found, unused-ignore]

        return polars.DataFrame(X)


def column_names(X: Any) -> list[str] | None:
    """The names of a table's columns, if it has names and all are strings."""
    kind = type(X)  # a pandas table has its columns as attributes, whatever they are called
    if hasattr(kind, "collect"):
        raise TypeError(f"X is a {kind.__name__}, only a plan of a table; collect() it first")
    is_arrow = hasattr(kind, "column_names")
    names = X.column_names if is_arrow else getattr(X, "columns", None)
    if names is None or callable(names):
        return None
    names = list(names)
    refuse_twice(names)
    return names if names and all(isinstance(name, str) for name in names) else None


def in_order(X: Any, names: list[str]) -> Any:
    """The same table with its columns in the given order."""
    return X.select(names) if hasattr(type(X), "select") else X[names]


def as_matrix(X: Any) -> Any:
    """A table with named columns as an array; anything else as it is."""
    if hasattr(type(X), "column_names"):  # Arrow
        return np.column_stack([np.asarray(X.column(name)) for name in X.column_names])
    if type(X).__module__.partition(".")[0] == "polars":
        dates = [name for name, kind in X.schema.items() if kind.is_temporal()]
        if dates:
            raise _dates(dates[0])
        return X.to_numpy()
    if type(X).__module__.partition(".")[0] == "pandas" and hasattr(X, "dtypes"):
        for name, kind in X.dtypes.items():
            if getattr(kind, "kind", "") in ("m", "M"):
                raise _dates(name)
    return X


def _dates(name: Any) -> TypeError:
    return TypeError(
        f"column {name!r:.80} holds dates or times; columns must be numbers, for instance the "
        "seconds or the hour of the day"
    )


def plain_rows(X: Any, n_features: int) -> Array | None:
    """X, if it is a C-contiguous float64 table with this many columns, none infinite."""
    if type(X) is not np.ndarray or X.dtype != np.float64 or not X.flags.c_contiguous:
        return None
    if X.ndim != 2 or X.shape[1] != n_features:
        return None
    return X if len(X) and not np.isinf(X).any() else None


def has_records(X: Any) -> bool:
    """Whether a frame has columns of something else than numbers: text, categories, times."""
    library = type(X).__module__.partition(".")[0]
    if library == "pandas" and hasattr(X, "dtypes"):  # by types alone: later values are not known
        return any(kind.kind not in "biuf" for kind in X.dtypes)
    if library == "polars":
        return any(not (kind.is_numeric() or str(kind) == "Boolean") for kind in X.dtypes)
    if library == "pyarrow":
        numbers = ("int", "uint", "float", "double", "half", "bool", "decimal")
        return any(not str(field.type).startswith(numbers) for field in X.schema)
    return False


def sparse_rows(X: Any) -> Rows:
    """A matrix of scipy.sparse in CSR as rows of a learner; a column's place is its key."""
    return Rows.of(
        np.empty((X.shape[0], 0)),
        X.indptr.astype(np.int64),
        X.indices.astype(np.uint64),
        X.data.astype(np.float64),
    )


def only_record(X: Any) -> dict[Any, Any]:
    """The only row of a frame, as a dictionary."""
    if len(X) != 1:
        raise ValueError(f"explain takes one row, got {len(X)}")
    if hasattr(X, "iloc"):  # pandas; cells as they are, of each column's type
        return {name: X[name].iloc[0] for name in X.columns}
    rows: list[dict[Any, Any]] = X.to_pylist() if hasattr(X, "to_pylist") else X.to_dicts()
    return rows[0]


@contextmanager
def about_rows(model: Any, X: Any) -> Iterator[None]:
    """Say what can be done about rows that are refused."""
    try:
        yield
    except (TypeError, ValueError, MemoryError) as error:
        _add(error, on_rows(model, X, error))
        raise


@contextmanager
def about_outcomes(y: Any, n: int) -> Iterator[None]:
    """Say what can be done about labels or targets of `n` rows that are refused."""
    try:
        yield
    except (TypeError, ValueError) as error:
        _add(error, on_outcomes(y, n, str(error)))
        raise


def _add(error: Exception, advice: str) -> None:
    text = str(error).rstrip()
    if advice and advice not in text:
        between = "\n" if "\n" in text else ". "
        error.args = (f"{text.rstrip('.')}{between}{advice}", *error.args[1:])


def on_rows(model: Any, X: Any, error: Exception) -> str:
    """Advice on rows that were refused; empty where the error says it all."""
    text, kind = str(error), type(model).__name__
    if isinstance(error, MemoryError):
        return f"Use fewer columns or effort='low', or give {kind} a matrix of scipy.sparse"
    if isinstance(X, str):
        return f"X is text: read the file first, for instance by pandas.read_csv({X!r:.80})"
    if isinstance(X, Iterator):
        return (
            f"X is a {type(X).__name__}: make a table of it by np.array(list(X)), or learn row by "
            "row with partial_fit"
        )
    if isinstance(X, list | tuple) and len(X) and isinstance(X[0], dict):
        return "X is a list of dictionaries: use pandas.DataFrame(X), or mixable.river"
    if "could not convert string" in text:
        return _on_text(X, kind)
    if "feature names should match" in text or "features as input" in text:
        return "Give the columns of the first call, or call fit to begin a new model"
    if "infinity" in text:
        return "NaN is taken as missing: X = np.where(np.isinf(X), np.nan, X)"
    return ""


def _on_text(X: Any, kind: str) -> str:
    names = column_names(X) or []
    bad = [name for name in names if _has_text(X[name])]
    where = f"column {bad[0]!r:.80}" if bad else "X"
    return (
        f"There is text in {where}: give {kind} a frame of pandas, Polars or Arrow instead of an "
        "array, and it encodes text, categories and times by itself"
    )


def _has_text(column: Any) -> bool:
    try:
        np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        return True
    return False


def on_outcomes(y: Any, n: int, text: str) -> str:
    """Advice on labels or targets that were refused; empty where the error says it all."""
    if isinstance(y, Iterator):
        return f"y is a {type(y).__name__}: use list(y)"
    if "contains NaN" in text:
        return _on_missing(y)
    if "Unknown label type: continuous" in text:
        return (
            "To predict a number use GAFRegressor; if the numbers are names of classes, use "
            "y.astype(str)"
        )
    if "could not convert string" in text:
        return "To predict classes use GAFClassifier; numbers in quotes need y.astype(float)"
    if "inconsistent numbers of samples" in text:
        return f"X has {n} rows and y has {len(y)} entries: each row needs one"
    if "1d array" in text and np.ndim(y) == 2:
        return "If there is one column for each class, use y.argmax(axis=1)"
    return ""


def _on_missing(y: Any) -> str:
    values = np.asarray(y, dtype=object).ravel()
    bad = [row for row, value in enumerate(values) if value is None or value != value]
    first = f" (the first one is row {bad[0]})" if bad else ""
    return f"Leave out the rows without an outcome{first}: X[~pandas.isna(y)], y[~pandas.isna(y)]"
