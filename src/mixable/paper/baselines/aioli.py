"""AIOLI: efficient improper learning for binary logistic regression.

Jezequel, R., Gaillard, P. and Rudi, A. (2020). Efficient improper learning for online logistic
regression. COLT.
"""

from __future__ import annotations

import numpy as np

from mixable import _core, _validate
from mixable._natural import Natural
from mixable._types import Array
from mixable.experts.base import Parameter
from mixable.experts.compiled import CompiledMulticlassForecaster
from mixable.experts.structure import refuse_if_too_large
from mixable.paper import bounds


class AIOLI(CompiledMulticlassForecaster):
    """Two classes: the leader of quadratic surrogates and both labels' losses at the new input.

    It works with margin weights theta (d,): label 1 has probability sigmoid(s), where s is the root
    of ``s + (x^T A^-1 x / 2) tanh(s / 2) = theta^T x``.

    Parameters
    ----------
    n_features
        Number of features d.
    lam
        Strength of the regularisation, above 0: the penalty is lam |theta|^2, of margin weights.
    scale
        How carefully it learns, at least 1: the curvature of the quadratic that stands for a loss
        is that of the loss divided by `scale`. Theory asks for 1 + B R.
    virtual_weight
        Weight of the two virtual losses; 1 is the paper's. With 1/2 the forecaster is Folklore for
        K = 2.

    Examples
    --------
    >>> f = AIOLI(n_features=2)
    >>> f.learn([1.0, -1.0], 1)
    >>> f.predict([1.0, -1.0]).round(3)
    array([0.355, 0.645])
    """

    lam = Parameter(_validate.regulariser)
    scale = Parameter(_validate.real, above=0)
    virtual_weight = Parameter(_validate.real, least=0)

    def __init__(
        self, n_features: int, *, lam: float = 0.1, scale: float = 1.0, virtual_weight: float = 1.0
    ) -> None:
        self._keep(locals())
        refuse_if_too_large(self, 2, [("full", 0.0)])
        self._core = _core.AIOLI(self.n_features, self.lam, self.scale, self.virtual_weight)

    @property
    def n_classes(self) -> int:  # type: ignore[override]  # a constant here, a parameter elsewhere
        """Always 2."""
        return 2

    def add_class(self) -> None:
        """Refuse: AIOLI is for two classes."""
        raise TypeError("AIOLI is for two classes; use Folklore or GAF for more")

    @property
    def coef(self) -> Array:
        """Weights (2, n_features), half the margin weights each way, so that they sum to zero."""
        theta = self._core.mean()[0]
        return np.array([-theta / 2, theta / 2])

    def natural(self) -> Natural:
        """Precision A (d, d) and shift A theta (d,) of the margin weights, and the examples."""
        known = self._gaussian()
        return Natural(known.A[0], known.shift[0], self.steps)

    @classmethod
    def from_theory(
        cls, n_features: int, *, radius: float, bound: float, horizon: int | None = None
    ) -> AIOLI:
        """Return the paper's forecaster for margin weights of norm at most `radius`.

        scale = 1 + B R, and lam has the least bound (`bounds.aioli`) over `horizon` examples; R^2
        if that is None.
        """
        radius, bound = _validate.scale(radius, "radius"), _validate.scale(bound, "bound")
        lam = bound**2
        if horizon is not None:
            lam = bounds.aioli(_validate.count(horizon, "horizon"), n_features, radius, bound).lam
        return cls(n_features, lam=lam, scale=1 + radius * bound)
