r"""The expectation of a softmax under a Gaussian, Eq. (6) of the paper, in plain NumPy.

This is what the compiled core is tested against. Both walk the same ladder of rungs.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mixable import _core
from mixable._types import Array


class Rung(NamedTuple):
    """One way to take the expectation, used while the Frobenius norm of S is at most `reach`.

    `kind` is "taylor" (second order), "symmetric" (the points `points[:, i]` and their negatives,
    each with weight `weights[i]`), "random" (`m` fresh normal points at each step, a function of
    `seed` and the step), "pairwise" (the closed form of `pairwise`) or "envelope" (the bounds of
    `envelope` over their sum, by symmetric points in one dimension).
    """

    kind: str
    reach: float
    m: int = 0
    points: Array | None = None  # (k, m), or (1, m) of an envelope
    weights: Array | None = None  # (m,)
    seed: int = 0


def helmert(n_classes: int) -> Array:
    """Orthonormal basis Q (K, K-1) of the vectors that sum to zero.

    The first columns do not change when a class is added.

    >>> Q = helmert(4)
    >>> abs(Q.T @ Q - np.eye(3)).max().round(12), abs(Q.sum(axis=0)).max().round(12)
    (np.float64(0.0), np.float64(0.0))
    """
    K = n_classes
    Q = np.zeros((K, K - 1))
    for j in range(K - 1):
        Q[: j + 1, j] = 1.0
        Q[j + 1, j] = -(j + 1.0)
        Q[:, j] /= np.sqrt((j + 1.0) * (j + 2.0))
    return Q


def softmax(z: Array) -> Array:
    """Softmax over the first axis."""
    e = np.exp(z - z.max(axis=0))
    return np.asarray(e / e.sum(axis=0))


def expectation(mean: Array, covariance: Array, ladder: list[Rung], step: int = 0) -> Array:
    """Eq. (6): E softmax(Q (mean + w)), w ~ N(0, covariance), mean (k,), covariance (k, k).

    >>> from mixable.integrals import Quadrature
    >>> p = expectation(np.array([0.3]), np.array([[0.5]]), Quadrature().rungs(1, 0))
    >>> z = np.linspace(-9, 9, 20001)                  # the same by brute force
    >>> f = 1 / (1 + np.exp(-np.sqrt(2) * (0.3 + np.sqrt(0.5) * z))) * np.exp(-z * z / 2)
    >>> round(float(p[0]), 6), round(float(f.sum() / np.exp(-z * z / 2).sum()), 6)
    (0.586875, 0.586875)
    """
    Q = helmert(len(mean) + 1)
    norm = np.linalg.norm(covariance)
    rung = next((rung for rung in ladder if norm <= rung.reach), ladder[-1])
    L = semidefinite_cholesky(covariance)
    if rung.kind == "taylor":
        p = softmax(Q @ mean)
        N = Q @ L
        spread = ((N - p @ N) ** 2).sum(axis=1)
        return np.asarray(p * (1 + 0.5 * (spread - p @ spread)))
    if rung.kind == "pairwise":
        return pairwise(Q @ mean, Q @ covariance @ Q.T)
    if rung.kind == "random":
        w = _core.normal_points(rung.seed, step, len(mean), rung.m)
        return np.asarray(softmax(Q @ (mean[:, None] + L @ w)).mean(axis=1))
    assert rung.points is not None
    assert rung.weights is not None
    if rung.kind == "envelope":
        p = envelope(Q @ mean, Q @ covariance @ Q.T, rung.points[0], rung.weights)
        return np.asarray(p / p.sum())
    centre, moved = mean[:, None], L @ rung.points
    both = softmax(Q @ (centre + moved)) + softmax(Q @ (centre - moved))
    return np.asarray(both @ rung.weights)


def pairwise(mean: Array, covariance: Array) -> Array:
    """E softmax(z), z ~ N(mean, covariance), in closed form: mean (K,), covariance (K, K).

    p_c is proportional to 1 / sum_j exp((m_j - m_c) / sqrt(1 + pi/8 v_cj)), v_cj the variance of
    z_j - z_c. For two classes it is MacKay's approximation (1992). The classes are treated alike.

    >>> pairwise(np.array([1.0, 0.0, 0.0]), np.eye(3)).round(3)
    array([0.514, 0.243, 0.243])
    """
    own = np.diag(covariance)
    v = np.maximum(own[:, None] + own - 2 * covariance, 0.0)
    difference = (mean[None, :] - mean[:, None]) / np.sqrt(1 + np.pi / 8 * v)
    p = 1 / np.exp(np.minimum(difference, 700.0)).sum(axis=1)
    return np.asarray(p / p.sum())


def envelope(mean: Array, covariance: Array, points: Array, weights: Array) -> Array:
    """Bounds (K,) of E softmax(z) from above, z ~ N(mean, covariance), mean (K,).

    Against class c, the others count by the log of the sum of their exp, which is convex: its
    tangent at the mean is below it. What is left is E sigmoid in one dimension, by `points` (m,)
    and their negatives with `weights` (m,), a rule for N(0, 1). For two classes it is exact.

    >>> x = 0.1 * (np.arange(80) + 0.5)
    >>> w = np.exp(-x * x / 2)
    >>> envelope(np.zeros(3), 0.1 * np.eye(3), x, w / (2 * w.sum())).round(4)
    array([0.3386, 0.3386, 0.3386])
    """
    out = np.empty(len(mean))
    for c in range(len(mean)):
        others = np.arange(len(mean)) != c
        top = mean[others].max()
        e = np.exp(mean[others] - top)
        against = np.zeros(len(mean))  # how the tangent less the logit of c goes with the logits
        against[others], against[c] = e / e.sum(), -1.0
        odds = mean[c] - top - math.log(e.sum())
        moved = math.sqrt(max(float(against @ covariance @ against), 0.0)) * points
        out[c] = weights @ (_sigmoid(odds + moved) + _sigmoid(odds - moved))
    return out


def _sigmoid(z: Array) -> Array:
    e = np.exp(-np.abs(z))
    return np.asarray(np.where(z > 0, 1.0, e) / (1 + e))


def semidefinite_cholesky(S: Array) -> Array:
    """Lower factor of a positive semi-definite matrix; no width in a direction is a zero column."""
    L = np.zeros_like(S)
    for j in range(len(S)):
        pivot = S[j, j] - L[j, :j] @ L[j, :j]
        if pivot > 1e-15 * (S[j, j] - pivot) and pivot > 1e-290:
            L[j, j] = np.sqrt(pivot)
            L[j + 1 :, j] = (S[j + 1 :, j] - L[j + 1 :, :j] @ L[j, :j]) / L[j, j]
    return L
