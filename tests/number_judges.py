"""The judge of experts of numbers (core/pool/number_judge.hpp) in NumPy, formula by formula."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import optimize, stats

TIE, KEEP = 50.0, 0.998
NOISE_TIE, NOISE_KEEP = 1.0, 0.995
SHARE, RATE = 1e-3, 0.005
KINDS = (stats.t(3), stats.t(8), stats.norm)
THIN = (1 / 3, 1 / 8, 0.0)
MULTIPLES = np.exp(0.25 * np.arange(7) - 0.5)
TO_SCALE = 0.4508
EARLY, UNBOUNDED, LARGEST = 5, 10, 20
NOMINAL = -np.log(1 - np.array([0.5, 0.8, 0.9, 0.95, 0.99]))


class TwoWeights:
    """Bayes' rule with and without a fixed share, weighed by the same; core/mixture/weights.hpp."""

    def __init__(self, n: int) -> None:
        self.shared, self.bayes, self.judge = np.full(n, 1 / n), np.full(n, 1 / n), 0.5

    def of(self, active: Any) -> Any:
        out = np.zeros(len(self.shared))
        for vector, weight in ((self.shared, self.judge), (self.bayes, 1 - self.judge)):
            out[active] += weight * vector[active] / vector[active].sum()
        return out

    def learn(self, active: Any, likelihood: Any) -> None:
        likelihood = likelihood / likelihood.max()
        masses = self.shared[active].sum(), self.bayes[active].sum()
        shared, bayes = self.shared[active] * likelihood, self.bayes[active] * likelihood
        odds = self.judge * shared.sum() / masses[0], (1 - self.judge) * bayes.sum() / masses[1]
        self.judge = min(max(odds[0] / sum(odds), 1e-10), 1 - 1e-10)
        self.shared[active] = masses[0] * (
            (1 - SHARE) * shared / shared.sum() + SHARE / len(active)
        )
        self.bayes[active] = masses[1] * bayes / bayes.sum()


class Ridge:
    """Vovk, Azoury and Warmuth's regression, with forgetting."""

    def __init__(self, n: int, tie: float, keep: float) -> None:
        self.A, self.b, self.tie, self.keep = np.zeros((n, n)), np.zeros(n), tie, keep

    def weights(self, x: Any, unit: float) -> Any:
        prior = self.tie * unit**2 * np.eye(len(x))
        return np.linalg.solve(self.A + np.outer(x, x) + prior, self.b)

    def learn(self, x: Any, y: float, weight: float) -> None:
        kept = self.keep**weight
        times = (1 - kept) / (1 - self.keep)
        self.A = kept * self.A + times * np.outer(x, x)
        self.b = kept * self.b + times * x * y


@dataclass
class Size:
    """The geometric mean of recent residuals."""

    log: float = 0.0
    seen: float = 0.0

    @property
    def unit(self) -> float:
        return math.exp(self.log) if self.seen else 0.0

    @property
    def scale(self) -> float:
        return math.exp(self.log + TO_SCALE)

    def learn(self, residual: float, weight: float) -> None:
        if residual == 0 and self.seen == 0:
            return
        x = math.log(abs(residual)) if residual else self.log - 4
        if self.seen >= EARLY:
            x = min(max(x, self.log - 4), self.log + 4)
        s = self.seen
        kept = min(s * (s + 1) / ((s + weight) * (s + weight + 1)), (1 - RATE) ** weight)
        self.log, self.seen = x + kept * (self.log - x), s + weight


