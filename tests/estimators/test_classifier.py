"""Labels of every kind; the order of rows; coefficients in the caller's units."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from pyarrow import table
from scipy.sparse import csr_array
from sklearn.metrics import log_loss
from sklearn.utils import shuffle
from streams import logistic_stream

from mixable import FTRL, OGD, Folklore, GAFClassifier


@pytest.mark.parametrize("labels", [["no", "yes"], [False, True], [-5, 3], [1.0, 2.0]])
def test_labels_of_any_kind(labels):
    X, y = logistic_stream(200, 3, 2)
    model = GAFClassifier().fit(X, np.array(labels)[y])
    assert model.classes_.tolist() == labels
    assert set(model.predict(X).tolist()) <= set(labels)
    reference = GAFClassifier().fit(X, y)
    assert np.array_equal(model.predict_proba(X), reference.predict_proba(X))


def test_classes_arrive_when_they_like_and_are_sorted():
    X, y = logistic_stream(300, 3, 4)
    model = GAFClassifier()
    model.partial_fit(X[:1], ["m"])
    assert model.predict_proba(X[:3]).tolist() == [[1.0]] * 3
    model.partial_fit(X[:2], ["z", "a"])
    assert model.classes_.tolist() == ["a", "m", "z"]
    model.partial_fit(X, np.array(["m", "z", "a", "b"])[y])
    assert model.classes_.tolist() == ["a", "b", "m", "z"]
    p = model.predict_proba(X)
    assert model.score(X, np.array(["m", "z", "a", "b"])[y]) > 0.6
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), p)
    np.testing.assert_allclose(model.decision_function(X), np.log(p / (1 - p)), atol=1e-9)


def test_classes_that_are_given_are_all_there_are():
    X, y = logistic_stream(50, 3, 2)
    model = GAFClassifier().partial_fit(X, y, classes=[0, 1, 2])
    assert model.predict_proba(X).shape == (50, 3)
    with pytest.raises(ValueError, match=r"not in classes: \[7\]"):
        model.partial_fit(X[:1], [7])
    with pytest.raises(ValueError, match="not those of the first call"):
        model.partial_fit(X, y, classes=[0, 1])
    fresh = GAFClassifier()
    with pytest.raises(ValueError, match="not in classes"):
        fresh.partial_fit(X, y, classes=[0])
    assert not hasattr(fresh, "n_features_in_")


def test_truth_and_numbers_are_two_kinds():
    with pytest.raises(ValueError, match="True is True or False, and 0 is a number"):
        GAFClassifier().partial_fit([[0.0], [1.0]], [0, 1]).partial_fit([[0.0]], [True])


def test_labels_of_two_kinds_in_one_column():
    for learn in (GAFClassifier().fit, GAFClassifier().partial_fit):
        with pytest.raises(ValueError, match="1 is a number, and 'a' is text"):
            learn([[0.0], [1.0]], np.array(["a", 1], dtype=object))


def test_labels_of_two_kinds_are_refused():
    model = GAFClassifier().partial_fit([[0.0], [1.0]], [1, 2])
    with pytest.raises(ValueError, match="'a' is text, and 1 is a number"):
        model.partial_fit([[0.0]], ["a"])
    assert model.classes_.tolist() == [1, 2]


def test_deviations_where_there_is_a_posterior(iris):
    assert GAFClassifier(forecaster=Folklore).fit(*iris).coef_std_.shape == (3, 4)
    for kind in (OGD, FTRL):
        model = GAFClassifier(forecaster=kind).fit(*iris)
        assert model.coef_.shape == (3, 4)
        assert not hasattr(model, "coef_std_")
        with pytest.raises(AttributeError, match=f"{kind.__name__} keeps no posterior"):
            _ = model.coef_std_


def test_coefficients_are_in_the_callers_units():
    rng = np.random.default_rng(0)
    scale, shift = np.array([1.0, 1e3, 1e-2]), np.array([0.0, 5e3, 1.0])
    Z = np.clip(rng.normal(size=(4000, 3)), -0.99, 0.99)  # where both scalings are linear
    y = (Z @ [2.0, -1.0, 0.0] + 0.5 + rng.logistic(size=4000) > 0).astype(int)
    model = GAFClassifier(kernel=None).fit(Z * scale + shift, y)
    assert model.coef_.shape == model.coef_std_.shape == (1, 3)
    np.testing.assert_allclose(model.coef_[0] * scale, [2.0, -1.0, 0.0], atol=0.25)
    assert model.intercept_[0] == pytest.approx(0.5 - (model.coef_[0] * shift).sum() * 1.0, abs=0.2)
    # The deviations are those of the Laplace approximation, up to the curvature that surrogates
    # overestimate.
    p = model.predict_proba(Z * scale + shift)[:, 1]
    design = np.column_stack([Z, np.ones(4000)])
    laplace = np.sqrt(np.diag(np.linalg.inv(design.T @ (design * (p * (1 - p))[:, None]))))[:3]
    ratio = model.coef_std_[0] * scale / laplace
    assert ((ratio > 0.5) & (ratio < 2)).all()
    X, labels = logistic_stream(300, 2, 4)
    many = GAFClassifier(kernel=None).fit(X, labels)
    assert many.coef_.shape == many.coef_std_.shape == (4, 2)
    np.testing.assert_allclose(many.coef_.sum(axis=0), 0, atol=1e-9)
    assert (many.coef_std_ > 0).all()


def frame_of(library):
    def make(X):
        columns = {"a": X[:, 0], "b": np.where(X[:, 1] > 0, "up", "down"), "c": X[:, 2]}
        return library(columns)

    return make


@pytest.mark.parametrize(
    "kind", [np.asarray, csr_array, frame_of(pd.DataFrame), frame_of(pl.DataFrame), frame_of(table)]
)
def test_a_table_sorted_by_label_is_fitted_in_another_order(kind):
    X, y = logistic_stream(240, 3, 3)
    order = np.argsort(y, kind="stable")
    X, y, weight = X[order], y[order], np.linspace(0.5, 1.5, 240)
    model = GAFClassifier(kernel=None).fit(kind(X), y, sample_weight=weight)
    in_turn = GAFClassifier(kernel=None).partial_fit(
        kind(X), y, classes=range(3), sample_weight=weight
    )
    losses = [log_loss(y, each.predict_proba(kind(X))) for each in (model, in_turn)]
    assert losses[0] < 0.8 * losses[1]
    again = GAFClassifier(kernel=None).fit(kind(X), y, sample_weight=weight)
    assert np.array_equal(model.predict_proba(kind(X)), again.predict_proba(kind(X)))


def test_labels_and_weights_of_a_sorted_table_go_with_their_rows():
    X, y = logistic_stream(240, 3, 3)
    order = np.argsort(y, kind="stable")
    X, y, weight = X[order], y[order], np.random.default_rng(0).uniform(0.1, 2.0, 240)
    model = GAFClassifier(kernel=None).fit(X, y, sample_weight=weight)
    rows, labels, own = shuffle(X, y, weight, random_state=0)
    in_turn = GAFClassifier(kernel=None)
    in_turn.partial_fit(rows, labels, classes=range(3), sample_weight=own)
    assert np.array_equal(model.predict_proba(X), in_turn.predict_proba(X))
