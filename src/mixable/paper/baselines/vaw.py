"""The Vovk-Azoury-Warmuth forecaster: ridge regression that counts the current input.

Vovk, V. (2001). Competitive on-line statistics. International Statistical Review 69.
Azoury, K. S. and Warmuth, M. K. (2001). Relative loss bounds for on-line density estimation.
Machine Learning 43.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mixable import _core, _validate
from mixable._natural import Natural
from mixable._types import Array
from mixable.experts.base import Parameter
from mixable.experts.compiled import CompiledForecaster
from mixable.experts.structure import refuse_if_too_large
from mixable.paper import bounds
from mixable.paper.losses import Squared

Compiled = _core.VAW


class VAW(CompiledForecaster):
    """Regression: predicts ``theta^T x / (1 + x^T A^-1 x)``, theta the ridge solution so far.

    It is GAF with the squared loss (Section 4.1).

    Parameters
    ----------
    n_features
        Number of features d.
    lam
        Strength of the regularisation, above 0: the penalty is lam |theta|^2.
    drift
        Process noise: A^-1 += drift I after each example.

    Examples
    --------
    >>> f = VAW(n_features=2, lam=1.0)
    >>> f.learn([1.0, 0.0], 2.0)
    >>> f.predict([1.0, 0.0])          # 2 / (1 + 1 + 1), where ridge regression says 2 / (1 + 1)
    0.6666666666666666
    """

    lam = Parameter(_validate.regulariser)
    drift = Parameter(_validate.real, least=0)

    _core: Compiled

    def __init__(self, n_features: int, *, lam: float = 1.0, drift: float = 0.0) -> None:
        self._keep(locals())
        _validate.drift(self.drift, self.lam)
        refuse_if_too_large(self, 2, [("full", self.drift)])
        self._core = _core.VAW(self.n_features, self.lam, self.drift)

    @classmethod
    def from_theory(
        cls,
        n_features: int,
        *,
        radius: float,
        bound: float,
        target_bound: float,
        horizon: int | None = None,
    ) -> VAW:
        """Return the forecaster of `bounds.vaw`, for targets of size at most `target_bound`.

        lam has the least bound over `horizon` examples; if that is None, it is Theorem 1's with the
        paper's zeta.
        """
        d = _validate.count(n_features, "n_features")
        for name, value in (("radius", radius), ("bound", bound), ("target_bound", target_bound)):
            _validate.scale(value, name)
        if horizon is not None:
            _validate.count(horizon, "horizon")
            return cls(d, lam=bounds.vaw(horizon, d, radius, bound, target_bound).lam)
        constants = Squared(target_bound=target_bound).constants(radius, bound, n_features=d)
        return cls(d, lam=bounds.theory_lam(d, constants))

    def predict(self, x: ArrayLike) -> float | Array:
        """The forecast of one input (n_features,), a float; of a table, an array (n,)."""
        values = self._core.predict(x)
        return float(values[0]) if values.ndim == 1 else np.ascontiguousarray(values[:, 0])

    def learn(self, x: ArrayLike, y: float, weight: float = 1.0) -> None:
        """Learn one example: input x (n_features,), target y, its loss multiplied by `weight`."""
        self._core.learn(x, y, weight)

    def run(self, X: ArrayLike, y: ArrayLike, weight: ArrayLike | None = None) -> Array:
        """Forecasts (n,) of each row of X, made before its target in y; all is checked first."""
        X = _validate.table(X, self.n_features)
        targets = _validate.targets(y, len(X), _validate.LARGEST_TARGET)
        forecasts = self._core.run(X, targets, _validate.weights(weight, len(X)))
        return np.ascontiguousarray(forecasts[:, 0])

    @property
    def coef(self) -> Array:
        """The ridge solution theta (n_features,)."""
        return np.asarray(self._core.mean()[0])

    def natural(self) -> Natural:
        """Precision A (d, d), shift A theta (d,) and number of examples."""
        known = self._gaussian()
        return Natural(known.A[0], known.shift[0], self.steps)

    def precision(self) -> Array:
        """A (n_features, n_features) = lam I + the sum of x x^T."""
        return np.asarray(self._gaussian().A[0])
