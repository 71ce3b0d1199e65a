"""Bounds of the forecasters that the paper compares itself with, and of those that came after."""

from __future__ import annotations

import math

from mixable import _validate
from mixable.paper.bounds.common import Bound, at_lam, check, power
from mixable.paper.losses import KINDS, Logistic


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

    Binary, `radius` of the margin weights (after Jezequel et al. 2020; docs/theory.md has a proof),
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

    After Agarwal et al. 2022 (docs/theory.md has a proof), for any lam and beta of (A3); None is
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
