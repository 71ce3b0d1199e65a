"""Regret of forecasters that are told neither the norm of the comparator nor that of the inputs.

`GAFClassifier()`, and whatever else has its pool, on raw inputs: beside the pool stands its
fallback (core/pool/fallback.hpp): class frequencies, a gambler for each weight
(core/pool/bettor.hpp), and Folklore where there are few weights (core/pool/raw_folklore.hpp). All
see the inputs as they come, and a constant.

`ScaleFree` is a mixture of `Folklore` forecasters for B R = 1/2, 1, 2, 4, ..., of which each is
born when it can pay for itself. The forecaster and its bound read the same plan here. After Mayo,
J. J., Hadiji, H. and van Erven, T. (2022). Scale-free unconstrained online learning for nonlinear
losses. COLT. The construction is this library's. docs: Proofs has the proofs of both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mixable import _validate
from mixable._types import Array
from mixable.paper.bounds.common import Bound, check, largest_beta

SHARE = 0.05  # as in core/pool/fallback.hpp

PRODUCT = 10.0
"""The largest norm of a comparator's logits for which Folklore's bound holds."""

MOST_WEIGHTS = 32
"""The most weights (K - 1)(d + 1) of which there is a Folklore."""


class FallbackPlan(NamedTuple):
    """The parameters of Folklore in the fallback."""

    lam: float
    beta: float


@lru_cache(maxsize=64)
def _beta(n_classes: int) -> float:
    return largest_beta(n_classes, PRODUCT)


def fallback_plan(n_features: int, n_classes: int) -> FallbackPlan | None:
    """Folklore in the fallback of a pool; None if there would be too many weights.

    >>> fallback_plan(3, 2).lam, fallback_plan(40, 2)
    (1.0, None)
    """
    if (n_classes - 1) * (n_features + 1) > MOST_WEIGHTS:
        return None
    return FallbackPlan((n_features + 1) / 4, _beta(n_classes))


def class_frequencies(n: int, n_classes: int) -> float:
    """How far `GAFClassifier()` can be behind the best constant forecast after n examples.

    Krichevsky and Trofimov's frequencies (n_c + 1/2) / (n + K/2) lose most, against the best
    constant, if all labels are the same; the mixture with the pool adds ln 20.

    >>> [round(class_frequencies(n, 2), 1) for n in (100, 10_000, 1_000_000)]
    [5.9, 8.2, 10.5]
    """
    check(n, n_classes=n_classes)
    K = n_classes
    frequencies = (
        math.lgamma(n + K / 2) - math.lgamma(K / 2) - math.lgamma(n + 0.5) + math.lgamma(0.5)
    )
    return frequencies - math.log(SHARE)


def default(
    n: int, n_features: int, n_classes: int, radius: float, bound: float, spread: float = 1.0
) -> float:
    """Regret of `GAFClassifier()` to linear models of the raw inputs, of which it is told nothing.

    The models have a norm of at most `radius`, the inputs one of at most `bound`. `spread` is the
    largest size of an input (of one column) over its first one that is not zero. The least of what
    Folklore promises, ``d' (B R)^2 + (1/(2 beta) + 1/4) D (ln(1 + 2 n beta / (K d')) + 2
    ln(spread))`` with d' = d + 1, D = (K-1) d' (if that is at most 32, and B R at most 10); of what
    the gamblers promise, which grows with sqrt(n); and of ``n B R`` + that of the class
    frequencies. Each
    + ln 20 for the mixture. For examples of weight at most 1. `default_on` is sharper where inputs
    are known.

    >>> [round(default(n, 1, 2, radius=1.0, bound=1.0)) for n in (1_000, 20_000, 400_000)]
    [34, 53, 72]
    >>> [round(default(n, 100, 2, radius=1.0, bound=1.0)) for n in (1_000, 20_000, 400_000)]
    [1007, 2666, 9348]
    """
    check(n, n_features, n_classes, radius, bound)
    _validate.real(spread, "spread", least=1)
    K, d, product = n_classes, n_features + 1, radius * bound
    found = [n * product + class_frequencies(n, K)]
    logarithm = math.log1p(2 * product * (n + 1) ** 1.5 * spread**2)
    long = math.sqrt(2 * n + K * n_features) * math.sqrt(logarithm)
    short = 2 * math.sqrt(K * n_features) * logarithm
    found.append(K * d + 2 * product * (long + short) - math.log(SHARE))
    plan = fallback_plan(n_features, K)
    if plan is not None and product <= PRODUCT * (1 + 1e-12):
        log_spread = math.ceil(math.log2(spread) - 1e-12) * math.log(2)
        found.append(_folklore(n, d, K, plan, 4 * product**2, log_spread))
    return min(found)


def default_on(X: ArrayLike, weights: ArrayLike, intercept: ArrayLike | None = None) -> float:
    """Regret of `GAFClassifier()` to one linear model of the raw inputs X (n, d), whatever labels.

    `weights` (n_classes, d) and `intercept` (n_classes,) are the model's. Missing inputs, NaN,
    count as 0. The least of what Folklore and the gamblers promise of each weight. Nothing changes
    if a column is multiplied by a constant, and its weights are divided by it (for Folklore, by a
    power of two).

    >>> x = np.repeat([0.9, -0.9, 0.9], [100, 400, 1600])[:, None]
    >>> round(default_on(x, [[-0.5], [0.5]])), round(default_on(8 * x, [[-0.0625], [0.0625]]))
    (36, 36)
    """
    U = np.asarray(weights, dtype=np.float64)
    if U.ndim != 2:
        raise ValueError(f"weights must be a table (n_classes, n_features), got shape {U.shape}")
    rows = _validate.table(np.nan_to_num(np.asarray(X, dtype=np.float64)), U.shape[1])
    n, K = len(rows), len(U)
    first_weight = np.zeros(K) if intercept is None else np.asarray(intercept, dtype=np.float64)
    U = np.column_stack([first_weight, U])
    rows = np.column_stack([np.ones(n), rows])
    sizes = np.abs(rows)
    met = sizes.max(axis=0) > 0
    rows, sizes, U = rows[:, met], sizes[:, met], U[:, met]
    U = U - U.mean(axis=0)  # what all classes share changes nothing
    largest = sizes.max(axis=0)
    first = sizes[(sizes > 0).argmax(axis=0), np.arange(sizes.shape[1])]
    found = [_bets(U, largest, first, (rows**2).sum(axis=0)) - math.log(SHARE)]
    d = int(np.asarray(weights).shape[1]) + 1
    plan = fallback_plan(d - 1, K)
    product = float(np.sqrt(((rows @ U.T) ** 2).sum(axis=1)).max())
    if plan is not None and product <= PRODUCT * (1 + 1e-12):
        units = [2 ** np.ceil(np.log2(each)) for each in (largest, first)]
        square = float((U**2 @ units[0] ** 2).sum())
        log_spread = float(np.log(units[0] / units[1]).sum() / d)
        found.append(_folklore(n, d, K, plan, square, log_spread))
    return min(found)


def _folklore(
    n: int, d: int, K: int, plan: FallbackPlan, square: float, log_spread: float
) -> float:
    """`square` is the squared norm of the comparator in the units, `log_spread` a mean."""
    nonlinear = 1 / (2 * plan.beta) + d / (16 * plan.lam)
    logarithm = math.log1p(n * plan.beta / (2 * K * plan.lam)) + 2 * log_spread
    return plan.lam * square + nonlinear * (K - 1) * d * logarithm - math.log(SHARE)


def _bets(U: Array, largest: Array, first: Array, squares: Array) -> float:
    """1 + |u| max(2 sqrt(V L), 4 M L), L = ln(1 + 2 |u| sqrt(V) V / M_1^2), for each weight."""
    V = squares + largest**2
    logarithm = np.log1p(2 * np.abs(U) * np.sqrt(V) * V / first**2)
    each = np.maximum(2 * np.sqrt(V * logarithm), 4 * largest * logarithm)
    return float((1 + np.abs(U) * each).sum())


GROWTH = math.sqrt(2)
"""When an input is longer than the unit, it makes a unit that is so many times as long."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """An expert of `ScaleFree`.

    `product` is the B R that it is for, `factor` its lam in units of the squared length of inputs,
    `birth` the step (from 1) at which it starts, `prior` its weight then.
    """

    product: float
    beta: float
    factor: float
    birth: int
    prior: float


def scale_free_plan(i: int, n_features: int, n_classes: int) -> Plan:
    """The expert number `i` = 0, 1, 2, ... of `ScaleFree`.

    >>> [scale_free_plan(i, 2, 3).birth for i in (0, 3, 6, 9)]
    [2, 5, 38, 325]
    """
    D, product = (n_classes - 1) * n_features, 2.0**i / 2
    beta = largest_beta(n_classes, product)
    factor = (D / (4 * beta) + math.sqrt(D) * product / 4) / product**2
    birth = 1 + math.floor(D / (2 * beta * math.log(n_classes)))
    prior = 1 / (2 * (i + 1) * (i + 2))
    return Plan(product=product, beta=beta, factor=factor, birth=birth, prior=prior)


def scale_free(
    n: int, n_features: int, n_classes: int, radius: float, bound: float, spread: float = 1.0
) -> Bound:
    """Regret of `ScaleFree` to comparators of norm at most `radius`, on inputs up to `bound`.

    It knows neither. `spread` is `bound` over the norm of the first input that is not zero. The
    least over its experts for B R or more, with their own plan, and over what predicting 1/K gives,
    ``ln 2 + n B R``. For an expert with m = n - birth + 1 steps it is ``2 factor (B R)^2 + (1/(2
    beta) + 1/(16 factor)) D (ln(1 + m beta / (4 factor K d)) + 2 ln(spread)) - ln(prior)``, and
    ``(birth - 1) ln(K) + ln 2`` for the steps before, if there are any. For examples of weight at
    most 1.

    >>> from mixable.bounds import sharp
    >>> [round(scale_free(20_000, 2, 3, radius, 1.0)) for radius in (1e-6, 0.1, 2.0, 50.0)]
    [1, 14, 34, 877]
    >>> [round(sharp(20_000, 2, 3, radius, 1.0)) for radius in (0.1, 2.0, 50.0)]  # if B were known
    [7, 29, 1608]
    """
    check(n, n_features, n_classes, radius, bound)
    _validate.real(spread, "spread", least=1)
    product, D, i = radius * bound, (n_classes - 1) * n_features, 0
    found = [Bound(math.log(2) + n * product, math.inf)]
    while not found[1:] or i < 60:
        plan = scale_free_plan(i, n_features, n_classes)
        i += 1
        if plan.product < product:
            continue
        found.append(Bound(_of_expert(n, plan, D, n_classes, product, spread), plan.factor))
        if found[-1] > 2 * min(found):  # larger ones are for nothing
            break
    return min(found)


def _of_expert(n: int, plan: Plan, D: int, n_classes: int, product: float, spread: float) -> float:
    missed, factor = min(n, plan.birth - 1), plan.factor
    before = missed * math.log(n_classes) + math.log(2) if missed else 0.0
    if missed == n:
        return before
    Kd = D * n_classes / (n_classes - 1)
    learned = math.log1p((n - missed) * plan.beta / (4 * factor * Kd)) + 2 * math.log(spread)
    nonlinear = (1 / (2 * plan.beta) + 1 / (16 * factor)) * D * learned
    return before - math.log(plan.prior) + 2 * factor * product**2 + nonlinear
