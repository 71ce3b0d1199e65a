"""Forecasts as columns with names, as tables of other libraries have them."""

from __future__ import annotations

from typing import Any

import numpy as np

from mixable.estimators.classifier import GAFClassifier
from mixable.estimators.regressor import GAFRegressor
from mixable.estimators.rows import Table


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


def prequential(model: Any, X: Any, y: Any) -> Table:
    """The forecasts of rows by name, each before its outcome is learned."""
    if isinstance(model, GAFRegressor):
        numbers = np.array(model.prequential(X, y, return_std=True))
    else:
        numbers = model.prequential(X, y).T
    return Table(zip(names(model), numbers, strict=True))
