"""mixable.river: river's own checks, pipelines, features and classes that come and go."""

import collections

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from river import checks, compose, datasets, evaluate, linear_model, metrics, optim, preprocessing
from streams import share

import mixable as mx


@pytest.mark.parametrize(
    "check",
    [
        pytest.param(
            (model, check), id=f"{type(model).__name__} {getattr(check, '__name__', check)}"
        )
        for model in (mx.river.GAFClassifier(), mx.river.GAFRegressor())
        for check in checks.yield_checks(model)
    ],
)
def test_rivers_own_checks(check):
    model, function = check
    function(model.clone())


@pytest.mark.parametrize("kind", [mx.river.GAFClassifier, mx.river.GAFRegressor])
def test_parameters_are_given_by_name(kind):
    with pytest.raises(TypeError, match="positional argument"):
        kind(0.1)
    assert kind(lam=0.1).clone().lam == 0.1


def test_below_every_linear_model_of_river_at_its_best_learning_rate():
    data = list(datasets.ImageSegments())

    def loss(model):
        metric = metrics.CrossEntropy()
        return evaluate.progressive_val_score(data, model, metric).get()

    ours = loss(mx.river.GAFClassifier())
    rates = (0.01, 0.03, 0.1, 0.3)
    softmax = [
        loss(preprocessing.StandardScaler() | linear_model.SoftmaxRegression(optim.SGD(rate)))
        for rate in rates
    ]
    assert ours < 0.25 < min(softmax)


def test_pipelines_with_other_parts_of_river():
    model = compose.Select("clump_thickness", "x") | mx.river.GAFClassifier()
    model.learn_one({"clump_thickness": 1.0, "x": 2.0, "left out": "text"}, "a")
    model.learn_one({"clump_thickness": 3.0, "x": 1.0}, "b")
    assert set(model.predict_proba_one({"clump_thickness": 3.0, "x": 1.0})) == {"a", "b"}
    text = (compose.SelectType(str) | preprocessing.OneHotEncoder()) + compose.SelectType(
        float
    ) | mx.river.GAFClassifier()
    text.learn_one({"colour": "red", "size": 1.0}, True)
    text.learn_one({"colour": "blue", "size": 2.0}, False)
    assert text.predict_one({"colour": "red", "size": 1.0}) in (True, False)


def test_features_and_classes_come_and_go():
    rng = np.random.default_rng(0)
    model = mx.river.GAFClassifier()
    assert model.predict_proba_one({"a": 1.0}) == {}
    assert model.predict_one({"a": 1.0}) is None
    for t in range(600):
        x = dict(zip("abc", rng.normal(size=3).tolist(), strict=True))
        y = "high" if x["a"] + x["b"] > 0 else "low"
        if t > 300 and x["c"] > 1:
            y = "new"
        del x["abc"[rng.integers(3)]]
        model.learn_one(x, y)
    p = model.predict_proba_one({"a": 2.0, "b": 2.0, "c": -1.0})
    assert max(p, key=p.get) == "high"
    assert sum(p.values()) == pytest.approx(1)
    assert model.predict_one({"c": 3.0, "never seen": 1.0}) == "new"


def test_a_missing_feature_counts_as_its_mean():
    rng = np.random.default_rng(0)
    model = mx.river.GAFClassifier(kernel=None)
    for _ in range(200):
        x = {"a": rng.normal(5, 2), "b": rng.normal()}
        model.learn_one(x, bool(x["a"] > 5))
    mean = model._learner.inputs.moments()[0][0]
    missing = model.predict_proba_one({"b": 0.3})
    present = model.predict_proba_one({"a": mean, "b": 0.3})
    assert missing[True] == pytest.approx(present[True], abs=1e-6)
    assert (
        missing
        == model.predict_proba_one({"a": None, "b": 0.3})
        == model.predict_proba_one({"a": float("nan"), "b": 0.3})
    )


def test_many_is_one_after_the_other():
    data = list(datasets.ImageSegments().take(150))
    X, y = pd.DataFrame([x for x, _ in data]), pd.Series([label for _, label in data])
    one, many = mx.river.GAFClassifier(), mx.river.GAFClassifier()
    for x, label in data:
        one.learn_one(x, label)
    many.learn_many(X[:70], y[:70])
    many.learn_many(X[70:], y[70:])
    expected = pd.DataFrame([one.predict_proba_one(x) for x, _ in data])
    pd.testing.assert_frame_equal(
        many.predict_proba_many(X)[expected.columns], expected, rtol=1e-8, atol=1e-8
    )


def test_regression_and_its_intervals():
    model = mx.river.GAFRegressor(kernel=None)
    assert model.predict_interval_one({"a": 1.0}) == (-np.inf, np.inf)
    hits = []
    for t, (x, y) in enumerate(datasets.TrumpApproval()):
        if t > 200 and t % 4 == 0:
            low, high = model.predict_interval_one(x, level=0.8)
            hits.append(low <= y <= high)
        model.learn_one(x, y)
    assert 0.6 < share(hits) < 0.95


