"""Bounds of mixtures that do not know the comparator's norm: what they cost, and are made of."""

import itertools
import math

import pytest

from mixable import AutoGAF, bounds
from mixable.bounds import adaptive, auto_gaf, auto_gaf_wide, doubling_radii
from mixable.losses import Logistic

SIZES = (5000, 3, 4)  # n, d, K


def test_radii_double_from_below_one_half_over_the_bound():
    radii = doubling_radii(12.0, 3.0)
    assert radii[-1] == 12.0
    assert [high / low for low, high in itertools.pairwise(radii)] == [2.0] * 7
    assert radii[0] * 3.0 <= 0.5 < radii[1] * 3.0


@pytest.mark.parametrize("constants", ["paper", "tight"])
def test_adapting_costs_the_logarithm_of_the_number_of_radii(constants):
    """To a comparator on the largest radius, the only expert that can is the last."""
    n, d, K = SIZES
    value = adaptive(n, d, K, 8.0, 1.0, max_radius=8.0, constants=constants)
    dim = bounds.dimension(d, K, constants)
    c = Logistic(K).constants(8.0, 1.0, kind=constants)
    alone = bounds.theorem1(n, dim, c, 8.0, bounds.theory_lam(dim, c))
    assert value == pytest.approx(alone + math.log(len(doubling_radii(8.0, 1.0))))
    f = AutoGAF.from_theory(d, K, bound=1.0, max_radius=8.0, constants=constants)
    assert value.lam == pytest.approx(f.grid[-1][0] * f.scale)


def test_the_set_of_constants_with_the_smaller_bound_is_taken():
    arguments = (*SIZES, 2.0, 1.0, 8.0)
    each = {kind: adaptive(*arguments, constants=kind) for kind in ("paper", "tight")}
    best = adaptive(*arguments)
    assert best == min(each.values())
    assert each[best.constants] == best


def test_a_comparator_beyond_what_is_covered_is_refused():
    with pytest.raises(ValueError, match="radius must be at most max_radius = 4, got 5"):
        adaptive(*SIZES, 5.0, 1.0, max_radius=4.0)
    with pytest.raises(ValueError, match=r"radius \* bound must be at most fallback = 10, got 11"):
        auto_gaf(*SIZES, radius=11.0, bound=1.0, scale=1.0)


def test_the_guard_is_folklore_plus_the_price_of_the_mixture():
    n, d, K = SIZES
    value = auto_gaf(n, d, K, radius=10.0, bound=1.0, scale=0.5, experts=7)
    fallback = bounds.folklore(n, d, K, 10.0, 1.0, d * 0.5, "paper")
    assert value == pytest.approx(fallback + math.log(14) + 1e-10 * n)
    nearer = auto_gaf(n, d, K, radius=1.0, bound=1.0, scale=0.5, experts=7)
    assert value - nearer == pytest.approx(d * 0.5 * (10.0**2 - 1.0**2))


def test_the_gradient_guard_grows_as_the_root_of_n():
    def without_mixture(n):
        return auto_gaf_wide(n, 100, bound=10.0, scale=1.0) - math.log(58) - 1e-10 * n

    # B = 1, eta = 1 / sqrt(200), and R = 10
    step = 1 / math.sqrt(200)
    assert without_mixture(100) == pytest.approx((2 / step + 2 * step * 100) * 10)
    assert without_mixture(40_000) == pytest.approx(20 * without_mixture(100))
