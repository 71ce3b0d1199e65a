"""The compiled forecaster of sparse rows: against NumPy, its table of slots, its states."""

import math
import subprocess
import sys
import threading

import numpy as np
import pytest
from sparse_reference import SparseReference

from mixable import SparseGAF
from mixable.experts.sparse import ALPHAS, GRID


def example(rng, K, keys=40, nnz=6):
    chosen = rng.choice(keys, size=nnz, replace=False).astype(np.uint64)
    return chosen, np.round(2 * rng.normal(size=nnz), 3)


def new(core, K, most=0, grid=GRID):
    return core.Sparse(K, list(grid), list(ALPHAS), 1e-3, most)


@pytest.mark.parametrize("K", [2, 3, 9])
@pytest.mark.parametrize("settings", [1, 8, 9])
def test_it_equals_the_reference(core, rng, K, settings):
    grid = (GRID + GRID)[:settings]
    f = new(core, K, grid=grid)
    g = SparseReference(K, grid=grid, alphas=ALPHAS, share=1e-3)
    W = rng.normal(size=(40, K))
    for _ in range(60):
        keys, values = example(rng, K)
        x = dict(zip(keys.tolist(), values.tolist(), strict=True))
        p = f.predict(keys, values)
        np.testing.assert_allclose(p, g.predict(x), rtol=1e-5)
        y = int((values @ W[keys.astype(int)] + rng.gumbel(size=K)).argmax())
        weight = float(rng.choice([1.0, 1.0, 0.5, 3.0]))
        f.learn(keys, values, y, weight)
        g.learn(x, y, weight)
    trusts = np.array([g.judge, 1 - g.judge]) @ g.trusts
    np.testing.assert_allclose(f.expert_weights(), trusts, rtol=1e-3, atol=1e-8)
    key = next(iter(g.W.keys() - {None}))
    by_setting = trusts.reshape(len(ALPHAS), -1).sum(axis=0)
    expected = by_setting @ g.W[key] / math.sqrt(g.scale)
    mean = f.coefficients(np.array([key], dtype=np.uint64))[0, 0]
    np.testing.assert_allclose(mean, expected, rtol=1e-3, atol=1e-5)


def test_deviations_are_within_and_between_experts(core):
    f = core.Sparse(2, [(4.0, 0.0)], [2.0, math.inf], 0.0, 0)
    mean, deviation = f.coefficients(np.array([1], dtype=np.uint64))[:, 0]
    np.testing.assert_array_equal(mean, 0)
    # Half the weight has variance 1 / (2 alpha a) = 1 / 16, but the unit is not known yet.
    np.testing.assert_array_equal(deviation, 0)
    f.learn(np.array([1], dtype=np.uint64), np.array([10.0]), 1, 1e-9)
    deviation = f.coefficients(np.array([2], dtype=np.uint64))[1, 0]
    np.testing.assert_allclose(deviation, math.sqrt(0.5 / 16) / 10, rtol=1e-6)


def test_many_keys_are_found_again(core, rng):
    """More than the first table, piece and doubling have room for; close keys and far ones."""
    f = new(core, 2)
    far = rng.integers(0, 2**63, 3000).tolist() + [2**64 - 1 - i for i in range(9)]
    keys = np.unique(np.array([*range(3000), *far], dtype=np.uint64))
    order = rng.permutation(len(keys))
    for chunk in np.array_split(keys[order], 50):
        f.learn(chunk, np.ones(len(chunk)), 1, 1.0)
    assert f.features == len(keys)
    assert np.array_equal(f.keys(), keys[order])
    assert f.collisions == 0
    assert (f.coefficients(keys)[0, :, 1] > 0).all()
    strangers = np.arange(10**6, 10**6 + 100, dtype=np.uint64)
    np.testing.assert_array_equal(f.coefficients(strangers)[0], 0)


