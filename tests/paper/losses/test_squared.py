"""The squared loss: its substitution, its constants."""

import numpy as np
import pytest

from mixable.losses import Squared, check_assumptions


def test_squared_substitution_meets_the_mixability_inequality():
    """Eq. (4) at random Gaussians: (yhat - y)^2 <= -1/alpha log E exp(-alpha (z - y)^2) for all |y|
    <= Y.
    """
    rng = np.random.default_rng(3)
    loss = Squared(target_bound=2.0)
    alpha = loss.constants(1.0, 1.0).alpha
    for _ in range(200):
        m, s2 = rng.normal() * 2, rng.exponential() * 3
        yhat = float(loss.substitute(np.array([m]), np.array([[s2]]), alpha)[0])
        for y in np.linspace(-2, 2, 9):
            mixed = np.log1p(2 * alpha * s2) / (2 * alpha) + (m - y) ** 2 / (1 + 2 * alpha * s2)
            assert (yhat - y) ** 2 <= mixed + 1e-12


def test_squared_constants_are_the_papers_with_gamma_corrected():
    assert Squared(target_bound=3.0).constants(
        radius=2.0, bound=1.5, n_features=5
    ) == pytest.approx((1 / 18, 1.0, 4.5, 1 / (8 * 9 * 5 * 4)))


@pytest.mark.parametrize("outputs", [1, 2])
def test_squared_loss_meets_the_assumptions(outputs):
    loss = Squared(outputs, target_bound=2.0)
    assert check_assumptions(loss, 3.0, 1.5, points=300).holds
    c = loss.constants(3.0, 1.5)
    as_printed, too_large = c._replace(gamma=1.5**2), c._replace(alpha=4 * c.alpha)
    for constants, name in ((as_printed, "A4"), (too_large, "A1")):
        report = check_assumptions(loss, 3.0, 1.5, constants=constants, points=300)
        assert report.violation.assumption == name
