"""Forecasts as columns with names, as tables of other libraries have them."""

from __future__ import annotations

from typing import Any

import numpy as np

from mixable._types import Array
from mixable.estimators.classifier import GAFClassifier
from mixable.estimators.regressor import GAFRegressor


def checked(model: Any) -> Any:
    """The model, if it is an estimator."""
    if isinstance(model, GAFClassifier | GAFRegressor):
        return model
    raise TypeError(
        f"model must be a GAFClassifier or a GAFRegressor, got a {type(model).__name__}"
    )


def names(model: Any) -> list[str]:
    """`p_` and the label for each class; of a regressor `mean` and `std`."""
    if isinstance(model, GAFRegressor):
        return ["mean", "std"]
    return [f"p_{label}" for label in model.classes_.tolist()]


def forecasts(model: Any, X: Any) -> dict[str, Array]:
    """What the model forecasts of rows, by name."""
    if isinstance(model, GAFRegressor):
        return dict(zip(names(model), model.predict(X, return_std=True), strict=True))
    return dict(zip(names(model), model.predict_proba(X).T, strict=True))


def prequential(model: Any, X: Any, y: Any) -> dict[str, Array]:
    """The same, each before its outcome is learned."""
    if isinstance(model, GAFRegressor):
        numbers = np.array(model.prequential(X, y, return_std=True))
    else:
        numbers = model.prequential(X, y).T
    return dict(zip(names(model), numbers, strict=True))
