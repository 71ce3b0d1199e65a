"""Table 1 of the paper with numbers in it."""

from __future__ import annotations

import math
from typing import NamedTuple

from mixable.paper.bounds.certificate import envelope, sharp
from mixable.paper.bounds.common import Bound, largest_beta, power
from mixable.paper.bounds.parameter_free import default, fallback_plan
from mixable.paper.bounds.theorem import aioli, folklore, foster, gaf, ogd, ons, points
from mixable.paper.integrals import Envelope, choose_proved, ladder, proved_error
from mixable.paper.losses import Logistic


class Row(NamedTuple):
    """One algorithm of Table 1: its regret bound, its cost in operations, the one covered."""

    algorithm: str
    regret: float
    cost: float
    remark: str
    covers: str


def table1(n: int, n_features: int, n_classes: int, radius: float, bound: float = 1.0) -> list[Row]:
    """Table 1 of the paper with numbers in it, and the forecasters that came after.

    Each bound at its least over lam. `covers` names the forecaster here that it is for, if any.
    Regret and cost are of the same forecaster: what its expectations add is in both.

    >>> for row in table1(10_000, 18, 4, radius=5.0):
    ...     print(f"{row.algorithm:22}{row.regret:12.4g}{row.cost:12.2g}")  # doctest: +ELLIPSIS
    OGD                           2121     7.2e+05
    ...
    """
    d, K, B, R = n_features, n_classes, radius, bound
    arguments = (n, d, K, B, R)
    exact = gaf(*arguments, "paper")
    m = points(n, K, more=3.0)
    rank = power((n, 1), ((K - 1) * d, 2), (K + 1, 1))
    hedge = folklore(*arguments)
    rows = [
        Row("OGD", ogd(*arguments), cost=n * d * K, remark="B sqrt(n)", covers="OGD.from_theory"),
        Row(
            "ONS",
            ons(*arguments),
            cost=power((n, 1), (d * K, 3)),
            remark="d K e^B log(n); cost with projection",
            covers="ONS.from_theory, with its projection",
        ),
        Row(
            "Foster et al.",
            foster(*arguments),
            cost=power((B, 6), (n, 25), (B * n + d * K, 12)),
            remark="d K log(B n); constant 5 assumed",
            covers="none: Foster samples with far fewer moves than the paper's, and the constant "
            "is assumed",
        ),
        Row(
            "GAF",
            exact + 3,
            cost=power((n, 1), (K, 3), (d, 2)) + power((K, 2), (n, 1), (m, 1)),
            remark="d K (B^2 + B log(n)); 3 nats for n^3 points",
            covers="Algorithm 1 with m = K log(n K / 0.05) n^3, more than MonteCarlo may have. "
            + _of_gaf(*arguments, exact).covers,
        ),
        *(
            row._replace(algorithm=f"GAF, {name}", cost=rank + row.cost)
            for name, row in (
                ("tight constants", _of_gaf(*arguments, gaf(*arguments, "tight"))),
                ("sharp bound", _of_gaf(*arguments, sharp(*arguments))),
            )
        ),
        Row(
            "FOLKLORE",
            hedge,
            cost=rank,
            remark="d K B log(n), no sampling",
            covers=f"Folklore.from_theory(horizon=n, constants={hedge.constants!r}): "
            f"lam = {hedge.lam:.3g}",
        ),
    ]
    few = fallback_plan(d, K) is not None
    rows.append(
        Row(
            "GAFClassifier()",
            default(*arguments),
            cost=(rank if few else 0.0) + 6.0 * n * (d + 1) * K,
            remark="its fallback; nothing known" if few else "its fallback; sqrt(n), nothing known",
            covers="GAFClassifier(), and stream, serve and river by default, on the raw columns; "
            "bounds.default(spread=...) if a column's first input is not its largest",
        )
    )
    if K == 2:
        value = aioli(n, d, math.sqrt(2) * B, R)
        rows.append(
            Row(
                "AIOLI",
                value,
                cost=n * (3.0 * d * d + math.log(n)),
                remark="binary; margin weights of norm sqrt(2) B",
                covers=f"AIOLI.from_theory(radius=sqrt(2) B, horizon=n): lam = {value.lam:.3g}",
            )
        )
    return rows


def _of_gaf(n: int, d: int, K: int, radius: float, bound: float, exact: Bound) -> Row:
    """The GAF of a bound for exact expectations: with those it has, what they add and cost.

    The cost is that of the expectations alone.
    """
    width = math.sqrt(K - 1) * bound**2 / (2 * exact.lam)
    default = choose_proved(None, K)
    for integrator in (default, Envelope()):
        error = proved_error(integrator, K, width)
        if error is None:
            continue
        more, name = 2 + n * error, type(integrator).__name__
        rungs = ladder(integrator, K, seed=0)
        m = 2 * next(rung.m for rung in rungs if width <= rung.reach * (1 + 1e-12))
        cost, remark = float(n * m * K * (K - 1)), f"{name}: {m} points"
        if isinstance(integrator, Envelope):
            beta = _beta(K, radius, bound, exact.constants)
            more += envelope(n, d, K, exact.lam, beta, bound)
            cost, remark = float(n * K * (K + m)), "each class against the rest"
        given = "" if integrator == default else f", integrator={name}()"
        return Row(
            "GAF",
            exact + more,
            cost=cost,
            remark=remark,
            covers=f"GAF.from_theory(horizon=n, constants={exact.constants!r}{given}): lam = "
            f"{exact.lam:.3g}; integrals.{name}() and its mu = 1/n add {more:,.4g} nats to "
            f"{exact:,.4g}, proved",
        )
    return Row(
        "GAF",
        exact,
        cost=power((K, 2), (n, 4)),
        remark="exact expectations",
        covers=f"GAF.from_theory(horizon=n, constants={exact.constants!r}): lam = {exact.lam:.3g}; "
        "with exact expectations only",
    )


def _beta(K: int, radius: float, bound: float, constants: str) -> float:
    if constants == "sharp":
        return largest_beta(K, radius * bound)
    return Logistic(K).constants(radius, bound, kind=constants).beta
