"""SparseGAF as its users see it: growth, memory, reports, what is refused."""

import math
import pickle
import tracemalloc

import numpy as np
import pytest
from promises import fingerprint
from scipy.sparse import csr_matrix, vstack

from mixable import SparseGAF, persistence
from mixable.losses import log_loss


def records(rng, n, K=3, columns=6, values=40):
    """Rows with one of several values of each column, labels that depend on them, the weights."""
    chosen = np.minimum(rng.geometric(0.1, size=(n, columns)), values) - 1
    keys = chosen + values * np.arange(columns)
    X = csr_matrix((np.ones(keys.size), keys.ravel(), np.arange(n + 1) * columns))
    X.resize(n, columns * values)
    theta = rng.normal(size=(columns * values, K))
    return X, (X @ theta + rng.gumbel(size=(n, K))).argmax(axis=1), theta


def test_it_finds_the_weights(rng):
    X, y, theta = records(rng, 8000)
    f = SparseGAF(3)
    loss = log_loss(f.run(X, y), y)
    best = X @ theta
    best = best - np.logaddexp.reduce(best, axis=1)[:, None]
    assert loss[-2000:].mean() < -best[np.arange(len(y)), y][-2000:].mean() + 0.08
    frequent = np.flatnonzero(np.asarray(X.sum(axis=0)).ravel() > 300)
    found, true = f.coef_of(frequent.tolist()), theta[frequent].T
    assert np.corrcoef(found.ravel(), (true - true.mean(axis=0)).ravel())[0, 1] > 0.9
    deviations = f.coef_std_of([int(frequent[0]), 10**9])
    assert (deviations[:, 0] < deviations[:, 1]).all()


def test_experts_that_forget_are_trusted_when_the_stream_changes(rng):
    """The weights change at every tenth row, but in a stream that stands still they do not."""
    X, y, theta = records(rng, 6000)
    still = SparseGAF(3, alphas=[math.inf])
    still.run(X, y)
    changing = SparseGAF(3, alphas=[math.inf])
    for t in range(0, 6000, 10):
        theta = 0.98 * theta + 0.2 * rng.normal(size=theta.shape)
        part = X[t : t + 10]
        changing.run(part, (part @ theta + rng.gumbel(size=(10, 3))).argmax(axis=1))
    forgets = np.array([expert.b == 0 for expert in still.experts])
    assert still.expert_weights[forgets].sum() < 0.1
    assert changing.expert_weights[forgets].sum() > 0.5


def visits(n):
    """Most users come once, so that posteriors are wide; the last of three classes is rare."""
    rng = np.random.default_rng(0)
    user, shop = np.minimum(rng.zipf(1.3, n), 10 * n), rng.integers(0, 20, n)
    own, effect = rng.normal(0, 0.8, (10 * n + 1, 3)), rng.normal(0, 0.8, (20, 3))
    score = own[user] + effect[shop] + np.log([0.78, 0.2, 0.02])
    rows = [{u: 1.0, 10**9 + s: 1.0} for u, s in zip(user.tolist(), shop.tolist(), strict=True)]
    return rows, (score + rng.gumbel(size=(n, 3))).argmax(axis=1)


def without_offsets(f):
    """The same as if it came from an older file."""
    state = f.__getstate__()
    for name in ("corrects", "offsets", "spread"):
        del state["state"][name]
    f.__setstate__(state)
    return f


def test_a_rare_class_is_forecast_as_often_as_it_comes():
    """Without offsets the hedges of wide posteriors forecast it too often."""
    X, y = visits(12_000)
    late, came = slice(3000, None), np.count_nonzero(y[3000:] == 2)
    ratio, before = (
        f.run(X, y)[late, 2].sum() / came
        for f in (SparseGAF(3, alphas=[2.0]), without_offsets(SparseGAF(3, alphas=[2.0])))
    )
    assert abs(ratio - 1) < 0.08
    assert before > 1.1


def test_models_from_older_files_hedge_towards_the_uniform_forecast():
    X, y = visits(400)
    f = without_offsets(SparseGAF(3, alphas=[0.01], grid=[(1.0, 0.0)]))
    f.run(X, y)
    new = {10**12 + i: 1.0 for i in range(50)}  # about which nothing is known
    assert np.abs(f.predict(new) - 1 / 3).max() < 0.05
    g = SparseGAF(3, alphas=[0.01], grid=[(1.0, 0.0)])
    g.run(X, y)
    rates = np.bincount(y) / len(y)
    assert np.abs(g.predict(new) - rates).max() < 0.15 < np.abs(f.predict(new) - rates).max()
    again = pickle.loads(pickle.dumps(f))
    again.learn(X[0], 2)
    f.learn(X[0], 2)
    np.testing.assert_array_equal(again.predict(new), f.predict(new))
    f.add_class()
    assert f.__getstate__()["state"]["corrects"] == 0


@pytest.mark.parametrize("K", [2, 3, 5])
def test_adding_a_class_keeps_what_was_learned(rng, K):
    X, y, _ = records(rng, 300, K)
    f = SparseGAF(K, max_features=100)
    f.run(X, y)
    before, coef, shares = f.predict(X), f.coef_of(range(240)), f.expert_weights
    f.add_class()
    after = f.predict(X)
    assert f.n_classes == K + 1
    assert (f.steps, f.n_features, f.most_features) == (300, 100, 100)
    np.testing.assert_allclose(f.coef_of(range(240)), np.vstack([coef, np.zeros(240)]), atol=1e-6)
    np.testing.assert_array_equal(f.expert_weights, shares)
    odds = np.log(after[:, 1:K] / after[:, :1]) - np.log(before[:, 1:] / before[:, :1])
    assert np.abs(odds).max() < 0.5  # a mixture of softmaxes is not a softmax
    f.learn({1: 1.0}, K)
    assert f.predict({1: 1.0})[K] > after.mean(axis=0)[K]


