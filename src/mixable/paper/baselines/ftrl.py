"""Follow the regularised leader on the true losses (FTRL), or one leader for each label (SMP).

Hazan, E. (2016). Introduction to online convex optimization. Foundations and Trends in Optimization
2. (Chapter 5.)
Mourtada, J. and Gaiffas, S. (2022). An improper estimator with optimal excess risk in misspecified
density estimation and logistic regression. JMLR 23.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mixable import _validate
from mixable._types import Array, Labels
from mixable.experts.base import MulticlassForecaster, Parameter
from mixable.paper.integrals import helmert, softmax
from mixable.paper.regret import fit


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


class FTRL(KeepingForecaster):
    """Predicts with the regularised fit to all examples, refitted after each one.

    Newton's method starts from the last fit. Keeps all examples: example t costs O(t (K d)^2 + (K
    d)^3). It has no regret bound of the size of GAF's on arbitrary sequences: being proper, it is
    subject to the lower bound of Hazan, Koren and Levy (2014).

    Parameters
    ----------
    n_features, n_classes
        Numbers of features d and of classes K >= 2.
    lam
        Strength of the regularisation, above 0: the penalty is lam |theta|^2.

    Examples
    --------
    >>> f = FTRL(n_features=2, n_classes=3)
    >>> f.learn([1.0, -1.0], 2)
    >>> f.predict([1.0, -1.0]).round(3)
    array([0.079, 0.079, 0.842])
    """

    lam = Parameter(_validate.regulariser)

    def __init__(self, n_features: int, n_classes: int, *, lam: float = 0.1) -> None:
        self._keep(locals())
        D = (self.n_classes - 1) * self.n_features
        sizes = f"{self.n_features} features and {self.n_classes} classes"
        _validate.memory(3 * 8.0 * D * D, f"{type(self).__name__} with {sizes}")
        self._keep_nothing()
        self._V: Array = np.zeros((self.n_classes - 1, self.n_features))

    @classmethod
    def from_theory(cls, n_features: int, n_classes: int, *, bound: float) -> FTRL:
        """Return the fit with lam = R^2.

        With it SMP (not FTRL) has an excess risk of (3 d + B^2 R^2) / n on i.i.d. binary data. On
        arbitrary sequences no choice of lam gives FTRL a logarithmic regret without exp(B), and
        none is known to give SMP one.
        """
        return cls(n_features, n_classes, lam=_validate.scale(bound, "bound") ** 2)

    @property
    def coef(self) -> Array:
        """Weights (n_classes, n_features) of the leader; they sum to zero over classes."""
        return np.asarray(helmert(self.n_classes) @ self._V)

    def _learn(self, x: Array, y: int, weight: float) -> None:
        self._learn_all(*self._with(x, y, weight))

    def _learn_all(self, X: Array, y: Labels, w: Array) -> None:
        with np.errstate(over="ignore", invalid="ignore"):  # then it is refused
            V = fit(X, y, w, self.lam, self._V)
        if not (np.abs(V) <= self._largest_coefficient()).all():
            raise ValueError("these weights are beyond double precision; use smaller ones")
        self._X, self._y, self._w, self._V = X, y, w, V

    def _largest_square(self) -> float:
        return 1e15 * self.lam

    def _forecast(self, x: Array) -> Array:
        return np.asarray(np.maximum(softmax(self.coef @ x), np.finfo(float).tiny))


class SMP(FTRL):
    """The sample minmax predictor: each label's probability under the fit that has it added.

    p(y | x) is proportional to p_{theta(x, y)}(y | x), theta(x, y) the fit with (x, y). Improper,
    with a fast rate on i.i.d. data and none for arbitrary sequences. Each prediction costs
    n_classes refits.

    Parameters
    ----------
    n_features, n_classes
        Numbers of features d and of classes K >= 2.
    lam
        Strength of the regularisation, above 0: the penalty is lam |theta|^2.

    Examples
    --------
    >>> f = SMP(n_features=2, n_classes=3)
    >>> f.learn([1.0, -1.0], 2)
    >>> f.predict([1.0, -1.0]).round(3)          # less sure than FTRL
    array([0.254, 0.254, 0.491])
    """

    def _forecast(self, x: Array) -> Array:
        Q = helmert(self.n_classes)
        p, tiny = np.empty(self.n_classes), np.finfo(float).tiny
        for label in range(self.n_classes):
            X, y, w = self._with(x, label, 1.0)
            p[label] = softmax(Q @ fit(X, y, w, self.lam, self._V) @ x)[label]
        p = np.maximum(p, tiny)  # all may have underflowed
        return np.asarray(np.maximum(p / p.sum(), tiny))