@dataclass
class ReferenceJudge:
    """All of n experts; none of them rests."""

    n: int
    count: float = 0.0
    target: float = 0.0
    square: float = 0.0
    centre: Any = field(default_factory=lambda: np.zeros(3))

    def __post_init__(self) -> None:
        self.n += 1  # the mean of the targets so far
        self.ridge, self.noise = Ridge(self.n, TIE, KEEP), Ridge(3, NOISE_TIE, NOISE_KEEP)
        self.sizes = [Size() for _ in range(self.n)]
        self.size = Size()
        self.reach, self.reached = np.column_stack([NOMINAL, np.zeros(5)]), 0.0
        self.experts, self.parts = TwoWeights(self.n), TwoWeights(42 + self.n)
        self.guard = TwoWeights(2)  # of the pool, and the mean of the targets

    @property
    def deviation_of_targets(self) -> float:
        return math.sqrt(self.square / self.count) if self.count else 0.0

    def read(self, means: Any) -> None:
        means = np.append(means, self.target if self.count else math.nan)
        known = np.array([size.seen >= EARLY for size in self.sizes])
        speaks = np.isfinite(means)
        active = speaks & known if (speaks & known).any() else speaks
        self.means, self.active = means, np.flatnonzero(active)
        weight = self.experts.of(self.active)
        weight = np.maximum(weight - 2 * SHARE / max(len(self.active), 1), 0)  # not by the share
        weight /= weight.sum()
        self.middle = float(weight[self.active] @ means[self.active])
        unit, deviation = self.size.unit, self.deviation_of_targets
        self.apart = np.zeros(self.n)
        self.apart[self.active] = means[self.active] - self.middle
        if self.size.seen >= UNBOUNDED:
            most = LARGEST * max(unit, deviation)
            self.apart = np.clip(self.apart, -most, most)
        self.pooled = self.mean = self.middle
        if unit and len(self.active) > 1:
            self.pooled += float(self.apart @ self.ridge.weights(self.apart, unit))
        if self.count:
            beside = max(self.guard.of([0, 1])[1] - SHARE, 0) if self.size.seen else 0.0
            self.mean = self.pooled + beside * (self.target - self.pooled)
        z = float(np.clip((self.mean - self.target) / deviation, -4, 4)) if deviation else 0.0
        apart = math.sqrt(weight @ self.apart**2)
        disagreement = float(np.clip(np.log(apart / unit), -3, 3)) if apart and unit else 0.0
        self.input = np.array([z, z * z / 2, disagreement])
        self.centred = np.clip(self.input - self.centre, -4, 4)
        ratio = np.clip(self.centred @ self.noise.weights(self.centred, 1.0), -3, 3)
        self.usual, self.ratio = self.size.scale, float(ratio)
        self.scale = self.usual * math.exp(ratio)
        self.z = min(max(z, -2.0), 2.0)
        here = np.clip(self.reach[:, 0] + self.z * self.reach[:, 1], 0.05 * NOMINAL, 30)
        self.reach_here = np.maximum.accumulate(here)

    def components(self) -> list[tuple[float, float, float, Any]]:
        """(weight, mean, scale, distribution) of those with a weight."""
        active = np.concatenate([np.arange(42), 42 + self.active])
        weight = self.parts.of(active)[active]
        ours = [
            (self.mean, scale * multiple, kind)
            for scale in (self.scale, self.usual)
            for kind in KINDS
            for multiple in MULTIPLES
        ]
        theirs = [
            (
                self.means[e],
                self.sizes[e].scale if self.sizes[e].seen >= EARLY else self.usual,
                KINDS[0],
            )
            for e in self.active
        ]
        return [(w, *part) for w, part in zip(weight, ours + theirs, strict=True)]

    def log_density(self, y: float) -> float:
        return math.log(sum(w * d.pdf((y - m) / s) / s for w, m, s, d in self.components()))

    def learn(self, y: float, weight: float = 1.0) -> None:
        if self.size.seen >= EARLY:
            self._weigh(y, weight)
        if self.size.seen > 0:
            each = stats.t(3).logpdf((y - np.array([self.pooled, self.target])) / self.size.scale)
            apart = weight * np.clip(each[1] - each[0], -1, 1)
            self.guard.learn([0, 1], np.exp([min(-apart, 0), min(apart, 0)]))
        miss, most = y - self.middle, LARGEST * self.size.unit
        if len(self.active) > 1 and self.size.seen >= UNBOUNDED:
            self.ridge.learn(self.apart, np.clip(miss, -most, most), weight)
        for size, mean in zip(self.sizes, self.means, strict=True):
            if np.isfinite(mean):
                size.learn(y - mean, weight)
        self.size.learn(y - self.mean, weight)
        if self.count >= 16:
            most = 10 * self.deviation_of_targets
            y = min(max(y, self.target - most), self.target + most)
        before = y - self.target
        self.count += weight
        self.target += before * weight / self.count
        self.square += weight * before * (y - self.target)

    def interval(self, level: float) -> tuple[float, float]:
        """The ends of the interval that has held the share `level` of targets."""
        said, held = np.append(0.0, NOMINAL), np.append(0.0, self.reach_here)
        outside = math.exp(-np.interp(-math.log(1 - level), said, held)) / 2
        parts = self.components()
        ends = []
        for share in (outside, 1 - outside):
            each = [m + s * d.ppf(share) for _, m, s, d in parts]

            def excess(x: float, share: float = share) -> float:
                return float(sum(w * d.cdf((x - m) / s) for w, m, s, d in parts) - share)

            ends.append(float(optimize.brentq(excess, min(each), max(each), xtol=1e-12)))
        return ends[0], ends[1]

    def _reach(self, y: float, weight: float) -> None:
        above = sum(w * d.sf((y - m) / s) for w, m, s, d in self.components())
        surprise = -math.log(max(2 * min(above, 1 - above), 1e-14))
        step = 1 - (1 - max(0.005, 1 / (self.reached + 50))) ** weight
        by = step * (np.exp(NOMINAL) * (surprise > self.reach_here) - 1)
        by[-1] *= 0.2
        self.reach = np.clip(self.reach + np.outer(by, [1.0, self.z]), -30, 30)
        self.reached += weight

    def _weigh(self, y: float, weight: float) -> None:
        self._reach(y, weight)
        density = np.array([d.pdf((y - m) / s) / s for _, m, s, d in self.components()])
        self.parts.learn(np.concatenate([np.arange(42), 42 + self.active]), density**weight)
        if len(self.active) > 1:
            self.experts.learn(self.active, density[42:] ** (weight / 2))
        log_ratio = math.log(abs(y - self.mean)) - self.size.log
        counts_as = self.ratio + np.clip(log_ratio - self.ratio, -2.5, 2.5)
        self.noise.learn(self.centred, counts_as, weight)
        before = self.size.seen - EARLY
        kept = min(before / (before + weight), (1 - RATE) ** weight)
        self.centre = self.input + kept * (self.centre - self.input)
