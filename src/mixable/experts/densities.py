"""Mixtures of normal and t-distributions: densities and quantiles."""

from __future__ import annotations

import math
from statistics import NormalDist
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


def ends_of(level: float) -> Array:
    """The probabilities below the two ends of a central interval of that probability."""
    level = _validate.real(level, "level", above=0)
    if level > 1 - 1e-12:
        raise ValueError(f"level must be below 1, got {level}; 0.9 is 90%")
    return np.array([(1 - level) / 2, (1 + level) / 2])


def with_normal_ends(P: Array, level: float) -> Array:
    """Means and deviations (n, 2) with the ends of the normal distribution's interval (n, 4)."""
    reach = NormalDist().inv_cdf(float(ends_of(level)[1])) * P[:, 1]
    return np.column_stack([P, P[:, 0] - reach, P[:, 0] + reach])


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


EPSILON = float(np.finfo(np.float64).eps)
HEIGHT = 0.5 * math.log(2 * math.pi)


def _height(nu: Array) -> Array:
    """The log density of Student's t at 0."""
    from scipy.special import gammaln

    return np.asarray(gammaln((nu + 1) / 2) - gammaln(nu / 2) - 0.5 * np.log(nu * math.pi))


def _of_any(t: Array, nu: Array) -> tuple[Array, Array]:
    """The probabilities below t and the densities there, of Student's t."""
    from scipy.special import stdtr

    return stdtr(nu, t), np.exp(_height(nu) - 0.5 * (nu + 1) * np.log1p(t**2 / nu))


def _of_three(t: Array, nu: Array) -> tuple[Array, Array]:
    """The same for three degrees of freedom: in closed form, unless rounding would take digits."""
    from scipy.special import stdtr

    u = t / math.sqrt(3)
    square = 1 + u * u
    below = 0.5 + (np.arctan(u) + u / square) / math.pi
    far = t < -50
    if far.any():
        below[far] = stdtr(3.0, t[far])
    return below, (2 / (math.pi * math.sqrt(3))) / square**2


def quantiles(components: Components, q: Array) -> Array:
    """Quantiles (n, len(q)) of mixtures: Newton's steps, between the outermost components' ones."""
    from scipy.special import ndtr, ndtri, stdtrit

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
    kinds, which = np.unique(nu, return_inverse=True)
    ends = [np.concatenate([np.full(n, ndtri(end)), stdtrit(kinds, end)[which]]) for end in q]
    each = np.concatenate([mean + scale * end for end in ends])  # all rows for each of q
    mean, scale = (np.tile(array, (len(q), 1)) for array in (mean, scale))
    student = _of_three if (nu == 3).all() else _of_any

    def below(x: Array, rows: Any) -> tuple[Array, Array]:
        """The probabilities below x, and the densities there."""
        z = (x[:, None] - mean[rows]) / scale[rows]
        normal = z[:, :n]
        probability, height = student(z[:, n:], nu)
        density = np.concatenate([np.exp(-0.5 * normal**2 - HEIGHT), height], axis=1)
        probability = ndtr(normal) @ weight[:n] + probability @ weight[n:]
        return probability, (density / scale[rows]) @ weight

    level = np.repeat(q, len(mean) // len(q))
    out = _root(below, level, each.min(axis=1), each.max(axis=1), each @ weight)
    return out.reshape(len(q), -1).T


def _root(below: Any, level: Array, low: Array, high: Array, x: Array) -> Array:
    """Where the probabilities below x are `level`, by Newton's method in a bracket, from x on.

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
        excess = probability - level[rows]
        low[rows] = np.where(excess < 0, at, low[rows])
        high[rows] = np.where(excess < 0, high[rows], at)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            new = at - excess / density
        is_good = (new > low[rows]) & (new < high[rows])  # NaN is not
        is_good &= np.abs(new - at) <= 0.5 * before[rows]
        new = np.where(is_good, new, 0.5 * (low[rows] + high[rows]))
        # Nearer than this, the sum of probabilities is rounding: the bracket's middle is worse.
        new = np.where(np.abs(excess) <= 8 * EPSILON * level[rows], at, new)
        before[rows] = np.abs(new - at)
        x[rows] = new
        rows = rows[np.abs(new - at) > 4 * EPSILON * np.maximum(abs(new), abs(at))]
    return x
