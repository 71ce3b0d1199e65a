r"""Ways to take the expectation of a softmax under a Gaussian, Eq. (6) of the paper.

GAF predicts :math:`p = E\,\mathrm{softmax}(Q(m + w))` with :math:`w \sim N(0, S)`, :math:`S =
G/(2\alpha)`, in the :math:`k = K - 1` coordinates of the Helmert basis `Q`. An integrator is a
small object that turns `k` into a *ladder*: a list of rungs, each a weighted point set (or a Taylor
expansion) with the largest `|S|` it is good for. The compiled core and `expectation`, its plain
NumPy twin, walk the same ladder.

References
----------
McNamee, J. and Stenger, F. (1967). Construction of fully symmetric numerical integration formulas.
Numer. Math. 10.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from mixable import _core, _validate
from mixable._sobol import matched_sobol

Array = NDArray[np.float64]


class Rung(NamedTuple):
    """One way to take the expectation, used while the Frobenius norm of S is at most `reach`.

    `kind` is "taylor" (second order), "symmetric" (the points `points[:, i]` and their negatives,
    each with weight `weights[i]`) or "random" (`m` fresh normal points at each step, a function of
    `seed` and the step).
    """

    kind: str
    reach: float
    m: int = 0
    points: Array | None = None  # (k, m)
    weights: Array | None = None  # (m,)
    seed: int = 0


MOST_POINTS = 2**16
"""The most points that an integrator may have."""


class Integrator(Protocol):
    """What `GAF(integrator=...)` accepts."""

    def rungs(self, k: int, seed: int) -> list[Rung]:
        """Return the ladder for `k` dimensions, the rung of least reach first."""


def helmert(n_classes: int) -> Array:
    """Orthonormal basis Q (K, K-1) of the vectors that sum to zero.

    The first columns do not change when a class is added.

    >>> Q = helmert(4)
    >>> bool(np.allclose(Q.T @ Q, np.eye(3)) and np.allclose(Q.sum(axis=0), 0))
    True
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

    >>> p = expectation(np.array([0.3]), np.array([[0.5]]), Quadrature().rungs(1, 0))
    >>> z = np.linspace(-9, 9, 20001)                  # the same by brute force
    >>> f = 1 / (1 + np.exp(-np.sqrt(2) * (0.3 + np.sqrt(0.5) * z))) * np.exp(-z * z / 2)
    >>> bool(abs(p[0] - f.sum() / np.exp(-z * z / 2).sum()) < 1e-9)
    True
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
    if rung.kind == "random":
        w = _core.normal_points(rung.seed, step, len(mean), rung.m)
        return np.asarray(softmax(Q @ (mean[:, None] + L @ w)).mean(axis=1))
    assert rung.points is not None
    assert rung.weights is not None
    centre, moved = mean[:, None], L @ rung.points
    both = softmax(Q @ (centre + moved)) + softmax(Q @ (centre - moved))
    return np.asarray(both @ rung.weights)


def semidefinite_cholesky(S: Array) -> Array:
    """Lower factor of a positive semi-definite matrix; no width in a direction is a zero column."""
    L = np.zeros_like(S)
    for j in range(len(S)):
        pivot = S[j, j] - L[j, :j] @ L[j, :j]
        if pivot > 1e-15 * (S[j, j] - pivot) and pivot > 1e-290:
            L[j, j] = np.sqrt(pivot)
            L[j + 1 :, j] = (S[j + 1 :, j] - L[j + 1 :, :j] @ L[j, :j]) / L[j, j]
    return L


