"""Mixtures of normal and t-distributions against scipy.stats."""

import numpy as np
import pytest
from scipy import stats

from mixable.experts.densities import Components, ends_of, log_densities, quantiles

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


def test_quantiles_of_mixtures_with_gaps_and_spikes(rng):
    """Scales from 1e-6 to 1e4: where Newton's steps lead astray."""
    k, q = 40, np.array([1e-4, 0.05, 0.5, 0.95, 1 - 1e-7])
    spiky = Components(
        weight=np.full(k, 1 / k),
        mean=1e3 * rng.normal(size=(5, k)),
        scale=10 ** rng.uniform(-6, 4, size=(5, k)),
        thin=rng.choice([0.0, 1 / 3, 1.0], size=k),
    )
    for row, ends in enumerate(quantiles(spiky, q)):
        for end, level in zip(ends, q, strict=True):
            near = 1e-12 * abs(end)  # a spike may be narrower than the spacing of numbers
            low, high = (_below(spiky, row, end + step) for step in (-near, near))
            assert low - 1e-9 <= level <= high + 1e-9


def _below(mixture, row, x):
    z = (x - mixture.mean[row]) / mixture.scale[row]
    t = stats.t.cdf(z, 1 / np.maximum(mixture.thin, 1e-9))
    return mixture.weight @ np.where(mixture.thin > 0, t, stats.norm.cdf(z))


def test_a_mixture_in_two_shares_is_the_same_mixture():
    parts = [MIXED._replace(weight=share * MIXED.weight) for share in (0.25, 0.75)]
    both = Components(*(np.concatenate(pair, axis=-1) for pair in zip(*parts, strict=True)))
    y = np.array([0.3, 4.0])
    assert log_densities(both, y) == pytest.approx(log_densities(MIXED, y), abs=1e-12)


@pytest.mark.parametrize("level", [0.0, 1.0, -0.5, np.nan])
def test_levels_that_are_none_are_refused(level):
    with pytest.raises(ValueError, match="level"):
        ends_of(level)
