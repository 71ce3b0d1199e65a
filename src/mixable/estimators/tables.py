"""Tables of NumPy, pandas, Polars or Arrow as float64 arrays, without importing any of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


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
            raise TypeError(f"column {dates[0]!r} holds dates or times; columns must be numbers")
        return X.to_numpy()
    return X


def plain_rows(X: Any, n_features: int) -> NDArray[np.float64] | None:
    """X, if it is a C-contiguous float64 table of finite numbers with this many columns."""
    if type(X) is not np.ndarray or X.dtype != np.float64 or not X.flags.c_contiguous:
        return None
    if X.ndim != 2 or X.shape[1] != n_features:
        return None
    return X if len(X) and np.isfinite(X).all() else None
