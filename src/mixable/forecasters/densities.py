"""Mixtures of normal and t-distributions: densities and quantiles."""

from __future__ import annotations

import math
from typing import NamedTuple

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
    from scipy.special import gammaln, logsumexp

    weight, mean, scale, thin = components
    square = ((y[:, None] - mean) / scale) ** 2
    logs = -0.5 * square - 0.5 * math.log(2 * math.pi)
    t = thin > 0
    nu = 1 / thin[t]
    height = gammaln((nu + 1) / 2) - gammaln(nu / 2) - 0.5 * np.log(nu * math.pi)
    logs[:, t] = height - 0.5 * (nu + 1) * np.log1p(square[:, t] / nu)
    return np.asarray(logsumexp(np.log(weight) + logs - np.log(scale), axis=1))


def quantiles(components: Components, q: Array) -> Array:
    """Quantiles (n, len(q)) of mixtures, by bisection between the outermost ones."""
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
    out = np.empty((len(mean), len(q)))
    for column, level in enumerate(q):
        each = mean + scale * np.concatenate([np.full(n, ndtri(level)), stdtrit(nu, level)])
        low, high = each.min(axis=1), each.max(axis=1)
        for _ in range(60):
            middle = 0.5 * (low + high)
            z = (middle[:, None] - mean) / scale
            below = ndtr(z[:, :n]) @ weight[:n] + stdtr(nu, z[:, n:]) @ weight[n:] < level
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        out[:, column] = 0.5 * (low + high)
    return out
