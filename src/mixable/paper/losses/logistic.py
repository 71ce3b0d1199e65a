"""Multinomial logistic loss, Section 4.2 of the paper."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mixable import _validate
from mixable._types import Array
from mixable.paper import integrals
from mixable.paper.losses.protocol import Constants, check_kind


@dataclass(frozen=True)
class Logistic:
    """Multinomial logistic loss ``logsumexp(z) - z_y``, y in 0..K-1 (Section 4.2).

    Predictions are probabilities (K,). `integrator` and `seed` are as in `GAF`.

    >>> round(1 / Logistic(3).constants(radius=5.0, bound=1.0).beta, 3)  # ln(3) / 2 + 5 + 1
    6.549
    """

    n_classes: int = 2
    integrator: integrals.Integrator | str | None = None
    seed: int | None = 0

    def __post_init__(self) -> None:
        _validate.count(self.n_classes, "n_classes", least=2)
        integrals.choose(self.integrator, self.n_classes)
        object.__setattr__(self, "seed", _validate.seed(self.seed, "seed"))

    @property
    def n_outputs(self) -> int:
        """K."""
        return self.n_classes

    def outcome(self, y: Any) -> int:
        """Return the label."""
        return _validate.label(y, self.n_classes)

    def draw_outcome(self, rng: np.random.Generator) -> int:
        """Return a label."""
        return int(rng.integers(self.n_classes))

    def score(self, prediction: Array, y: int) -> float:
        """``-log p_y``."""
        return -math.log(float(prediction[y]))

    def value(self, z: Array, y: int) -> float:
        """``logsumexp(z) - z_y``."""
        shifted = z - z[y]
        top = max(float(shifted.max()), 0.0)
        return top + math.log(float(np.exp(shifted - top).sum()))

    def gradient(self, z: Array, y: int) -> Array:
        """``softmax(z) - e_y``."""
        p = integrals.softmax(z)
        p[y] = 0.0
        p[y] = -p.sum()
        return p

    def hessian(self, z: Array, y: int) -> Array:
        """``diag(p) - p p^T``, its diagonal without cancellation where a p is nearly 1."""
        p = integrals.softmax(z)
        H = -np.outer(p, p)
        np.fill_diagonal(H, 0.0)
        np.fill_diagonal(H, -H.sum(axis=1))
        return H

    def constants(
        self, radius: float, bound: float, n_features: int = 1, kind: str = "paper"
    ) -> Constants:
        """The paper's constants, or tighter ones.

        "paper": alpha = 1, beta = 1/(ln(K)/2 + B R + 1) (Lemma 4), gamma = R^2, zeta = 4 R^2 (Lemma
        6). "tight": the shift invariance of softmax leaves a range of sqrt(2) B R in Lemma 4, so
        beta = 1/(ln(K)/2 + B R/sqrt(2) + 1), and 1/(1 + B R/sqrt(2)) for K = 2; gamma = R^2/2, the
        largest eigenvalue of diag(p) - p p^T; zeta = 0.0708 c^2 = 0.142 R^2 with the coefficient of
        self-concordance c = sqrt(2) R kept inside psi in Lemma 6 (its own c = 2 R gives 0.283 R^2).
        """
        check_kind(kind)
        if kind == "paper":
            beta = 1 / (math.log(self.n_classes) / 2 + radius * bound + 1)
            return Constants(alpha=1.0, beta=beta, gamma=bound * bound, zeta=4 * bound * bound)
        entropy = math.log(self.n_classes) / 2 if self.n_classes > 2 else 0.0
        beta = 1 / (entropy + radius * bound / math.sqrt(2) + 1)
        return Constants(alpha=1.0, beta=beta, gamma=bound * bound / 2, zeta=0.142 * bound * bound)

    def substitute(self, mean: Array, covariance: Array, alpha: float, step: int = 0) -> Array:
        """``E softmax(z)``, Eq. (6): at alpha = 1 it meets Eq. (4) with equality.

        The mean along (1, ..., 1) does not matter and is left out.
        """
        if math.isinf(alpha):
            return integrals.softmax(mean)
        if step == 0 and not mean.any():  # nothing is known: all classes are alike
            return np.full(self.n_classes, 1 / self.n_classes)
        Q = integrals.helmert(self.n_classes)
        assert self.seed is not None  # it was drawn
        rungs = integrals.ladder(self.integrator, self.n_classes, self.seed)
        return integrals.expectation(Q.T @ mean, Q.T @ covariance @ Q, rungs, step)


def log_loss(probabilities: ArrayLike, y: ArrayLike) -> Array:
    """``-log p[t, y_t]`` for each row of probabilities (n, K): the loss of a forecast, in nats.

    >>> log_loss([[0.5, 0.5], [0.25, 0.75]], [0, 1]).round(4)
    array([0.6931, 0.2877])
    """
    p = _validate.as_floats(probabilities, "probabilities")
    if p.ndim != 2:
        raise ValueError(f"probabilities must have shape (n, K), got {p.shape}")
    labels = _validate.labels(y, p.shape[1], len(p))
    with np.errstate(divide="ignore"):  # a label given no chance costs infinity
        return np.asarray(-np.log(p[np.arange(len(p)), labels]))
