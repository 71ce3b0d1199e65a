"""Table 1 of the paper with numbers in it."""

from __future__ import annotations

import math
from typing import NamedTuple

from mixable.bounds.certificate import sharp
from mixable.bounds.common import Bound, power
from mixable.bounds.neighbours import aioli, folklore, foster, ogd, ons
from mixable.bounds.theorem import gaf, points
from mixable.integrals import Certified, choose_proved, proved_error


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
    points_cost = 100 * n if K == 2 else power((K, 2), (n, 4))
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
            covers=_covered_gaf(n, K, R, exact[0]),
        ),
        *(
            Row(
                name,
                value,
                cost=rank + points_cost,
                remark="quadrature" if K == 2 else "m = n^3 points",
                covers=_covered_gaf(n, K, R, value),
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


def _covered_gaf(n: int, n_classes: int, bound: float, exact: Bound) -> str:
    """Which GAF Theorem 1 covers: expectations must be exact, or random and many."""
    made = f"GAF.from_theory(horizon=n, constants={exact.constants!r}): lam = {exact.lam:.3g}"
    if n_classes == 2:
        return f"{made}; by quadrature, exact to 1e-10; its mu = 1/n adds 2 nats"
    width = math.sqrt(n_classes - 1) * bound**2 / (2 * exact.lam)
    error = proved_error(choose_proved(None, n_classes), n_classes, width)
    if error is not None:
        return (
            f"{made}; integrals.Certified() and its mu = 1/n add {2 + error * n:.3g} nats, proved"
        )
    m = points(n, n_classes, exact / 10)
    if n_classes <= 6:
        error = proved_error(Certified(), n_classes, width)
        if error is not None:
            return (
                f"{made}, integrator=Certified(): it and its mu = 1/n add {2 + error * n:.3g} "
                "nats, proved. Not with the default 128 Sobol points"
            )
    return (
        f"{made}; with exact expectations only. Not with the default 128 Sobol points, nor any "
        "other number. MonteCarlo(m) by Proposition 3: a tenth more with probability 95% takes "
        f"m = {m:.1g}, with its mu"
    )
