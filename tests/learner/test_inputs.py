"""Inputs: staging changes nothing, committing learns as many rows as it is asked to."""

import numpy as np
import pytest

from mixable import _core
from mixable.learner import KernelPlan
from mixable.learner.inputs import ScaledInputs
from mixable.learner.kernel_inputs import KernelInputs

D, N = 3, 40


def kernel(method, **options):
    plan = KernelPlan(method=method, n_components=8, gamma=None, bandwidths=(1.0, 4.0), linear=True)
    return lambda: KernelInputs(plan, D, **{"intercept": True, "standardize": True, **options})


MAKE = {
    "scaled": lambda: ScaledInputs(D, intercept=True, standardize=True, views=1),
    "scaled, two views": lambda: ScaledInputs(D, intercept=False, standardize=True, views=2),
    "raw": lambda: ScaledInputs(D, intercept=True, standardize=False, views=1),
    "fourier": kernel("fourier"),
    "nystroem": kernel("nystroem"),
    "nystroem, raw": kernel("nystroem", intercept=False, standardize=False),
}


@pytest.fixture(params=MAKE)
def make(request):
    """Inputs that have learned a few rows."""

    def made():
        inputs = MAKE[request.param]()
        _, pending = inputs.stage(rows(5, seed=1))
        inputs.commit(pending, 5)
        return inputs

    return made


def rows(n=N, seed=0):
    """Rows of which some entries are missing."""
    rng = np.random.default_rng(seed)
    X = 3 * rng.normal(size=(n, D)) + 7
    X[rng.random(X.shape) < 0.1] = np.nan
    return X


def assert_same(one, other):
    """They have learned the same, and go on the same."""
    state, wanted = one.state(), other.state()
    assert state.keys() == wanted.keys()
    for name in state:
        np.testing.assert_allclose(state[name], wanted[name], rtol=1e-12, err_msg=name)
    X = rows(6, seed=2)
    np.testing.assert_allclose(one.transform(X), other.transform(X), rtol=1e-12, atol=1e-12)


def test_what_is_staged_and_dropped_changes_nothing(make):
    inputs = make()
    for X in (rows(), rows()[0]):
        _, pending = inputs.stage(X)
        assert_same(inputs, make())
        inputs.commit(pending, 0)
        assert_same(inputs, make())


@pytest.mark.parametrize("done", [1, 2, 17, N - 1, N])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_part_of_the_staged_rows_committed_is_that_part_learned(make, done, weighted, rng):
    X = rows()
    sizes, counts = 3 * rng.random(N), rng.random(N) < 0.7
    weight = np.where(counts, sizes, 0.0) if weighted else None
    inputs, other = make(), make()
    Z, pending = inputs.stage(X, weight)
    inputs.commit(pending, done)
    part, pending = other.stage(X[:done], None if weight is None else weight[:done])
    other.commit(pending, done)
    np.testing.assert_allclose(Z[:done], part, rtol=1e-12, atol=1e-12)
    assert_same(inputs, other)


def test_a_table_is_its_rows_one_after_the_other(make):
    X = rows()
    inputs, other = make(), make()
    Z, pending = inputs.stage(X)
    inputs.commit(pending, N)
    for x, z in zip(X, Z, strict=True):
        np.testing.assert_allclose(other.transform(x), z, rtol=1e-10, atol=1e-10)
        alone, pending = other.stage(x)
        np.testing.assert_allclose(alone, z, rtol=1e-10, atol=1e-10)
        assert alone.shape == (other.row_length,)
        other.commit(pending, 1)
    assert_same(inputs, other)


def test_rows_of_weight_0_do_not_count(make):
    X, weight = rows(), np.arange(N) % 3 > 0
    inputs, other = make(), make()
    for each, table, given in ((inputs, X, weight.astype(float)), (other, X[weight], None)):
        _, pending = each.stage(table, given)
        each.commit(pending, len(table))
    assert_same(inputs, other)


def test_a_scale_that_is_held(rng):
    """Rows are scaled by it while the statistics go on; after it is let go, a row ends it."""
    X = rng.normal(size=(60, 3))
    X[:20, 2] = 1.0  # nothing varies yet
    scaler, free = _core.Scaler(3, True, True, 2), _core.Scaler(3, True, True, 2)
    for each in (scaler, free):
        each.learn(X[:20])
    mean, sd = scaler.moments()
    scaler.hold()
    Z = scaler.learn(X[20:])
    free.learn(X[20:])
    np.testing.assert_array_equal(scaler.moments(), free.moments())
    np.testing.assert_allclose(Z[:, 1:3], (X[20:, :2] - mean[:2]) / sd[:2], rtol=1e-12)
    assert not Z[:, 3].any()
    again = _core.Scaler(3, True, True, 2)
    again.restore(scaler.state())
    np.testing.assert_array_equal(again.transform(X), scaler.transform(X))
    larger = _core.Scaler(4, True, True, 2)
    larger.adopt(scaler)
    wide = larger.transform(np.hstack([X, X[:, :1]]))
    np.testing.assert_array_equal(wide[:, 1:4], scaler.transform(X)[:, 1:4])
    assert not wide[:, 4].any()
    for each in (scaler, again, larger):
        each.release()
    np.testing.assert_array_equal(scaler.transform(X), free.transform(X))
    assert scaler.state()["held"].tolist() == [mean.tolist(), sd.tolist(), [0.0] * 3]
    scaler.learn(X[0])
    assert "held" not in scaler.state()
    free.release()  # of what is not held
    assert "held" not in free.state()


@pytest.mark.parametrize(
    "held",
    [
        [[0.0], [-1.0], [1.0]],
        [[0.0], [1.0], [0.5]],
        [[np.nan], [1.0], [1.0]],
        [[0.0], [np.inf], [1.0]],
        [[0.0], [1.0], [np.nan]],
        [[1e200], [1.0], [1.0]],
        [[0.0], [1.0]],
    ],
)
def test_a_forged_scale_is_refused(held):
    scaler = _core.Scaler(1, True, True, 1)
    scaler.learn(np.ones((3, 1)))
    with pytest.raises(ValueError, match=r"statistics|held"):
        scaler.restore({**scaler.state(), "held": np.array(held)})
    assert "held" not in scaler.state()
