"""Mixtures: of norms of the comparator, and of times at which the best weights may have changed.

`delayed`, `switching` and `dynamic` take the bound of a forecaster for m examples as a function of
m, which must be concave, as all with a logarithm of m are: ``lambda m: bounds.sharp(m, d, K, B,
R)``.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from mixable import _renamed, _validate
from mixable.paper.bounds.common import Bound, check
from mixable.paper.bounds.theorem import dimension, folklore, theorem1, theory_lam
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


@_renamed.arguments(guard="fallback")
def auto_gaf(
    n: int,
    n_features: int,
    n_classes: int,
    radius: float,
    bound: float,
    scale: float,
    experts: int = 29,
    fallback: float = 10.0,
) -> float:
    """Regret of `AutoGAF`, through its "folklore" fallback, to comparators of norm at most
    `radius`.

    `radius` times `bound` must be at most `fallback`. That of Folklore with beta for B R =
    `fallback` and
    lam = d times `scale` (the forecaster's `input_scale`), + ln(2 experts) for the mixture + 1e-10
    n for its judge, which keeps some weight of both. Theory's price for adapting to anything; what
    is paid is far less. For streams of one size whose scale was not changed on the way, and
    examples of weight at most 1.

    >>> round(auto_gaf(846, 19, 4, radius=1.0, bound=10.0, scale=1.0))
    465
    """
    check(n, n_features, n_classes, radius, bound)
    _validate.count(experts, "experts")
    if radius * bound > fallback * (1 + 1e-12):
        product = radius * bound
        raise ValueError(f"radius * bound must be at most fallback = {fallback:g}, got {product:g}")
    lam = n_features * _validate.scale(scale, "scale")
    guarded = folklore(n, n_features, n_classes, fallback / bound, bound, lam, "paper")
    nearer = lam * ((fallback / bound) ** 2 - radius**2)
    return guarded - nearer + math.log(2 * experts) + 1e-10 * n


@_renamed.arguments(guard="fallback")
def auto_gaf_wide(
    n: int, n_features: int, bound: float, scale: float, experts: int = 29, fallback: float = 10.0
) -> float:
    """Regret of `AutoGAF`, through its "gradient" fallback, to comparators that the fallback knows.

    Those have a norm of at most B = `fallback` / sqrt(d `scale`), `scale` the forecaster's
    `input_scale`. Online gradient descent with steps eta / sqrt(t), eta = B / sqrt(2 d scale), on
    inputs of norm at most `bound` has at most (2 B^2 / eta + 2 eta bound^2) sqrt(n) (Zinkevich
    2003), + ln(2 experts) and 1e-10 n as in `auto_gaf`. With the same conditions.

    >>> round(auto_gaf_wide(2_000, 64, bound=8.0, scale=1.0))
    1901
    """
    n, n_features = _validate.count(n, "n"), _validate.count(n_features, "n_features")
    _validate.count(experts, "experts")
    unit = n_features * _validate.scale(scale, "scale")
    radius = _validate.scale(fallback, "fallback") / math.sqrt(unit)
    step = radius / math.sqrt(2 * unit)
    descent = (2 * radius**2 / step + 2 * step * _validate.scale(bound, "bound") ** 2) * math.sqrt(
        n
    )
    return descent + math.log(2 * experts) + 1e-10 * n


BIRTHS = ("every", "dyadic")

Regret = Callable[[int], float]


def delayed(regret: Regret, n: int, delay: int) -> float:
    """``(delay + 1) regret(n / (delay + 1))``: what late labels cost.

    The label of example t is known when t + `delay` + 1 is predicted; 0 is no delay. It is for
    `delay` + 1 copies of a forecaster that take turns, each with its own examples (Joulani, Gyorgy
    and Szepesvari 2013). No forecaster can do better on a stream that shows each example `delay` +
    1 times in a row. Of one forecaster that learns late labels as they come nothing is proved.

    >>> from mixable import bounds
    >>> [round(delayed(lambda m: bounds.sharp(m, 2, 2, 1.0, 1.0), 1000, tau)) for tau in (0, 9, 99)]
    [7, 43, 208]
    """
    n, copies = _validate.count(n, "n", least=0), _validate.count(delay, "delay", least=0) + 1
    shorter, longer = n // copies, n % copies
    total = longer * float(regret(shorter + 1)) if longer else 0.0
    return total + ((copies - longer) * float(regret(shorter)) if shorter else 0.0)


def switching(regret: Regret, n: int, segments: int, births: str = "every") -> float:
    """Regret to the best weights of each of `segments` pieces of the stream, unknown in advance.

    For a mixture of copies of a forecaster, each started afresh at its time. With `births` "every"
    a copy is born at each step t, with a share 1/t of the weight (Hazan and Seshadhri 2009): n
    copies in the end, and each segment costs its own regret and ln(n) more. With "dyadic" a copy
    lives on each interval [i 2^j, (i + 1) 2^j), inactive elsewhere, so that 1 + log2(n) live at a
    time; its prior weight is 1 / (2 b (b + 1) (1 + j)), born at b = i 2^j and j the most it can be.
    A segment of m steps is then made of at most 2 (1 + log2(m)) such intervals. `FreshStarts` is
    that mixture (with a copy that lives for ever, which has the other half of the weight).

    >>> from mixable import bounds
    >>> static = lambda m: bounds.sharp(m, 2, 2, 1.0, 1.0)
    >>> [round(switching(static, 10_000, 5, births)) for births in ("every", "dyadic")]
    [86, 3797]
    """
    n, segments = _validate.count(n, "n"), _validate.count(segments, "segments")
    if segments > n:
        raise ValueError(f"segments must be at most n = {n}, got {segments}")
    if births not in BIRTHS:
        raise ValueError(f"births must be one of {BIRTHS}, got {births!r}")
    if births == "every":  # concave, so that segments of one length are the worst
        return segments * (float(regret(-(-n // segments))) + math.log(n))
    prior = math.log(2 * n * (n + 1.0) * (1 + math.log2(n)))
    return 2 * segments * (1 + math.log2(n / segments)) * (float(regret(n)) + prior)


def dynamic(
    regret: Regret, n: int, path: float, bound: float, *, drawn: bool = False, births: str = "every"
) -> float:
    """Regret to weights that move by `path` in all: sum |u_t - u_{t-1}|; inputs up to `bound`.

    The least of `switching` over the number of segments, each with fixed weights, and what the
    fixed weights lose to the moving ones. Against any labels that is at most sqrt(2) R |u - u_t| at
    a step: the regret is of the order sqrt(n path). If labels are `drawn` from the moving weights'
    own probabilities it is, on average, at most R^2 |u - u_t|^2 / 4, and the regret of the order
    n^(1/3) path^(2/3). `births` is that of `switching`: for `FreshStarts` it is "dyadic".

    >>> from mixable import bounds
    >>> static = lambda m: bounds.sharp(m, 2, 2, 1.0, 1.0)
    >>> [round(dynamic(static, 10_000, 5.0, 1.0, drawn=drawn)) for drawn in (True, False)]
    [465, 1984]
    """
    n, R = _validate.count(n, "n"), _validate.scale(bound, "bound")
    path = _validate.real(path, "path", least=0)

    def value(segments: int) -> float:
        if drawn:  # pieces of equal path
            lost = n * (R * path / segments) ** 2 / 4
        else:  # pieces of equal length
            lost = math.sqrt(2) * R * path * -(-n // segments)
        return switching(regret, n, segments, births) + lost

    counts = {min(n, max(1, round(n ** (i / 200)))) for i in range(201)}
    return min(value(segments) for segments in sorted(counts))
