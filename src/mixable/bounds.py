"""Regret bounds and costs of the paper (Theorem 1, Corollary 2, Proposition 3, Table 1) as functions of the sizes.

Regret is in nats, summed over n examples, against every comparator of norm at most B = `radius` on inputs of norm at most R = `bound`.
K = `n_classes`, d = `n_features`; multiclass norms are Frobenius norms of the K x d matrix. The constants are those proved where the
source gives them; `foster` is of the stated order with constant 5. Costs are orders of magnitude of arithmetic operations, constants 1.

Jezequel, R., Gaillard, P. and Rudi, A. (2021). Mixability made efficient: Fast online multiclass logistic regression. NeurIPS.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from mixable import _validate
from mixable.losses import Constants, Logistic, Squared


def check(n: int, n_features: int = 1, n_classes: int = 2, radius: float = 1.0, bound: float = 1.0) -> None:
    """Raise ValueError or TypeError for sizes that mean nothing."""
    _validate.count(n, "n", least=0)
    _validate.count(n_features, "n_features")
    _validate.count(n_classes, "n_classes", least=2)
    _validate.scale(radius, "radius")
    _validate.scale(bound, "bound")


def power(*factors: tuple[float, float]) -> float:
    """The product of base ** exponent over (base, exponent), infinite if it overflows.

    >>> round(power((10.0, 3), (2.0, 2)), 6)
    4000.0
    >>> power((1e13, 25))
    inf
    """
    logarithm = sum(exponent * math.log(base) for base, exponent in factors)
    return math.exp(logarithm) if logarithm < 709 else math.inf


def theory_lam(dim: int, constants: Constants) -> float:
    """The least lam that Theorem 1 allows: max(4, dim) zeta / alpha."""
    return max(4, dim) * constants.zeta / constants.alpha


def theorem1(n: int, dim: int, constants: Constants, radius: float, lam: float | None = None) -> float:
    """Regret of GAF for any loss, in `dim` dimensions (Theorem 1).

    ``lam B^2 + (dim / alpha) (1/2 + 2 sqrt(3) / beta) ln(1 + n beta gamma / (2 lam))``, for lam >= max(4, dim) zeta / alpha, the default.
    """
    check(n, radius=radius)
    least = theory_lam(dim, constants)
    lam = least if lam is None else lam
    if lam < least * (1 - 1e-12):
        raise ValueError(f"Theorem 1 needs lam >= {least:g} here, got {lam:g}")
    alpha, beta, gamma, _ = constants
    return lam * radius**2 + dim / alpha * (0.5 + 2 * math.sqrt(3) / beta) * math.log1p(n * beta * gamma / (2 * lam))


def gaf(n: int, n_features: int, n_classes: int, radius: float, bound: float, constants: str = "paper") -> float:
    """Theorem 1 for multiclass logistic regression, for the forecaster that `GAF.from_theory` makes with the same arguments (and mu = 0).

    >>> round(gaf(20_000, 2, 3, radius=2.0, bound=1.0)), round(gaf(20_000, 2, 3, radius=2.0, bound=1.0, constants="tight"))
    (463, 347)
    """
    check(n, n_features, n_classes, radius, bound)
    dim = n_features * (n_classes if constants == "paper" else n_classes - 1)
    return theorem1(n, dim, Logistic(n_classes).constants(radius, bound, kind=constants), radius)


def corollary2(n: int, n_features: int, n_classes: int, radius: float, bound: float) -> float:
    """Corollary 2 with its constants written out: Theorem 1 at the printed lam = 32 d K R^2, larger than needed."""
    dim = n_features * n_classes
    return theorem1(n, dim, Logistic(n_classes).constants(radius, bound), radius, lam=32 * dim * bound**2)


class MonteCarloBound(NamedTuple):
    """Proposition 3: the smoothing mu, and the regret that holds with probability 1 - delta."""

    mu: float
    regret: float


def proposition3(
    n: int, n_features: int, n_classes: int, radius: float, bound: float, *, m: float, delta: float = 0.05, mu: float | None = None
) -> MonteCarloBound:
    """Efficient-GAF with m random points per prediction (Proposition 3, corrected): with probability 1 - delta, Theorem 1's bound
    plus ``n eps + 2 mu n``, ``eps = sqrt(K log(n / delta) / (mu m))``.

    The default mu = (K log(n / delta) / m)^(1/3) balances the two. The proof needs eps <= 1/2; with fewer points than that nothing is
    guaranteed, and the regret returned is infinite. In practice m = 100 is plenty (docs/theory.md).

    >>> proposition3(10_000, 18, 4, 5.0, 1.0, m=100).regret
    inf
    >>> bound = proposition3(10_000, 18, 4, 5.0, 1.0, m=1e15)
    >>> bool(bound.regret < gaf(10_000, 18, 4, 5.0, 1.0) + 11)
    True
    """
    check(n, n_features, n_classes, radius, bound)
    _validate.real(m, "m", least=1)
    _validate.real(delta, "delta", above=0, most=1)
    tail = n_classes * math.log(max(n, 1) / delta)
    mu = min((tail / m) ** (1 / 3), 0.5) if mu is None else _validate.real(mu, "mu", above=0, most=0.5)
    eps = math.sqrt(tail / (mu * m))
    if eps > 0.5:
        return MonteCarloBound(mu, math.inf)
    return MonteCarloBound(mu, gaf(n, n_features, n_classes, radius, bound) + n * eps + 2 * mu * n)


def squared(n: int, n_features: int, radius: float, bound: float, target_bound: float) -> float:
    """Theorem 1 for the squared loss (Section 4.1), with gamma = 2 R^2."""
    return theorem1(n, n_features, Squared(target_bound=target_bound).constants(radius, bound, n_features), radius)


def vaw(n: int, n_features: int, radius: float, bound: float, target_bound: float, lam: float | None = None) -> float:
    """The classical bound of VAW, sharper than `squared`: ``lam B^2 + Y^2 d ln(1 + n R^2 / (lam d))`` (Cesa-Bianchi and Lugosi 2006,
    Theorem 11.8). The default lam is that of `VAW.from_theory`.
    """
    if lam is None:
        lam = theory_lam(n_features, Squared(target_bound=target_bound).constants(radius, bound, n_features))
    return lam * radius**2 + target_bound**2 * n_features * math.log1p(n * bound**2 / (lam * n_features))


def ogd(n: int, n_features: int, n_classes: int, radius: float, bound: float) -> float:
    """``3 B G sqrt(n)``, G = sqrt(2) R (Zinkevich 2003): the diameter is 2 B and the step B / (G sqrt(t))."""
    check(n, n_features, n_classes, radius, bound)
    return 3 * radius * math.sqrt(2) * bound * math.sqrt(n)


def ons(n: int, n_features: int, n_classes: int, radius: float, bound: float) -> float:
    """``5 (1/a + 2 G B) (K-1) d ln(n)`` (Hazan, Agarwal and Kale 2007), a = exp(-sqrt(2) B R) / (K - 1) the exp-concavity on the ball."""
    check(n, n_features, n_classes, radius, bound)
    inverse = (n_classes - 1) * power((math.e, math.sqrt(2) * radius * bound))
    return 5 * (inverse + 2 * math.sqrt(2) * bound * radius) * (n_classes - 1) * n_features * math.log(max(n, 2))


def foster(n: int, n_features: int, n_classes: int, radius: float, bound: float) -> float:
    """``5 d K ln(B R n / (d K) + e)`` (Foster et al. 2018)."""
    check(n, n_features, n_classes, radius, bound)
    dim = n_features * n_classes
    return 5 * dim * math.log(radius * bound * n / dim + math.e)


def aioli(n: int, n_features: int, radius: float, bound: float, lam: float | None = None) -> float:
    """Binary, `radius` of the margin weights: ``lam B^2 + (1 + B R + R^2/(8 lam)) d ln(1 + n R^2 / (8 lam d (1 + B R)))`` (Jezequel et
    al. 2020); the default lam = R^2 is that of `AIOLI.from_theory`.
    """
    check(n, n_features, 2, radius, bound)
    lam = bound**2 if lam is None else lam
    scale = 1 + radius * bound
    growth = math.log1p(n * bound**2 / (8 * lam * n_features * scale))
    return lam * radius**2 + (scale + bound**2 / (8 * lam)) * n_features * growth


def folklore(
    n: int, n_features: int, n_classes: int, radius: float, bound: float, lam: float | None = None, constants: str = "paper"
) -> float:
    """``lam B^2 + (1/(2 beta) + R^2/(8 lam)) D ln(1 + n beta R^2 / (2 lam D))``, D = (K-1) d (after Agarwal et al. 2022, beta of (A3));
    the default lam = R^2 is that of `Folklore.from_theory`.
    """
    check(n, n_features, n_classes, radius, bound)
    lam = bound**2 if lam is None else lam
    beta = Logistic(n_classes).constants(radius, bound, kind=constants).beta
    D = (n_classes - 1) * n_features
    return lam * radius**2 + (1 / (2 * beta) + bound**2 / (8 * lam)) * D * math.log1p(n * beta * bound**2 / (2 * lam * D))


def doubling_radii(max_radius: float, bound: float) -> list[float]:
    """The radii of `AutoGAF.from_theory`: `max_radius`, its half, its quarter and so on, down to a product with `bound` of at most 1/2.

    >>> doubling_radii(8.0, 1.0)
    [0.5, 1.0, 2.0, 4.0, 8.0]
    """
    radii = [_validate.scale(max_radius, "max_radius")]
    _validate.scale(bound, "bound")
    while radii[0] * bound > 0.5:
        radii.insert(0, radii[0] / 2)
    return radii


def adaptive(n: int, n_features: int, n_classes: int, radius: float, bound: float, max_radius: float, constants: str = "paper") -> float:
    """Regret of `AutoGAF.from_theory` to comparators of norm at most `radius`, which nobody told it.

    The least of Theorem 1's bounds among the experts made for a radius at least as large (each with the comparator's own norm in
    lam B^2), + ln of their number.

    >>> [round(adaptive(20_000, 2, 3, radius, 1.0, max_radius=32.0)) for radius in (0.5, 2.0, 8.0, 30.0)]
    [250, 464, 2303, 23420]
    """
    check(n, n_features, n_classes, radius, bound)
    radii = doubling_radii(max_radius, bound)
    dim = n_features * (n_classes if constants == "paper" else n_classes - 1)
    able = [r for r in radii if r >= radius]
    if not able:
        raise ValueError(f"radius must be at most max_radius = {max_radius:g}, got {radius:g}")
    values = [Logistic(n_classes).constants(r, bound, kind=constants) for r in able]
    return min(theorem1(n, dim, value, radius) for value in values) + math.log(len(radii))


def auto_gaf(
    n: int,
    n_features: int,
    n_classes: int,
    radius: float,
    bound: float,
    scale: float,
    experts: int = 41,
    guard: float = 10.0,
) -> float:
    """Regret of `AutoGAF`, through its guard, to comparators of norm at most `radius` with `radius` times `bound` at most `guard`.

    That of Folklore with beta for B R = `guard` and lam = d times `scale` (the forecaster's `input_scale`), + ln(2 experts) for the
    mixture + 1e-10 n for its judge, who never quite gives up. Theory's price for adapting to anything; what is paid is far less. For
    streams of one size whose scale was not changed on the way, and examples of weight at most 1.

    >>> round(auto_gaf(846, 19, 4, radius=1.0, bound=10.0, scale=1.0))
    568
    """
    check(n, n_features, n_classes, radius, bound)
    _validate.count(experts, "experts")
    if radius * bound > guard * (1 + 1e-12):
        raise ValueError(f"radius * bound must be at most guard = {guard:g}, got {radius * bound:g}")
    lam = n_features * _validate.scale(scale, "scale")
    guarded = folklore(n, n_features, n_classes, guard / bound, bound, lam) - lam * ((guard / bound) ** 2 - radius**2)
    return guarded + math.log(2 * experts) + 1e-10 * n


class Row(NamedTuple):
    """One algorithm of Table 1: its regret bound, its total cost in operations, and a remark."""

    algorithm: str
    regret: float
    cost: float
    remark: str


def table1(n: int, n_features: int, n_classes: int, radius: float, bound: float = 1.0) -> list[Row]:
    """Table 1 of the paper with numbers in it, and the forecasters that came after.

    >>> for row in table1(10_000, 18, 4, radius=5.0):
    ...     print(f"{row.algorithm:22}{row.regret:12.4g}{row.cost:12.2g}")  # doctest: +ELLIPSIS
    OGD                           2121     7.2e+05
    ...
    """
    d, K, B, R = n_features, n_classes, radius, bound
    arguments = (n, d, K, B, R)
    D = (K - 1) * d
    rows = [
        Row("OGD", ogd(*arguments), n * d * K, "B sqrt(n)"),
        Row("ONS", ons(*arguments), power((n, 1), (d * K, 3)), "d K e^B log(n); cost with projection"),
        Row("Foster et al.", foster(*arguments), power((B, 6), (n, 25), (B * n + d * K, 12)), "d K log(B n); constant 5 assumed"),
        Row("GAF", gaf(*arguments), power((n, 1), (K, 3), (d, 2)) + power((K, 2), (n, 4)), "d K (B^2 + B log(n)); m = n^3 points"),
        Row(
            "GAF, tight constants",
            gaf(*arguments, "tight"),
            power((n, 1), (D, 2), (K + 1, 1)) + power((n, 1), (128, 1), (K, 2)),
            "as implemented, 128 points",
        ),
        Row("FOLKLORE", folklore(*arguments), power((n, 1), (D, 2), (K + 1, 1)), "d K B log(n), no sampling"),
    ]
    if K == 2:
        margin = math.sqrt(2) * B
        rows.append(Row("AIOLI", aioli(n, d, margin, R), n * (3.0 * d * d + math.log(n)), "binary; margin weights of norm sqrt(2) B"))
    return rows
