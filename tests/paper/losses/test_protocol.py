"""Every loss: its derivatives."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from mixable.losses import Logistic, Squared


@pytest.mark.parametrize("loss", [Logistic(2), Logistic(4), Squared(), Squared(3)], ids=repr)
def test_gradient_and_hessian_are_the_derivatives_of_value(loss):
    rng = np.random.default_rng(0)
    for _ in range(20):
        z = 2 * rng.normal(size=loss.n_outputs)
        y = loss.outcome(
            rng.integers(loss.n_outputs)
            if isinstance(loss, Logistic)
            else rng.normal(size=loss.n_outputs)
        )
        np.testing.assert_allclose(
            loss.gradient(z, y), approx_fprime(z, lambda z, y=y: loss.value(z, y), 1e-7), atol=1e-5
        )
        jacobian = np.atleast_2d(approx_fprime(z, lambda z, y=y: loss.gradient(z, y), 1e-7))
        np.testing.assert_allclose(loss.hessian(z, y), jacobian, atol=1e-5)