@pytest.mark.parametrize(
    ("x", "error", "message"),
    [
        ({"a": "text"}, TypeError, "feature 'a' must be a number, got 'text'"),
        ({"a": float("inf")}, ValueError, "feature 'a' is inf"),
        ({"a": 10**400}, ValueError, "too large to convert to float: feature 'a'"),
        ({"a": 1.0, "b": [1]}, TypeError, "feature 'b'"),
    ],
)
def test_bad_features_are_named_and_nothing_is_learned(x, error, message):
    model = mx.river.GAFClassifier()
    model.learn_one({"a": 1.0}, True)
    model.learn_one({"a": -1.0}, False)
    before = model.predict_proba_one({"a": 0.5})
    with pytest.raises(error, match=message):
        model.learn_one(x, True)
    assert model.predict_proba_one({"a": 0.5}) == before


@pytest.mark.parametrize(
    ("y", "w", "error"),
    [
        ([1], 1.0, TypeError),
        (None, 1.0, ValueError),
        (float("nan"), 1.0, ValueError),
        ("b", -1.0, ValueError),
        ("new", 1e300, ValueError),
    ],
)
def test_bad_labels_and_weights_add_nothing(y, w, error):
    model = mx.river.GAFClassifier()
    model.learn_one({"a": 1.0}, "b")
    with pytest.raises(error):
        model.learn_one({"a": 1.0, "new": 2.0}, y, w)
    assert list(model._columns) == ["a"]
    assert list(model.predict_proba_one({"a": 1.0})) == ["b"]
    regressor = mx.river.GAFRegressor()
    with pytest.raises(ValueError, match="y must be at least"):
        regressor.learn_one({"a": 1.0}, 1e150)
    with pytest.raises(TypeError, match="y must be a number"):
        regressor.learn_one({"a": 1.0}, "text")
    assert regressor._columns == {}


def test_empty_dictionaries():
    model = mx.river.GAFClassifier()
    model.learn_one({}, "a")
    model.learn_one({}, "b")
    model.learn_one({}, "b")
    assert model.predict_one({}) == "b"
    bare = mx.river.GAFClassifier(fit_intercept=False)
    bare.learn_one({}, "a")
    assert bare.predict_proba_one({}) == {}


def test_a_row_that_cannot_be_learned_adds_no_label():
    model = mx.river.GAFClassifier(standardize=False, lam=0.1, beta=1.0, alpha=1.0, drift=0.0)
    model.learn_one({"a": 1.0}, "x")
    model.learn_one({"a": 1.0}, "y")
    with pytest.raises(ValueError, match="too large"):
        model.learn_one({"a": 1e200}, "new")
    assert list(model.predict_proba_one({"a": 1.0})) == ["x", "y"]


NAMES = ["a", "b", "c", 4, ("pair", 5)]


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_any_sequence_of_calls(data, tmp_path_factory):
    """Features and classes that come when they like, one by one or in tables, saved and loaded in
    between: as if learned one by one.
    """
    path = tmp_path_factory.mktemp("models") / "m.safetensors"
    model, history = mx.river.GAFClassifier(), []
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))

    def example(names):
        return {
            name: float(value)
            for name, value in zip(names, rng.normal(size=len(names)) * 10, strict=True)
        }

    for _ in range(data.draw(st.integers(1, 8))):
        action = data.draw(st.sampled_from(["one", "one", "many", "save", "bad"]))
        names = data.draw(st.lists(st.sampled_from(NAMES), unique=True))
        if action == "one":
            history.append((example(names), data.draw(st.sampled_from(["x", "y", "z"]))))
            model.learn_one(*history[-1])
        elif action == "many" and names:
            rows = [
                (example(names), label)
                for label in data.draw(
                    st.lists(st.sampled_from(["x", "y", "z"]), min_size=1, max_size=4)
                )
            ]
            table = pd.DataFrame(
                [list(x.values()) for x, _ in rows],
                columns=pd.Index(names, dtype=object, tupleize_cols=False),
            )
            model.learn_many(table, pd.Series([label for _, label in rows]))
            history += rows
        elif action == "save":
            mx.save(model, path)
            model = mx.load(path)
        elif action == "bad":
            with pytest.raises(ValueError, match="feature 'new'"):
                model.learn_one({"new": np.inf}, "w")
        fresh = mx.river.GAFClassifier()
        for x, label in history:
            fresh.learn_one(x, label)
        question = example(NAMES)
        expected, given_ = fresh.predict_proba_one(question), model.predict_proba_one(question)
        assert list(given_) == list(expected)
        np.testing.assert_allclose(
            list(given_.values()), list(expected.values()), rtol=0, atol=1e-9
        )


def test_a_new_label_whose_example_is_refused_leaves_no_trace():
    model = mx.river.GAFClassifier(kernel=None, lam=1.0, beta=1e299, alpha=1.0, drift=0.0)
    for label in ("a", "b", "c"):
        model.learn_one({"x": 0.0}, label, w=1e-290)
    before = model.predict_proba_one({"x": 0.5})
    with pytest.raises(ValueError, match="cannot be learned"):
        model.learn_one({"x": 1.0}, "d", w=1e12)
    assert model.predict_proba_one({"x": 0.5}) == before


def test_a_dictionary_that_makes_up_its_entries_is_taken_as_it_is():
    model = mx.river.GAFClassifier()
    model.learn_one({"a": 1.0}, 0)
    x = collections.defaultdict(float, {"c": 1.0})
    model.learn_one(x, 1)
    assert dict(x) == {"c": 1.0}
    assert set(model._columns) == {"a", "c"}
