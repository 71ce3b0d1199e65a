"""One row at a time: the same as what each library's own calls say."""

import numpy as np
import pandas as pd
import pytest
from shards import NUMBERS, X, Y

import mixable as mx
from mixable._verbs import PlainRow, row_by_row, verbs

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


def test_rows_go_past_python_and_mean_the_same():
    """Of a linear classifier, as long as nothing is unusual; and after that, too."""
    model, twin = (linear().partial_fit(X[:9], NAMES[:9]) for _ in range(2))
    assert set(NAMES[:9]) == {"a", "b", "c"}
    rows = row_by_row(model)
    assert isinstance(rows, PlainRow)
    unusual = {20: np.array([1.0, np.nan, 0.0, 2.0]), 21: X[21].tolist(), 22: X[22].astype("f4")}
    for i in range(10, 60):
        x, y = unusual.get(i, X[i]), "d" if i in (30, 40) else NAMES[i]
        weight = 0.5 if i == 35 else 1.0
        wanted = twin.predict_proba(np.atleast_2d(x))[0]
        np.testing.assert_allclose(rows.predict(x), wanted, rtol=0, atol=1e-12)
        rows.learn(x, y, weight)
        twin.partial_fit(np.atleast_2d(x), [y], sample_weight=[weight])
    assert model.classes_.tolist() == ["a", "b", "c", "d"]
    assert model.forecaster_.steps == twin.forecaster_.steps == 59
    for bad in (X[0, :3], np.array([1.0, np.inf, 0.0, 1.0]), np.full(4, 1e200)[::2]):
        with pytest.raises(ValueError, match=r"X|feature|infinity"):
            rows.predict(bad)
        with pytest.raises(ValueError, match=r"X|feature|infinity"):
            rows.learn(bad, "a", 1.0)
    assert model.forecaster_.steps == 59


def test_what_is_not_plain_takes_the_usual_way():
    frame = pd.DataFrame(X[:9], columns=list("abcd"))
    for model in (
        linear(),
        linear().partial_fit(X[:1], NAMES[:1]),
        linear(class_weight="balanced").partial_fit(X[:9], NAMES[:9]),
        linear().partial_fit(frame, NAMES[:9]),
        mx.GAFClassifier(kernel=mx.kernels.Auto(5)).partial_fit(X[:9], NAMES[:9]),
        mx.GAFRegressor(),
    ):
        assert not isinstance(row_by_row(model), PlainRow)
    plain = linear().partial_fit(X[:9], NAMES[:9])
    assert not isinstance(row_by_row(plain, compiled=False), PlainRow)
    f = mx.GAF(4, 3)
    assert row_by_row(f) is f._core
    assert row_by_row(f, compiled=False) is f


def test_class_weights_count_in_single_rows():
    weights = {"a": 5.0, "b": 1.0, "c": 0.2}
    models = [linear(class_weight=weights).partial_fit(X[:9], NAMES[:9]) for _ in range(2)]
    predict, learn = verbs(models[0])
    for x, y in zip(X[10:40], NAMES[10:40], strict=True):
        learn(models[0], x, y, 1.0)
        models[1].partial_fit(x[None], [y])
    assert predict(models[0], X[50]).tolist() == models[1].predict_proba(X[50:51])[0].tolist()
