"""Draws from what a learner knows: of the logits of labels, or of the mean of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from mixable import _validate
from mixable._types import Array
from mixable.experts import Trees
from mixable.experts.base import draws_of, mixed_draws, repeated
from mixable.experts.pool import expert_weights
from mixable.model.compiled import Records, numbers_of
from mixable.model.learner import Learner
from mixable.model.outcomes import Labels
from mixable.model.pool import RecordPool
from mixable.records.rows import Rows

POOLS = 4  # forecasts of the pools, before those of the experts; core/pool/judge.hpp


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


def _weights(pool: RecordPool) -> Array:
    weights = np.zeros(len(pool.experts))
    if len(pool.active) == 1:
        weights[0] = 1.0
        return weights
    every = np.asarray(pool.expert_weights if pool.n_classes is None else expert_weights(pool))
    weights[pool.active] = every[pool.active]
    return np.asarray(weights / weights.sum())


def _draws(pool: RecordPool, rows: Records, i: int, n: int, rng: np.random.Generator) -> Array:
    """Draws of one expert."""
    expert = pool.experts[i]
    if isinstance(expert, Trees):
        keys = rows.categories if isinstance(rows, Rows) else np.zeros((len(rows), 0), np.uint64)
        p = expert.predict_records(numbers_of(rows), keys)
        return repeated(p, n) if pool.n_classes else np.tile(p[:, 0], (n, 1))
    seen = pool.rows(i, rows)
    if seen.shape[1] > 0:
        begin, own = seen[:, 0], np.ascontiguousarray(seen[:, 1:])
        drawn = draws_of(expert, own, n, rng)
        return drawn + begin if pool.n_classes is None else drawn
    # Of sparse features: it has no posterior. What it says stands in what is kept of a record.
    K = pool.n_classes or 0
    first = pool.n_features + POOLS * K
    said = [pool.kept(rows[t : t + 1])[first:] for t in range(len(rows))]
    return repeated(np.array(said)[:, i * K : (i + 1) * K], n)
