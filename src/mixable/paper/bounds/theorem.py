"""The paper's own bounds, Theorem 1, Corollary 2 and Proposition 3, and those of its neighbours.

The neighbours are the forecasters that the paper compares itself with, and those that came after.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from mixable import _validate
from mixable.paper.bounds.certificate import sharp
from mixable.paper.bounds.common import Bound, at_lam, check, power
from mixable.paper.losses import KINDS, Constants, Logistic, Squared


def theory_lam(dim: int, constants: Constants) -> float:
    """The least lam that Theorem 1 allows: max(4, dim) zeta / alpha."""
    return max(4, dim) * constants.zeta / constants.alpha


def theorem1(
    n: int, dim: int, constants: Constants, radius: float, lam: float | None = None
) -> Bound:
    """Regret of GAF for any loss, in `dim` dimensions (Theorem 1).

    ``lam B^2 + (dim / alpha) (1/2 + 2 sqrt(3) / beta) ln(1 + n beta gamma / (2 lam))``, for any
    lam >= max(4, dim) zeta / alpha; None takes the one with the least bound.
    """
    check(n, radius=radius)
    least = theory_lam(dim, constants)
    if lam is not None and lam < least * (1 - 1e-12):
        raise ValueError(f"Theorem 1 needs lam >= {least:g} here, got {lam:g}")
    alpha, beta, gamma, _ = constants
    a = dim / alpha * (0.5 + 2 * math.sqrt(3) / beta)
    return at_lam(lam, radius, a=a, c=n * beta * gamma / 2, least=least)


def dimension(n_features: int, n_classes: int, constants: str) -> int:
    """Weights that the proof counts: K d with the paper's constants, (K-1) d with the tight."""
    return n_features * (n_classes if constants == "paper" else n_classes - 1)


def gaf(
    n: int,
    n_features: int,
    n_classes: int,
    radius: float,
    bound: float,
    constants: str | None = None,
    lam: float | None = None,
) -> Bound:
    """Theorem 1 for multiclass logistic regression: GAF with exact expectations and mu = 0.

    None takes the set of constants, and the lam, with the least bound. The forecaster is
    ``GAF.from_theory(..., horizon=n, constants=value.constants)``, whose mu = 1/n costs 2 nats
    more. For two classes its expectations are exact (to 1e-10); for more, `proposition3` covers
    `MonteCarlo`, and nothing covers `Sobol`. "sharp" is another theorem: `bounds.sharp`.

    >>> gaf(10**6, 100, 10, 0.5, 1.0, constants="paper")
    Bound(2.669e+04, lam=3.3e+04, constants='paper')
    >>> gaf(10**6, 100, 10, 0.5, 1.0)
    Bound(1.952e+04, lam=2.62e+04, constants='tight')
    >>> gaf(10**6, 100, 10, 0.5, 1.0, lam=130.0)      # the tight ones allow it; it is no good
    Bound(5.491e+04, lam=130, constants='tight')
    """
    if constants == "sharp":
        return sharp(n, n_features, n_classes, radius, bound, lam)
    check(n, n_features, n_classes, radius, bound)
    kinds = KINDS if constants is None else (constants,)
    sets = {kind: Logistic(n_classes).constants(radius, bound, kind=kind) for kind in kinds}
    dims = {kind: dimension(n_features, n_classes, kind) for kind in kinds}
    able = [k for k in kinds if lam is None or lam >= theory_lam(dims[k], sets[k])] or kinds[-1:]
    found = [(theorem1(n, dims[kind], sets[kind], radius, lam), kind) for kind in able]
    regret, kind = min(found)
    return Bound(regret, regret.lam, kind)


def corollary2(n: int, n_features: int, n_classes: int, radius: float, bound: float) -> Bound:
    """Corollary 2 with its constants written out: Theorem 1 at the printed lam = 32 d K R^2."""
    lam = 32 * n_features * n_classes * bound**2
    return gaf(n, n_features, n_classes, radius, bound, "paper", lam)


class MonteCarloBound(NamedTuple):
    """Proposition 3: the smoothing mu, and the regret that holds with probability 1 - delta."""

    mu: float
    regret: Bound


