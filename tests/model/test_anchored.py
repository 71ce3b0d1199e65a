"""The linear expert of numbers whose scale stays: what is linear is found, in any order of rows."""

import numpy as np
import pytest

import mixable as mx
from mixable import _core
from mixable.model import statistics
from mixable.model.inputs import ScaledInputs


def anchored(d):
    return _core.Scaler(d, intercept=True, standardize=False, views=1, anchored=True)


@pytest.mark.parametrize("order", ["rising", "random"])
def test_a_line_is_found_from_a_few_points(order):
    x = np.arange(60.0)
    if order == "random":
        np.random.default_rng(0).shuffle(x)
    model = mx.GAFRegressor().partial_fit(x[:, None], 2 * x + 5)
    far = np.array([[0.0], [30.0], [59.0], [70.0]])
    np.testing.assert_allclose(model.predict(far), 2 * far[:, 0] + 5, atol=0.5)


def test_rows_are_distances_from_the_first_in_a_unit_that_stays():
    rng = np.random.default_rng(1)
    X = 1e6 + 100 * rng.normal(size=(300, 2))
    made = anchored(2)
    rows = made.learn(X)
    unit = made.moments()[1]
    assert (rows[0] == [1, 0, 0]).all()
    assert np.isin(np.log2(unit), np.arange(-5.0, 20.0)).all()
    np.testing.assert_allclose(rows[:, 1:], (X - X[0]) / unit, rtol=1e-12, atol=1e-12)


def test_a_row_looks_as_if_it_were_the_next_one_learned():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(80, 3))
    X[rng.random(X.shape) < 0.3] = np.nan
    X[50:] *= 1e6  # another unit
    made = anchored(3)
    for x in X:
        said = made.transform(x)
        np.testing.assert_array_equal(made.learn(x[None])[0], said)
        assert np.abs(said).max() < 1e3


def test_rows_of_models_that_began_elsewhere_become_those_of_the_merged_one():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(90, 3)) * [1, 50, 0] + [0, 1000, 4]
    new, one, other, merged = (
        ScaledInputs(3, intercept=True, standardize=False, views=1, anchored=True) for _ in "1234"
    )
    one.scaler.learn(X[:40])
    other.scaler.learn(X[40:80])
    terms = [one.state(), other.state()]
    state, changes = statistics.combine(new.state(), terms, new.state(), one)
    merged.restore(state)
    for own, change in zip((one, other), changes, strict=True):
        change = np.eye(4) if change is None else change
        rows = own.transform(X[80:]) @ change.T
        np.testing.assert_allclose(rows, merged.transform(X[80:]), atol=1e-9)


def test_shards_of_a_frozen_base_are_merged():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 2)) * [1, 50] + [0, 1000]
    y = X @ [3.0, 0.1] + 7
    base = mx.GAFRegressor().partial_fit(X[:100], y[:100])
    one, other = (mx.loads(mx.dumps(base)) for _ in range(2))
    for shard in (one, other):
        mx.merging.freeze(shard)
    one.partial_fit(X[100:250], y[100:250])
    other.partial_fit(X[250:], y[250:])
    merged = mx.merge([one, other], base=base)
    np.testing.assert_allclose(merged.predict(X), y, atol=0.1 * y.std())


def test_statistics_that_no_scaler_has_are_refused():
    made = anchored(1)
    made.learn(np.arange(5.0)[:, None])
    state = made.state()
    for bad in (np.nan, -1.0, np.inf):
        forged = {**state, "anchors": np.array([[0.0], [bad]])}
        with pytest.raises(ValueError, match="saved"):
            anchored(1).restore(forged)


def test_a_line_is_found_beside_a_category_and_a_column_that_comes_later():
    model = mx.river.GAFRegressor()
    for t in range(60):
        later = {"b": float(t % 7)} if t >= 20 else {}
        model.learn_one({"a": t, "c": "x", **later}, 2.0 * t)
    for a in (0, 30, 70):
        assert abs(model.predict_one({"a": a, "c": "x", "b": 3.0}) - 2 * a) < 3
