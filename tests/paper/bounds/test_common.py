"""What all bounds share: the least over lam, and sizes that mean nothing."""

import math

import numpy as np
import pytest

from mixable.paper.bounds.common import Bound, at_lam, check, power


@pytest.mark.parametrize("radius", [0.1, 3.0, 40.0])
@pytest.mark.parametrize(("a", "b", "c"), [(5.0, 0.0, 100.0), (2.0, 30.0, 1e4), (0.0, 1.0, 1.0)])
def test_the_least_over_lam_is_above_none_on_a_grid(radius, a, b, c):
    form = {"a": a, "b": b, "c": c}
    best = at_lam(None, radius, **form)
    grid = [at_lam(float(lam), radius, **form) for lam in np.geomspace(1e-8, 1e8, 2000)]
    assert best <= min(grid) * (1 + 1e-12)
    assert best == pytest.approx(float(at_lam(best.lam, radius, **form)), rel=1e-12)
    raised = at_lam(None, radius, **form, least=2 * best.lam)
    assert raised.lam == pytest.approx(2 * best.lam)
    assert raised > best


def test_lam_must_be_above_0():
    for lam in (0.0, -1.0, math.nan):
        with pytest.raises(ValueError, match="lam must be above 0"):
            at_lam(lam, 1.0, a=1.0, c=1.0)


def test_a_bound_is_a_number_that_knows_its_forecaster():
    bound = Bound(2.5, lam=0.1, constants="tight")
    assert (bound + 1, bound.lam, bound.constants) == (3.5, 0.1, "tight")
    assert repr(bound) == "Bound(2.5, lam=0.1, constants='tight')"


def test_powers_overflow_to_infinity():
    assert power((2.0, 10), (10.0, -1)) == pytest.approx(102.4)
    assert power((10.0, 400)) == math.inf


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"n": -1}, "n must be at least 0"),
        ({"n": 1, "n_features": 0}, "n_features"),
        ({"n": 1, "n_classes": 1}, "n_classes"),
        ({"n": 1, "radius": 0.0}, "radius"),
        ({"n": 1, "bound": math.inf}, "bound"),
    ],
)
def test_sizes_that_mean_nothing_are_refused(sizes, message):
    with pytest.raises(ValueError, match=message):
        check(**sizes)
