"""Squared loss, Section 4.1 of the paper."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mixable import _validate
from mixable._types import Array
from mixable.paper.losses.protocol import Constants, check_kind


@dataclass(frozen=True)
class Squared:
    """Squared loss ``|z - y|^2`` for outcomes of norm at most `target_bound` (Section 4.1).

    Outcomes are scalars or vectors. With it GAF is the Vovk-Azoury-Warmuth forecaster. The
    constants follow the paper, with gamma = 2 R^2 (it prints R^2; the Hessian is 2 x x^T).

    >>> Squared().substitute(np.array([3.0]), np.array([[0.25]]), alpha=0.5)  # 3 / (1 + 0.25)
    array([2.4])
    """

    n_outputs: int = 1
    target_bound: float = 1.0

    def __post_init__(self) -> None:
        _validate.count(self.n_outputs, "n_outputs")
        _validate.real(self.target_bound, "target_bound", above=0)

    def outcome(self, y: Any) -> Array:
        """Return y as an array (n_outputs,)."""
        return _validate.row(np.atleast_1d(np.asarray(y)), self.n_outputs, "y")

    def draw_outcome(self, rng: np.random.Generator) -> Array:
        """Return an outcome on the sphere or inside."""
        y = rng.normal(size=self.n_outputs)
        return np.asarray(
            y * self.target_bound / np.linalg.norm(y) * rng.choice([1.0, rng.random()])
        )

    def value(self, z: Array, y: Array) -> float:
        """``|z - y|^2``."""
        return float(np.sum((z - y) ** 2))

    def score(self, prediction: Array, y: Array) -> float:
        """``|prediction - y|^2``."""
        return self.value(prediction, y)

    def gradient(self, z: Array, y: Array) -> Array:
        """``2 (z - y)``."""
        return np.asarray(2.0 * (z - y))

    def hessian(self, z: Array, y: Array) -> Array:
        """``2 I``."""
        return 2.0 * np.eye(self.n_outputs)

    def constants(
        self, radius: float, bound: float, n_features: int = 1, kind: str = "paper"
    ) -> Constants:
        """alpha = 1/(2 Y^2), beta = 1, gamma = 2 R^2; of the valid zeta > 0, 1/(8 Y^2 d B^2)."""
        check_kind(kind)
        Y2 = self.target_bound * self.target_bound
        zeta = 1 / (8 * Y2 * n_features * self.n_outputs * radius**2)
        return Constants(alpha=1 / (2 * Y2), beta=1.0, gamma=2 * bound * bound, zeta=zeta)

    def substitute(self, mean: Array, covariance: Array, alpha: float, step: int = 0) -> Array:
        """``(I + 2 alpha cov)^-1 mean``, which meets Eq. (4).

        There the best and the worst outcome are equally far from what mixability allows.
        """
        if math.isinf(alpha):
            return mean
        return np.asarray(np.linalg.solve(np.eye(self.n_outputs) + 2 * alpha * covariance, mean))
