"""Regret bounds and costs: Theorem 1, Corollary 2, Proposition 3 and Table 1 of the paper.

Regret is in nats, summed over n examples, against every comparator of norm at most B = `radius` on
inputs of norm at most R = `bound`. K = `n_classes`, d = `n_features`; multiclass norms are
Frobenius norms of the K x d matrix. The constants are those proved where the source gives them;
`foster` is of the stated order with constant 5. Costs are orders of magnitude of arithmetic
operations, constants 1.

A bound is for one forecaster. Where there is a choice of lam, or between the paper's constants and
the tight ones, the functions choose the least and return a `Bound`, a number that says which it
was.

Jezequel, R., Gaillard, P. and Rudi, A. (2021). Mixability made efficient: Fast online multiclass
logistic regression. NeurIPS.
"""

from mixable.paper.bounds.certificate import (
    Certificate,
    certified,
    envelope,
    excess,
    fourier,
    kernel,
    log_determinant,
    sharp,
    widening,
)
from mixable.paper.bounds.common import Bound, largest_beta
from mixable.paper.bounds.mixtures import (
    adaptive,
    auto_gaf,
    auto_gaf_wide,
    delayed,
    doubling_radii,
    dynamic,
    switching,
)
from mixable.paper.bounds.parameter_free import (
    class_frequencies,
    default,
    default_on,
    scale_free,
    scale_free_plan,
)
from mixable.paper.bounds.table import Row, table1
from mixable.paper.bounds.theorem import (
    MonteCarloBound,
    aioli,
    corollary2,
    dimension,
    folklore,
    foster,
    gaf,
    ogd,
    ons,
    points,
    proposition3,
    sampling,
    squared,
    theorem1,
    theory_lam,
    vaw,
)

__all__ = [
    "Bound",
    "Certificate",
    "MonteCarloBound",
    "Row",
    "adaptive",
    "aioli",
    "auto_gaf",
    "auto_gaf_wide",
    "certified",
    "class_frequencies",
    "corollary2",
    "default",
    "default_on",
    "delayed",
    "dimension",
    "doubling_radii",
    "dynamic",
    "envelope",
    "excess",
    "folklore",
    "foster",
    "fourier",
    "gaf",
    "kernel",
    "largest_beta",
    "log_determinant",
    "ogd",
    "ons",
    "points",
    "proposition3",
    "sampling",
    "scale_free",
    "scale_free_plan",
    "sharp",
    "squared",
    "switching",
    "table1",
    "theorem1",
    "theory_lam",
    "vaw",
    "widening",
]
