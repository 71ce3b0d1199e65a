"""`fit` learns in a random order, so that the order of a table does not matter; others keep it."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import mixable as mx

KINDS = [mx.GAFClassifier, mx.GAFRegressor]


def table(kind, n=240):
    """Rows sorted by a column that says little, while the truth goes by another."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    X = X[np.argsort(X[:, 2])]
    f = X[:, 0] + np.where(X[:, 2] > 0.5, X[:, 1], 0.0)
    return X, (f + 0.3 * rng.normal(size=n) > 0).astype(int) if kind is mx.GAFClassifier else f


def said(model, X):
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


def in_order(n, random_state=0):
    order = np.arange(n)
    np.random.RandomState(random_state).shuffle(order)
    return order


@pytest.fixture(params=["array", "frame", "records", "sparse"])
def rows(request):
    """What makes rows of that kind, whose order can be changed."""

    def records(X):
        frame = pd.DataFrame(X, columns=["a", "b", "c"])
        return frame.assign(word=np.where(frame.a > 0, "up", "down"))

    makers = {
        "array": lambda X: X,
        "frame": lambda X: pd.DataFrame(X, columns=["a", "b", "c"]),
        "records": records,
        "sparse": csr_array,
    }
    return makers[request.param]


@pytest.mark.parametrize("kind", KINDS)
def test_fit_learns_in_a_fixed_random_order(kind, rows):
    X, y = table(kind)
    weight = np.random.default_rng(1).random(len(y))
    order = in_order(len(y))
    model = kind(kernel=mx.kernels.Auto(20)).fit(rows(X), y, weight)
    by_hand = kind(kernel=mx.kernels.Auto(20), shuffle=False).fit(
        rows(X[order]), y[order], weight[order]
    )
    np.testing.assert_allclose(said(model, rows(X)), said(by_hand, rows(X)), rtol=1e-9)
    again = kind(kernel=mx.kernels.Auto(20)).fit(rows(X), y, weight)
    np.testing.assert_array_equal(said(model, rows(X)), said(again, rows(X)))


@pytest.mark.parametrize("kind", KINDS)
def test_the_order_is_kept_where_that_is_asked_for(kind):
    X, y = table(kind)
    plain = kind(kernel=None, shuffle=False).fit(X, y)
    classes = {"classes": np.unique(y)} if kind is mx.GAFClassifier else {}
    partial = kind(kernel=None).partial_fit(X, y, **classes)
    np.testing.assert_allclose(said(plain, X), said(partial, X), rtol=1e-9)
    assert np.abs(said(plain, X) - said(kind(kernel=None).fit(X, y), X)).max() > 1e-4


@pytest.mark.parametrize("kind", KINDS)
def test_the_state_says_which_order(kind):
    X, y = table(kind)
    order = in_order(len(y), 7)
    one = kind(kernel=None, random_state=7).fit(X, y)
    other = kind(kernel=None, random_state=np.random.RandomState(7)).fit(X, y)
    by_hand = kind(kernel=None, shuffle=False).fit(X[order], y[order])
    np.testing.assert_array_equal(said(one, X), said(other, X))
    np.testing.assert_allclose(said(one, X), said(by_hand, X), rtol=1e-9)


def test_a_table_in_many_parts_is_learned_in_that_order(monkeypatch):
    monkeypatch.setattr("mixable.model.parts.MOST_NUMBERS", 100)
    X, y = table(mx.GAFClassifier)
    order = in_order(len(y))
    model = mx.GAFClassifier(kernel=None, class_weight="balanced").fit(X, y)
    monkeypatch.undo()
    plain = mx.GAFClassifier(kernel=None, class_weight="balanced", shuffle=False)
    plain.fit(X[order], y[order])
    np.testing.assert_allclose(said(model, X), said(plain, X), rtol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_a_frame_with_times_is_shuffled_too(kind):
    X, y = table(kind)
    times = pd.date_range("2026-01-01", periods=len(y), freq="h")
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(time=times)
    model, kept = kind(kernel=mx.kernels.Auto(20)), kind(kernel=mx.kernels.Auto(20), shuffle=False)
    order = in_order(len(y))
    kept.fit(frame.iloc[order], y[order])
    np.testing.assert_allclose(said(model.fit(frame, y), frame), said(kept, frame), rtol=1e-9)


def test_frames_of_other_libraries_are_shuffled():
    pa, pl = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    X, y = table(mx.GAFClassifier)
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(word=np.where(X[:, 0] > 0, "u", "d"))
    wanted = said(mx.GAFClassifier(kernel=mx.kernels.Auto(20)).fit(frame, y), frame)
    for other in (pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        made = mx.GAFClassifier(kernel=mx.kernels.Auto(20)).fit(other, y)
        np.testing.assert_allclose(said(made, other), wanted, rtol=1e-9)


def test_a_row_that_is_too_large_is_called_by_its_place():
    X, y = table(mx.GAFClassifier)
    X[17] = 1e200
    with pytest.raises(ValueError, match=r"X\[17\]"):
        mx.GAFClassifier(kernel=None, standardize=False).fit(X, y)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("options", "error"), [({"shuffle": "yes"}, TypeError), ({"random_state": "zero"}, ValueError)]
)
def test_orders_that_there_are_not_are_refused(kind, options, error):
    model = kind(**options)
    with pytest.raises(error):
        model.fit(*table(kind))
    assert not hasattr(model, "learner_")
