"""Mixtures of normal and t-distributions: densities and quantiles."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from mixable import _validate
from mixable._types import Array


class Components(NamedTuple):
    """Forecasts of n rows: mixtures of the same k experts, normal or t-distributed."""

    weight: Array  # (k,)
    mean: Array  # (n, k)
    scale: Array  # (n, k), the standard deviations of normal ones
    thin: Array  # (k,), 1 over the degrees of freedom, 0 for normal ones

    def scaled(self, factor: float) -> Components:
        """The same, with `factor` times the weight."""
        return self._replace(weight=factor * self.weight)

    def beside(self, other: Components) -> Components:
        """The experts of both."""
        return Components(
            *(np.concatenate(pair, axis=-1) for pair in zip(self, other, strict=True))
        )


def ends_of(level: float) -> Array:
    """The probabilities below the two ends of a central interval of that probability."""
    level = _validate.real(level, "level", above=0)
    if level > 1 - 1e-12:
        raise ValueError(f"level must be below 1, got {level}; 0.9 is 90%")
    return np.array([(1 - level) / 2, (1 + level) / 2])


def log_densities(components: Components, y: Array) -> Array:
    """The logs (n,) of the forecasts' densities at y."""
    from scipy.special import logsumexp

    weight, mean, scale, thin = components
    square = ((y[:, None] - mean) / scale) ** 2
    logs = -0.5 * square - HEIGHT
    t = thin > 0
    nu = 1 / thin[t]
    logs[:, t] = _height(nu) - 0.5 * (nu + 1) * np.log1p(square[:, t] / nu)
    return np.asarray(logsumexp(np.log(weight) + logs - np.log(scale), axis=1))


HEIGHT = 0.5 * math.log(2 * math.pi)


def _height(nu: Array) -> Array:
    """The log density of Student's t at 0."""
    from scipy.special import gammaln

    return np.asarray(gammaln((nu + 1) / 2) - gammaln(nu / 2) - 0.5 * np.log(nu * math.pi))


def quantiles(components: Components, q: Array) -> Array:
    """Quantiles (n, len(q)) of mixtures: Newton's steps, between the outermost components' ones."""
    from scipy.special import ndtr, ndtri, stdtr, stdtrit

    weight, mean, scale, thin = components
    if np.isinf(scale).any():  # before the first target
        return np.tile(np.copysign(np.inf, q - 0.5), (len(mean), 1))
    if not scale.all():  # before anything has been missed
        return np.repeat(mean[:, :1], len(q), axis=1)
    heavy = np.flatnonzero(weight > 1e-9 * weight.max())
    order = heavy[np.argsort(thin[heavy], kind="stable")]  # the normal ones first
    weight, mean, scale = weight[order] / weight[order].sum(), mean[:, order], scale[:, order]
    n = int(np.count_nonzero(thin[order] == 0))
    nu = 1 / thin[order[n:]]
    height, power = _height(nu), -0.5 * (nu + 1)

    def below(x: Array, rows: Any) -> tuple[Array, Array]:
        """The probabilities below x, and the densities there."""
        z = (x[:, None] - mean[rows]) / scale[rows]
        normal, t = z[:, :n], z[:, n:]
        density = np.concatenate(
            [np.exp(-0.5 * normal**2 - HEIGHT), np.exp(height + power * np.log1p(t**2 / nu))],
            axis=1,
        )
        probability = ndtr(normal) @ weight[:n] + stdtr(nu, t) @ weight[n:]
        return probability, (density / scale[rows]) @ weight

    out = np.empty((len(mean), len(q)))
    for column, level in enumerate(q):
        each = mean + scale * np.concatenate([np.full(n, ndtri(level)), stdtrit(nu, level)])
        out[:, column] = _root(below, level, each.min(axis=1), each.max(axis=1), each @ weight)
    return out


def _root(below: Any, level: float, low: Array, high: Array, x: Array) -> Array:
    """Where the probability below x is `level`, by Newton's method in a bracket, from x on.

    A step that leaves the bracket, or is longer than half the one before, is replaced by the middle
    of the bracket: so each two steps do at least what one of bisection does.
    """
    x, before = np.clip(x, low, high), high - low
    rows = np.arange(len(x))
    for _ in range(120):
        if not len(rows):
            break
        at = x[rows]
        probability, density = below(at, rows)
        excess = probability - level
        low[rows] = np.where(excess < 0, at, low[rows])
        high[rows] = np.where(excess < 0, high[rows], at)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            new = at - excess / density
        is_good = (new > low[rows]) & (new < high[rows])  # NaN is not
        is_good &= np.abs(new - at) <= 0.5 * before[rows]
        new = np.where(is_good, new, 0.5 * (low[rows] + high[rows]))
        new = np.where(excess == 0, at, new)
        before[rows] = np.abs(new - at)
        x[rows] = new
        rows = rows[np.abs(new - at) > 4 * np.finfo(np.float64).eps * np.maximum(abs(new), abs(at))]
    return x
