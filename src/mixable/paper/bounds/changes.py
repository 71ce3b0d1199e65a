"""What it costs that labels come late, or that the best weights change on the way.

Each function takes the bound of a forecaster for m examples as a function of m, which must be
concave, as all with a logarithm of m are: ``lambda m: bounds.sharp(m, d, K, B, R)``.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from mixable import _validate

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
    a copy is born at each step t, with a share 1/t of the trust (Hazan and Seshadhri 2009): n
    copies in the end, and each segment costs its own regret and ln(n) more. With "dyadic" a copy
    lives on each interval [i 2^j, (i + 1) 2^j), asleep elsewhere, so that 1 + log2(n) live at a
    time; its prior weight is 1 / (2 b (b + 1) (1 + j)), born at b = i 2^j and j the most it can be.
    A segment of m steps is then made of at most 2 (1 + log2(m)) such intervals. `FreshStarts` is
    that mixture (with a copy that lives for ever, which has the other half of the trust).

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
