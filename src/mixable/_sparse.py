"""Sparse rows as public functions accept them, and as the compiled core takes them."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mixable import _validate
from mixable._types import Array

Keys = NDArray[np.uint64]

SparseRow: TypeAlias = Any
"""A scipy.sparse row, a dictionary of values by key, or a list of (key, value)."""

SparseTable: TypeAlias = Any
"""A scipy.sparse matrix or array, or a list of rows."""

LARGEST_KEY = 2**64 - 1


class Rows(NamedTuple):
    """Rows side by side: those of row t are the entries start[t] to start[t + 1]."""

    start: NDArray[np.int_]
    keys: Keys
    values: Array


def is_matrix(x: object) -> bool:
    """Whether this is one of scipy.sparse."""
    return hasattr(x, "tocsr") and hasattr(x, "nnz")


def is_table(x: object) -> bool:
    """Whether this has several rows: it is two-dimensional, or a list of rows."""
    if is_matrix(x):
        return len(x.shape) == 2  # type: ignore[attr-defined]
    if not isinstance(x, (list, tuple)) or not x:
        return False
    if isinstance(x[0], (list, tuple)):  # a pair, or a row of pairs
        return not x[0] or isinstance(x[0][0], (list, tuple))
    return isinstance(x[0], Mapping) or is_matrix(x[0])


def row(x: SparseRow, name: str = "x") -> tuple[Keys, Array]:
    """Keys and values of one row."""
    if is_matrix(x):
        rows = _from_matrix(x, name)
        if len(rows.start) != 2:
            raise ValueError(f"{name} must be one row, got {len(rows.start) - 1}")
        return rows.keys, rows.values
    pairs = list(_pairs(x, name))
    keys = np.array([key(each, name) for each, _ in pairs], dtype=np.uint64)
    values = _validate.as_floats([value for _, value in pairs], name)
    if values.shape != keys.shape:
        raise ValueError(f"{name} must have one number for each key")
    for k, value in zip(keys, values, strict=True):
        if not np.isfinite(value):
            raise ValueError(f"{name}[{k}] is {value}; inputs must be finite")
    return keys, values


def rows(X: SparseTable, name: str = "X") -> Rows:
    """The rows of a table, of which there is at least one."""
    if is_matrix(X):
        out = _from_matrix(X, name)
    elif isinstance(X, (list, tuple)):
        each = [row(x, f"{name}[{t}]") for t, x in enumerate(X)]
        out = Rows(
            np.cumsum([0, *(len(keys) for keys, _ in each)]),
            np.concatenate([np.empty(0, np.uint64), *(keys for keys, _ in each)]),
            np.concatenate([np.empty(0), *(values for _, values in each)]),
        )
    else:
        raise TypeError(
            f"{name} must be a scipy.sparse matrix or array, or a list of rows, got "
            f"{type(X).__name__}; scipy.sparse.csr_array makes one of an array"
        )
    if len(out.start) < 2:
        raise ValueError(f"{name} is empty")
    return out


def key(value: Any, name: str) -> int:
    """The key of a feature: an integer from 0 to 2^64 - 1."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(
            f"the keys of {name} must be integers, got {type(value).__name__}"
        ) from None
    if not 0 <= number <= LARGEST_KEY:
        raise ValueError(f"the keys of {name} must be from 0 to 2^64 - 1, got {number}")
    return number


def _pairs(x: SparseRow, name: str) -> Iterable[tuple[Any, Any]]:
    if isinstance(x, Mapping):
        return x.items()
    wanted = f"{name} must be a scipy.sparse row, a dictionary, or a list of (key, value)"
    if not isinstance(x, (list, tuple)):
        raise TypeError(f"{wanted}, got {type(x).__name__}")
    for pair in x:
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise TypeError(f"{wanted}; its entries are not all pairs: {pair!r:.80}")
    return x


def _from_matrix(X: Any, name: str) -> Rows:
    if X.dtype.kind not in "fiub":
        raise TypeError(f"{name} must have real numbers, got dtype {X.dtype}")
    if len(X.shape) > 2:
        raise ValueError(f"{name} must have at most two dimensions, got {len(X.shape)}")
    table = (X.reshape((1, -1)) if len(X.shape) == 1 else X).tocsr()
    values = np.ascontiguousarray(table.data, dtype=np.float64)
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        t = int(np.searchsorted(table.indptr, bad[0], side="right")) - 1
        place = (
            f"[{t}, {table.indices[bad[0]]}]" if len(X.shape) == 2 else f"[{table.indices[bad[0]]}]"
        )
        raise ValueError(f"{name}{place} is {values[bad[0]]}; inputs must be finite")
    return Rows(
        np.ascontiguousarray(table.indptr, dtype=np.int_),
        np.ascontiguousarray(table.indices, dtype=np.uint64),
        values,
    )
