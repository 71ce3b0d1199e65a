"""Table 1 of the paper with numbers in it."""

from __future__ import annotations

import math
from typing import NamedTuple

from mixable.bounds.beta import largest_beta
from mixable.bounds.certificate import envelope, sharp
from mixable.bounds.common import Bound, power
from mixable.bounds.default import default, fallback_plan
from mixable.bounds.neighbours import aioli, folklore, foster, ogd, ons
from mixable.bounds.theorem import gaf
from mixable.integrals import Envelope, choose_proved, proved_error
from mixable.losses import Logistic


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

    >>> for row in table1(10_000, 18, 4, radius=5.0):
    ...     print(f"{row.algorithm:22}{row.regret:12.4g}{row.cost:12.2g}")  # doctest: +ELLIPSIS
    OGD                           2121     7.2e+05
    ...
    """
    d, K, B, R = n_features, n_classes, radius, bound
    arguments = (n, d, K, B, R)
    exact = gaf(*arguments, "paper"), gaf(*arguments, "tight"), sharp(*arguments)
    expectations, takes = power((K, 2), (n, 4)), "m = n^3 points"
    if isinstance(choose_proved(None, K), Envelope):
        expectations, takes = n * K * (K + 20.0), "each class against the rest"
    elif K == 2:
        expectations, takes = 100.0 * n, "quadrature"
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
            exact[0],
            cost=power((n, 1), (K, 3), (d, 2)) + power((K, 2), (n, 4)),
            remark="d K (B^2 + B log(n)); m = n^3 points",
            covers=_covered_gaf(*arguments, exact[0]),
        ),
        *(
            Row(
                name,
                value,
                cost=rank + expectations,
                remark=takes,
                covers=_covered_gaf(*arguments, value),
            )
            for name, value in zip(
                ("GAF, tight constants", "GAF, sharp bound"), exact[1:], strict=True
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


def _covered_gaf(n: int, d: int, K: int, radius: float, bound: float, exact: Bound) -> str:
    """Which GAF is covered, and what its expectations add to the bound for exact ones."""
    made = f"GAF.from_theory(horizon=n, constants={exact.constants!r}"
    if K == 2:
        said = "by quadrature, exact to 1e-10; its mu = 1/n adds 2 nats"
        return f"{made}): lam = {exact.lam:.3g}; {said}"
    width = math.sqrt(K - 1) * bound**2 / (2 * exact.lam)
    default = choose_proved(None, K)
    for integrator in (default, Envelope()):
        error = proved_error(integrator, K, width)
        if error is None:
            continue
        more = 2 + n * error
        if isinstance(integrator, Envelope):
            beta = _beta(K, radius, bound, exact.constants)
            more += envelope(n, d, K, exact.lam, beta, bound)
        name = type(integrator).__name__
        given = "" if integrator == default else f", integrator={name}()"
        return (
            f"{made}{given}): lam = {exact.lam:.3g}; integrals.{name}() and its mu = 1/n add "
            f"{more:,.4g} nats, proved"
        )
    return f"{made}): lam = {exact.lam:.3g}; with exact expectations only"


def _beta(K: int, radius: float, bound: float, constants: str) -> float:
    if constants == "sharp":
        return largest_beta(K, radius * bound)
    return Logistic(K).constants(radius, bound, kind=constants).beta
