"""What all bounds share: a number that knows its forecaster, the least over lam, the largest beta.

`largest_beta` is the largest curvature for which the surrogates of the logistic loss lie below it,
(A3). With q = softmax(a) at the comparator and p = softmax(b) at the point of expansion, (A3) says
that ``KL(p, q) >= (beta / 2) Var_p(log(p / q))``. docs: Proofs proves that two classes are the
worst case of any number, so that the largest 1/beta is the maximum of one function of one variable.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from mixable import _validate
from mixable._types import Array


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


TOLERANCE = 1e-4  # of 1/beta, relative
ROUNDING = 1e-7  # above what the formulas lose in double precision
CLOSE = 2.5e-4  # where KL would cancel; there the ratio is below 1 + CLOSE / 2.9, by its change
PIECES = 8


def largest_beta(n_classes: int, product: float) -> float:
    """The largest beta of (A3) for K classes where B R = `product`, or at most 1e-4 of it less.

    (A3) holds for the number returned, whatever the inputs, labels and points of expansion: the
    search bounds the function on whole intervals and leaves none out. A beta larger by 2e-4 of it
    breaks (A3) somewhere.

    >>> round(1 / largest_beta(2, 8.0), 2), round(1 + 8 / math.sqrt(2), 2)  # and the tight formula
    (4.64, 6.66)
    >>> round(1 / largest_beta(10, 1.0), 2), round(math.log(10) / 2 + 1 / math.sqrt(2) + 1, 2)
    (1.51, 2.86)
    """
    K = _validate.count(n_classes, "n_classes", least=2)
    return 1 / _largest_inverse(K, _validate.scale(product, "product"))


@lru_cache(maxsize=512)
def _largest_inverse(K: int, product: float) -> float:
    W = largest_log_odds(K, product)
    if W > 1e6:  # never more (docs: Proofs), and from here on less than 2e-5 of it more
        return 1 + W / 2
    return max(1.0, _ceiling(_ratio(W), _ratio_ceiling(W), -W, W, least=1.0)) * (1 + ROUNDING)


def largest_log_odds(n_classes: int, product: float) -> float:
    """``max log((1 - q_c) / q_c)`` over all q = softmax(Theta x) with |Theta| |x| <= `product`.

    The largest, or at most 1e-6 of it more. With N = K - 1 other classes it is the maximum of
    ``H(s) + B R sqrt(1 + |s|^2)`` over distributions s of N classes, H the entropy, and is reached
    where all but one of their probabilities are equal.
    """
    N, C = n_classes - 1, product
    if N == 1:
        return math.sqrt(2) * C

    def entropy(x: Array) -> Array:
        rest = np.maximum(1 - x, 1e-300)
        return np.asarray(-x * np.log(x) - rest * np.log(rest / (N - 1)))

    def reach(x: Array) -> Array:
        return np.asarray(C * np.sqrt(1 + x * x + (1 - x) ** 2 / (N - 1)))

    # On [1/N, 1] the entropy falls in x, and the reach grows.
    return _ceiling(
        lambda x: entropy(x) + reach(x),
        lambda low, high: entropy(low) + reach(high),
        1 / N,
        1.0,
        tolerance=1e-6,
    ) * (1 + ROUNDING)


def _divergence(v: Array, W: float) -> Array:
    """KL(P, Q), P and Q of log odds v and W >= 0, to a relative error of 1e-15 / (W - v)^2."""
    tails = np.log1p(math.exp(-W)) - np.logaddexp(0.0, -v)
    return np.asarray(np.exp(-np.logaddexp(0.0, v)) * (W - v) + tails)


def _quotient(at_spread: Array, at_distance: Array, at_divergence: Array, W: float) -> Array:
    """``P (1 - P) (W - v)^2 / (2 KL(P, Q))``, each part at its own v; NaN where KL is beneath 0."""
    size = np.abs(at_spread)
    spread = np.exp(-size - 2 * np.log1p(np.exp(-size)))
    twice = 2 * _divergence(at_divergence, W)
    whole = np.where(twice > 0, twice, np.nan)
    with np.errstate(over="ignore"):  # a ceiling may be infinite
        return np.asarray(spread * (W - at_distance) ** 2 / whole)


def _ratio(W: float) -> Callable[[Array], Array]:
    """``P (1 - P) (W - v)^2 / (2 KL(P, Q))`` as a function of v < W, 1 where v is close to W."""

    def ratio(v: Array) -> Array:
        far = W - v > CLOSE
        away = np.where(far, v, W - 1.0)
        return np.asarray(np.where(far, _quotient(away, away, away, W), 1.0))

    return ratio


def _ratio_ceiling(W: float) -> Callable[[Array, Array], Array]:
    """No less than the ratio anywhere in [low, high]: the lesser of two ceilings.

    On v < W, KL and W - v fall in v, and P (1 - P) is largest at the v next to 0. And since the
    curvature P (1 - P) changes by a factor of e at most when v changes by 1, the ratio is at most
    d^2 / (2 (exp(-d) - 1 + d)), d = W - v, which grows in d.
    """

    def ceiling(low: Array, high: Array) -> Array:
        d = W - low
        small = d < 1e-2  # where the quotient would cancel: it is below 1 + d/3 + d^2/18
        by_change = np.where(
            small, 1 + d / 3 + d * d / 18, d * d / (2 * (np.expm1(-d) + np.where(small, 1.0, d)))
        )
        far = W - high > CLOSE
        end = np.where(far, high, W - 1.0)
        by_parts = _quotient(np.clip(0.0, low, high), low, end, W)
        return np.asarray(np.fmin(by_change, np.where(far, by_parts, np.inf)))

    return ceiling


def _ceiling(
    function: Callable[[Array], Array],
    ceiling: Callable[[Array, Array], Array],
    low: float,
    high: float,
    *,
    least: float = 0.0,
    tolerance: float = TOLERANCE,
) -> float:
    """An upper bound of a function on [low, high], `tolerance` above its maximum at most.

    Branch and bound: intervals whose ceiling is above the largest value found, or `least`, are
    divided until none is by more than the tolerance.
    """
    edges = np.linspace(low, high, 64 * PIECES + 1)
    lows, highs, best = edges[:-1], edges[1:], least
    while len(lows):
        best = max(best, float(np.nanmax(function(lows))))
        above = ceiling(lows, highs) > best * (1 + tolerance)
        steps = np.linspace(0.0, 1.0, PIECES + 1)
        edges = lows[above, None] + (highs - lows)[above, None] * steps
        edges[:, -1] = highs[above]
        lows, highs = edges[:, :-1].ravel(), edges[:, 1:].ravel()
    return best * (1 + tolerance)
