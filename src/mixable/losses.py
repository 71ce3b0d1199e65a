"""Losses that the Gaussian Aggregating Forecaster can be run with: Sections 2 and 4 of the paper.

A loss is a function of the linear predictions ``z = Theta x`` (n_outputs,) and of the outcome y. It brings what the algorithm needs: value,
gradient and Hessian in z, the constants of assumptions (A1)-(A4), and the substitution rule of Eq. (4) that turns a Gaussian over z into a
prediction.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mixable import _validate, integrals

Array = NDArray[np.float64]


class Constants(NamedTuple):
    """The constants of (A1) mixability, (A3) quadratic lower bound, (A4) smoothness and (A2) self-concordance."""

    alpha: float
    beta: float
    gamma: float
    zeta: float


@runtime_checkable
class Loss(Protocol):
    """What `GenericGAF` asks of a loss; z is (n_outputs,)."""

    @property
    def n_outputs(self) -> int:
        """Number of linear predictions."""

    def outcome(self, y: Any) -> Any:
        """Return y, checked and in the form the other methods take; raise ValueError or TypeError."""

    def value(self, z: Array, y: Any) -> float:
        """Return the loss of the linear predictions z."""

    def gradient(self, z: Array, y: Any) -> Array:
        """Return its gradient in z (n_outputs,)."""

    def hessian(self, z: Array, y: Any) -> Array:
        """Return its Hessian in z (n_outputs, n_outputs)."""

    def constants(self, radius: float, bound: float, n_features: int = 1, kind: str = "paper") -> Constants:
        """Return the constants for comparators of norm at most `radius` and inputs of norm at most `bound`."""

    def substitute(self, mean: Array, covariance: Array, alpha: float, step: int = 0) -> Array:
        """Return a prediction that satisfies Eq. (4) for z ~ N(mean, covariance); `step` seeds what is random in it."""


def check_kind(kind: str) -> None:
    """Raise ValueError unless `kind` names a set of constants."""
    if kind not in ("paper", "tight"):
        raise ValueError(f'constants must be "paper" or "tight", got {kind!r}')


@dataclass(frozen=True)
class Squared:
    """Squared loss ``|z - y|^2`` for outcomes of norm at most `target_bound`, scalar or vector-valued (Section 4.1).

    With it GAF is the Vovk-Azoury-Warmuth forecaster. The constants follow the paper, with gamma = 2 R^2 (it prints R^2; the
    Hessian is 2 x x^T).

    >>> Squared().substitute(np.array([3.0]), np.array([[0.25]]), alpha=0.5)     # G = 2 alpha cov = 0.25: 3 / (1 + 0.25)
    array([2.4])
    """

    n_outputs: int = 1
    target_bound: float = 1.0

    def outcome(self, y: Any) -> Array:
        """Return y as an array (n_outputs,)."""
        return _validate.row(np.atleast_1d(np.asarray(y)), self.n_outputs, "y")

    def value(self, z: Array, y: Array) -> float:
        """``|z - y|^2``."""
        return float(np.sum((z - y) ** 2))

    def gradient(self, z: Array, y: Array) -> Array:
        """``2 (z - y)``."""
        return np.asarray(2.0 * (z - y))

    def hessian(self, z: Array, y: Array) -> Array:
        """``2 I``."""
        return 2.0 * np.eye(self.n_outputs)

    def constants(self, radius: float, bound: float, n_features: int = 1, kind: str = "paper") -> Constants:
        """alpha = 1/(2 Y^2), beta = 1, gamma = 2 R^2, and the paper's choice zeta = 1/(8 Y^2 d B^2) among the valid zeta > 0."""
        check_kind(kind)
        Y2 = self.target_bound**2
        return Constants(1 / (2 * Y2), 1.0, 2 * bound**2, 1 / (8 * Y2 * n_features * self.n_outputs * radius**2))

    def substitute(self, mean: Array, covariance: Array, alpha: float, step: int = 0) -> Array:
        """``(I + 2 alpha cov)^-1 mean``: shrunk to where the best and the worst outcome are equally far from what mixability allows."""
        if math.isinf(alpha):
            return mean
        return np.asarray(np.linalg.solve(np.eye(self.n_outputs) + 2 * alpha * covariance, mean))


@dataclass(frozen=True)
class Logistic:
    """Multinomial logistic loss ``logsumexp(z) - z_y``, y in 0..K-1 (Section 4.2); predictions are probabilities (K,).

    >>> Logistic(3).constants(radius=5.0, bound=1.0).beta == 1 / (math.log(3) / 2 + 5.0 + 1)
    True
    """

    n_classes: int = 2
    integrator: integrals.Integrator | str | None = None
    seed: int = 0

    @property
    def n_outputs(self) -> int:
        """K."""
        return self.n_classes

    def outcome(self, y: Any) -> int:
        """Return the label."""
        return _validate.label(y, self.n_classes)

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
        """``diag(p) - p p^T``."""
        p = integrals.softmax(z)
        return np.asarray(np.diag(p) - np.outer(p, p))

    def constants(self, radius: float, bound: float, n_features: int = 1, kind: str = "paper") -> Constants:
        """The paper's constants, or tighter ones.

        "paper": alpha = 1, beta = 1/(ln(K)/2 + B R + 1) (Lemma 4), gamma = R^2, zeta = 4 R^2 (Lemma 6).
        "tight": the shift invariance of softmax leaves a range of sqrt(2) B R in Lemma 4, so beta = 1/(ln(K)/2 + B R/sqrt(2) + 1), and
        1/(1 + B R/sqrt(2)) for K = 2; gamma = R^2/2, the largest eigenvalue of diag(p) - p p^T; zeta = 0.142 R^2, keeping the
        coefficient of self-concordance inside psi in Lemma 6.
        """
        check_kind(kind)
        if kind == "paper":
            return Constants(1.0, 1 / (math.log(self.n_classes) / 2 + radius * bound + 1), bound**2, 4 * bound**2)
        entropy = math.log(self.n_classes) / 2 if self.n_classes > 2 else 0.0
        return Constants(1.0, 1 / (entropy + radius * bound / math.sqrt(2) + 1), bound**2 / 2, 0.142 * bound**2)

    def substitute(self, mean: Array, covariance: Array, alpha: float, step: int = 0) -> Array:
        """``E softmax(z)``, Eq. (5): at alpha = 1 it meets Eq. (4) with equality. The mean along (1, ..., 1) does not matter
        and is left out.
        """
        if math.isinf(alpha):
            return integrals.softmax(mean)
        Q = integrals.helmert(self.n_classes)
        ladder = integrals.choose(self.integrator, self.n_classes).rungs(self.n_classes - 1, self.seed)
        return integrals.expectation(Q.T @ mean, Q.T @ covariance @ Q, ladder, step)


def log_loss(probabilities: ArrayLike, y: ArrayLike) -> Array:
    """``-log p[t, y_t]`` for each row of probabilities (n, K): the loss of a forecast, in nats.

    >>> log_loss([[0.5, 0.5], [0.25, 0.75]], [0, 1]).round(4)
    array([0.6931, 0.2877])
    """
    p = np.asarray(probabilities, dtype=np.float64)
    return np.asarray(-np.log(p[np.arange(len(p)), np.asarray(y)]))
