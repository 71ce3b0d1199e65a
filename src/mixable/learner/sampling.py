"""Draws from what a learner knows: of the logits of labels, or of the mean of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from mixable import _validate
from mixable._types import Array
from mixable.forecasters.base import draws_of, mixed_draws, repeated
from mixable.learner.blend import Blend, Records
from mixable.learner.learner import Learner
from mixable.learner.outcomes import Labels
from mixable.pool import expert_weights

POOLS = 4  # forecasts of the pools, before those of the experts; core/judge.hpp


def sample(learner: Learner, X: Any, n: int, random_state: Any = None) -> Array:
    """Draws (n, rows, labels) of the logits of a table, or (n, rows) of the mean of numbers.

    A draw is one expert, taken by its weight, with weights of features from its posterior: the rows
    of a draw have the same. Experts without a posterior give their logits. What stands beside a
    pool is left out. It changes nothing.
    """
    count, rng = _validate.count(n, "n"), np.random.default_rng(random_state)
    pool, rows = learner.pool, learner._rows(X)
    out = mixed_draws(_weights(pool), lambda i, m: _draws(pool, rows, i, m, rng), count, rng)
    if not isinstance(learner.outcomes, Labels):
        return np.asarray(learner.outcomes.forecast(out))
    return out[..., : len(learner.labels)]


def _weights(pool: Blend) -> Array:
    alone: Array = np.eye(len(pool.experts))[0]
    if pool.is_resting or pool._core is None:
        return alone
    return np.asarray(pool.trust if pool.n_classes is None else expert_weights(pool))


def _draws(pool: Blend, rows: Records, i: int, n: int, rng: np.random.Generator) -> Array:
    """Draws of one expert."""
    seen = pool.rows(i, rows)
    if seen.shape[1] > 0:
        begin, own = seen[:, 0], np.ascontiguousarray(seen[:, 1:])
        drawn = draws_of(pool.experts[i], own, n, rng)
        return drawn + begin if pool.n_classes is None else drawn
    # Of sparse features: it has no posterior. What it says stands in what is kept of a record.
    K = pool.n_classes or 0
    first = pool.n_features + POOLS * K
    said = [pool.kept(rows[t : t + 1])[first:] for t in range(len(rows))]
    return repeated(np.array(said)[:, i * K : (i + 1) * K], n)
