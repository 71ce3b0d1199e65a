"""AutoGAF and AutoRidge: members, weight, scale."""

import numpy as np
import pytest
from shards import PARTS, X, Y, shards
from streams import logistic_stream

import mixable as mx
from mixable import merge


def test_a_merged_mixture_has_the_steps_and_the_scale_of_all():
    models = [mx.AutoGAF(4, 3) for _ in PARTS]
    for model, part, factor in zip(models, PARTS, (1.0, 2.0, 4.0), strict=True):
        model.run(factor * X[part], Y[part])
    merged = merge(models)
    assert merged.steps == 600
    logs = [np.log(model.input_scale) for model in models]
    wanted = np.exp(np.average(logs, weights=[150, 200, 250]))
    assert merged.input_scale == pytest.approx(wanted)
    assert merged.weights.sum() == pytest.approx(1)


def test_scales_do_not_matter():
    """Models that measure the same inputs by other first inputs are merged as if by one."""
    first, second = [2 * X[0], X[0] / 2]
    models = []
    for begin in (first, second):
        models.append(mx.AutoGAF(4, 3, scale=None))
        models[-1].run(np.vstack([begin, X[:300]]), np.concatenate([[0], Y[:300]]))
    merged = merge(models)
    p = merged.predict(X[300:340])
    assert np.abs(p - models[0].predict(X[300:340])).max() < 0.15


def test_sleepers_are_taught_and_woken():
    X, y = logistic_stream(4000, 20, 3)
    a, b = mx.AutoGAF(20, 3, sleep=True), mx.AutoGAF(20, 3, sleep=True)
    a.run(X[:2000], y[:2000])
    b.run(X[2000:], y[2000:])
    inactive = ~a.active & ~b.active
    assert inactive.any()
    merged = merge([a, b])
    states = [model._members() for model in (a, b, merged)]
    kinds = {states[0].kinds[i] for i in range(len(states[0].kinds)) if states[0].is_active(i)}
    taught = [i for i in range(len(states[0].kinds)) if states[0].kinds[i] in kinds]
    assert len(taught) > len([i for i in taught if states[0].is_active(i)])
    assert all(states[2].is_active(i) for i in taught)
    merged.run(X[:640], y[:640])
    assert np.count_nonzero(merged.active) < len(merged.active)  # the next reviews decide again
    sleeper = next(i for i in taught if not states[0].is_active(i))
    known = states[0].gaussian(sleeper, 1.0)
    kind = states[0].kinds[sleeper]
    best = states[0].gaussian(states[0].leader(lambda i: states[0].kinds[i] == kind))
    np.testing.assert_allclose(known.shift, best.shift, rtol=1e-8, atol=1e-8)


def test_the_size_of_misses_is_merged():
    models = shards("AutoRidge")
    merged = merge(models)
    deviation = [model.std(X[0]) for model in (merged, *models)]
    assert min(deviation[1:]) * 0.8 < deviation[0] < max(deviation[1:]) * 1.2
