"""Follow the regularised leader on the true losses.

Hazan, E. (2016). Introduction to online convex optimization. Foundations and Trends in Optimization
2. (Chapter 5.)
"""

from __future__ import annotations

from typing import SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from mixable import _validate
from mixable._types import Array, Labels
from mixable.forecasters.base import Parameter
from mixable.paper.baselines.keeping import KeepingForecaster
from mixable.paper.fit import fit
from mixable.paper.integrals import helmert, softmax


class FTRL(KeepingForecaster):
    """Predicts with the regularised fit to all examples, refitted after each one.

    Newton's method starts from the last fit. Keeps all examples: example t costs O(t (K d)^2 + (K
    d)^3). It has no regret bound of the size of GAF's on arbitrary sequences: being proper, it is
    subject to the lower bound of Hazan, Koren and Levy (2014).

    Parameters
    ----------
    n_features, n_classes
        Sizes d and K >= 2.
    lam
        Regularisation, lam |theta|^2.

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

    def learn(self, x: ArrayLike, y: SupportsIndex, weight: float = 1.0) -> None:
        """Learn one example: input x (n_features,), label y in 0..n_classes-1, and a weight."""
        self._learn_all(*self._with(*self._checked(x, y, weight)))

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
