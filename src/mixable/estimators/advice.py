"""What to do next: a sentence for each mistake that tables and labels often have.

It is put after the error's own words, which are scikit-learn's.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from mixable.estimators import tables


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
    names = tables.column_names(X) or []
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
