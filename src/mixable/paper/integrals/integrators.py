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
from functools import lru_cache
from typing import Protocol

import numpy as np

from mixable import _validate
from mixable.paper.integrals.certified import Certified, Envelope, lattice_rungs, line
from mixable.paper.integrals.expectation import Rung
from mixable.paper.integrals.sobol import matched_sobol

MOST_POINTS = 2**16
"""The most points that an integrator may have."""
EXACT = 1e-10
"""Nats by which the log of a probability of two classes may be wrong, by `Quadrature`."""
DEVIATIONS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
"""Of the difference of the logits: `Quadrature` has a lattice for each."""


class Integrator(Protocol):
    """What `GAF(integrator=...)` accepts."""

    def rungs(self, k: int, seed: int) -> list[Rung]:
        """Return the ladder for `k` dimensions, the rung of least reach first."""


@dataclass(frozen=True)
class Sobol:
    """`m` quasi-random points.

    They come in pairs w and -w, and have the identity as their covariance. Deterministic: they are
    made once from the seed. While the posterior is so wide that the stated error is above 0.03, 8
    times as many are taken, up to `most`. The default of GAF for three classes and more is
    `Sobol(128, most=16384)`.
    """

    m: int = 128
    most: int | None = None

    def __post_init__(self) -> None:
        for m in (self.m, self.m if self.most is None else self.most):
            if _validate.count(m, "m", least=2, most=MOST_POINTS) % 2:
                raise ValueError(f"m must be an even number of points, got {m}")

    def rungs(self, k: int, seed: int) -> list[Rung]:
        """Return a rung for each number of points."""
        sizes = [self.m]
        while sizes[-1] < (self.most or self.m):
            sizes.append(min(8 * sizes[-1], self.most or self.m))
        reaches = [(0.03 / Sobol(m).stated_error(1.0)) ** (1 / 1.6) for m in sizes[:-1]]
        steps = zip(sizes, [*reaches, np.inf], strict=True)
        return [_sobol_rung(k, m, seed, float(reach)) for m, reach in steps]

    def stated_error(self, width: float) -> float:
        """The largest error of log p to expect, if the largest eigenvalue of S is `width`.

        An envelope of what was measured for 3 to 26 classes (docs: Benchmarks), not a proof. The
        class that is then drawn usually has an error ten times smaller.
        """
        return float(0.07 * np.sqrt(128 / self.m) * width**1.6)


@dataclass(frozen=True)
class MonteCarlo:
    """`m` plain random points, fresh at each step: Algorithm 1 of the paper to the letter.

    Their covariance is the one of its proof. The points are a function of the seed and of the
    number of examples learned, so predicting twice gives the same bits. Against an adversary the
    seed must be secret: ``GAF(..., seed=None)``.
    """

    m: int = 100

    def __post_init__(self) -> None:
        _validate.count(self.m, "m", most=MOST_POINTS)

    def rungs(self, k: int, seed: int) -> list[Rung]:
        """Return the one rung."""
        return [Rung("random", np.inf, self.m, seed=seed)]


@dataclass(frozen=True)
class Pairwise:
    """The closed form of `pairwise`: no points, all classes alike; the default of mixtures.

    It is off by 0.01 to 0.05 for wide posteriors, and forecasts are as good as with Sobol's points.
    """

    def rungs(self, k: int, seed: int) -> list[Rung]:
        """Return the one rung."""
        return [Rung("pairwise", np.inf)]


