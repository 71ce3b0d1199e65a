"""What is refused or interrupted leaves scaler and forecaster in step."""

import pickle

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from streams import logistic_stream

from mixable import FTRL, ONS, GAFClassifier, GAFRegressor
from mixable.losses import log_loss


@pytest.mark.parametrize(
    ("X", "y", "error", "message"),
    [
        ([[1.0, np.inf]], [0], ValueError, "infinity"),
        ([["a", "b"]], [0], ValueError, "could not convert"),
        ([1.0, 2.0], [0, 1], ValueError, "Expected 2D array"),
        ([[1.0, 2.0]], [0, 1], ValueError, "inconsistent"),
        ([[1.0, 2.0]], [0.5], ValueError, "Unknown label type"),
        ([[1.0, 2.0]], [np.nan], ValueError, "NaN"),
        ([[1.0, 2.0]], [None], ValueError, "None"),
        ([[1.0, 2.0]], None, ValueError, "requires y"),
        ([[1.0, 2.0, 3.0]], [0], ValueError, "3 features, but GAFClassifier is expecting 2"),
    ],
)
def test_bad_input_is_refused_and_nothing_is_learned(X, y, error, message):
    model = GAFClassifier().partial_fit([[0.0, 1.0], [1.0, 0.0]], [0, 1])
    before = pickle.dumps(model)
    with pytest.raises(error, match=message):
        model.partial_fit(X, y)
    assert pickle.dumps(model) == before


def test_weights_that_are_refused(iris):
    X, y = iris
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        GAFClassifier().fit(X, y, sample_weight=-np.ones(150))
    model = GAFClassifier().fit(X, y)
    before = model.predict_proba(X)
    for labels, weight in ((y[:1], [1e300]), ([77], [1e300]), ([77], [np.nan])):
        with pytest.raises(ValueError, match=r"double precision|NaN"):
            model.partial_fit(X[:1], labels, sample_weight=weight)
    assert np.array_equal(model.predict_proba(X), before)
    assert model.classes_.tolist() == [0, 1, 2]
    model.partial_fit(X[:1], y[:1], sample_weight=[0.0])  # as in a larger batch
    with pytest.raises(ValueError, match="double precision"):
        model.fit(X, y, sample_weight=np.r_[np.ones(149), 1e300])
    assert not hasattr(model, "n_features_in_")


def test_rows_of_weight_0_say_only_that_there_is_such_a_label(iris):
    X, y = iris
    weight = np.where(np.arange(150) % 3, 1.0, 0.0)
    outliers = np.where(weight[:, None] > 0, X, 1e6)
    kept = GAFClassifier().partial_fit(X[weight > 0], y[weight > 0], classes=[0, 1, 2])
    whole = GAFClassifier().partial_fit(outliers, y, classes=[0, 1, 2], sample_weight=weight)
    rows_one_by_one = GAFClassifier()
    for t in range(150):
        rows_one_by_one.partial_fit(
            outliers[t : t + 1], y[t : t + 1], classes=[0, 1, 2], sample_weight=weight[t : t + 1]
        )
    np.testing.assert_allclose(
        whole.forecaster_.inputs[0].moments(), kept.forecaster_.inputs[0].moments(), rtol=1e-12
    )
    np.testing.assert_allclose(whole.predict_proba(X), kept.predict_proba(X), rtol=0, atol=1e-9)
    np.testing.assert_allclose(
        rows_one_by_one.predict_proba(X), whole.predict_proba(X), rtol=0, atol=1e-9
    )
    assert log_loss(whole.predict_proba(X), y).mean() < 0.3
    assert GAFClassifier().fit(
        X[:4], ["a", "b", "c", "a"], sample_weight=[1, 1, 0, 1]
    ).classes_.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("at", [0, 1, 40, 149])
