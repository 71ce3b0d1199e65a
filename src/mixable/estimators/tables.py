"""Tables of NumPy, pandas, Polars or Arrow as float64 arrays, without importing any of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from mixable._types import Array
from mixable.records import Rows
from mixable.records.tables import refuse_twice


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
