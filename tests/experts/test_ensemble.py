"""What the mixtures without knobs share: their settings, their drift expert, their report."""

from functools import partial

import numpy as np
import pytest

from mixable import AutoGAF, AutoRidge
from mixable.experts.ensemble import checked_grid

NAMES = ("lam", "drift")


@pytest.mark.parametrize(
    ("grid", "error", "message"),
    [
        ([], ValueError, "grid is empty"),
        (3, TypeError, r"grid must be a list of \(lam, drift\), got 3"),
        ([(1.0,)], ValueError, r"grid\[0\] must be \(lam, drift\)"),
        ([(1.0, 0.0), (1.0, -1.0)], ValueError, r"grid\[1\]: drift must be at least 0"),
        ([(0.0, 0.0)], ValueError, r"grid\[0\]: lam must be at least 1e-10"),
        ([("a", 0.0)], TypeError, r"grid\[0\]: lam must be a number"),
    ],
)
def test_grids_that_are_refused(grid, error, message):
    with pytest.raises(error, match=message):
        checked_grid(grid, "grid", NAMES)


@pytest.mark.parametrize(
    ("option", "error", "message"),
    [
        ({"share": 0.6}, ValueError, "share must be at least 0 and at most 0.5"),
        ({"sleep": 1}, TypeError, "sleep must be True or False"),
        ({"threads": 0}, ValueError, "threads must be at least 1"),
        ({"scale": 0.0}, ValueError, "scale must be"),
        ({"views": "01"}, TypeError, "views must be a list"),
        ({"views": [-1]}, ValueError, "views must be at least 0"),
    ],
)
@pytest.mark.parametrize("make", [partial(AutoGAF, 2, 3), partial(AutoRidge, 2)])
def test_options_that_are_refused(make, option, error, message):
    with pytest.raises(error, match=message):
        make(**option)


def test_the_sentinel_is_the_one_whose_drift_is_nearest_to_a_hundredth():
    f = AutoRidge(2, grid=[(1.0, 0.0), (1.0, 1e-4), (1.0, 0.02), (1.0, 1.0)])
    assert [drift_expert for *_, drift_expert, _ in f._plans(f.grid)] == [False, False, True, False]
    still = AutoRidge(2, grid=[(1.0, 0.0), (0.1, 0.0)])
    assert not any(drift_expert for *_, drift_expert, _ in still._plans(still.grid))


def test_views_must_go_with_the_grid_and_make_the_rows_longer():
    with pytest.raises(ValueError, match="one entry for each of the 2 settings of the grid, got 1"):
        AutoRidge(2, grid=[(1.0, 0.0)] * 2, robust=(), views=[0])
    f = AutoRidge(2, grid=[(1.0, 0.0)] * 2, robust=(), views=[0, 2])
    assert f._row_length == 6
    with pytest.raises(ValueError, match=r"\(6,\)"):
        f.predict([1.0, 2.0])


def test_trust_is_of_those_awake_and_the_report_says_who(long_stream):
    X, y = long_stream
    f = AutoGAF(5, 3, sleep=True)
    f.run(X[:2560], y[:2560])
    assert 0 < np.count_nonzero(f.active) < len(f.experts)
    assert f.expert_weights.sum() == pytest.approx(1)
    assert not f.expert_weights[~f.active].any()
    np.testing.assert_allclose(
        f.expert_weights[f.active] / f.expert_weights.max(),
        f.weights[f.active] / f.weights[f.active].max(),
    )
    first, _, _, best, *_ = f.report().splitlines()
    assert f"{np.count_nonzero(f.active)} of {len(f.experts)} experts are active" in first
    assert best.startswith(
        f"{f.expert_weights.max():5.1%}  GAF, lam {f.experts[f.expert_weights.argmax()].lam:g}"
    )


def test_a_report_names_views_only_where_there_are_several():
    rows = np.random.default_rng(0).normal(size=(20, 4))
    two = AutoRidge(2, grid=[(1.0, 0.0), (1.0, 0.0)], robust=(), views=[0, 1])
    two.run(rows, rows[:, 2])
    assert ", view 1" in two.report()
    one = AutoRidge(4, grid=[(1.0, 0.0), (1.0, 0.0)])
    one.run(rows, rows[:, 2])
    assert "view" not in one.report()
