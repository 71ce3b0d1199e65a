"""Ways to take the expectation of a softmax under a Gaussian, Eq. (6) of the paper."""

from mixable.paper.integrals.certified import Certified, Envelope
from mixable.paper.integrals.expectation import (
    Rung,
    envelope,
    expectation,
    helmert,
    pairwise,
    semidefinite_cholesky,
    softmax,
)
from mixable.paper.integrals.integrators import (
    EXACT,
    MOST_POINTS,
    Integrator,
    Ladder,
    MonteCarlo,
    Pairwise,
    Quadrature,
    Sobol,
    choose,
    choose_proved,
    ladder,
    proved_error,
)

__all__ = [
    "EXACT",
    "MOST_POINTS",
    "Certified",
    "Envelope",
    "Integrator",
    "Ladder",
    "MonteCarlo",
    "Pairwise",
    "Quadrature",
    "Rung",
    "Sobol",
    "choose",
    "choose_proved",
    "envelope",
    "expectation",
    "helmert",
    "ladder",
    "pairwise",
    "proved_error",
    "semidefinite_cholesky",
    "softmax",
]
