"""Mixtures of normal and t-distributions against scipy.stats."""

import numpy as np
import pytest
from scipy import stats

from mixable.forecasters.densities import Components, ends_of, log_densities, quantiles

MIXED = Components(
    weight=np.array([0.5, 0.2, 0.3]),
    mean=np.array([[0.0, 1.0, -1.0], [5.0, 5.0, 6.0]]),
    scale=np.array([[1.0, 2.0, 0.5], [0.1, 1.0, 2.0]]),
    thin=np.array([0.0, 1 / 3, 0.0]),
)


def parts(row):
    """The distributions of a row, by scipy."""
    kinds = [stats.norm, lambda *args: stats.t(3.0, *args), stats.norm]
    return [
        kind(mean, scale)
        for kind, mean, scale in zip(kinds, MIXED.mean[row], MIXED.scale[row], strict=True)
    ]


def test_densities_are_those_of_scipy():
    y = np.array([0.3, 4.0])
    for row, got in enumerate(log_densities(MIXED, y)):
        density = MIXED.weight @ [part.pdf(y[row]) for part in parts(row)]
        assert got == pytest.approx(np.log(density), abs=1e-12)


def test_below_a_quantile_is_that_much():
    q = np.array([0.01, 0.25, 0.95])
    for row, ends in enumerate(quantiles(MIXED, q)):
        below = [MIXED.weight @ [part.cdf(end) for part in parts(row)] for end in ends]
        assert below == pytest.approx(q, abs=1e-9)


def test_beside_and_scaled_make_one_mixture_of_two():
    both = MIXED.scaled(0.25).beside(MIXED.scaled(0.75))
    y = np.array([0.3, 4.0])
    assert log_densities(both, y) == pytest.approx(log_densities(MIXED, y), abs=1e-12)


@pytest.mark.parametrize("level", [0.0, 1.0, -0.5, np.nan])
def test_levels_that_are_none_are_refused(level):
    with pytest.raises(ValueError, match="level"):
        ends_of(level)