def proposition3(
    n: int,
    n_features: int,
    n_classes: int,
    radius: float,
    bound: float,
    *,
    m: float,
    delta: float = 0.05,
    mu: float | None = None,
    constants: str | None = None,
) -> MonteCarloBound:
    """Efficient-GAF, `MonteCarlo` with m points per prediction (Proposition 3, corrected).

    With probability 1 - delta, Theorem 1's bound plus ``n eps + 2 mu n``, where ``eps = sqrt(K
    log(n K / delta) / (mu m))``. The paper has log(n / delta): it fixes y_t before the forecast,
    but who sees the forecast first chooses among K labels, and all of them must do well.

    The default mu = (K log(n K / delta) / m)^(1/3) makes eps = mu. The proof needs eps <= 1/2; with
    fewer points than that nothing is guaranteed, and the regret returned is infinite. In practice
    m = 100 is plenty (docs: Theory, measured).

    >>> proposition3(10_000, 18, 4, 5.0, 1.0, m=100).regret
    Bound(inf, lam=37.3, constants='tight')
    >>> sizes = (10_000, 18, 4, 5.0, 1.0)
    >>> round(proposition3(*sizes, m=1e15).regret - gaf(*sizes), 1)
    1.1
    """
    check(n, n_features, n_classes, radius, bound)
    _validate.real(m, "m", least=1)
    _validate.real(delta, "delta", above=0, most=1)
    tail = _tail(n, n_classes, delta)
    if mu is None:
        mu = min((tail / m) ** (1 / 3), 0.5)
    _validate.real(mu, "mu", above=0, most=0.5)
    eps = math.sqrt(tail / (mu * m))
    exact = gaf(n, n_features, n_classes, radius, bound, constants)
    more = n * eps + 2 * mu * n if eps <= 0.5 else math.inf
    return MonteCarloBound(mu, Bound(exact + more, exact.lam, exact.constants))


def points(
    n: int, n_classes: int, more: float, delta: float = 0.05, least: float | None = None
) -> float:
    """How many points `MonteCarlo` needs so that it adds `more` nats, with probability 1 - delta.

    ``K log(n K / delta) (3 n / more)^3`` by Proposition 3. If every label that comes has an exact
    probability of at least p = `least`, no smoothing is needed (mu = 0), and ``2 log(n L / delta) /
    (p (1 - exp(-more / n))^2)``, L = min(K, 1/p), are enough: of the order n^2 in place of n^3, as
    the paper remarks. `sampling` is its inverse.

    >>> m = points(10_000, 4, more=10.0)
    >>> bounds = proposition3(10_000, 18, 4, 5.0, 1.0, m=m).regret, gaf(10_000, 18, 4, 5.0, 1.0)
    >>> round(bounds[0] - bounds[1], 6)
    10.0
    >>> [f"{points(n, 4, more=10.0, least=0.1):.1e}" for n in (1000, 10_000)]  # n^3: 1.2e9, 1.5e12
    ['2.3e+06', '2.7e+08']
    """
    if least is None:
        return _tail(n, n_classes, delta) / min(more / (3 * max(n, 1)), 0.5) ** 3
    check(n, n_classes=n_classes)
    most = -math.expm1(-_validate.real(more, "more", above=0) / max(n, 1))
    return _tail_at_least(n, n_classes, least, delta) / most**2


def sampling(n: int, n_classes: int, m: float, least: float, delta: float = 0.05) -> float:
    """Nats that `MonteCarlo` with m points and mu = 0 adds, with probability 1 - delta.

    If every label that comes has an exact probability of at least `least`, when it is predicted:
    ``-n log(1 - sqrt(2 log(n L / delta) / (p m)))``, L = min(K, 1/p). Infinite for fewer points
    than that takes. The mean of m independent numbers in [0, 1] whose mean is a >= p is below (1 -
    u) a with probability exp(-u^2 m a / 2) at most (Chernoff). That must not happen at any of n
    steps to any of the labels with such a probability, of which there are L at most: who sees the
    forecast may choose among them.

    >>> round(sampling(10_000, 4, m=points(10_000, 4, more=3.0, least=0.1), least=0.1), 6)
    3.0
    >>> sampling(10_000, 4, m=100, least=0.1)
    inf
    """
    check(n, n_classes=n_classes)
    _validate.real(m, "m", least=1)
    lost = math.sqrt(_tail_at_least(n, n_classes, least, delta) / m)
    return -n * math.log1p(-lost) if lost < 1 else math.inf


def _tail_at_least(n: int, n_classes: int, least: float, delta: float) -> float:
    p = _validate.real(least, "least", above=0, most=1)
    _validate.real(delta, "delta", above=0, most=1)
    return 2 * math.log(max(n, 1) * min(n_classes, 1 / p) / delta) / p


