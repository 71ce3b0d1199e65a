"""Online gradient descent for multiclass logistic regression.

Zinkevich, M. (2003). Online convex programming and generalized infinitesimal gradient ascent. ICML.
"""

from __future__ import annotations

import math
from typing import Any

from mixable import _core, _validate
from mixable.experts.base import Parameter
from mixable.experts.compiled import CompiledMulticlassForecaster


class OGD(CompiledMulticlassForecaster):
    """theta -= step_t (p - e_y) x^T, projected on a ball; predicts softmax(theta x).

    Parameters
    ----------
    n_features, n_classes
        Numbers of features d and of classes K >= 2.
    step
        The learning rate, above 0: the step is `step / sqrt(t)` at example t, or `step` throughout
        if `fixed`.
    fixed
        Whether the step stays the same.
    radius
        Radius of the ball that theta is projected on; None for no projection.

    Examples
    --------
    >>> from mixable.datasets import load_vehicle
    >>> from mixable.losses import log_loss
    >>> X, y, _ = load_vehicle()
    >>> X = (X - X.mean(axis=0)) / X.std(axis=0)
    >>> round(float(log_loss(OGD(18, 4, step=0.3).run(X, y), y).mean()), 2)
    0.95
    """

    step = Parameter(_validate.real, above=0)
    fixed = Parameter(lambda value, name: bool(value))
    radius = Parameter(_validate.optional(_validate.scale))

    def __init__(
        self,
        n_features: int,
        n_classes: int,
        *,
        step: float = 1.0,
        fixed: bool = False,
        radius: float | None = None,
    ) -> None:
        self._keep(locals())
        d, K = self.n_features, self.n_classes
        _validate.memory(16.0 * K * d, f"OGD with {d} features and {K} classes")
        self._core = _core.OGD(d, K, self.step, self.fixed, self.radius or 0.0)

    def _saved_posteriors(
        self, parameters: dict[str, Any], state: dict[str, Any]
    ) -> dict[str, str]:
        return {"": "none"}

    @classmethod
    def from_theory(cls, n_features: int, n_classes: int, *, radius: float, bound: float) -> OGD:
        """Return the paper's forecaster, on the ball of radius B: step B / (sqrt(2) R sqrt(t)).

        Its bound is `bounds.ogd`.

        >>> round(OGD.from_theory(18, 4, radius=5.0, bound=2.0).step, 3)  # 5 / (2 sqrt(2))
        1.768
        """
        radius, bound = _validate.scale(radius, "radius"), _validate.scale(bound, "bound")
        return cls(n_features, n_classes, step=radius / (math.sqrt(2) * bound), radius=radius)
