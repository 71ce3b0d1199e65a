"""Huber's loss, which the paper leaves open: what holds of it, and what does not."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mixable import _validate
from mixable._types import Array
from mixable.paper.losses.protocol import Constants, check_kind


@dataclass(frozen=True)
class Huber:
    """Huber's loss of r = z - y: ``r^2/2`` up to delta, ``delta |r| - delta^2/2`` beyond.

    ``|y| <= target_bound``. Predictions stay within `target_bound` too, and a target beyond it is
    refused.

    The paper asks whether GAF can serve it. Plainly: Theorem 1 does not apply.

    - (A1) holds for delta >= Y: the worst pair of outcomes -Y, Y gives alpha = 1/(2 Y (2 Y -
      delta)), and 1/Y^2 from delta = 1.5 Y on (checked numerically for outcomes in between). For
      delta < Y the loss is linear for both at once, and not mixable.
    - (A2) fails for every zeta: where theta_2 sits on a linear piece the Hessian is 0, but the loss
      still curves away later.
    - (A3) holds with beta = 1 if delta >= B R + Y, when no comparator reaches the linear pieces.
      Otherwise it fails for every beta > 0: just inside |r| = delta the curvature is 1 and the loss
      beyond is its own tangent.
    - (A4) holds with gamma = R^2.

    `GenericGAF(Huber(...))` runs all the same: an example whose residual is on a linear piece adds
    no curvature. That is practice.

    >>> h = Huber(delta=1.0)
    >>> h.value(np.array([3.0]), np.array([0.5])), h.value(np.array([1.0]), np.array([0.5]))
    (2.0, 0.125)
    """

    delta: float = 1.0
    target_bound: float = 1.0

    def __post_init__(self) -> None:
        _validate.real(self.delta, "delta", above=0)
        _validate.real(self.target_bound, "target_bound", above=0)

    @property
    def n_outputs(self) -> int:
        """Always 1."""
        return 1

    def outcome(self, y: Any) -> Array:
        """Return y as an array (1,); ValueError beyond `target_bound`."""
        target = _validate.row(np.atleast_1d(np.asarray(y)), 1, "y")
        if abs(target[0]) > self.target_bound:
            beyond = f"beyond target_bound = {self.target_bound:g} of Huber"
            raise ValueError(f"y is {target[0]:g}, {beyond}; make that larger")
        return target

    def draw_outcome(self, rng: np.random.Generator) -> Array:
        """Return an outcome, often an extreme one."""
        return np.array([rng.choice([-1.0, 1.0, rng.uniform(-1, 1)]) * self.target_bound])

    def value(self, z: Array, y: Array) -> float:
        """Huber's loss of z - y."""
        r = abs(float(z[0] - y[0]))
        return r * r / 2 if r <= self.delta else self.delta * (r - self.delta / 2)

    def gradient(self, z: Array, y: Array) -> Array:
        """``z - y``, cut at +-delta."""
        return np.clip(z - y, -self.delta, self.delta)

    def hessian(self, z: Array, y: Array) -> Array:
        """1 within delta, 0 beyond."""
        return np.array([[1.0 if abs(float(z[0] - y[0])) <= self.delta else 0.0]])

    def constants(
        self, radius: float, bound: float, n_features: int = 1, kind: str = "paper"
    ) -> Constants:
        """alpha as above, beta = 1, gamma = R^2; zeta is infinite, since none is large enough."""
        check_kind(kind)
        Y = self.target_bound
        if self.delta < Y:
            raise ValueError(
                f"Huber's loss is not mixable for delta < target_bound, here {self.delta} < {Y}"
            )
        alpha = 1 / Y**2 if self.delta >= 1.5 * Y else 1 / (2 * Y * (2 * Y - self.delta))
        return Constants(alpha=alpha, beta=1.0, gamma=bound * bound, zeta=math.inf)

    def substitute(self, mean: Array, covariance: Array, alpha: float, step: int = 0) -> Array:
        """The prediction in [-Y, Y] that meets Eq. (4) equally well for both extreme outcomes."""
        Y = self.target_bound
        if math.isinf(alpha):
            return np.clip(mean, -Y, Y)
        t = np.linspace(-8.0, 8.0, 801)
        z = float(mean[0]) + math.sqrt(max(float(covariance[0, 0]), 0.0)) * t
        extremes = []
        for y in (Y, -Y):
            losses = [self.value(np.array([value]), np.array([y])) for value in z]
            exponent = -0.5 * t * t - alpha * np.array(losses)
            top = exponent.max()
            mean_weight = np.exp(exponent - top).sum() / np.exp(-0.5 * t * t).sum()
            extremes.append(-(top + math.log(mean_weight)) / alpha)
        low, high = -Y, Y
        for _ in range(60):  # loss(yhat, Y) - loss(yhat, -Y) falls in yhat
            middle = np.array([(low + high) / 2])
            gap = self.value(middle, np.array([Y])) - self.value(middle, np.array([-Y]))
            if gap > extremes[0] - extremes[1]:
                low = float(middle[0])
            else:
                high = float(middle[0])
        return np.array([(low + high) / 2])

    def score(self, prediction: Array, y: Array) -> float:
        """Huber's loss of prediction - y."""
        return self.value(prediction, y)
