"""Other surrogates than the paper's, in plain NumPy. The core has "averaged" compiled, too.

A surrogate replaces one loss by a quadratic, given the Gaussian N(m, G / 2) of the K - 1 linear
predictions before. Each function returns the residual (K,) and the curvature (K - 1, K - 1) with
which the predictions move by ``-G Q^T residual / 2`` and A gains ``curvature / 2`` along them, for
an example of weight 1; weights multiply both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mixable import _core, _validate
from mixable._types import Array
from mixable.paper.integrals import Quadrature, Rung, Sobol, helmert, ladder, softmax
from mixable.paper.integrals.expectation import semidefinite_cholesky

SURROGATES = ("tangent", "variational", "moments", "averaged")
ITERATIONS, FRACTION = 10, 0.7  # whole steps jump to and fro where G is wide
NEAR = 9.0  # deviations
ENOUGH = 0.01  # deviations that the mean still moves, of `averaged`


def checked_surrogate(value: object, name: str) -> str:
    """Return the name of a surrogate; ValueError if there is none of that name."""
    if not isinstance(value, str) or value not in SURROGATES:
        raise ValueError(f"{name} must be one of {SURROGATES}, got {value!r:.80}")
    return value


def averages(n_classes: int, seed: int) -> list[Rung]:
    """The points that surrogates average over."""
    if n_classes > 2:
        return ladder(Sobol(128), n_classes, seed)
    return [_near(rung) for rung in ladder(Quadrature(), n_classes, seed)]


def _near(rung: Rung) -> Rung:
    """Without the points that are there for rare classes only: they say nothing of averages."""
    assert rung.points is not None
    assert rung.weights is not None
    m = int(np.searchsorted(rung.points[0], NEAR))
    points, weights = rung.points[:, :m].copy(), rung.weights[:m]
    return rung._replace(m=m, points=points, weights=weights / (2 * weights.sum()))


class Problem:
    """One example: predictions u = m + L w, w ~ N(0, I), L L^T = G / 2, and a label."""

    def __init__(self, m: Array, G: Array, y: int, *, weight: float, rungs: list[Rung]) -> None:
        self.Q, self.m, self.y, self.weight, self.rungs = helmert(len(m) + 1), m, y, weight, rungs
        self.N = self.Q @ semidefinite_cholesky(G) / np.sqrt(2)

    def residual(self, p: Array) -> Array:
        """``p - e_y``."""
        return np.asarray(p - np.eye(len(p))[self.y])

    def factor(self, S: Array) -> Array:
        """R^-1 for R^T R = I + weight N^T S N, the precision of w."""
        k = self.N.shape[1]
        R = np.linalg.cholesky(np.eye(k) + self.weight * self.N.T @ S @ self.N).T
        return np.asarray(np.linalg.inv(R))

    def laplace(self) -> tuple[Array, Array]:
        """Mode s of the true posterior of w, and the factor R^-1 there, by Newton."""
        s = np.zeros(self.N.shape[1])
        for _ in range(60):
            p = softmax(self.Q @ self.m + self.N @ s)
            inverse = self.factor(np.diag(p) - np.outer(p, p))
            gradient = s + self.weight * self.N.T @ self.residual(p)
            step = inverse @ inverse.T @ gradient
            # Self-concordance: so long a step cannot overshoot.
            s = s - step / (1 + np.ptp(self.N @ step))
        return s, inverse

    def average(self, s: Array, inverse: Array, *, tilted: bool = False) -> tuple[Array, Array]:
        """Means of p and p p^T under w ~ N(s, R^-1 R^-T); tilted: under the true posterior."""
        factor = self.N @ inverse
        norm = np.linalg.norm(factor @ factor.T)
        rung = next((rung for rung in self.rungs if norm <= rung.reach), self.rungs[-1])
        assert rung.points is not None
        assert rung.weights is not None
        z = np.hstack([rung.points, -rung.points])
        w = s[:, None] + inverse @ z
        logits = (self.Q @ self.m)[:, None] + self.N @ w
        p = softmax(logits)
        share = np.tile(rung.weights, 2)
        if tilted:
            log_share = 0.5 * ((z**2).sum(axis=0) - (w**2).sum(axis=0))
            log_share += self.weight * (logits[self.y] - np.logaddexp.reduce(logits))
            share = share * np.exp(log_share - log_share.max())
        self.spread = float(share @ (share / np.tile(rung.weights, 2)) / share.sum() ** 2)
        share = share / share.sum()
        return np.asarray(p @ share), np.asarray((p * share) @ p.T)


def variational(problem: Problem) -> tuple[Array, Array]:
    """The Gaussian q with the least KL(q, true posterior), by a fixed number of Newton steps.

    Lambert, M., Bonnabel, S. and Bach, F. (2022). The recursive variational Gaussian approximation.
    Statistics and Computing 32.
    """
    s, inverse = problem.laplace()
    p = softmax(problem.Q @ problem.m + problem.N @ s)
    S = np.diag(p) - np.outer(p, p)
    for _ in range(ITERATIONS):
        p, second = problem.average(s, inverse)
        S = FRACTION * (np.diag(p) - second) + (1 - FRACTION) * S
        inverse = problem.factor(S)
        gradient = s + problem.weight * problem.N.T @ problem.residual(p)
        s = s - FRACTION * inverse @ inverse.T @ gradient
    residual = np.linalg.lstsq(problem.N.T, -s / problem.weight, rcond=None)[0]
    return np.asarray(residual), np.asarray(problem.Q.T @ S @ problem.Q)


def moments(problem: Problem) -> tuple[Array, Array]:
    """The Gaussian with the mean and the covariance of the true posterior.

    By Stein's identity both follow from the means of p and p p^T: the covariance of w is I - weight
    N^T M N, M = E S - weight Cov(p). Where the points are too few for that (their weights are those
    of less than an eighth of them, or the curvature is impossibly large), it is `variational`.
    """
    p, second = problem.average(*problem.laplace(), tilted=True)
    M = np.diag(p) - second - problem.weight * (second - np.outer(p, p))
    B = semidefinite_cholesky(problem.Q.T @ M @ problem.Q).T
    H = B @ problem.Q.T @ problem.N
    X = np.eye(len(H)) - problem.weight * H @ H.T
    try:
        pivots = np.diag(np.linalg.cholesky(X))
    except np.linalg.LinAlgError:
        return variational(problem)
    C = B.T @ np.linalg.solve(X, B)
    is_sound = problem.spread <= 8.0 and pivots.min() > 0.01 and np.trace(C) <= 0.75 * len(C)
    return (problem.residual(p), np.asarray(C)) if is_sound else variational(problem)


def averaged(problem: Problem) -> tuple[Array, Array]:
    """`variational` with averages in closed form, until a step no longer matters.

    By Stein's identity the mean of diag(p) - p p^T is the rate of the mean of p. That of `pairwise`
    is made symmetric, with rates of at most 0 between classes.
    """
    N, weight = problem.N, problem.weight
    k = N.shape[1]
    a, s, S, inverse = np.zeros(k + 1), np.zeros(k), np.zeros((k + 1, k + 1)), np.eye(k)
    wide = float((N * N).sum()) > 1
    for iteration in range(ITERATIONS):
        part = FRACTION if wide else 1.0
        p, slopes = pairwise_with_slopes(
            problem.Q @ problem.m + N @ s, N @ inverse @ inverse.T @ N.T
        )
        S = slopes if iteration == 0 else part * slopes + (1 - part) * S
        inverse = problem.factor(S)
        q = problem.residual(p) - a
        x = inverse @ inverse.T @ N.T @ q
        a = a + part * (q - weight * S @ N @ x)
        s = s - part * weight * x
        if np.abs(part * weight * x).max() < ENOUGH:
            break
    return np.asarray(a), np.asarray(problem.Q.T @ S @ problem.Q)


def pairwise_with_slopes(m: Array, V: Array) -> tuple[Array, Array]:
    """E softmax(z), z ~ N(m, V), as in `integrals.pairwise`, and its rate in m, a Laplacian."""
    variance = np.diag(V)[:, None] + np.diag(V) - 2 * V
    scale = np.sqrt(1 + np.pi / 8 * np.maximum(variance, 0))
    e = np.exp(np.minimum((m - m[:, None]) / scale, 600))
    t = 1 / e.sum(axis=1)
    p = t / t.sum()
    log_rate = -e * t[:, None] / scale
    np.fill_diagonal(log_rate, 0)
    np.fill_diagonal(log_rate, -log_rate.sum(axis=1))
    rate = p[:, None] * (log_rate - p @ log_rate)
    off = np.minimum((rate + rate.T) / 2, 0) * (1 - np.eye(len(m)))
    return np.asarray(p), np.asarray(off - np.diag(off.sum(axis=1)))


BY_POINTS: dict[str, Callable[[Problem], tuple[Array, Array]]] = {
    "variational": variational,
    "moments": moments,
}
"""The surrogates that are not compiled."""


class CoreByPoints(_core.GAF):
    """A compiled posterior that learns by a surrogate of `BY_POINTS`."""

    def __init__(
        self, d: int, K: int, *options: float, rungs: list[Rung], surrogate: str, seed: int
    ) -> None:
        lam, beta, alpha, mu, drift = options
        super().__init__(d, K, lam, beta, alpha, mu, drift, rungs)
        self._rule, self._averages = BY_POINTS[surrogate], averages(K, seed)
        self._d, self._Q, self._beta = d, helmert(K), beta

    def learn(self, x: ArrayLike, y: SupportsIndex, weight: float = 1.0) -> None:
        """Learn one example; ValueError, and nothing learned, if double precision is too little."""
        row = _validate.row(x, self._d)
        label, weight = _validate.label(y, len(self._Q)), _validate.weight(weight)
        m, G = self.read(row)
        v, C = np.zeros(len(m)), np.zeros_like(G)
        try:
            if weight > 0:
                rungs = self._averages
                residual, C = self._rule(Problem(m, G, label, weight=weight, rungs=rungs))
                v = np.ascontiguousarray(0.5 * weight * self._Q.T @ residual)
            size, axes = np.linalg.eigh(0.5 * weight * self._beta * C)
        except np.linalg.LinAlgError:
            raise ValueError("this example cannot be learned in double precision") from None
        self.push(row, v, np.ascontiguousarray(axes * np.sqrt(np.maximum(size, 0))), weight)

    def run(self, X: Array, y: NDArray[np.int_], weight: Array | None) -> Array:
        """Predict each row, then learn it."""
        P = np.empty((len(X), len(self._Q)))
        for t, x in enumerate(X):
            P[t] = self.predict(x)
            self.learn(x, y[t], 1.0 if weight is None else weight[t])
        return P
