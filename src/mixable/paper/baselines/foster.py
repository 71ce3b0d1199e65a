"""Exponential weights on the true losses over a ball of weights, sampled by Markov chains.

Foster, D. J., Kale, S., Luo, H., Mohri, M. and Sridharan, K. (2018). Logistic regression: The
importance of being improper. COLT.
"""

from __future__ import annotations

from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from mixable import _validate
from mixable._types import Array
from mixable.experts.base import Parameter
from mixable.paper.baselines.ftrl import KeepingForecaster
from mixable.paper.integrals import helmert, softmax

# Free weights (K - 1) d above which the chains are not to be trusted, and too slow anyway.
MOST_WEIGHTS = 20


class Foster(KeepingForecaster):
    """The statistical anchor: regret O(d K log(B n)), the best known, at a forbidding cost.

    Predicts E softmax(W x) under the density proportional to exp(-cumulative loss) on the ball |W|
    <= radius, smoothed by mu. Each of `m` particles is a chain that takes `moves` hit-and-run steps
    with slice sampling after each example; example t costs about 10 m moves t K exponentials. The
    theory asks for far longer chains (its total cost is of order n^37); this is honest Monte Carlo,
    not a proof.

    Parameters
    ----------
    n_features, n_classes
        Numbers of features d and of classes K >= 2. More than 20 free weights (K - 1) d are
        refused unless `force`.
    radius
        Radius B of the ball.
    mu
        The share of the uniform distribution mixed into each prediction.
    m
        Number of particles.
    moves
        Steps that each particle takes per example; None is (K - 1) d + 4.
    seed
        The chains are a function of the seed and the examples. None draws a secret one, as in GAF.
    force
        Go on whatever the size.

    Examples
    --------
    >>> f = Foster(n_features=1, n_classes=2, radius=3.0)
    >>> for _ in range(20):
    ...     f.learn([1.0], 1)
    >>> round(float(f.predict([1.0])[1]), 1)
    1.0
    """

    radius = Parameter(_validate.scale)
    mu = Parameter(_validate.real, least=0, most=0.5)
    m = Parameter(_validate.count, most=10**6)
    moves = Parameter(_validate.optional(_validate.count), most=10**5)
    seed = Parameter(_validate.seed)
    force = Parameter(lambda value, name: bool(value))

    def __init__(
        self,
        n_features: int,
        n_classes: int,
        *,
        radius: float = 1.0,
        mu: float = 1e-6,
        m: int = 100,
        moves: int | None = None,
        seed: int | None = 0,
        force: bool = False,
    ) -> None:
        self._keep(locals())
        k, d = self.n_classes - 1, self.n_features
        if k * d > MOST_WEIGHTS and not self.force:
            raise ValueError(
                f"Foster with {k * d} free weights would mix too slowly to be trusted (at most "
                f"{MOST_WEIGHTS}); pass force=True to go on"
            )
        self._keep_nothing()
        # The prior, exactly: uniform on the ball of R^(K d), of which the k d coordinates that
        # matter are kept.
        rng = np.random.default_rng([self.seed, 0])
        z = rng.normal(size=(self.m, (k + 1) * d))
        norms = self.radius * rng.random(self.m)[:, None] ** (1 / ((k + 1) * d))
        ball = norms * z / np.linalg.norm(z, axis=1, keepdims=True)
        self._V: Array = ball[:, : k * d].reshape(self.m, k, d)

    @classmethod
    def from_theory(
        cls,
        n_features: int,
        n_classes: int,
        *,
        radius: float,
        horizon: int,
        m: int = 100,
        seed: int | None = 0,
        force: bool = False,
    ) -> Foster:
        """Return the paper's forecaster: uniform prior on the ball of radius B, mu = 1/n.

        Its bound is `bounds.foster`.
        """
        mu = 1 / max(_validate.count(horizon, "horizon"), 2)
        return cls(n_features, n_classes, radius=radius, mu=mu, m=m, seed=seed, force=force)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if not ((self._V**2).sum(axis=(1, 2)) <= 1.001 * self.radius**2).all():
            raise ValueError("the saved particles are outside the ball")

    @property
    def coef(self) -> Array:
        """Mean weights (n_classes, n_features) of the particles; they sum to zero over classes."""
        return np.asarray(helmert(self.n_classes) @ self._V.mean(axis=0))

    def learn(self, x: ArrayLike, y: SupportsIndex, weight: float = 1.0) -> None:
        """Learn one example: input x (n_features,), label y in 0..n_classes-1, and a weight."""
        examples = self._with(*self._checked(x, y, weight))
        before = self._X, self._y, self._w
        self._X, self._y, self._w = examples
        try:
            rng = np.random.default_rng([self.seed, self.steps])
            V = self._V.reshape(self.m, -1)
            for _ in range(self.moves or V.shape[1] + 4):
                V = self._move(V, rng)
        except BaseException:  # also Ctrl-C: nothing is half learned
            self._X, self._y, self._w = before
            raise
        self._V = V.reshape(self._V.shape)

    def _largest_square(self) -> float:
        return min(1e100, 1e150 / self.radius) ** 2

    def _forecast(self, x: Array) -> Array:
        p = softmax(helmert(self.n_classes) @ (self._V @ x).T).mean(axis=1)
        smoothed = (1 - self.mu) * p + self.mu / self.n_classes
        return np.asarray(np.maximum(smoothed, np.finfo(float).tiny))

    def _logits(self, V: Array) -> Array:
        """Logits (m, n, K) of all examples under each particle (m, k d)."""
        m, k, d = self._V.shape
        return np.asarray(self._X @ V.reshape(m, k, d).swapaxes(1, 2) @ helmert(k + 1).T)

    def _move(self, V: Array, rng: np.random.Generator) -> Array:
        """One hit-and-run step of every particle.

        A random line, a slice of the density on its chord, points drawn until one is in it.
        """
        m, D = V.shape
        direction = rng.normal(size=(m, D))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        start, slope = self._logits(V), self._logits(direction)
        rows = np.arange(len(self._y))

        def log_density(s: Array) -> Array:
            z = start + s[:, None, None] * slope
            top = z.max(axis=2)
            losses = np.log(np.exp(z - top[:, :, None]).sum(axis=2)) + top - z[:, rows, self._y]
            inside = self.radius**2 - ((V + s[:, None] * direction) ** 2).sum(axis=1)
            # Uniform on the ball in K d dimensions; the d coordinates that do not matter leave this
            # marginal.
            prior = 0.5 * self.n_features * np.log(np.maximum(inside, 1e-300) / self.radius**2)
            return np.asarray(np.where(inside > 0, prior - losses @ self._w, -np.inf))

        b = (V * direction).sum(axis=1)
        half = np.sqrt(np.maximum(b * b + self.radius**2 - (V * V).sum(axis=1), 0.0))
        low, high = -b - half, -b + half
        height = log_density(np.zeros(m)) + np.log(rng.random(m))
        s = np.zeros(m)
        waiting = np.ones(m, dtype=bool)
        for _ in range(60):
            trial = low + (high - low) * rng.random(m)
            accepted = waiting & (log_density(trial) >= height)
            s[accepted] = trial[accepted]
            waiting &= ~accepted
            if not waiting.any():
                break
            low = np.where(waiting & (trial < 0), trial, low)
            high = np.where(waiting & (trial >= 0), trial, high)
        return np.asarray(V + s[:, None] * direction)
