"""What is promised of `GAFClassifier()`, and of whatever else has its pool, on raw inputs.

Beside the pool stands its fallback (core/fallback.hpp): class frequencies, gamblers for each weight
(core/bettor.hpp), and Folklore where there are few weights (core/raw_folklore.hpp). All see the
inputs as they come. docs/theory.md has the proofs.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

from mixable import _validate
from mixable.bounds.beta import largest_beta
from mixable.bounds.common import Bound

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
