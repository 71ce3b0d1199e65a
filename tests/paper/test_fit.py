"""The regularised fit: its gradient is zero, and its loss is the definition's."""

import numpy as np
import pytest
from streams import logistic_stream

from mixable.integrals import helmert
from mixable.paper.regret import fit, loss_and_residual

X, Y = logistic_stream(80, 3, 4)
W = np.random.default_rng(0).uniform(0, 2, size=80)


def test_loss_and_residual_are_those_of_the_definition(rng):
    V = rng.normal(size=(3, 3))
    loss, p, residual = loss_and_residual(X, Y, W, V)
    z = X @ (helmert(4) @ V).T
    expected = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(p, expected, rtol=1e-12)
    assert loss == pytest.approx(float(-W @ np.log(expected[np.arange(80), Y])))
    np.testing.assert_allclose(residual, W[:, None] * (expected - np.eye(4)[Y]), atol=1e-12)


@pytest.mark.parametrize("lam", [1e-3, 1.0])
@pytest.mark.parametrize("start", [0.0, 30.0])
def test_the_gradient_is_zero_at_the_fit_wherever_it_starts(lam, start):
    V = fit(X, Y, W, lam, np.full((3, 3), start))
    residual = loss_and_residual(X, Y, W, V)[2]
    gradient = helmert(4).T @ (residual.T @ X) + 2 * lam * V
    assert np.abs(gradient).max() < 1e-6


def test_examples_beyond_double_precision_are_refused():
    with pytest.raises(ValueError, match="cannot be fitted in double precision"):
        fit(X[:1], Y[:1], np.array([1e300]), 1.0, np.zeros((3, 3)))
