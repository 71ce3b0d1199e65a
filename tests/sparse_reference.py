"""Forecasters of sparse rows in plain NumPy: what the compiled core is tested against."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mixable._types import Array
from mixable.paper.integrals import softmax
from mixable.paper.structured import leader


class SparseReference:
    """Rows are dictionaries; key None is the intercept. Inputs are in units of the first row."""

    MEMORY, PRIOR = 5000, 30.0  # of the offsets

    def __init__(
        self, K: int, *, grid: Sequence[tuple[float, float]], alphas: Sequence[float], share: float
    ) -> None:
        self.K, self.lam, self.b = K, *np.array(grid).T  # a column for each setting
        self.hedges = np.array([0.0 if math.isinf(a) else math.pi / 8 / a for a in alphas])
        self.acc: dict[Any, float] = defaultdict(float)
        self.W: dict[Any, Array] = defaultdict(lambda: np.zeros((len(grid), K)))
        n = len(grid) * len(alphas)
        self.scale, self.share, self.judge = 0.0, share, 0.5
        self.trusts = np.full((2, n), 1 / n)  # with share, without
        self.offsets, self.spread = np.zeros(K), np.zeros(K)

    def read(self, x: Mapping[Any, float]) -> tuple[Array, Array, dict[Any, Array]]:
        """m (S, K), g (S,) and x_j / a_j (S,) of each feature."""
        by = 1 / math.sqrt(self.scale) if self.scale else 0.0
        z = {None: 1.0, **{key: by * value for key, value in x.items() if by * value}}
        a = {j: self.lam + self.b * self.acc[j] ** 0.75 for j in z}
        rates = {j: z[j] / a[j] for j in z}
        m = np.sum([z[j] * self.W[j] for j in z], axis=0)
        return m, np.sum([z[j] * rates[j] for j in z], axis=0), rates

    def experts(self, x: Mapping[Any, float]) -> Array:
        """The forecasts (N, K): all settings at the first width, then at the next."""
        m, g, _ = self.read(x)
        wide, base = (
            np.sqrt(1 + self.hedges[:, None] * g)[..., None],
            self.W[None],
        )  # (widths, S, 1)
        hedged = base + (m - base) / wide + self.offsets
        return np.array([softmax(row) for row in hedged.reshape(-1, self.K)])

    def predict(self, x: Mapping[Any, float]) -> Array:
        """Probabilities (K,)."""
        return np.asarray(np.array([self.judge, 1 - self.judge]) @ self.trusts @ self.experts(x))

    def learn(self, x: Mapping[Any, float], y: int, weight: float = 1.0) -> None:
        """One example of weight > 0."""
        values = np.array([value for value in x.values() if value])
        self.scale = self.scale or float((values**2).mean() if len(values) else 0)
        likelihood, p = self.experts(x)[:, y] ** weight, self.predict(x)
        miss = p - np.eye(self.K)[y]
        news = weight * (miss**2).sum() / (self.K - 1)
        for j, rate in self.read(x)[2].items():
            z = rate[0] * (self.lam[0] + self.b[0] * self.acc[j] ** 0.75)
            self.acc[j] += z**2 * news
        m, g, rates = self.read(x)
        u = [leader(m[s], np.full(self.K, g[s]), y, weight) for s in range(len(g))]
        v = np.array([softmax(each) for each in u]) - np.eye(self.K)[y]
        for j, rate in rates.items():
            self.W[j] -= 0.5 * weight * v * rate[:, None]
        masses = self.trusts @ likelihood
        odds = np.array([self.judge, 1 - self.judge]) * masses
        self.judge = float(np.clip(odds[0] / odds.sum(), 1e-10, 1 - 1e-10))
        self.trusts = self.trusts * likelihood / masses[:, None]
        self.trusts[0] = (1 - self.share) * self.trusts[0] + self.share / len(likelihood)
        self.spread = (1 - 1 / self.MEMORY) * self.spread + weight * p * (1 - p)
        step = (self.K - 1) / self.K * weight * miss / (self.PRIOR + self.spread)
        self.offsets = np.clip(self.offsets - np.clip(step, -0.5, 0.5), -3, 3)


class SparseRidgeReference:
    """Regressions on sparse rows, dictionaries of values of mean square 1; see core/sparse_ridge.

    Targets count as they are: there is no unit.
    """

    EARLY, MEMORY, LARGEST_MISS = 16, 64, 3.0

    def __init__(self, grid: Sequence[tuple[float, float]]) -> None:
        self.lam, self.b = np.array(grid).T
        self.acc: dict[Any, float] = defaultdict(float)
        self.w: dict[Any, Array] = defaultdict(lambda: np.zeros(len(grid)))
        self.count = self.mean = self.square = self.miss = 0.0
        self.targets = self.misses = 0

    @property
    def deviation(self) -> float:
        """Of the targets."""
        return math.sqrt(self.square / self.count) if self.count else 0.0

    def settings(self, x: Mapping[Any, float]) -> Array:
        """What each setting says."""
        z = {None: 1.0, **x}
        return np.asarray(np.sum([value * self.w[key] for key, value in z.items()], axis=0))

    def predict(self, x: Mapping[Any, float]) -> Array:
        """The mean of what they say; that, centred, and how far each is from it, in deviations."""
        m, by = self.settings(x), self.deviation
        middle = np.clip(m.mean(), self.mean - 100 * by, self.mean + 100 * by)
        rest = np.array([middle - self.mean, *(m - middle)])
        return np.array([middle, *(np.clip(rest / by, -10, 10) if by else 0 * rest)])

    def bounded(self, miss: Any) -> Any:
        """What misses count as."""
        most = self.LARGEST_MISS * self.miss if self.misses >= self.EARLY else math.inf
        return np.clip(miss, -most, most)

    def learn(self, x: Mapping[Any, float], y: float, weight: float = 1.0) -> None:
        """One example of weight > 0."""
        m, z = self.settings(x), {None: 1.0, **x}
        for key, value in z.items():
            self.acc[key] += weight * value**2
        rate = {key: value / (self.lam + self.b * self.acc[key]) for key, value in z.items()}
        g = np.sum([value * rate[key] for key, value in z.items()], axis=0)
        step = self.bounded(y - m) * weight / (1 + weight * g)
        for key in z:
            self.w[key] = self.w[key] + rate[key] * step
        size = abs(self.bounded(y - m.mean()))
        self.misses = min(self.misses + 1, self.MEMORY)
        self.miss += (size - self.miss) / self.misses
        far = 10 * self.deviation
        if self.targets >= self.EARLY and far:
            y = float(np.clip(y, self.mean - far, self.mean + far))
        before = y - self.mean
        self.count, self.targets = self.count + weight, self.targets + 1
        self.mean += before * weight / self.count
        self.square += weight * before * (y - self.mean)
