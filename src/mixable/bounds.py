"""Regret bounds of the paper as functions of the sizes.

Jezequel, R., Gaillard, P. and Rudi, A. (2021). Mixability made efficient: Fast online multiclass logistic regression. NeurIPS.
"""

from __future__ import annotations

import math

from mixable.losses import Constants, Logistic


def theory_lam(dim: int, constants: Constants) -> float:
    """The least lam that Theorem 1 allows: max(4, dim) zeta / alpha."""
    return max(4, dim) * constants.zeta / constants.alpha


def theorem1(n: int, dim: int, constants: Constants, radius: float, lam: float | None = None) -> float:
    """Regret of GAF after n examples against any comparator of norm at most `radius`, in `dim` dimensions (Theorem 1).

    ``lam B^2 + (dim / alpha) (1/2 + 2 sqrt(3) / beta) ln(1 + n beta gamma / (2 lam))``, for lam >= max(4, dim) zeta / alpha, the default.
    """
    least = theory_lam(dim, constants)
    lam = least if lam is None else lam
    if lam < least * (1 - 1e-12):
        raise ValueError(f"Theorem 1 needs lam >= {least:g} here, got {lam:g}")
    alpha, beta, gamma, _ = constants
    return lam * radius**2 + dim / alpha * (0.5 + 2 * math.sqrt(3) / beta) * math.log1p(n * beta * gamma / (2 * lam))


def gaf(n: int, n_features: int, n_classes: int, radius: float, bound: float, constants: str = "paper") -> float:
    """Theorem 1 for multiclass logistic regression, for the forecaster that `GAF.from_theory` makes with the same arguments (and mu = 0).

    >>> round(gaf(20_000, 2, 3, radius=2.0, bound=1.0, constants="tight"))
    347
    """
    dim = n_features * (n_classes if constants == "paper" else n_classes - 1)
    return theorem1(n, dim, Logistic(n_classes).constants(radius, bound, kind=constants), radius)
