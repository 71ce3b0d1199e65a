"""One row at a time: the same as what each library's own calls say."""

import numpy as np
import pytest
from shards import NUMBERS, X, Y

import mixable as mx
from mixable._verbs import verbs

NAMES = np.array(["b", "c", "a"])[Y]


def test_a_classifier_answers_in_the_order_of_its_classes():
    model, twin = (mx.GAFClassifier(kernel=None, effort="low") for _ in range(2))
    predict, learn = verbs(model)
    for x, y in zip(X[:60], NAMES[:60], strict=True):
        learn(model, x, y, 1.0)
        twin.partial_fit(x[None], [y])
    assert twin.classes_.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(predict(model, X[99]), twin.predict_proba(X[99:100])[0])
    learn(model, X[60], NAMES[60], 0.5)
    twin.partial_fit(X[60:61], NAMES[60:61], sample_weight=[0.5])
    np.testing.assert_array_equal(predict(model, X[99]), twin.predict_proba(X[99:100])[0])


def test_bad_rows_are_refused():
    model = mx.GAFClassifier(kernel=None, effort="low").fit(X, NAMES)
    predict, learn = verbs(model)
    for bad in (X[0, :3], np.full(4, np.inf), ["x"] * 4):
        with pytest.raises(ValueError, match=r"X|feature|infinity|convert"):
            predict(model, bad)
        with pytest.raises(ValueError, match=r"X|feature|infinity|convert"):
            learn(model, bad, "a", 1.0)


def test_forecasters_river_and_regressors():
    f = mx.GAF(4, 3)
    predict, learn = verbs(f)
    learn(f, X[0], 1, 2.0)
    assert f.steps == 1
    assert predict(f, X[0]).tolist() == f.predict(X[0]).tolist()
    r = mx.GAFRegressor().fit(X, NUMBERS)
    predict, learn = verbs(r)
    assert predict(r, X[0]) == r.predict(X[:1])[0]
    learn(r, X[0], 3.0, 1.0)
    assert r.learner_.forecaster.steps == 601
    c = mx.river.GAFClassifier(kernel=None)
    predict, learn = verbs(c)
    assert predict(c, {"a": 1.0}) == {}
    learn(c, {"a": 1.0}, "yes", 1.0)
    assert predict(c, {"a": 1.0}) == {"yes": 1.0}


def linear(**options):
    return mx.GAFClassifier(kernel=None, effort="low", **options)


def test_class_weights_count_in_single_rows():
    weights = {"a": 5.0, "b": 1.0, "c": 0.2}
    models = [linear(class_weight=weights).partial_fit(X[:9], NAMES[:9]) for _ in range(2)]
    predict, learn = verbs(models[0])
    for x, y in zip(X[10:40], NAMES[10:40], strict=True):
        learn(models[0], x, y, 1.0)
        models[1].partial_fit(x[None], [y])
    assert predict(models[0], X[50]).tolist() == models[1].predict_proba(X[50:51])[0].tolist()
