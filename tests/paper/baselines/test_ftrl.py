"""FTRL against scikit-learn."""

import copy

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from streams import logistic_stream

from mixable import FTRL, GAF


@pytest.mark.parametrize("lam", [0.05, 2.0])
def test_ftrl_equals_scikit_learn_refitted_at_each_step(lam):
    d, K = 3, 3
    X, y = logistic_stream(40, d, K)
    f = FTRL(d, K, lam=lam)
    compared = 0
    for t in range(40):
        f.learn(X[t], y[t])
        if len(set(y[: t + 1])) == K:
            model = LogisticRegression(
                C=1 / (2 * lam), fit_intercept=False, tol=1e-10, max_iter=10_000
            ).fit(X[: t + 1], y[: t + 1])
            np.testing.assert_allclose(
                f.predict(X[(t + 1) % 40]),
                model.predict_proba(X[(t + 1) % 40][None])[0],
                rtol=0,
                atol=1e-5,
            )
            compared += 1
    assert compared > 20


def test_gaf_without_hedging_and_full_curvature_is_close_to_ftrl():
    """Surrogates instead of losses cost little on benign data: the plug-in and the true leader end
    up near each other.
    """
    X, y = logistic_stream(300, 3, 3)
    gaf, ftrl = GAF(3, 3, lam=0.5, alpha=np.inf, mu=0.0), FTRL(3, 3, lam=0.5)
    gaf.run(X, y)
    ftrl.run(X, y)
    assert np.linalg.norm(gaf.coef - ftrl.coef) < 0.15 * np.linalg.norm(ftrl.coef)


def test_weights_that_double_precision_cannot_hold_are_refused_and_nothing_is_learned():
    rng = np.random.default_rng(0)
    X, weights, refused = rng.normal(size=(60, 3)), (1.0, 1e200, 1e250), 0
    f = FTRL(3, 4)
    for t, x in enumerate(X):
        before = f.steps, f.coef
        try:
            f.learn(x, int(rng.integers(4)), weights[t % 3])
        except ValueError:
            refused += 1
            assert f.steps == before[0]
            assert np.array_equal(f.coef, before[1])
        assert np.array_equal(copy.deepcopy(f).coef, f.coef)
    assert refused
