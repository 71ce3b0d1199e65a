"""What the estimators mix over when a parameter is not given."""

import pytest

from mixable.model import KernelPlan, grids

NAMES = ("lam", "beta", "drift")
GRID = ((1.0, 1.0, 0.0), (0.1, 2.0, 0.0), (0.1, 1.0, 1e-3))


def test_squashed_views_stand_beside_a_grid_and_not_beside_one_posterior():
    out = grids.linear(GRID, NAMES, {}, standardize=True)
    assert out["grid"][:3] == list(GRID)
    assert out["grid"][3:] == [(lam, 1.0, 0.0) for lam in grids.SQUASHED_LAMS]
    assert out["views"] == [0, 0, 0, 1, 1, 1]
    numbers = grids.linear(((1.0, 0.0), (0.1, 0.0)), ("lam", "drift"), {}, standardize=True)
    assert numbers["grid"][2:] == [(lam, 0.0) for lam in grids.SQUASHED_RIDGE_LAMS]
    assert grids.linear(GRID[:1], NAMES, {}, standardize=True) == {"grid": [GRID[0]]}
    assert grids.linear(GRID, NAMES, {}, standardize=False) == {"grid": list(GRID)}


def test_what_is_given_is_fixed_and_twins_go():
    out = grids.linear(GRID, NAMES, {"lam": 7.0, "beta": 1.0}, standardize=True)
    assert out["grid"] == [(7.0, 1.0, 0.0), (7.0, 1.0, 1e-3), (7.0, 1.0, 0.0)]
    assert out["views"] == [0, 0, 1]
    assert out["scale"] == 1.0


def test_each_width_of_a_kernel_is_a_view_after_the_linear_one():
    plan = KernelPlan(method="fourier", n_components=5, gamma=None)
    mixed, out = grids.kernels(plan, NAMES, {})
    assert mixed.linear
    widths = (None, *mixed.bandwidths)
    assert mixed.views == len(widths)
    seen = [(*row, widths[view]) for row, view in zip(out["grid"], out["views"], strict=True)]
    assert seen == list(grids.KERNEL_GRID)


def test_a_given_gamma_is_one_width():
    plan = KernelPlan(method="fourier", n_components=5, gamma=0.3)
    mixed, out = grids.kernels(plan, ("lam", "drift"), {"drift": 0.0})
    assert mixed.views == 2
    assert set(out["views"]) == {0, 1}
    assert len(set(zip(out["grid"], out["views"], strict=True))) == len(out["grid"])
    assert {drift for _, drift in out["grid"]} == {0.0}


def test_efforts_are_words():
    for effort in grids.EFFORTS:
        grids.check_effort(effort)
    for wrong in ("most", None, 3, ["low"]):
        with pytest.raises(ValueError, match="effort must be one of 'low', 'auto', 'high'"):
            grids.check_effort(wrong)
