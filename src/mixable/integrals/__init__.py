"""Ways to take the expectation of a softmax under a Gaussian, Eq. (6) of the paper."""

from mixable.integrals.expectation import (
    Rung,
    expectation,
    helmert,
    pairwise,
    semidefinite_cholesky,
    softmax,
)
from mixable.integrals.integrators import (
    MOST_POINTS,
    Integrator,
    Ladder,
    MonteCarlo,
    Pairwise,
    Quadrature,
    Sobol,
    choose,
    ladder,
)

__all__ = [
    "MOST_POINTS",
    "Integrator",
    "Ladder",
    "MonteCarlo",
    "Pairwise",
    "Quadrature",
    "Rung",
    "Sobol",
    "choose",
    "expectation",
    "helmert",
    "ladder",
    "pairwise",
    "semidefinite_cholesky",
    "softmax",
]
