"""What the forecasters share: the three verbs, and parameters that cannot change in mid-stream."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Generic, SupportsIndex, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike

from mixable import _validate
from mixable._mergeable import Mergeable
from mixable._types import Array
from mixable.paper import integrals

T = TypeVar("T")
HEAVY = 1e3  # the weight of an example that some posteriors may refuse, and others not


class Parameter(Generic[T]):
    """A constructor argument that can be read and not changed: what was learned depends on it.

    `check` takes a value, its name and the limits, and returns what is kept.
    """

    def __init__(self, check: Callable[..., T] | None = None, **limits: float) -> None:
        self._check, self._limits = check, limits

    def checked(self, value: Any) -> T:
        """Return what is kept of a value; ValueError or TypeError, by name, if it is refused."""
        return value if self._check is None else self._check(value, self.name, **self._limits)

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Parameter[T]: ...
    @overload
    def __get__(self, instance: Forecaster, owner: type) -> T: ...
    def __get__(self, instance: Forecaster | None, owner: type) -> T | Parameter[T]:
        return self if instance is None else instance._parameters[self.name]

    def __set__(self, instance: Forecaster, value: T) -> None:
        raise AttributeError(f"{self.name} is fixed when the forecaster is made")


def each(forecast: Callable[[Array], Array], inputs: Array) -> Array:
    """Forecasts of one input (d,), or of each row of a table (n, d)."""
    return np.array([forecast(x) for x in inputs]) if inputs.ndim == 2 else forecast(inputs)


def to_learn(experts: list[Any], weight: float) -> list[Any]:
    """Those who are to learn an example together: of much weight, copies of them.

    Some may refuse what others would take, and then all are to be as they were.
    """
    return copy.deepcopy(experts) if weight > HEAVY else experts


def logits(weights: Array, x: Array, n_classes: int) -> Array:
    """Logits (n, K) of an input, or (n, m, K) of a table, for each of n weights (n, k, d).

    They sum to 0 over the classes. There are K - 1 vectors of weights or, with structure, K.
    """
    out = np.moveaxis(weights @ np.atleast_2d(x).T, 1, -1)
    if weights.shape[1] < n_classes:
        out = out @ integrals.helmert(n_classes).T
    out = out - out.mean(axis=-1, keepdims=True)
    return np.asarray(out if x.ndim == 2 else out[:, 0])


def draws_of(forecaster: Any, x: Any, n: int, rng: np.random.Generator) -> Array:
    """What `sample` returns; of a forecaster without a posterior, n times its logits or number."""
    if hasattr(forecaster, "sample"):
        return np.asarray(forecaster.sample(x, n, rng))
    forecast = np.asarray(forecaster.predict(x))
    if hasattr(forecaster, "n_classes"):
        return repeated(forecast, n)
    return np.array(np.broadcast_to(forecast, (n, *forecast.shape)))


def repeated(p: Array, n: int) -> Array:
    """The logits of probabilities (..., K), which sum to 0, n times."""
    logs = np.log(np.maximum(p, np.finfo(float).tiny))
    logs = logs - logs.mean(axis=-1, keepdims=True)
    return np.array(np.broadcast_to(logs, (n, *logs.shape)))


def mixed_draws(
    weights: Array, draw: Callable[[int, int], Array], n: int, rng: np.random.Generator
) -> Array:
    """n draws of a mixture, in random order; `draw` makes some of one component."""
    counts = rng.multinomial(n, weights / weights.sum())
    pieces = [draw(int(i), int(counts[i])) for i in np.flatnonzero(counts)]
    return rng.permutation(np.concatenate(pieces))


class Forecaster(Mergeable):
    """Sizes, parameters and a representation. Constructors of subclasses keep their arguments."""

    n_features = Parameter(_validate.count)

    _parameters: dict[str, Any]

    def _keep(self, arguments: dict[str, Any]) -> None:
        """Check and keep what a constructor was given: its `locals()`, before it has others."""
        of_class = {name: getattr(type(self), name, None) for name in arguments}
        self._parameters = {
            name: parameter.checked(arguments[name])
            for name, parameter in of_class.items()
            if isinstance(parameter, Parameter)
        }

    def _shared(self) -> dict[str, Any]:
        return self._parameters

    @property
    def steps(self) -> int:
        """Number of examples learned."""
        raise NotImplementedError

    @property
    def _row_length(self) -> int:
        """Numbers in an input."""
        return self.n_features

    def _largest_square(self) -> float:
        """The largest |x|^2 that can be learned in double precision."""
        raise NotImplementedError

    def add_features(self, k: int) -> None:
        """Let inputs have `k` more features from now on, at the end; nothing learned is lost.

        Past examples say nothing of the new features (they count as having been 0), so their
        weights are 0, and as uncertain as at the start of a stream.
        """
        self._grow(n_features=self.n_features + _validate.count(k, "k"))

    def _grow(self, **sizes: int) -> None:
        """Let sizes be larger from now on, all or nothing."""
        raise NotImplementedError

    def __repr__(self) -> str:
        parameters = [f"{name}={value!r}" for name, value in self._parameters.items()]
        return f"{type(self).__name__}({', '.join(parameters)})"


class MulticlassForecaster(Forecaster):
    """A forecaster of labels 0..n_classes-1, whose `run` is the loop of the other two verbs."""

    n_classes = Parameter(_validate.count, least=2)

    def predict(self, x: ArrayLike) -> Array:
        """Probabilities (n_classes,) of an input (n_features,); of a table, a row each.

        Pure and deterministic: it changes nothing, and the same call gives the same bits.
        """
        inputs = _validate.inputs(x, self.n_features)
        _validate.size(inputs, self._largest_square(), "x")
        return each(self._forecast, inputs)

    def learn(self, x: ArrayLike, y: SupportsIndex, weight: float = 1.0) -> None:
        """Learn one example: input x (n_features,), label y in 0..n_classes-1, and a weight."""
        row, label = _validate.row(x, self.n_features), _validate.label(y, self.n_classes)
        _validate.size(row, self._largest_square(), "x")
        self._learn(row, label, _validate.weight(weight))

    def _forecast(self, x: Array) -> Array:
        raise NotImplementedError

    def _learn(self, x: Array, y: int, weight: float) -> None:
        raise NotImplementedError

    def run(self, X: ArrayLike, y: ArrayLike, weight: ArrayLike | None = None) -> Array:
        """Probabilities (n, n_classes) of each row of X, made before its label in y is learned.

        The same as a loop of `predict` and `learn`. All arguments are checked first: if one is
        refused, nothing was learned. Ctrl-C, and an example found to be beyond double precision on
        the way (a weight of 1e300), stop between two rows; the rows before are then learned.
        """
        X = _validate.table(X, self.n_features)
        _validate.size(X, self._largest_square(), "X")
        labels = _validate.labels(y, self.n_classes, len(X))
        weights = _validate.weights(weight, len(X))
        out = np.empty((len(X), self.n_classes))
        for t, x in enumerate(X):
            out[t] = self._step(x, int(labels[t]), 1.0 if weights is None else float(weights[t]))
        return out

    def _step(self, x: Array, y: int, weight: float) -> Array:
        """Learn an example; return the forecast that was made of it before."""
        forecast = self.predict(x)
        self.learn(x, y, weight)
        return forecast

    def add_class(self) -> None:
        """Let labels be one more from now on: n_classes grows by 1; nothing learned is lost.

        Means and covariances of the old classes' logit differences stay as they are. The new
        class's logit has the mean of the old ones, as uncertain as at the start of a stream. So a
        plug-in's probabilities, among the old classes, stay too; hedged ones move a little, since
        the expectation of softmax depends on all logits.
        """
        self._grow(n_classes=self.n_classes + 1)