@dataclass(frozen=True)
class Quadrature:
    """The trapezoid rule, for two classes: each probability is right to 1e-10 of itself. Proved.

    However rare the class is. It is a lattice in one dimension (`Certified` has more), for standard
    deviations of the difference of the logits up to 64. Beyond, the same points are used, and
    nothing is proved.
    """

    def rungs(self, k: int, seed: int) -> list[Rung]:
        """Return a lattice for each of some widths."""
        if k != 1:
            raise ValueError(
                f"Quadrature is for 2 classes, got {k + 1}; use Sobol, MonteCarlo or Ladder"
            )
        # The difference of the logits is sqrt(2) u, so its variance is twice S.
        widths = [deviation**2 / 2 for deviation in DEVIATIONS]
        return lattice_rungs(1, [(width, line(width, EXACT)) for width in widths])

    @property
    def reach(self) -> float:
        """The largest S = G / (2 alpha) for which the error is proved.

        >>> Quadrature().reach
        2048.0
        """
        return DEVIATIONS[-1] ** 2 / 2


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
        # The reach of each rung is where the largest error measured (docs: Benchmarks) meets the
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
    (Sobol(m=128, most=16384), MonteCarlo(m=100))
    """
    if integrator is None:
        return Quadrature() if n_classes == 2 else Sobol(128, most=16384)
    if isinstance(integrator, str):
        kinds = (Sobol, MonteCarlo, Ladder, Quadrature, Pairwise, Certified, Envelope)
        names = {kind.__name__.lower(): kind for kind in kinds}
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


def choose_proved(integrator: Integrator | str | None, n_classes: int) -> Integrator:
    """As `choose`, but None is one for which something is proved.

    >>> choose_proved(None, 2), choose_proved(None, 4), choose_proved(None, 5)
    (Quadrature(), Certified(tolerance=1e-05), Envelope(tolerance=1e-06))
    """
    if integrator is None and n_classes > 2:
        return Certified() if n_classes <= 4 else Envelope()
    return choose(integrator, n_classes)


def proved_error(integrator: Integrator | str | None, n_classes: int, width: float) -> float | None:
    """Nats by which log p may be too small, proved while |S| <= `width`; None if nothing is.

    `Envelope` may cost more, by the log of the sum of its bounds: `bounds.envelope`.

    >>> proved_error(Certified(1e-4), 3, width=1.0), proved_error(Sobol(1024), 3, width=1.0)
    (0.0001, None)
    """
    chosen = choose(integrator, n_classes)
    if isinstance(chosen, Quadrature) and n_classes == 2 and width <= chosen.reach:
        return EXACT
    if isinstance(chosen, Certified) and width <= chosen.reach(n_classes):
        return chosen.tolerance
    if isinstance(chosen, Envelope) and width <= chosen.reach:
        return 3 * chosen.tolerance
    return None


def ladder(integrator: Integrator | str | None, n_classes: int, seed: int) -> list[Rung]:
    """Return the rungs of an integrator, checked: the compiled core does not check them."""
    k = n_classes - 1
    chosen = choose(integrator, n_classes)
    if isinstance(chosen, Ladder) and k > 1:
        _validate.claim(8.0 * k * (k * k + MOST_POINTS), f"Ladder for {n_classes} classes")
    rungs = [Rung(*rung) for rung in _rungs(chosen, k, seed)]
    if not rungs:
        raise ValueError("integrator has no rungs")
    for i, rung in enumerate(rungs):
        if rung.kind not in ("taylor", "symmetric", "random", "pairwise", "envelope"):
            wanted = '"taylor", "symmetric", "random", "pairwise" or "envelope"'
            raise ValueError(f"integrator: rung {i} is of kind {rung.kind!r}, not {wanted}")
        _validate.real(rung.reach, f"integrator: the reach of rung {i}", least=0, infinite=True)
        if rung.kind in ("symmetric", "random", "envelope"):
            m = _validate.count(rung.m, f"integrator: m of rung {i}")
            _validate.claim(16.0 * n_classes * m, f"rung {i} of the integrator")
        if rung.kind in ("symmetric", "envelope"):
            rows = k if rung.kind == "symmetric" else 1
            points = np.ascontiguousarray(rung.points, dtype=np.float64)
            weights = np.ascontiguousarray(rung.weights, dtype=np.float64)
            if points.shape != (rows, rung.m) or weights.shape != (rung.m,):
                raise ValueError(
                    f"integrator: rung {i} must have points ({rows}, {rung.m}) and weights "
                    f"({rung.m},)"
                )
            if not (np.isfinite(points).all() and abs(2 * weights.sum() - 1) < 1e-9):
                raise ValueError(
                    f"integrator: the points of rung {i} must be finite, and its weights sum to 1/2"
                )
            rungs[i] = rung._replace(points=points, weights=weights)
    return rungs


def _rungs(integrator: Integrator, k: int, seed: int) -> list[Rung]:
    """The rungs of an integrator; our own are remembered, since points take 10 ms to make."""
    if isinstance(integrator, (Sobol, Quadrature, Ladder, Pairwise, Certified, Envelope)):
        return _remembered(integrator, k, seed)
    return integrator.rungs(k, seed)


@lru_cache(maxsize=8)
def _remembered(
    integrator: Sobol | Quadrature | Ladder | Pairwise | Certified | Envelope, k: int, seed: int
) -> list[Rung]:
    rungs = integrator.rungs(k, seed)
    for rung in rungs:
        for array in (rung.points, rung.weights):
            if array is not None:
                array.flags.writeable = False
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
    return Rung("symmetric", reach, points.shape[1], points=points, weights=weights)


def _sobol_rung(k: int, m: int, seed: int, reach: float) -> Rung:
    half = m // 2
    points, weights = matched_sobol(k, half, seed), np.full(half, 1.0 / m)
    return Rung("symmetric", reach, half, points=points, weights=weights)
