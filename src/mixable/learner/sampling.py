"""Draws from what a learner knows: of the logits of labels, or of the mean of numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mixable import _validate
from mixable._types import Array
from mixable.forecasters.base import draws_of, mixed_draws, repeated
from mixable.learner.blend import Blend, numbers_of
from mixable.learner.curved_ridge import CurvedRidge
from mixable.learner.learner import Learner
from mixable.learner.outcomes import Labels
from mixable.learner.record_ridge import RecordRidge
from mixable.learner.shapes import ShapedInputs
from mixable.pool import expert_weights

POOLS = 4  # forecasts of the pools, before those of the experts; core/pool.hpp


def sample(learner: Learner, X: Any, n: int, random_state: Any = None) -> Array:
    """Draws (n, rows, labels) of the logits of a table, or (n, rows) of the mean of numbers.

    A draw is one expert, taken by its weight, with weights of features from its posterior: the rows
    of a draw have the same. Experts without a posterior give their logits. What stands beside a
    pool is left out. It changes nothing.
    """
    count, rng = _validate.count(n, "n"), np.random.default_rng(random_state)
    out = _draws(learner.forecaster, learner.inputs.transform(X), count, rng)
    if not isinstance(learner.outcomes, Labels):
        return np.asarray(learner.outcomes.forecast(out))
    return out[..., : len(learner.labels)]


def _draws(forecaster: Any, rows: Any, n: int, rng: np.random.Generator) -> Array:
    draw: Callable[[int, int], Array]
    if isinstance(forecaster, RecordRidge):  # the first stage has no posterior
        pieces = [(own, middle.copy()) for own, middle in forecaster._pieces(rows)]
        each = [middle + _draws(forecaster.head, own, n, rng) for own, middle in pieces]
        return np.concatenate(each, axis=1)
    if isinstance(forecaster, CurvedRidge):
        linear, curved, trust = forecaster.linear, forecaster.curved, forecaster.trust

        def draw(i: int, m: int) -> Array:
            if i == 0:
                return linear.sample(forecaster._own(rows), m, rng)
            return curved.sample(forecaster.inputs.transform(forecaster._raw(rows)), m, rng)

        return mixed_draws(np.array([1 - trust, trust]), draw, n, rng)
    if isinstance(forecaster, Blend):
        numbers, first = numbers_of(rows), forecaster.n_features + POOLS * forecaster.n_classes

        def draw(i: int, m: int) -> Array:
            inputs, K = forecaster.inputs[i], forecaster.n_classes
            if isinstance(inputs, ShapedInputs):  # of sparse features: it has no posterior
                said = [forecaster.kept(rows[t : t + 1])[first:] for t in range(len(numbers))]
                return repeated(np.array(said)[:, i * K : (i + 1) * K], m)
            return draws_of(forecaster.experts[i], inputs.transform(numbers), m, rng)

        alone = np.eye(len(forecaster.experts))[0]
        weights = alone if forecaster.is_resting else expert_weights(forecaster)
        return mixed_draws(weights, draw, n, rng)
    return draws_of(forecaster, rows, n, rng)