@dataclass(frozen=True)
class Sobol:
    """`m` quasi-random points: the default for three classes and more.

    They come in pairs w and -w, and have the identity as their covariance. Deterministic: they are
    made once from the seed.
    """

    m: int = 128

    def __post_init__(self) -> None:
        if _validate.count(self.m, "m", least=2, most=MOST_POINTS) % 2:
            raise ValueError(f"m must be an even number of points, got {self.m}")

    def rungs(self, k: int, seed: int) -> list[Rung]:
        """Return the one rung."""
        return [_sobol_rung(k, self.m, seed, np.inf)]

    def stated_error(self, width: float) -> float:
        """The largest error of log p to expect, if the largest eigenvalue of S is `width`.

        An envelope of what was measured for 3 to 26 classes (docs/theory.md), not a proof. The
        class that is then drawn usually has an error ten times smaller.
        """
        return float(0.07 * np.sqrt(128 / self.m) * width**1.6)


@dataclass(frozen=True)
class MonteCarlo:
    """`m` plain random points, fresh at each step: Algorithm 1 of the paper to the letter.

    Their covariance is the one of its proof. The points are a function of the seed and of the
    number of examples learned, so predicting twice gives the same bits.
    """

    m: int = 100

    def __post_init__(self) -> None:
        _validate.count(self.m, "m", most=MOST_POINTS)

    def rungs(self, k: int, seed: int) -> list[Rung]:
        """Return the one rung."""
        return [Rung("random", np.inf, self.m, seed=seed)]


@dataclass(frozen=True)
class Quadrature:
    """The trapezoid rule, for two classes: exact to 1e-10 up to a logit deviation of 64."""

    def rungs(self, k: int, seed: int) -> list[Rung]:
        """Return grids for logit-difference standard deviations up to 1, 2, 4, ..., 64."""
        if k != 1:
            raise ValueError(
                f"Quadrature is for 2 classes, got {k + 1}; use Sobol, MonteCarlo or Ladder"
            )
        return [_trapezoid_rung(2.0**i) for i in range(7)]


@dataclass(frozen=True)
class Ladder:
    """A Taylor expansion, a cubature of degree 5, or ever larger Sobol sets for wider posteriors.

    `tolerance` is a target for the error of log p, not a guarantee: beyond the last rung (Sobol
    with 16384 points) the error grows with the width.
    """

    tolerance: float = 1e-3

    def __post_init__(self) -> None:
        _validate.real(self.tolerance, "tolerance", above=0, most=1)

    def rungs(self, k: int, seed: int) -> list[Rung]:
        """Return the ladder."""
        if k == 1:
            return Quadrature().rungs(k, seed)
        tol = self.tolerance
        # The reach of each rung is where the largest error measured (docs/theory.md) meets the
        # tolerance.
        taylor = Rung("taylor", float(np.sqrt(tol / 0.3)))
        ladder = [taylor, _cubature_rung(k, float(np.cbrt(tol / 0.04)))]
        for m, error_at_one in ((128, 0.05), (1024, 0.022), (4096, 0.006), (16384, 0.002)):
            reach = (tol / error_at_one) ** (1 / 1.6)
            if reach > ladder[-1].reach:
                ladder.append(_sobol_rung(k, m, seed, reach))
        if ladder[-1].m != 8192:
            ladder.append(_sobol_rung(k, 16384, seed, np.inf))
        return ladder


def choose(integrator: Integrator | str | None, n_classes: int) -> Integrator:
    """Return the integrator meant: None is the default, a name is that class at its defaults.

    >>> choose(None, 4), choose("montecarlo", 4)
    (Sobol(m=128), MonteCarlo(m=100))
    """
    if integrator is None:
        return Quadrature() if n_classes == 2 else Sobol()
    if isinstance(integrator, str):
        names = {kind.__name__.lower(): kind for kind in (Sobol, MonteCarlo, Ladder, Quadrature)}
        if integrator not in names:
            raise ValueError(
                f"integrator must be one of {', '.join(names)}, or an object of mixable.integrals, "
                f"got {integrator!r}"
            )
        return names[integrator]()
    if isinstance(integrator, type) or not hasattr(integrator, "rungs"):
        raise TypeError(
            f"integrator must be a name or an object of mixable.integrals, got {integrator!r:.80}"
        )
    return integrator


