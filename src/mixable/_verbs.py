"""One row at a time, for models of any library: how each predicts and learns it."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixable._types import Array

Predict = Callable[[Any, Any], Any]
Learn = Callable[[Any, Any, Any, float], None]


def verbs(model: Any) -> tuple[Predict, Learn]:
    """How models of a kind predict one input, and learn one example with a weight."""
    kind = type(model)
    if hasattr(kind, "learn_one"):
        predict = getattr(kind, "predict_proba_one", None) or kind.predict_one
        return predict, lambda model, x, y, weight: model.learn_one(x, y, weight)
    if hasattr(kind, "predict_proba"):
        return _probabilities, _learn_label
    if hasattr(kind, "partial_fit"):
        return lambda model, x: float(model.predict(_one_row(x))[0]), _partial_fit
    return kind.predict, kind.learn


def _probabilities(model: Any, x: Any) -> Array:
    """`predict_proba` of one row, without what scikit-learn does for tables."""
    if not hasattr(model, "learner_"):
        return np.asarray(model.predict_proba(_one_row(x))[0])
    p = model.learner_.predict(model._rows(_one_row(x))[0])
    return np.asarray(p[_order(tuple(model.learner_.labels))])


def _learn_label(model: Any, x: Any, y: Any, weight: float) -> None:
    """`partial_fit` of one row; a label that was observed before needs no check."""
    is_known = hasattr(model, "learner_") and y in model.learner_.codes
    if weight == 1 and is_known and getattr(model, "class_weight", None) is None:
        model.learner_.learn_one(model._rows(_one_row(x))[0], y)
    else:
        _partial_fit(model, x, y, weight)


def _partial_fit(model: Any, x: Any, y: Any, weight: float) -> None:
    model.partial_fit(_one_row(x), [y], sample_weight=None if weight == 1 else [weight])


@lru_cache(maxsize=256)
def _order(labels: tuple[Any, ...]) -> NDArray[np.int_]:
    """The places of the labels in the order of `classes_`."""
    return np.argsort(np.array(labels), kind="stable")


def _one_row(x: Any) -> Any:
    """A table of one row; a frame is one already."""
    return x if hasattr(x, "columns") else np.atleast_2d(x)