def test_after_an_interruption_scaler_and_forecaster_have_learned_the_same_rows(
    iris, at, monkeypatch
):
    X, y = iris
    model = GAFClassifier(forecaster=FTRL).partial_fit(X[:1], y[:1], classes=[0, 1, 2])
    learn = FTRL.learn

    def interrupted(self, x, label, weight=1.0):
        if self.steps == 1 + at:
            raise KeyboardInterrupt
        learn(self, x, label, weight)

    monkeypatch.setattr(FTRL, "learn", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X, y)
    monkeypatch.undo()
    expected = GAFClassifier(forecaster=FTRL).partial_fit(X[:1], y[:1], classes=[0, 1, 2])
    if at:
        expected.partial_fit(X[:at], y[:at])
    assert model.forecaster_.steps == 1 + at
    np.testing.assert_allclose(
        model.learner_.inputs.moments(), expected.learner_.inputs.moments(), rtol=1e-12
    )
    np.testing.assert_allclose(
        model.predict_proba(X), expected.predict_proba(X), rtol=0, atol=1e-12
    )


def with_ftrl():
    """A classifier that learns rows in Python; within a compiled step there is no interruption."""
    return GAFClassifier(forecaster=FTRL)


@pytest.mark.parametrize("make", [with_ftrl, GAFRegressor])
def test_interrupted_after_a_row_was_learned_the_scaler_has_learned_it_too(make, iris, monkeypatch):
    X, y = iris
    model = make().partial_fit(X[:10], y[:10])
    kind = type(model.forecaster_)
    learn = kind.learn

    def interrupted(self, *example):
        learn(self, *example)
        raise KeyboardInterrupt

    monkeypatch.setattr(kind, "learn", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X[10:11], y[10:11])
    monkeypatch.undo()
    expected = make().partial_fit(X[:11], y[:11])
    np.testing.assert_allclose(model.predict(X), expected.predict(X), rtol=0, atol=1e-9)
    np.testing.assert_allclose(
        model.learner_.inputs.moments(), expected.learner_.inputs.moments(), rtol=1e-12
    )


@pytest.mark.filterwarnings("ignore:y has one class only")
@pytest.mark.parametrize("make", [GAFClassifier, GAFRegressor])
def test_a_first_call_that_is_refused_leaves_nothing(make):
    model = make(standardize=False)
    for learn in (model.partial_fit, model.prequential, model.fit):
        for n in (1, 3):
            with pytest.raises(ValueError, match="too large"):
                learn([[1e200]] * n, [0, 1, 2][:n])
            assert not hasattr(model, "n_features_in_")
            with pytest.raises(NotFittedError):
                model.predict([[1.0]])


def test_a_batch_that_is_refused_has_changed_nothing():
    X, y = logistic_stream(20, 2, 2)
    y[10] = 2
    X[15] = 1e200
    model = GAFClassifier(standardize=False).partial_fit(X[:5], y[:5])
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="too large"):
        model.partial_fit(X, y)
    assert pickle.dumps(model) == before
    regressor = GAFRegressor(standardize=False).partial_fit(X[:5], y[:5])
    with pytest.raises(ValueError, match="too large"):
        regressor.fit(X, y)
    assert not hasattr(regressor, "learner_")
    for target in (1e200, -1e150):
        with pytest.raises(ValueError, match="double precision"):
            regressor.partial_fit(X[:1], [target])
    assert not hasattr(regressor, "learner_")


def test_interrupting_a_regressor_keeps_its_origin(line, monkeypatch):
    X, y = line
    model = GAFRegressor()
    model._prepare(X, y, None)
    monkeypatch.setattr(
        type(model.forecaster_), "run", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt)
    )
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X, y)
    assert not hasattr(model, "learner_")


@pytest.mark.parametrize(
    ("parameters", "error", "words"),
    [
        ({"effort": "max"}, ValueError, "effort must be one of 'low', 'auto', 'high'"),
        ({"structure": "sparse"}, ValueError, "structure must be one of 'full'"),
        ({"structure": "blocks", "forecaster": ONS}, TypeError, "ONS has no parameter structure"),
    ],
)
def test_unknown_efforts_and_structures_are_refused_by_name(parameters, error, words):
    model = GAFClassifier(**parameters)
    with pytest.raises(error, match=words):
        model.fit(np.eye(4), [0, 1, 2, 0])
    assert not hasattr(model, "learner_")