def test_when_it_is_full_keys_share_slots_and_memory_stays(core, rng):
    f = new(core, 3, most=50)
    one = np.ones(1)
    for key in range(50):
        f.learn(np.array([key], dtype=np.uint64), one, key % 3, 1.0)
    size = f.bytes
    assert (f.features, f.most_features, f.collisions) == (50, 50, 0)
    strangers = np.arange(1000, 2000, dtype=np.uint64)
    f.learn(strangers, np.ones(1000), 0, 1.0)
    assert (f.features, f.collisions, f.bytes) == (50, 1000, size)
    f.predict(strangers, np.ones(1000))
    assert f.collisions == 1000
    known = f.coefficients(np.arange(50, dtype=np.uint64))[0]
    shared = f.coefficients(strangers)[0]
    nearest = np.abs(shared[:, None] - known[None]).sum(axis=2).min(axis=1)
    np.testing.assert_array_equal(nearest, 0)
    assert len(np.unique(shared[:, 0])) > 40


def test_a_row_that_fills_the_table_is_read_as_it_will_be_learned(core):
    f, g = new(core, 2, most=5), new(core, 2, most=5)
    keys, values = np.arange(20, dtype=np.uint64), np.linspace(1, 2, 20)
    for _ in range(20):
        first = np.array([100, 101, 102], dtype=np.uint64)
        f.learn(first, np.ones(3), 1, 1.0)
        g.learn(first, np.ones(3), 1, 1.0)
    p = f.predict(keys, values)
    start, y = np.array([0, 20]), np.array([1])
    assert np.array_equal(g.run(start, keys, values, y, None)[0], p)
    assert f.features == 3
    assert g.features == 5


def test_weight_zero_counts_and_changes_nothing_else(core, rng):
    f, g = new(core, 3), new(core, 3)
    for t in range(10):
        keys, values = example(rng, 3)
        f.learn(keys, values, t % 3, 1.0)
        g.learn(keys, values, t % 3, 1.0)
    g.learn(np.array([12345], dtype=np.uint64), np.array([1e6]), 0, 0.0)
    before, after = f.state(), g.state()
    assert after.pop("steps") == before.pop("steps") + 1
    for name, value in before.items():
        np.testing.assert_array_equal(value, after[name])


def test_only_active_features_change(core, rng):
    f = new(core, 3)
    for t in range(100):
        f.learn(*example(rng, 3), t % 3, 1.0)
    before = f.state()
    f.learn(np.array([0, 1], dtype=np.uint64), np.ones(2), 1, 1.0)
    after = f.state()
    changed = (before["slots"] != after["slots"]).any(axis=1)
    active = np.isin(after["keys"], [0, 1])
    assert np.array_equal(changed, [True, *active])  # the intercept is first


def test_an_odd_first_row_does_not_set_the_scale(core, rng):
    f, g = new(core, 2), new(core, 2)
    f.learn(np.array([7], dtype=np.uint64), np.array([1e9]), 0, 1.0)
    p = []
    for model in (f, g):
        stream = np.random.default_rng(1)
        for _ in range(200):
            keys, values = example(stream, 2)
            model.learn(keys, values, int(values.sum() > 0), 1.0)
        p.append(model.predict(keys, values))
    assert f.scale / g.scale == pytest.approx(1, abs=0.9)
    np.testing.assert_allclose(*p, atol=0.1)
    empty = new(core, 2)
    none = np.empty(0, dtype=np.uint64)
    empty.learn(none, np.empty(0), 1, 1.0)
    assert empty.scale == 0
    assert empty.predict(none, np.empty(0))[1] > 0.5


def test_a_constant_factor_changes_nothing(core, rng):
    f, g = new(core, 3), new(core, 3)
    for t in range(50):
        keys, values = example(rng, 3)
        np.testing.assert_array_equal(f.predict(keys, values), g.predict(keys, 2.0**40 * values))
        f.learn(keys, values, t % 3, 1.0)
        g.learn(keys, 2.0**40 * values, t % 3, 1.0)


@pytest.mark.parametrize("scale", [1e-140, 1e-30, 1e30, 1e90, 1e150, 1e300])
def test_extreme_values_give_probabilities(core, rng, scale):
    f = new(core, 3)
    for t in range(60):
        keys, values = example(rng, 3)
        values = values * (scale if t % 2 else 1.0)
        f.learn(keys, values, t % 3, float(10.0 ** rng.integers(-3, 12)))
        p = f.predict(keys, values)
        assert (p > 0).all()
        assert p.sum() == pytest.approx(1)


