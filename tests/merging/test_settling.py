"""A settled model chooses no landmarks and no kinds of columns."""

import copy

import pandas as pd
import pytest
from shards import NUMBERS, X, Y

import mixable as mx
from mixable.merging import settle


def landmarks(model):
    forecaster = model.forecaster_
    if isinstance(model, mx.GAFRegressor):
        return [len(each.landmarks) for each in forecaster.inputs.maps]
    return [len(part.maps[0].landmarks) for part in forecaster.inputs if hasattr(part, "maps")]


@pytest.mark.parametrize(("kind", "y"), [(mx.GAFClassifier, Y), (mx.GAFRegressor, NUMBERS)])
def test_landmarks_stay(kind, y):
    base = kind(n_components=30).partial_fit(X[:20], y[:20])
    free, settled = copy.deepcopy(base), copy.deepcopy(base)
    settle(settled)
    for model in (free, settled):
        model.partial_fit(X[20:100], y[20:100])
    assert landmarks(settled) == landmarks(base)
    assert landmarks(free) != landmarks(base)
    settle(kind())  # there is nothing to settle


def test_kinds_stay():
    """What looks like a number at first, and turns out to be none, stays."""
    words = ["1"] * 5 + [f"v{i % 3}" for i in range(35)]
    frame = pd.DataFrame({"w": words, "a": X[:40, 0]})
    base = mx.GAFClassifier(kernel=None).partial_fit(frame[:10], Y[:10])
    free, settled = copy.deepcopy(base), copy.deepcopy(base)
    settle(settled)
    kinds = []
    for model in (base, free, settled):
        if model is not base:
            model.partial_fit(frame[10:], Y[10:40])
        kinds.append(model.learner_.inputs.encoder.kinds["w"])
    assert kinds == ["number", "category", "number"]
