"""What is promised of `GAFClassifier()`, and of whatever else has its pool, on raw inputs.

Beside the pool stands its fallback (core/fallback.hpp): class frequencies, a gambler for each
weight (core/bettor.hpp), and Folklore where there are few weights (core/raw_folklore.hpp). All see
the inputs as they come, and a constant. docs/theory.md has the proofs.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mixable import _validate
from mixable._types import Array
from mixable.paper.bounds.beta import largest_beta
from mixable.paper.bounds.common import check

SHARE = 0.05  # as in core/fallback.hpp

PRODUCT = 10.0
"""The largest norm of a comparator's logits for which Folklore's bound holds."""

MOST_WEIGHTS = 32
"""The most weights (K - 1)(d + 1) of which there is a Folklore."""


class Plan(NamedTuple):
    """The parameters of Folklore in the fallback."""

    lam: float
    beta: float


@lru_cache(maxsize=64)
def _beta(n_classes: int) -> float:
    return largest_beta(n_classes, PRODUCT)


def fallback_plan(n_features: int, n_classes: int) -> Plan | None:
    """Folklore in the fallback of a pool; None if there would be too many weights.

    >>> fallback_plan(3, 2).lam, fallback_plan(40, 2)
    (1.0, None)
    """
    if (n_classes - 1) * (n_features + 1) > MOST_WEIGHTS:
        return None
    return Plan((n_features + 1) / 4, _beta(n_classes))


def class_rates(n: int, n_classes: int) -> float:
    """How far `GAFClassifier()` can be behind the best constant forecast after n examples.

    Krichevsky and Trofimov's frequencies (n_c + 1/2) / (n + K/2) lose most, against the best
    constant, if all labels are the same; the mixture with the pool adds ln 20.

    >>> [round(class_rates(n, 2), 1) for n in (100, 10_000, 1_000_000)]
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
    the gamblers promise, which grows with sqrt(n); and of ``n B R`` + that of the class rates. Each
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
    found = [n * product + class_rates(n, K)]
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


def _folklore(n: int, d: int, K: int, plan: Plan, square: float, log_spread: float) -> float:
    """`square` is the squared norm of the comparator in the units, `log_spread` a mean."""
    curved = 1 / (2 * plan.beta) + d / (16 * plan.lam)
    logarithm = math.log1p(n * plan.beta / (2 * K * plan.lam)) + 2 * log_spread
    return plan.lam * square + curved * (K - 1) * d * logarithm - math.log(SHARE)


def _bets(U: Array, largest: Array, first: Array, squares: Array) -> float:
    """1 + |u| max(2 sqrt(V L), 4 M L), L = ln(1 + 2 |u| sqrt(V) V / M_1^2), for each weight."""
    V = squares + largest**2
    logarithm = np.log1p(2 * np.abs(U) * np.sqrt(V) * V / first**2)
    each = np.maximum(2 * np.sqrt(V * logarithm), 4 * largest * logarithm)
    return float((1 + np.abs(U) * each).sum())
