"""A forecaster in plain NumPy that keeps all its examples."""

from __future__ import annotations

from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from mixable import _validate
from mixable._types import Array, Labels
from mixable.forecasters.base import MulticlassForecaster, each


class KeepingForecaster(MulticlassForecaster):
    """Subclasses say what they predict for one input, and how they learn."""

    _V: Array  # (..., n_classes - 1, n_features): the weights

    def _keep_nothing(self) -> None:
        self._X: Array = np.empty((0, self.n_features))
        self._y: Labels = np.empty(0, dtype=np.int_)
        self._w: Array = np.empty(0)

    def __setstate__(self, state: dict[str, Any]) -> None:
        parameters = state["_parameters"]
        sizes = [parameters["m"]] if "m" in parameters else []  # of those that have particles
        shape = (*sizes, parameters["n_classes"] - 1, parameters["n_features"])
        V = _validate.saved(state["_V"], shape, "V")
        # The parameters are those of the subclass's own __init__.
        self.__init__(**parameters)  # type: ignore[misc]
        n = len(state["_y"])
        X = _validate.saved(state["_X"], (n, self.n_features), "X")
        y = _validate.labels(state["_y"], self.n_classes, n)
        w = np.asarray(_validate.weights(state["_w"], n))
        if n:
            _validate.size(X, self._largest_square(), "X")
        _validate.saved(V, shape, "V", most=self._largest_coefficient())
        self._X, self._y, self._w, self._V = X, y, w, V

    def _largest_coefficient(self) -> float:
        """The square of V x is finite for every input that is taken."""
        return float(1e150 / self._largest_square() ** 0.5)

    @property
    def steps(self) -> int:
        """Number of examples learned."""
        return len(self._y)

    def predict(self, x: ArrayLike) -> Array:
        """Probabilities (n_classes,) of an input (n_features,); of a table, a row each.

        Pure and deterministic: it changes nothing, and the same call gives the same bits.
        """
        values = _validate.inputs(x, self.n_features)
        _validate.size(values, self._largest_square(), "x")
        return each(self._forecast, values)

    def _forecast(self, x: Array) -> Array:
        raise NotImplementedError

    def _checked(self, x: ArrayLike, y: SupportsIndex, weight: float) -> tuple[Array, int, float]:
        """Return what `learn` was given, once it is known to be sound."""
        row, label = _validate.row(x, self.n_features), _validate.label(y, self.n_classes)
        _validate.size(row, self._largest_square(), "x")
        return row, label, _validate.weight(weight)

    def _with(self, x: Array, y: int, weight: float) -> tuple[Array, Labels, Array]:
        """Return the examples kept so far and one more."""
        return np.vstack([self._X, x]), np.append(self._y, y), np.append(self._w, weight)

    def _grow(self, **sizes: int) -> None:
        """Learn all examples again, with zeros for the features they did not have."""
        larger = type(self)(**{**self._parameters, **sizes})
        X = np.zeros((self.steps, larger.n_features))
        X[:, : self.n_features] = self._X
        larger._learn_all(X, self._y, self._w)
        self.__dict__.update(larger.__dict__)

    def _learn_all(self, X: Array, y: Labels, w: Array) -> None:
        for example in zip(X, y, w, strict=True):
            self.learn(*example)
