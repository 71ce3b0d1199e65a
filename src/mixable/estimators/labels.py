"""Labels as scikit-learn has them: a column of one kind, checked."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

ONE_CLASS = (
    "y has one class only, {!r:.80}: each forecast will be that one, for certain. Give fit rows of "
    "two classes or more; where others come later, use partial_fit or prequential"
)


def checked_labels(y: Any, n: int) -> NDArray[Any]:
    """Check labels: a column of integers, strings or booleans, as long as X."""
    if y is None:
        raise ValueError(
            "This GAFClassifier estimator requires y to be passed, but the target y is None."
        )
    values: NDArray[Any] = np.asarray(y)
    if values.ndim != 1 or values.dtype.kind not in "iubU":
        values = column_or_1d(y, warn=True)
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            raise ValueError("Input y contains NaN or infinity.")
        if values.dtype == object and any(item is None or item != item for item in values):
            raise ValueError("Input y contains NaN or None.")
        if values.dtype == object and len(values):
            check_kinds(values.tolist(), values[0])
        check_classification_targets(values)
    if len(values) != n:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: [{n}, {len(values)}]"
        )
    return values


def check_kinds(labels: list[Any], known: Any, name: str = "y") -> None:
    """Refuse labels that are not of the same kind as one that is known."""
    for label in labels:
        if type(label) is not type(known) and _kind(label) is not _kind(known):
            raise ValueError(
                f"{name} must have labels of one kind: {label!r:.80} is {_called(label)}, and "
                f"{known!r:.80} is {_called(known)}; convert them, for instance by "
                f"{'y = y.astype(str)' if name == 'y' else 'str(label)'}"
            )


def _kind(label: Any) -> type:
    """What a label is, as far as labels can be compared: truth, number, or its own type."""
    if isinstance(label, bool):
        return bool
    return numbers.Number if isinstance(label, numbers.Number) else type(label)


def _called(label: Any) -> str:
    kinds = {bool: "True or False", numbers.Number: "a number", str: "text"}
    return kinds.get(_kind(label), f"a {type(label).__name__}")


def are_sorted(labels: NDArray[Any], n_classes: int) -> bool:
    """Whether the rows of each of several classes stand together."""
    return 1 < n_classes == 1 + np.count_nonzero(labels[1:] != labels[:-1])
