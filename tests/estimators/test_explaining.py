"""Explaining what estimators forecast, whatever they were given."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectFromModel

import mixable as mx

FRAME = pd.DataFrame(
    {"colour": ["red", "blue", "red", "green"] * 20, "size": [1.5, 2.5, 0.5, 3] * 20}
)
Y = ["yes", "no", "yes", "no"] * 20


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_one_row_of_any_frame_is_explained_as_its_dictionary(kind):
    data = FRAME.to_dict("list")
    model = mx.GAFClassifier().fit(kind(data), Y)
    one = model.explain(kind({name: cells[:1] for name, cells in data.items()}))
    assert one == model.explain({"colour": "red", "size": 1.5})
    assert {part.column for part in one} == {"colour", "size"}
    assert list(one[0].log_odds) == model.classes_.tolist() == ["no", "yes"]
    assert one[0].log_odds["yes"] > 0
    assert set(model.important()) == {"colour", "size"}


def test_numbers_have_the_names_of_their_columns():
    X = pd.DataFrame({"a": [0.0, 1.0] * 30, "b": [0.0, 0.0, 1.0] * 20})
    model = mx.GAFClassifier(kernel=None).fit(X, X["a"])
    assert [part.column for part in model.explain(X[:1])] == ["a", "b"]
    assert next(iter(model.important(1))) == "a"
    unnamed = mx.GAFClassifier(kernel=None).fit(X.to_numpy(), X["a"])
    assert [part.column for part in unnamed.explain([0.0, 0.0])] == [0, 1]


def test_one_row_is_needed_and_something_learned():
    with pytest.raises(NotFittedError):
        mx.GAFClassifier().explain([[1.0]])
    with pytest.raises(NotFittedError):
        mx.GAFClassifier().important()
    model = mx.GAFClassifier().fit(FRAME, Y)
    with pytest.raises(ValueError, match="one row, got 2"):
        model.explain(FRAME[:2])
    with pytest.raises(ValueError, match="one row, got 2"):
        mx.GAFClassifier(kernel=None).fit(FRAME[["size"]], Y).explain(FRAME[["size"]][:2])


def numbers(n=400):
    """Three columns of which the first two matter, the second twice as much."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(n, 3)) * [1, 10, 1], columns=["a", "b", "c"])
    return X, X["a"] + 0.2 * X["b"] + 0.1 * rng.normal(size=n) + 50


def test_the_parts_of_a_linear_forecast_sum_to_what_sets_it_apart():
    X, y = numbers()
    model = mx.GAFRegressor(kernel=None).fit(X, y)
    parts = model.explain(X[:1])
    nothing = model.predict(pd.DataFrame([[np.nan] * 3], columns=X.columns))[0]
    forecast = model.predict(X[:1])[0]
    assert sum(part.change for part in parts) == pytest.approx(forecast - nothing, abs=1e-8)
    by_name = {part.column: part for part in parts}
    scaled = (X["b"][0] - X["b"].mean()) / X["b"].std()
    assert by_name["b"].change == pytest.approx(2 * scaled, abs=0.05)
    assert by_name["b"].without == pytest.approx(forecast - by_name["b"].change)
    weight, deviation = model.coef_[1], model.coef_std_[1]
    assert by_name["b"].deviation == pytest.approx(
        abs(by_name["b"].change) * deviation / abs(weight), rel=0.02
    )


def test_the_default_regressor_is_explained_as_a_whole():
    """Its kernels see what a line does not: without that column the mean is another."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(800, 2))
    y = np.cos(2 * X[:, 0]) + 0.05 * rng.normal(size=800)
    model = mx.GAFRegressor().fit(X, y)
    x = np.array([[1.5, 1.0]])
    first, second = model.explain(x)
    assert (first.column, first.value) == (0, 1.5)
    without = model.predict([[np.nan, 1.0]])[0]
    assert first.without == pytest.approx(without)
    assert first.change == pytest.approx(model.predict(x)[0] - without)
    assert first.size > 5 * second.size


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_record_of_a_regressor_is_explained_by_its_columns(kind):
    data = FRAME.to_dict("list")
    model = mx.GAFRegressor().fit(kind(data), [5.0, 1.0, 5.0, 1.0] * 20)
    one = model.explain(kind({name: cells[:1] for name, cells in data.items()}))
    by_name = {part.column: part for part in one}
    assert set(by_name) == {"colour", "size"}
    assert by_name["colour"].value == "red"
    assert by_name["colour"].change > 0
    assert np.isnan(by_name["colour"].deviation)
    as_dictionary = model.explain({"colour": "red", "size": 1.5})
    assert [part.change for part in as_dictionary] == [part.change for part in one]


def test_the_columns_that_matter_to_a_regressor():
    X, y = numbers()
    for model in (mx.GAFRegressor(), mx.GAFRegressor(kernel=None)):
        model.fit(X, y)
        sizes = model.important()
        assert list(sizes) == ["b", "a", "c"]
        assert sizes["b"] == pytest.approx(2, rel=0.1)
        assert sizes["a"] == pytest.approx(1, rel=0.1)
        assert list(model.important(1)) == ["b"]
        shares = model.feature_importances_
        assert shares.sum() == pytest.approx(1)
        assert shares[1] == pytest.approx(2 * shares[0], rel=0.1)
    for chosen in (mx.GAFRegressor(), mx.GAFClassifier()):
        support = SelectFromModel(chosen, threshold=0.2).fit(X, y > 50).get_support()
        assert support.tolist() == [True, True, False]


def test_the_columns_of_records_that_matter_to_a_regressor():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "colour": rng.choice(["red", "blue", "green"], size=400),
            "shape": rng.choice(["round", "flat"], size=400),
            "size": rng.normal(size=400),
        }
    )
    y = 4.0 * (frame["colour"] == "red") + 1.0 * frame["size"] + 0.1 * rng.normal(size=400)
    model = mx.GAFRegressor().fit(frame, y)
    sizes = model.important()
    assert sizes["colour"] > sizes["size"] > 4 * sizes["shape"]
    shares = model.feature_importances_
    assert shares.argsort().tolist() == [1, 2, 0]
    sparse = csr_array(rng.normal(size=(400, 2)) * [[3, 0.1]])
    model = mx.GAFRegressor().fit(sparse, sparse.toarray().sum(axis=1))
    assert list(model.important()) == [0, 1]
    assert {part.column for part in model.explain(sparse[:1])} == {0, 1}


def test_kernels_alone_have_no_importances():
    X, y = numbers(50)
    model = mx.GAFRegressor(kernel="rbf").fit(X, y)
    assert not hasattr(model, "feature_importances_")
    assert model.important() == {}
    assert all(np.isnan(part.deviation) for part in model.explain(X[:1]))


def test_a_regressor_that_has_learned_nothing_explains_nothing():
    with pytest.raises(NotFittedError):
        mx.GAFRegressor().explain([[1.0]])
    with pytest.raises(NotFittedError):
        mx.GAFRegressor().important()
    assert mx.river.GAFRegressor().explain({"a": 1.0}) == []
    online = mx.river.GAFRegressor()
    for t in range(50):
        online.learn_one({"a": t % 5, "b": 0.5}, t % 5)
    parts = online.explain({"a": 4, "b": 0.5})
    assert parts[0].column == "a"
    assert parts[0].change > 1
    assert list(online.important(1)) == ["a"]
