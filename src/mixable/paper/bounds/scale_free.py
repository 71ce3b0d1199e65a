"""Regret of `ScaleFree`, which knows neither the norm of the comparator nor that of the inputs.

It is a mixture of `Folklore` forecasters for B R = 1/2, 1, 2, 4, ..., of which each is born when it
can pay for itself. The forecaster and its bound read the same plan here. After Mayo, J. J., Hadiji,
H. and van Erven, T. (2022). Scale-free unconstrained online learning for curved losses. COLT. The
construction and the proof (docs/theory.md) are this library's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from mixable import _validate
from mixable.paper.bounds.beta import largest_beta
from mixable.paper.bounds.common import Bound, check

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
    curved = (1 / (2 * plan.beta) + 1 / (16 * factor)) * D * learned
    return before - math.log(plan.prior) + 2 * factor * product**2 + curved
