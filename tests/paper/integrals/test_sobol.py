"""Sobol points for the standard normal: a net, matched in second moments."""

from math import erfc, sqrt

import numpy as np
import pytest

from mixable import _core
from mixable.paper.integrals.sobol import matched_sobol, scrambled_sobol


def test_points_are_scrambled_sobol_with_one_in_each_interval_of_every_coordinate():
    u = scrambled_sobol(40, 64, 3)
    assert ((u > 0) & (u < 1)).all()
    for row in u:
        assert sorted((row * 64).astype(int)) == list(range(64))


@pytest.mark.parametrize("k", [1, 3, 9, 25])
def test_matched_points_have_identity_second_moments(k):
    points = matched_sobol(k, 64, 5)
    np.testing.assert_allclose(points @ points.T / 64, np.eye(k), atol=1e-12)
    assert not points.flags.writeable  # they are kept for the next one who asks


def test_few_points_in_many_dimensions_have_unit_variances():
    np.testing.assert_allclose((matched_sobol(40, 64, 0) ** 2).mean(axis=1), 1, rtol=1e-12)


def test_another_seed_has_other_points():
    one, other = matched_sobol(3, 64, 0), matched_sobol(3, 64, 1)
    assert np.array_equal(one, matched_sobol(3, 64, 0))
    assert np.abs(one - other).max() > 0.1


def test_normal_quantile_against_the_distribution_function():
    u = np.concatenate([np.logspace(-300, -1, 300), np.linspace(0.01, 0.99, 99)])
    z = _core.normal_quantile(u)
    back = np.array([0.5 * erfc(-value / sqrt(2)) for value in z])
    np.testing.assert_allclose(back, u, rtol=1e-12)