def _tail(n: int, n_classes: int, delta: float) -> float:
    """``K log(n K / delta)``: probabilities are at least mu/K, and n K of them must do well."""
    return n_classes * math.log(max(n, 1) * n_classes / delta)


def squared(n: int, n_features: int, radius: float, bound: float, target_bound: float) -> Bound:
    """Theorem 1 for the squared loss (Section 4.1), gamma = 2 R^2; any zeta and lam > 0 will do."""
    constants = Squared(target_bound=target_bound).constants(radius, bound, n_features)
    return theorem1(n, n_features, constants._replace(zeta=0.0), radius)


def vaw(
    n: int,
    n_features: int,
    radius: float,
    bound: float,
    target_bound: float,
    lam: float | None = None,
) -> Bound:
    """``lam B^2 + Y^2 d ln(1 + n R^2 / (lam d))``: the classical bound, sharper than `squared`.

    Cesa-Bianchi and Lugosi (2006), Theorem 11.8, for any lam; None is the least, which is
    `VAW.from_theory` with horizon = n.
    """
    check(n, n_features, 2, radius, bound)
    Y = _validate.scale(target_bound, "target_bound")
    return at_lam(lam, radius, a=Y * Y * n_features, c=n * bound**2 / n_features)


def ogd(n: int, n_features: int, n_classes: int, radius: float, bound: float) -> float:
    """``3 B G sqrt(n)``, G = sqrt(2) R (Zinkevich 2003), for the step B / (G sqrt(t))."""
    check(n, n_features, n_classes, radius, bound)
    return 3 * radius * math.sqrt(2) * bound * math.sqrt(n)


def ons(n: int, n_features: int, n_classes: int, radius: float, bound: float) -> float:
    """``5 (1/a + 2 G B) (K-1) d ln(n)`` (Hazan, Agarwal and Kale 2007).

    a = exp(-sqrt(2) B R) / (K - 1) is the exp-concavity on the ball.
    """
    check(n, n_features, n_classes, radius, bound)
    inverse = (n_classes - 1) * power((math.e, math.sqrt(2) * radius * bound))
    weights = (n_classes - 1) * n_features
    return 5 * (inverse + 2 * math.sqrt(2) * bound * radius) * weights * math.log(max(n, 2))


def foster(n: int, n_features: int, n_classes: int, radius: float, bound: float) -> float:
    """``5 d K ln(B R n / (d K) + e)`` (Foster et al. 2018)."""
    check(n, n_features, n_classes, radius, bound)
    dim = n_features * n_classes
    return 5 * dim * math.log(radius * bound * n / dim + math.e)


def aioli(n: int, n_features: int, radius: float, bound: float, lam: float | None = None) -> Bound:
    """``lam B^2 + (1 + B R + R^2/(16 lam)) d ln(1 + n R^2 / (8 lam d (1 + B R)))``.

    Binary, `radius` of the margin weights (after Jezequel et al. 2020; docs: Proofs has a proof),
    for any lam; None is the least, which is `AIOLI.from_theory` with horizon = n.
    """
    check(n, n_features, 2, radius, bound)
    scale, d = 1 + radius * bound, n_features
    c = n * bound**2 / (8 * d * scale)
    return at_lam(lam, radius, a=d * scale, b=d * bound**2 / 16, c=c)


def folklore(
    n: int,
    n_features: int,
    n_classes: int,
    radius: float,
    bound: float,
    lam: float | None = None,
    constants: str | None = None,
) -> Bound:
    """``lam B^2 + (1/(2 beta) + R^2/(16 lam)) D ln(1 + n beta R^2 / (2 lam K d))``, D = (K-1) d.

    After Agarwal et al. 2022 (docs: Proofs has a proof), for any lam and beta of (A3); None is
    the least, which is ``Folklore.from_theory(..., horizon=n, constants=value.constants)``.
    """
    check(n, n_features, n_classes, radius, bound)
    D, found = (n_classes - 1) * n_features, []
    for kind in KINDS if constants is None else (constants,):
        beta = Logistic(n_classes).constants(radius, bound, kind=kind).beta
        c = n * beta * bound**2 / (2 * n_classes * n_features)
        found.append((at_lam(lam, radius, a=D / (2 * beta), b=D * bound**2 / 16, c=c), kind))
    regret, kind = min(found)
    return Bound(regret, regret.lam, kind)
