"""Weights in the caller's units: they give the forecasts back."""

import numpy as np
import pytest
from streams import logistic_stream

from mixable import GAF, OGD
from mixable.model import Design, KernelPlan, Learner
from mixable.model.coefficients import coefficients, deviations, kernel_widths

X, CODES = logistic_stream(200, 3, 3)
X = X * [1.0, 50.0, 0.01] + [3.0, -100.0, 0.0]
FIXED = {"lam": 0.1, "beta": 1.0, "alpha": np.inf, "drift": 0.0}


def learned(design, y=None, labels=(0, 1, 2)):
    learner = Learner(design, 3, labels)
    learner.run(X, CODES.tolist() if y is None else y, None)
    return learner


def test_logits_are_linear_in_the_callers_columns():
    """Where scaling is linear: within ten deviations of the mean."""
    learner = learned(Design.for_classes(None, FIXED))
    slopes, intercepts = coefficients(learner)
    assert (slopes.shape, intercepts.shape) == ((3, 3), (3,))
    mean, sd = learner.inputs.moments()
    Z = np.column_stack([np.ones(200), (X - mean) / sd])
    np.testing.assert_allclose(
        X @ slopes.T + intercepts, Z @ learner.forecaster.coef.T, rtol=1e-8, atol=1e-8
    )


def test_of_numbers_the_intercept_has_the_origin():
    y = X @ [1.0, -0.02, 50.0] + 1e4
    learner = learned(Design.for_numbers({"lam": 1e-6, "drift": 0.0}), y, None)
    slopes, intercepts = coefficients(learner)
    # A forecast scales its row with those before it and itself.
    np.testing.assert_allclose(X @ slopes[0] + intercepts, learner.predict(X), rtol=0, atol=0.1)
    np.testing.assert_allclose(slopes, [[1.0, -0.02, 50.0]], rtol=0.1)


def test_deviations_of_contrasts_are_those_of_the_posterior():
    learner = learned(Design.for_classes(None, {**FIXED, "alpha": 1.0}))
    contrast = np.array([[1.0, -1.0, 0.0], [0.0, 2.0, -2.0]])
    each = learner.forecaster.feature_covariances()[1:]  # without the intercept
    sd = learner.inputs.moments()[1]
    expected = [[np.sqrt(c @ each[j] @ c) / sd[j] for j in range(3)] for c in contrast]
    np.testing.assert_allclose(deviations(learner, contrast), expected, rtol=1e-10)


def test_who_has_none():
    with pytest.raises(AttributeError, match="OGD keeps no posterior"):
        deviations(learned(Design.for_classes(OGD, {"step": 1.0})), np.eye(3))
    plan = KernelPlan(method="fourier", n_components=4, gamma=0.5)
    with pytest.raises(AttributeError, match="of linear models only"):
        coefficients(learned(Design.for_classes(GAF, {"lam": 1.0}, kernel=plan)))


def test_the_trust_by_width_of_a_kernel_sums_to_1():
    plan = KernelPlan(method="fourier", n_components=4, gamma=None)
    widths = kernel_widths(learned(Design.for_classes(None, {"lam": None}, kernel=plan)))
    assert [gamma is None for gamma, _ in widths] == [True, False, False, False]
    assert sum(share for _, share in widths) == pytest.approx(1)
    fixed = KernelPlan(method="fourier", n_components=4, gamma=0.5)
    alone = learned(Design.for_classes(GAF, {"lam": 1.0}, kernel=fixed))
    assert kernel_widths(alone) == [(0.5, 1.0)]
