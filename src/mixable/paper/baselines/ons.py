"""Online Newton Step for multiclass logistic regression.

Hazan, E., Agarwal, A. and Kale, S. (2007). Logarithmic regret algorithms for online convex
optimization. Machine Learning 69.
"""

from __future__ import annotations

import math
from typing import SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from mixable import _core, _validate
from mixable._types import Array
from mixable.experts.base import MulticlassForecaster, Parameter
from mixable.experts.compiled import PosteriorForecaster
from mixable.experts.structure import refuse_if_too_large


class ONS(PosteriorForecaster):
    """Second-order descent: A += g g^T, theta -= A^-1 g / beta; predicts softmax(theta x).

    g is the gradient over all classes.

    Parameters
    ----------
    n_features, n_classes
        Numbers of features d and of classes K >= 2.
    lam
        Strength of the regularisation, above 0: A_0 = lam I (epsilon in the paper). Larger ones
        make the first steps smaller.
    beta
        Inverse step size, above 0 (gamma in some editions): larger ones take smaller steps.
    radius
        If given, theta is projected on the ball of this radius in the norm of A after each step.
        The step then costs an eigendecomposition, O((K d)^3), whenever theta has left the ball;
        without a radius, O((K d)^2).

    Examples
    --------
    >>> from mixable.datasets import load_vehicle
    >>> from mixable.losses import log_loss
    >>> X, y, _ = load_vehicle()
    >>> X = (X - X.mean(axis=0)) / X.std(axis=0)
    >>> round(float(log_loss(ONS(18, 4, lam=1.0, beta=0.3).run(X, y), y).mean()), 2)
    0.94
    """

    beta = Parameter(_validate.scale)
    radius = Parameter(_validate.optional(_validate.scale))

    def __init__(
        self,
        n_features: int,
        n_classes: int,
        *,
        lam: float = 1.0,
        beta: float = 1.0,
        radius: float | None = None,
    ) -> None:
        self._keep(locals())
        refuse_if_too_large(self, self.n_classes, [("full", 0.0)], rank=1)
        self._core = _core.ONS(self.n_features, self.n_classes, self.lam, self.beta)

    @property
    def structure(self) -> str:  # type: ignore[override]  # a constant here, a parameter elsewhere
        """Always "full"."""
        return "full"

    @classmethod
    def from_theory(cls, n_features: int, n_classes: int, *, radius: float, bound: float) -> ONS:
        """Return the paper's forecaster: beta = min(1/(4 G D), a)/2 and lam = 1/(beta D)^2.

        G = sqrt(2) R is the norm of gradients, D = 2 B the diameter, and the logistic loss is
        exp-concave with a = exp(-sqrt(2) B R)/(K - 1) on the ball; see `bounds.ons`.
        """
        radius, bound = _validate.scale(radius, "radius"), _validate.scale(bound, "bound")
        K = _validate.count(n_classes, "n_classes", least=2)
        diameter = 2 * radius
        concavity = math.exp(-math.sqrt(2) * radius * bound) / (K - 1)
        beta = min(1 / (4 * math.sqrt(2) * bound * diameter), concavity) / 2
        if beta * min(diameter, 1.0) < 1 / _validate.LARGEST_SCALE:
            raise ValueError(
                f"radius * bound = {radius * bound:g} is too large for ONS: its step size would be "
                f"exp(-sqrt(2) * {radius * bound:g})"
            )
        return cls(n_features, K, lam=1 / (beta * diameter) ** 2, beta=beta, radius=radius)

    _core: _core.ONS

    def learn(self, x: ArrayLike, y: SupportsIndex, weight: float = 1.0) -> None:
        """Learn one example: input x (n_features,), label y in 0..n_classes-1, and a weight."""
        self._core.learn(x, y, weight)
        if self.radius is not None:
            V = self._core.mean()
            if norm(V) > self.radius:
                inside = project(V.ravel(), self._core.precision(), self.radius)
                self._core.set_mean(inside.reshape(V.shape))

    def run(self, X: ArrayLike, y: ArrayLike, weight: ArrayLike | None = None) -> Array:
        """Probabilities (n, n_classes) of each row of X, made before its label in y is learned.

        Without a radius this is one compiled call; with one, a loop.
        """
        if self.radius is None:
            return super().run(X, y, weight)
        return MulticlassForecaster.run(self, X, y, weight)


def project(theta: Array, A: Array, radius: float) -> Array:
    """Argmin of (v - theta)^T A (v - theta) over |v| <= radius < |theta|.

    v = (A + nu I)^-1 A theta, nu the root of |v| = radius.

    >>> project(np.array([3.0, 4.0]), np.eye(2), 1.0)
    array([0.6, 0.8])
    """
    eigenvalues, vectors = np.linalg.eigh(A)
    c = (vectors.T @ theta) * eigenvalues
    nu = 0.0
    # Newton on 1/|v| - 1/radius, which is concave in nu: it climbs to the root and never passes it.
    for _ in range(200):
        v = c / (eigenvalues + nu)
        size = norm(v)
        if size <= radius * (1 + 1e-14):
            break
        nu += (size / radius - 1) / float(((v / size) ** 2 / (eigenvalues + nu)).sum())
    return np.ascontiguousarray(vectors @ v * min(1.0, radius / size))


def norm(v: Array) -> float:
    """|v|, also where its square would overflow."""
    most = float(np.abs(v).max())
    return most * float(np.linalg.norm(v / most)) if most > 0 else 0.0
