"""Scikit-learn's own checks, and its tools."""

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from streams import logistic_stream

from mixable import (
    AIOLI,
    FTRL,
    GAF,
    OGD,
    ONS,
    VAW,
    AutoGAF,
    Folklore,
    GAFClassifier,
    GAFRegressor,
    kernels,
)

# What scikit-learn's own SGDClassifier and SGDRegressor declare.
NOT_FOR_STREAMS = {
    f"check_sample_weight_equivalence_on_{kind}_data": (
        "sample_weight is not equivalent to removing or repeating samples"
    )
    for kind in ("dense", "sparse")
}


@pytest.mark.filterwarnings("ignore:y has one class only")
@parametrize_with_checks(
    [
        GAFClassifier(),
        GAFRegressor(),
        GAFClassifier(lam=0.1, beta=1.0, alpha=4.0, drift=0.0),
        GAFClassifier(forecaster=Folklore),
        GAFClassifier(kernel=kernels.RBF(20)),
        GAFClassifier(kernel=kernels.RBF(20, method="nystroem")),
        GAFRegressor(kernel=kernels.RBF(20)),
        GAFRegressor(kernel=kernels.RBF(20, method="nystroem")),
    ],
    expected_failed_checks=lambda estimator: NOT_FOR_STREAMS,
)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


def test_tools_of_scikit_learn(iris):
    X, y = iris
    p = cross_val_predict(GAFClassifier(), X, y, method="predict_proba")
    assert -np.log(p[np.arange(150), y]).mean() < 0.25
    search = GridSearchCV(
        GAFClassifier(), {"lam": [None, 0.1], "standardize": [True, False]}, scoring="neg_log_loss"
    ).fit(X, y)
    assert search.best_score_ > -0.3
    calibrated = CalibratedClassifierCV(GAFClassifier(), cv=3).fit(X, y)
    assert calibrated.score(X, y) > 0.9
    pipeline = make_pipeline(StandardScaler().set_output(transform="pandas"), GAFClassifier()).fit(
        X, y
    )
    assert list(pipeline[-1].feature_names_in_) == ["x0", "x1", "x2", "x3"]
    assert pipeline.score(X, y) > 0.9
    twin = clone(GAFClassifier(lam=0.5, forecaster=ONS))
    assert (twin.lam, twin.forecaster) == (0.5, ONS)


def test_sample_weights_are_routed(iris):
    X, y = iris
    weight = np.linspace(0.1, 2, 150)
    with sklearn.config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(scaler, GAFClassifier().set_fit_request(sample_weight=True)).fit(
            X, y, sample_weight=weight
        )
    scaled = StandardScaler().fit(X).transform(X)
    assert np.array_equal(
        pipeline[-1].predict_proba(scaled),
        GAFClassifier().fit(scaled, y, weight).predict_proba(scaled),
    )
    assert not np.array_equal(
        pipeline[-1].predict_proba(scaled), GAFClassifier().fit(scaled, y).predict_proba(scaled)
    )


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"forecaster": VAW}, "forecaster must be a multiclass forecaster class"),
        ({"forecaster": "ONS"}, "forecaster must be a multiclass forecaster class"),
        ({"forecaster": AIOLI}, "AIOLI does not"),
        ({"forecaster": AutoGAF, "lam": 1.0}, "AutoGAF has no parameter lam"),
        ({"forecaster": OGD, "beta": 1.0}, "OGD has no parameter beta"),
        ({"standardize": "no"}, "standardize must be True or False"),
        ({"fit_intercept": 2}, "fit_intercept must be True or False"),
        ({"n_jobs": "a"}, "n_jobs must be None or an integer"),
    ],
)
def test_parameters_that_are_refused(iris, parameters, message):
    with pytest.raises(TypeError, match=message):
        GAFClassifier(**parameters).fit(*iris)


@pytest.mark.parametrize("kind", [ONS, OGD, Folklore, GAF, FTRL])
def test_classes_arrive_whatever_the_forecaster(kind):
    X, y = logistic_stream(60, 3, 3)
    model = GAFClassifier(forecaster=kind)
    for t in range(0, 60, 20):
        model.partial_fit(X[t : t + 20], np.minimum(y[t : t + 20], t // 20 + 1))
    assert model.classes_.tolist() == [0, 1, 2]


@pytest.mark.parametrize("kind", [ONS, OGD, Folklore, GAF, FTRL])
def test_other_forecasters_behind_the_same_facade(kind, iris):
    X, y = iris
    model = GAFClassifier(forecaster=kind).fit(X, y)
    assert isinstance(model.forecaster_, kind)
    assert model.score(X, y) > 0.6
    assert kind.__name__ in model.report()


def test_parameters_that_are_given_are_fixed(iris):
    X, y = iris
    experts = GAFClassifier(kernel=None, lam=0.5, alpha=4.0).fit(X, y).forecaster_.experts
    assert {(e.lam, e.alpha) for e in experts if e.kind == "GAF"} == {(0.5, 4.0)}
    assert len({(e.beta, e.drift) for e in experts if e.kind == "GAF"}) > 3
    fixed = {"lam": 0.5, "beta": 1.0, "alpha": np.inf, "drift": 0.0}
    single = GAFClassifier(kernel=None, **fixed).fit(X, y).forecaster_
    assert repr(single).startswith("GAF(n_features=5, n_classes=3, lam=0.5, beta=1.0, alpha=inf")
