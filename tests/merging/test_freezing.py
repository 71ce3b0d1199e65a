"""A frozen model chooses no landmarks, no kinds of columns, and no scale for nonlinear features."""

import copy

import numpy as np
import pandas as pd
import pytest
from shards import NUMBERS, X, Y, distance

import mixable as mx
from mixable.merging import freeze


def landmarks(model):
    forecaster = model.forecaster_
    maps = [part.maps for part in forecaster.inputs if hasattr(part, "maps")]
    return [len(each.landmarks) for own in maps for each in own]


@pytest.mark.parametrize(("kind", "y"), [(mx.GAFClassifier, Y), (mx.GAFRegressor, NUMBERS)])
def test_landmarks_stay(kind, y):
    base = kind(kernel=mx.kernels.Auto(30)).partial_fit(X[:20], y[:20])
    free, settled = copy.deepcopy(base), copy.deepcopy(base)
    freeze(settled)
    for model in (free, settled):
        model.partial_fit(X[20:100], y[20:100])
    assert landmarks(settled) == landmarks(base)
    assert landmarks(free) != landmarks(base)
    freeze(kind())  # there is nothing to settle


def test_kinds_stay():
    """What looks like a number at first, and turns out to be none, stays."""
    words = ["1"] * 5 + [f"v{i % 3}" for i in range(35)]
    frame = pd.DataFrame({"w": words, "a": X[:40, 0]})
    base = mx.GAFClassifier(kernel=None).partial_fit(frame[:10], Y[:10])
    free, settled = copy.deepcopy(base), copy.deepcopy(base)
    freeze(settled)
    kinds = []
    for model in (base, free, settled):
        if model is not base:
            model.partial_fit(frame[10:], Y[10:40])
        kinds.append(model.learner_.inputs.encoder.kinds["w"])
    assert kinds == ["number", "category", "number"]


@pytest.mark.parametrize(("kind", "y"), [(mx.GAFClassifier, Y), (mx.GAFRegressor, NUMBERS)])
def test_shards_whose_inputs_come_apart_are_merged(kind, y):
    """They have seen their rows by the scale of the base; in groups, too."""
    base = kind(kernel=mx.kernels.Auto(8)).partial_fit(X[:100], y[:100])
    shards = [copy.deepcopy(base) for _ in range(3)]
    for i, shard in enumerate(shards):
        freeze(shard)
        rows = slice(100 + 150 * i, 250 + 150 * i)
        shard.partial_fit(X[rows] * 4.0**i + 3 * i, y[rows])
        assert distance(shard, mx.loads(mx.dumps(shard)), X) == 0
    a, b, c = shards
    merged = mx.merge(shards, base=base)
    assert merged.forecaster_.steps == 550
    spread = np.ptp(y)
    grouped = mx.merge([mx.merge([a, b], base=base), c], base=base)
    assert distance(merged, grouped, X) < 1e-9 * spread
    assert distance(merged, mx.merge([c, b, a], base=base), X) < 1e-9 * spread
    merged.partial_fit(X[:50], y[:50])  # by the scale of all


def test_shards_of_other_scales_are_refused():
    """Both were settled, one of them when the scale was another."""
    base = mx.GAFClassifier(kernel=mx.kernels.Auto(8)).partial_fit(X[:100], Y[:100])
    shards = [copy.deepcopy(base) for _ in range(2)]
    for shard, factor in zip(shards, (1.0, 9.0), strict=True):
        freeze(shard)
        shard.partial_fit(factor * X[100:200], Y[100:200])
        freeze(shard)
        shard.partial_fit(factor * X[200:300], Y[200:300])
    with pytest.raises(ValueError, match="scale their inputs alike"):
        mx.merge(shards, base=base)


def test_a_merged_model_goes_by_the_statistics_of_all():
    base = mx.GAFClassifier(kernel=mx.kernels.Auto(8)).partial_fit(X[:100], Y[:100])
    shards = [copy.deepcopy(base) for _ in range(2)]
    for shard, factor in zip(shards, (1.0, 5.0), strict=True):
        freeze(shard)
        before = _nonlinear(shard).transform(X[:5])
        shard.partial_fit(factor * X[100:200], Y[100:200])
        np.testing.assert_array_equal(_nonlinear(shard).transform(X[:5]), before)
    merged = mx.merge(shards, base=base)
    all_rows = np.concatenate([X[:200], 5 * X[100:200]])
    mean, sd = _nonlinear(merged).moments()
    np.testing.assert_allclose(mean, all_rows.mean(axis=0), rtol=0.02)  # outliers count less
    np.testing.assert_allclose(sd, all_rows.std(axis=0), rtol=0.02)
    Z = _nonlinear(merged).transform(np.zeros(4))
    np.testing.assert_allclose(Z[1:5], -mean / sd, rtol=0.02)


def _nonlinear(model):
    return next(each for each in model.forecaster_.inputs if hasattr(each, "maps")).scaled.scaler