def ladder(integrator: Integrator | str | None, n_classes: int, seed: int) -> list[Rung]:
    """Return the rungs of an integrator, checked: the compiled core does not check them."""
    k = n_classes - 1
    chosen = choose(integrator, n_classes)
    if isinstance(chosen, Ladder) and k > 1:
        _validate.claim(8.0 * k * (k * k + MOST_POINTS), f"Ladder for {n_classes} classes")
    rungs = [Rung(*rung) for rung in chosen.rungs(k, seed)]
    if not rungs:
        raise ValueError("integrator has no rungs")
    for i, rung in enumerate(rungs):
        if rung.kind not in ("taylor", "symmetric", "random"):
            wanted = '"taylor", "symmetric" or "random"'
            raise ValueError(f"integrator: rung {i} is of kind {rung.kind!r}, not {wanted}")
        _validate.real(rung.reach, f"integrator: the reach of rung {i}", least=0, infinite=True)
        if rung.kind != "taylor":
            m = _validate.count(rung.m, f"integrator: m of rung {i}")
            _validate.claim(16.0 * n_classes * m, f"rung {i} of the integrator")
        if rung.kind == "symmetric":
            points = np.ascontiguousarray(rung.points, dtype=np.float64)
            weights = np.ascontiguousarray(rung.weights, dtype=np.float64)
            if points.shape != (k, rung.m) or weights.shape != (rung.m,):
                raise ValueError(
                    f"integrator: rung {i} must have points ({k}, {rung.m}) and weights ({rung.m},)"
                )
            if not (np.isfinite(points).all() and abs(2 * weights.sum() - 1) < 1e-9):
                raise ValueError(
                    f"integrator: the points of rung {i} must be finite, and its weights sum to 1/2"
                )
            rungs[i] = rung._replace(points=points, weights=weights)
    return rungs


def _cubature_rung(k: int, reach: float) -> Rung:
    """Degree 5 for N(0, I), 2 k^2 + 1 points: 0, +-sqrt(3) e_i, +-sqrt(3) e_i +-sqrt(3) e_j."""
    centre = np.zeros((k, 1))
    axes = np.sqrt(3.0) * np.eye(k)
    i, j = np.triu_indices(k, 1)
    pairs = np.concatenate([axes[:, i] + axes[:, j], axes[:, i] - axes[:, j]], axis=1)
    central, axial = (1 + (k * k - 7 * k) / 18) / 2, (4 - k) / 18
    weights = np.array([central, *[axial] * k, *[1 / 36] * pairs.shape[1]])
    points = np.ascontiguousarray(np.concatenate([centre, axes, pairs], axis=1))
    return Rung("symmetric", reach, points.shape[1], points, weights)


def _trapezoid_rung(logit_sd: float) -> Rung:
    """Trapezoid rule for N(0, 1), good for a logit difference of at most this standard deviation.

    The integrand sigmoid(a + s z) phi(z) is analytic up to |Im z| = Y = pi / s, where phi is
    exp(Y^2 / 2) times larger than on the line, so the error is of order exp(Y^2 / 2 - 2 pi Y / h):
    1e-11 at the step h below. Cut at |z| = 6.8, which leaves 1e-11 too.
    """
    strip = np.pi / logit_sd
    h = 2 * np.pi * strip / (25.3 + strip**2 / 2)
    z: Array = h * (np.arange(int(np.ceil(6.8 / h)), dtype=np.float64) + 0.5)
    weights = np.exp(-0.5 * z * z)
    # The logit difference is sqrt(2) u, so its variance is twice S.
    return Rung("symmetric", logit_sd**2 / 2, len(z), z[None, :], weights / (2 * weights.sum()))


def _sobol_rung(k: int, m: int, seed: int, reach: float) -> Rung:
    half = m // 2
    return Rung("symmetric", reach, half, matched_sobol(k, half, seed), np.full(half, 1.0 / m))
