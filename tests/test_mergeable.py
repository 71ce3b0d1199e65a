"""Whatever can be merged has `delta`."""

import inspect

import mixable as mx
from mixable._mergeable import Mergeable
from mixable.experts.table import FORECASTERS


def test_every_model_has_a_delta():
    kinds = [entry.kind for entry in FORECASTERS]
    kinds += [mx.GAFClassifier, mx.GAFRegressor, mx.river.GAFClassifier, mx.metrics.Scores]
    assert all(issubclass(kind, Mergeable) for kind in kinds)
    assert inspect.signature(Mergeable.delta).parameters["base"].default is None


def test_a_delta_without_a_base_is_a_copy():
    f = mx.GAF(2, 2)
    f.learn([1.0, 0.0], 1)
    again = f.delta()
    assert again is not f
    assert again.predict([1.0, 1.0]).tolist() == f.predict([1.0, 1.0]).tolist()