CTRL_C = """
import signal, numpy as np
from mixable import SparseGAF
rng = np.random.default_rng(0)
n = 400_000
keys = rng.integers(0, 10**5, 10 * n).astype(np.uint64)
f = SparseGAF(20)
signal.signal(signal.SIGALRM, signal.default_int_handler)
signal.setitimer(signal.ITIMER_REAL, 0.1)
try:
    f._core.run(10 * np.arange(n + 1), keys, np.ones(10 * n), rng.integers(0, 20, n), None)
except KeyboardInterrupt:
    f.learn({1: 1.0}, 0)
    print(0 < f.steps < n)
"""


def test_ctrl_c_stops_a_run_between_two_rows():
    done = subprocess.run([sys.executable, "-c", CTRL_C], capture_output=True, text=True)
    assert done.stdout == "True\n", done.stderr


def test_a_second_thread_is_refused_and_the_gil_is_released():
    n = 100_000
    f = SparseGAF(20)
    keys = np.random.default_rng(0).integers(0, 10**4, 10 * n).astype(np.uint64)
    arguments = 10 * np.arange(n + 1), keys, np.ones(10 * n), np.zeros(n, dtype=np.int_), None
    thread = threading.Thread(target=f._core.run, args=arguments)
    thread.start()
    try:
        while f.steps < 100 and thread.is_alive():
            pass
        assert thread.is_alive()  # so this thread had its turn
        with pytest.raises(RuntimeError, match="used by another thread"):
            f.learn({1: 1.0}, 0)
    finally:
        thread.join()
    assert f.steps == n


def spoilt(state, **changes):
    return {**state, **changes}


def test_states_that_do_not_fit_are_refused_and_nothing_changes(core, rng):
    f = new(core, 3)
    for t in range(30):
        f.learn(*example(rng, 3), t % 3, 1.0)
    good = f.state()
    keys, slots = good["keys"], good["slots"]
    negative, infinite, huge = slots.copy(), slots.copy(), slots.copy()
    negative[3, 0] = -1
    infinite[2, 5] = np.inf
    huge[0, 1] = 1e20
    for changes in (
        {"keys": np.full_like(keys, 5)},
        {"keys": keys[:-1]},
        {"keys": keys.astype(np.int64)},
        {"slots": slots[:-1]},
        {"slots": slots[:, :-1].copy()},
        {"slots": slots.astype(float)},
        {"slots": negative},
        {"slots": infinite},
        {"slots": huge},
        {"steps": -1},
        {"collisions": 3},
        {"inputs": 17},
        {"scale": -1.0},
        {"judge": 2.0},
        {"weight": good["weight"] * 2},
        {"corrects": 2},
        {"corrects": 0},
        {"offsets": good["offsets"] + 4},
        {"offsets": good["offsets"][:, :2].copy()},
        {"spread": -1 - good["spread"]},
        {"spread": good["spread"] + 1e19},
    ):
        with pytest.raises((ValueError, TypeError)):
            f.restore(spoilt(good, **changes))
        after = f.state()
        assert all(np.array_equal(good[name], after[name]) for name in good), changes
    g = new(core, 3)
    g.restore(good)
    assert np.array_equal(g.predict(keys, np.ones(len(keys))), f.predict(keys, np.ones(len(keys))))


def test_arrays_that_do_not_go_together_are_refused(core):
    f = new(core, 3)
    keys, values, y = np.arange(4, dtype=np.uint64), np.ones(4), np.array([0, 1])
    for start in ([0, 2], [0, 5, 4], [1, 2, 4], [0, 2, 3]):
        with pytest.raises(ValueError, match="do not go"):
            f.run(np.array(start), keys, values, y, None)
    with pytest.raises(ValueError, match="out of range"):
        f.run(np.array([0, 2, 4]), keys, values, np.array([0, 3]), None)
    with pytest.raises(ValueError, match="finite"):
        f.predict(keys, np.array([1.0, 2.0, 3.0, np.nan]))
    with pytest.raises(ValueError, match="at least 0"):
        f.learn(keys, values, 0, -1.0)
    with pytest.raises(TypeError, match="uint64"):
        f.predict(keys.astype(np.int64), values)
    assert f.steps == 0