def test_a_model_that_was_full_when_a_class_came_has_room_for_what_it_had():
    f = SparseGAF(2, grid=[(0.1, 0.3)] * 64)
    g = SparseGAF(3, grid=[(0.1, 0.3)] * 64)
    assert f.most_features > g.most_features
    f.learn({key: 1.0 for key in range(1000)}, 1)
    f.add_class()
    assert (f.n_features, f.most_features) == (1000, g.most_features)
    copied = persistence.from_bytes(persistence.to_bytes(f))
    assert fingerprint(copied) == fingerprint(f)


def test_memory_is_bounded_and_told(rng):
    f = SparseGAF(2, max_features=1000)
    for _ in range(100):
        f.learn(dict.fromkeys(rng.integers(0, 2**62, 50).tolist(), 1.0), 1)
    assert f.n_features == f.most_features == 1000
    assert f.collisions == 100 * 50 - 1000
    assert f.memory < 400_000
    assert "shared the weights of others 4000 times" in f.report()


def test_the_usual_bound_is_one_gigabyte_and_a_hundred_million_weights():
    for K in (2, 3, 20, 1000):
        f = SparseGAF(K)
        per_class = 1 if K == 2 else K
        assert f.most_features * per_class * len(f.grid) <= 1e8
        assert f.most_features * (4 * (8 * per_class + 1) + 8 + 16) < 1.1e9
        assert f.most_features > 10_000


def test_repr_and_parameters_are_read_only():
    f = SparseGAF(2, max_features=7)
    assert repr(f).startswith("SparseGAF(n_classes=2, max_features=7, grid=")
    with pytest.raises(AttributeError, match="share is fixed"):
        f.share = 0.1


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"n_classes": 1}, ValueError, "n_classes must be at least 2"),
        ({"max_features": 0}, ValueError, "max_features must be at least 1"),
        ({"max_features": 2**31}, ValueError, "max_features must be at most"),
        ({"max_features": 1.5}, TypeError, "max_features must be an integer"),
        ({"grid": []}, ValueError, "grid must have 1 to 64"),
        ({"grid": [(1.0, 0.0)] * 65}, ValueError, "grid must have 1 to 64"),
        ({"grid": [(0.0, 1.0)]}, ValueError, r"grid\[0\]: lam"),
        ({"grid": [(1.0, 1.0), (1.0, -1.0)]}, ValueError, r"grid\[1\]: b"),
        ({"grid": [(1.0,)]}, ValueError, r"grid\[0\] must be \(lam, b\)"),
        ({"grid": 3}, TypeError, "grid must be a list"),
        ({"alphas": ()}, ValueError, "alphas must have 1 to 64"),
        ({"alphas": [math.nan]}, ValueError, "alphas"),
        ({"share": 0.6}, ValueError, "share"),
    ],
)
def test_bad_parameters_are_named(arguments, error, message):
    with pytest.raises(error, match=message):
        SparseGAF(**{"n_classes": 2, **arguments})


def test_bad_keys_of_coefficients_are_named():
    f = SparseGAF(2)
    with pytest.raises(ValueError, match="keys of the features must be from 0"):
        f.coef_of([-1])
    with pytest.raises(TypeError, match="keys must be a list"):
        f.coef_of(3)
    assert f.coef_of([]).shape == (2, 0)


@pytest.mark.parametrize(
    "change",
    [
        lambda parameters, state: parameters.update(n_classes=10**9),
        lambda parameters, state: parameters.update(n_classes=4),
        lambda parameters, state: parameters.update(grid=((1.0, 0.0),) * 64),
        lambda parameters, state: state.update(keys=np.zeros(10, dtype=np.uint64)),
        lambda parameters, state: state.pop("slots"),
    ],
)
def test_forged_states_are_refused_before_anything_is_made(change):
    f = SparseGAF(3)
    f.learn({1: 1.0}, 1)
    state = f.__getstate__()
    parameters, known = dict(state["parameters"]), dict(state["state"])
    change(parameters, known)
    tracemalloc.start()
    with pytest.raises((ValueError, LookupError)):
        SparseGAF.__new__(SparseGAF).__setstate__({"parameters": parameters, "state": known})
    assert tracemalloc.get_traced_memory()[1] < 1e6
    tracemalloc.stop()


def test_a_table_in_parts_gives_the_same_bits(rng):
    X, y, _ = records(rng, 200)
    f, g = SparseGAF(3), SparseGAF(3)
    whole = f.run(X, y)
    parts = [g.run(X[t : t + 37], y[t : t + 37]) for t in range(0, 200, 37)]
    assert np.array_equal(whole, np.concatenate(parts))
    assert np.array_equal(f.predict(vstack([X[:2], X[:2]])), f.predict(X[[0, 1, 0, 1]]))


def test_features_need_not_be_announced():
    f = SparseGAF(2)
    f.add_features(3)
    assert f.n_features == 0
    with pytest.raises(ValueError, match="k must be at least 1"):
        f.add_features(0)
