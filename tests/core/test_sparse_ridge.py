"""The compiled regressions on sparse rows against their specification, and what bounds them."""

import numpy as np
import pytest
from sparse_reference import SparseRidgeReference

from mixable import AutoRidge, _core
from mixable.model import grids

GRID = list(grids.SPARSE_RIDGE_GRID)
SCALER = _core.Scaler(0, False, True, 2)
SHAPES = _core.Shapes(True, False, False, [], 0, 0, 0, False)


def rows(n, seed=0, most=30):
    """Dictionaries of indicators, of which each has three."""
    rng = np.random.default_rng(seed)
    return [{int(key): 1.0 for key in rng.choice(most, 3, replace=False)} for _ in range(n)]


def sparse(X):
    """Rows as the core takes them."""
    start = np.cumsum([0, *map(len, X)])
    keys = np.array([key for x in X for key in x], dtype=np.uint64)
    values = np.array([value for x in X for value in x.values()], dtype=np.float64)
    none = np.zeros(len(X) + 1, np.int64), np.empty(0, np.uint64), np.empty(0)
    categories = np.empty((len(X), 0), np.uint64)
    return np.empty((len(X), 0)), ((start, keys, values), none, b"", categories)


def stage(core):
    """A pool whose one expert sees what the regressions say."""
    head = AutoRidge(len(GRID) + 2)._core
    return _core.NumberPool(
        [(SCALER, [], 1.0, True, False, head, (SCALER, core, SHAPES))], None, None, 1
    )


def predict(core, X):
    """What they say: where the expert begins, then its row without the intercept."""
    seen = stage(core).rows(0, *sparse(X))
    return np.delete(seen, 1, axis=1)


def run(core, X, y, weight=None):
    pool, said = stage(core), []
    for t, x in enumerate(X):
        said.append(predict(core, [x])[0])
        pool.learn(*sparse([x]), float(y[t]), 1.0 if weight is None else float(weight[t]), None)
    return np.array(said)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("unit", [1.0, 1e-6, 1e30])
def test_the_core_does_what_the_specification_says(unit, weighted):
    X, rng = rows(120), np.random.default_rng(1)
    y = unit * (5 + np.array([min(x) for x in X]) / 3 + rng.normal(size=len(X)))
    y[40] += 1000 * unit  # far away
    weight = rng.uniform(0.5, 2, len(X)) if weighted else np.ones(len(X))
    core, reference = _core.SparseRidge(GRID, 0), SparseRidgeReference(GRID)
    said = run(core, X, y, weight if weighted else None)
    for x, target, own, got in zip(X, y, weight, said, strict=True):
        expected = reference.predict(x)
        np.testing.assert_allclose(got[0] / unit, expected[0] / unit, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(got[1:], expected[1:], rtol=1e-4, atol=1e-4)
        reference.learn(x, target, own)


def test_in_another_unit_that_is_a_power_of_two_it_says_the_same():
    """Also when the deviation moves far from the unit, and all weights are multiplied."""
    X, rng = rows(200), np.random.default_rng(2)
    y = rng.normal(size=200) * np.where(np.arange(200) < 60, 1e-5, 1e3)
    one, other = (run(_core.SparseRidge(GRID, 0), X, 2.0**power * y) for power in (0, 40))
    np.testing.assert_array_equal(other[:, 1:], one[:, 1:])
    np.testing.assert_array_equal(other[:, 0], 2.0**40 * one[:, 0])


def test_predicting_changes_nothing_and_learning_goes_on_from_it():
    X, y = rows(50), np.arange(50.0)
    whole, parts = _core.SparseRidge(GRID, 0), _core.SparseRidge(GRID, 0)
    said = run(whole, X, y)
    for t, x in enumerate(X):
        np.testing.assert_array_equal(predict(parts, [x])[0], said[t])
        np.testing.assert_array_equal(predict(parts, [x])[0], said[t])
        run(parts, [x], y[t : t + 1])


def test_one_target_far_away_spoils_nothing():
    X, rng = rows(400), np.random.default_rng(3)
    y = np.array([min(x) for x in X]) + 0.1 * rng.normal(size=400)
    spoilt = y.copy()
    spoilt[100] = 1e9
    clean, other = (run(_core.SparseRidge(GRID, 0), X, each)[150:, 0] for each in (y, spoilt))
    assert np.abs(other - y[150:]).mean() < 1.3 * np.abs(clean - y[150:]).mean()


def test_memory_is_bounded_and_shared_slots_are_counted():
    core = _core.SparseRidge(GRID, 16)
    run(core, rows(100, most=300), np.arange(100.0))
    assert (core.features, core.most_features) == (16, 16)
    assert core.collisions > 0
    before = core.bytes
    run(core, rows(100, seed=1, most=3000), np.arange(100.0))
    assert core.bytes == before


def test_a_weight_of_0_is_a_step_and_nothing_else():
    core = _core.SparseRidge(GRID, 0)
    run(core, rows(20), np.arange(20.0))
    before = {name: each for name, each in core.state().items() if name != "steps"}
    run(core, rows(1, seed=9), [1e6], np.zeros(1))
    after = core.state()
    assert after.pop("steps") == 21
    np.testing.assert_equal(after, before)


FORGERIES = {
    "negative steps": {"steps": -1},
    "a unit that is no power of two": {"unit": 3.0},
    "a unit that is negative": {"unit": -1.0},
    "a deviation that is not finite": {"square": 1e290, "count": 1e-300},
    "a mean that is not a number": {"mean": np.nan},
    "too many misses": {"misses": 10**6},
    "collisions without a full table": {"collisions": 1},
    "a scale of 0": {"scale": 0.0},
    "other slots": {"slots": np.zeros((2, 9), np.float32)},
    "slots that are not finite": {"slots": lambda slots: slots * np.float32(np.inf)},
    "a negative accumulator": {"slots": lambda slots: -slots},
    "keys twice": {"keys": lambda keys: 0 * keys},
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_state_is_refused_and_changes_nothing(name):
    core = _core.SparseRidge(GRID, 0)
    run(core, rows(20), 1 + np.arange(20.0))
    before = predict(core, rows(3))
    state = core.state()
    for field, value in FORGERIES[name].items():
        state[field] = value(state[field]) if callable(value) else value
    with pytest.raises((ValueError, TypeError)):
        core.restore(state)
    np.testing.assert_array_equal(predict(core, rows(3)), before)


@pytest.mark.parametrize(
    ("y", "weight"), [(np.nan, 1.0), (1e101, 1.0), (1.0, -1.0), (1.0, np.nan), (1.0, 1e13)]
)
def test_bad_targets_and_weights_are_refused(y, weight):
    core = _core.SparseRidge(GRID, 0)
    with pytest.raises(ValueError, match=r"out of range|weight"):
        run(core, rows(1), [y], np.array([weight]))
    assert core.steps == 0
