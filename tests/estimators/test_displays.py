"""Scikit-learn's displays and tools take the estimators as they take its own."""

import numpy as np
import pytest
from sklearn.base import is_classifier, is_regressor
from sklearn.calibration import CalibratedClassifierCV, CalibrationDisplay
from sklearn.inspection import DecisionBoundaryDisplay, PartialDependenceDisplay
from sklearn.metrics import (
    ConfusionMatrixDisplay,
    DetCurveDisplay,
    PrecisionRecallDisplay,
    PredictionErrorDisplay,
    RocCurveDisplay,
)
from sklearn.model_selection import GridSearchCV, cross_val_score
from streams import logistic_stream

from mixable import GAFClassifier, GAFRegressor

matplotlib = pytest.importorskip("matplotlib")
QUICK = {"effort": "low", "kernel": None}
X, Y = logistic_stream(150, 2, 2)
NAMES = np.array(["no", "yes"])[Y]


@pytest.fixture(autouse=True)
def no_windows():
    from matplotlib import pyplot

    pyplot.switch_backend("agg")
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def model():
    return GAFClassifier(**QUICK).fit(X, NAMES)


def test_they_say_what_they_are():
    for made, kind in ((GAFClassifier(), "classifier"), (GAFRegressor(), "regressor")):
        assert made.__sklearn_tags__().estimator_type == kind
        assert (is_classifier(made), is_regressor(made)) == (
            kind == "classifier",
            kind != "classifier",
        )


def test_a_confusion_matrix_has_the_labels(model):
    shown = ConfusionMatrixDisplay.from_estimator(model, X, NAMES)
    assert [text.get_text() for text in shown.ax_.get_xticklabels()] == ["no", "yes"]
    right = np.count_nonzero(model.predict(X) == NAMES)
    assert shown.confusion_matrix.trace() == right


@pytest.mark.parametrize("display", [RocCurveDisplay, PrecisionRecallDisplay, DetCurveDisplay])
def test_curves(model, display):
    shown = display.from_estimator(model, X, NAMES, pos_label="yes")
    assert "GAFClassifier" in shown.ax_.get_legend_handles_labels()[1][0]


def test_a_reliability_diagram(model):
    shown = CalibrationDisplay.from_estimator(model, X, NAMES, n_bins=4, pos_label="yes")
    np.testing.assert_allclose(shown.y_prob, model.predict_proba(X)[:, 1])


@pytest.mark.parametrize("method", ["predict_proba", "decision_function", "predict"])
def test_decision_boundaries(model, method):
    shown = DecisionBoundaryDisplay.from_estimator(
        model, X, response_method=method, grid_resolution=5
    )
    assert shown.response.shape[:2] == (5, 5)


def test_partial_dependence(model):
    pytest.importorskip("pandas")
    shown = PartialDependenceDisplay.from_estimator(model, X[:30], [0], grid_resolution=5)
    assert shown.axes_.size == 1


def test_errors_of_a_regressor():
    model = GAFRegressor(**QUICK).fit(X, X[:, 0])
    shown = PredictionErrorDisplay.from_estimator(model, X, X[:, 0])
    np.testing.assert_allclose(shown.y_pred, model.predict(X))


def test_searches_and_calibration():
    assert cross_val_score(GAFClassifier(**QUICK), X, NAMES, cv=3).mean() > 0.6
    weights = {"class_weight": [None, "balanced", {"yes": 3.0}]}
    search = GridSearchCV(GAFClassifier(**QUICK), weights, scoring="roc_auc", cv=2).fit(X, NAMES)
    assert search.best_params_["class_weight"] in weights["class_weight"]
    calibrated = CalibratedClassifierCV(GAFClassifier(**QUICK), cv=2).fit(X, NAMES)
    assert calibrated.predict_proba(X).shape == (150, 2)
