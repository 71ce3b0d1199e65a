"""Bounds of mixtures that do not know the norm of the comparator."""

from __future__ import annotations

import math

from mixable import _validate
from mixable.paper.bounds.common import Bound, check
from mixable.paper.bounds.neighbours import folklore
from mixable.paper.bounds.theorem import dimension, theorem1, theory_lam
from mixable.paper.losses import KINDS, Logistic


def doubling_radii(max_radius: float, bound: float) -> list[float]:
    """The radii of `AutoGAF.from_theory`: `max_radius`, its half, its quarter and so on.

    The last one times `bound` is at most 1/2.

    >>> doubling_radii(8.0, 1.0)
    [0.5, 1.0, 2.0, 4.0, 8.0]
    """
    radii = [_validate.scale(max_radius, "max_radius")]
    _validate.scale(bound, "bound")
    while radii[0] * bound > 0.5:
        radii.insert(0, radii[0] / 2)
    return radii


def adaptive(
    n: int,
    n_features: int,
    n_classes: int,
    radius: float,
    bound: float,
    max_radius: float,
    constants: str | None = None,
) -> Bound:
    """Regret of `AutoGAF.from_theory` to comparators of norm at most `radius`, unknown to it.

    The least of Theorem 1's bounds among the experts made for a radius at least as large (each at
    its own lam, the least allowed, and with the comparator's own norm in lam B^2), + ln of their
    number. None takes the set of constants with the smaller one.

    >>> adaptive(20_000, 2, 3, 2.0, 1.0, max_radius=32.0)
    Bound(348.6, lam=0.568, constants='tight')
    >>> radii = (0.5, 2.0, 8.0, 30.0)
    >>> [round(adaptive(20_000, 2, 3, r, 1.0, max_radius=32.0, constants="paper")) for r in radii]
    [250, 464, 2303, 23420]
    """
    check(n, n_features, n_classes, radius, bound)
    radii = doubling_radii(max_radius, bound)
    able = [r for r in radii if r >= radius]
    if not able:
        raise ValueError(f"radius must be at most max_radius = {max_radius:g}, got {radius:g}")
    found = []
    for kind in KINDS if constants is None else (constants,):
        dim = dimension(n_features, n_classes, kind)
        for r in able:
            values = Logistic(n_classes).constants(r, bound, kind=kind)
            found.append((theorem1(n, dim, values, radius, theory_lam(dim, values)), kind))
    regret, kind = min(found)
    return Bound(regret + math.log(len(radii)), regret.lam, kind)


def auto_gaf(
    n: int,
    n_features: int,
    n_classes: int,
    radius: float,
    bound: float,
    scale: float,
    experts: int = 29,
    guard: float = 10.0,
) -> float:
    """Regret of `AutoGAF`, through its "folklore" guard, to comparators of norm at most `radius`.

    `radius` times `bound` must be at most `guard`. That of Folklore with beta for B R = `guard` and
    lam = d times `scale` (the forecaster's `input_scale`), + ln(2 experts) for the mixture + 1e-10
    n for its judge, which keeps some trust in both. Theory's price for adapting to anything; what
    is paid is far less. For streams of one size whose scale was not changed on the way, and
    examples of weight at most 1.

    >>> round(auto_gaf(846, 19, 4, radius=1.0, bound=10.0, scale=1.0))
    465
    """
    check(n, n_features, n_classes, radius, bound)
    _validate.count(experts, "experts")
    if radius * bound > guard * (1 + 1e-12):
        product = radius * bound
        raise ValueError(f"radius * bound must be at most guard = {guard:g}, got {product:g}")
    lam = n_features * _validate.scale(scale, "scale")
    guarded = folklore(n, n_features, n_classes, guard / bound, bound, lam, "paper")
    nearer = lam * ((guard / bound) ** 2 - radius**2)
    return guarded - nearer + math.log(2 * experts) + 1e-10 * n


def auto_gaf_wide(
    n: int, n_features: int, bound: float, scale: float, experts: int = 29, guard: float = 10.0
) -> float:
    """Regret of `AutoGAF`, through its "gradient" guard, to comparators that the guard knows.

    Those have a norm of at most B = `guard` / sqrt(d `scale`), `scale` the forecaster's
    `input_scale`. Online gradient descent with steps eta / sqrt(t), eta = B / sqrt(2 d scale), on
    inputs of norm at most `bound` has at most (2 B^2 / eta + 2 eta bound^2) sqrt(n) (Zinkevich
    2003), + ln(2 experts) and 1e-10 n as in `auto_gaf`. With the same conditions.

    >>> round(auto_gaf_wide(2_000, 64, bound=8.0, scale=1.0))
    1901
    """
    n, n_features = _validate.count(n, "n"), _validate.count(n_features, "n_features")
    _validate.count(experts, "experts")
    unit = n_features * _validate.scale(scale, "scale")
    radius = _validate.scale(guard, "guard") / math.sqrt(unit)
    step = radius / math.sqrt(2 * unit)
    descent = (2 * radius**2 / step + 2 * step * _validate.scale(bound, "bound") ** 2) * math.sqrt(
        n
    )
    return descent + math.log(2 * experts) + 1e-10 * n
