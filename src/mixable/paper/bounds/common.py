"""What all bounds share: a number that says which forecaster it is for, and the least over lam."""

from __future__ import annotations

import math
from collections.abc import Callable

from mixable import _validate


class Bound(float):
    """A regret bound in nats: a float that knows the forecaster it is for.

    `lam` is the forecaster's, `constants` the set its beta is from ("paper" or "tight"; "" where
    there is one only).

    >>> value = Bound(261.0, lam=10.7, constants="tight")
    >>> value, value + 2
    (Bound(261, lam=10.7, constants='tight'), 263.0)
    """

    lam: float
    constants: str

    def __new__(cls, regret: float, lam: float = math.nan, constants: str = "") -> Bound:
        """Make one."""
        self = super().__new__(cls, regret)
        self.lam, self.constants = lam, constants
        return self

    def __repr__(self) -> str:
        """Say which forecaster it is for."""
        return f"Bound({float(self):.4g}, lam={self.lam:.3g}, constants={self.constants!r})"


def check(
    n: int, n_features: int = 1, n_classes: int = 2, radius: float = 1.0, bound: float = 1.0
) -> None:
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


def at_lam(
    lam: float | None, radius: float, *, a: float, b: float = 0.0, c: float, least: float = 0.0
) -> Bound:
    """``lam B^2 + (a + b/lam) ln(1 + c/lam)``, the form of all bounds with a lam.

    None is the lam >= `least` where it is smallest: the function is convex, since a + b/lam and the
    logarithm are positive, falling and convex, so its derivative has one root at most.
    """
    if lam is None:
        largest = _validate.LARGEST_SCALE
        low, high = max(least, 1 / largest), max(least, largest)
        for _ in range(100):
            middle = math.sqrt(low * high)
            logarithm = math.log1p(c / middle)
            falls = b / middle / middle * logarithm + (a + b / middle) * (c / (middle + c)) / middle
            if falls > radius**2:
                low = middle
            else:
                high = middle
        lam = low
    elif not lam > 0:
        raise ValueError(f"lam must be above 0, got {lam:g}")
    return Bound(lam * radius**2 + (a + b / lam) * math.log1p(c / lam), lam)


def least(value: Callable[[float], float], low: float, high: float) -> float:
    """Where a convex function of lam is least in [low, high], to a millionth or so.

    Bounds with kappa of `bounds.excess` are such: kappa and the logarithm are positive, fall in
    lam and are convex, so their product is, too.

    >>> round(least(lambda lam: lam + 4 / lam, 0.01, 1e9), 4)
    2.0
    """
    for _ in range(200):
        left, right = low**0.6 * high**0.4, low**0.4 * high**0.6
        low, high = (low, right) if value(left) <= value(right) else (left, high)
    return high
