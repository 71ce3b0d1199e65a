"""A posterior with places for the features observed so far: core/posterior/growing.hpp."""

import pickle

import numpy as np
import pytest

import mixable as mx
from mixable.experts.structure import gaussian, saved


def stream(n, d, K, seed=0):
    """Rows in which features come one after the other, and labels that nothing explains."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    first_met = np.linspace(0, 0.8 * n, d)[rng.permutation(d)]
    X[np.arange(n)[:, None] < first_met] = 0
    X[:, 0] = 1.0
    return X, rng.integers(0, K, n)


def made(d, K, structure="growing", lam=0.01):
    return mx.AutoGAF(d, K, grid=[(lam, 1.0, 0.0)], fallback=None, scale=1.0, structure=structure)


@pytest.mark.parametrize(("d", "K"), [(20, 2), (20, 4), (90, 3)])
def test_it_is_the_shared_posterior_while_every_example_counts(d, K):
    X, y = stream(200, d, K)
    shared, growing = made(d, K, "shared", 0.1), made(d, K, lam=0.1)
    both = (shared, growing)
    for t in range(len(y)):
        p, q = (model.predict(X[t]) for model in both)
        np.testing.assert_allclose(q, p, rtol=1e-9, atol=1e-12)
        later = pickle.loads(pickle.dumps(growing))
        later.learn(X[t], y[t])
        if _member(later)["owed"] > 0:  # this one will count by its sum
            break
        for model in both:
            model.learn(X[t], y[t])
    assert growing.steps >= 3
    for model in both:
        model.add_class()
        model.add_features(3)
    more = np.random.default_rng(1).normal(size=(20, d + 3))
    np.testing.assert_allclose(growing.predict(more), shared.predict(more), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(growing.coef, shared.coef, atol=1e-9)


def test_examples_that_say_little_are_taken_by_their_sum():
    """Far fewer than there were, and what is known is right on average."""
    X, y = stream(4000, 12, 3)
    shared, growing = made(12, 3, "shared"), made(12, 3)
    p, q = (model.run(X, y) for model in (shared, growing))
    assert 1e-12 < abs(np.log(q / p)).max() < 0.4
    known = [gaussian(_member(model), 0.01, 0.0) for model in (shared, growing)]
    ratios = np.diagonal(known[1].A[0]) / np.diagonal(known[0].A[0])
    assert abs(np.log(ratios)).mean() < 0.1


def _member(model):
    return {name[2:]: value for name, value in model._core.state().items() if name[:2] == "0."}


def test_single_rows_tables_and_saved_models_agree(rng):
    X, y = stream(500, 70, 3)
    table, single = made(70, 3), made(70, 3)
    p = table.run(X, y)
    for t in range(len(y)):
        q = single.predict(X[t])
        np.testing.assert_allclose(q, p[t], rtol=0, atol=1e-9)
        if t % 50 == 0:  # reads of other rows, and saving, leave no trace
            before = pickle.dumps(single)
            single.predict(rng.normal(size=(3, 70)))
            single.predict(X[t])
            assert pickle.dumps(single) == before
        single.learn(X[t], y[t])
        if t == 333:
            single = pickle.loads(pickle.dumps(single))
    state = _member(table)
    np.testing.assert_array_equal(_member(single)["places"], state["places"])
    assert state["learned"] == 70
    assert len(np.unique(state["places"])) == 70
    early = made(70, 3)
    early.run(X[:20], y[:20])
    assert _member(early)["S"].shape == (_member(early)["learned"],) * 2
    assert 0 < _member(early)["learned"] < 20


def test_both_halves_of_a_large_covariance_are_kept():
    X, y = stream(300, 200, 3)
    model = made(200, 3)
    model.run(X, y)
    S = _member(model)["S"]
    assert len(S) == 200
    np.testing.assert_allclose(S, S.T, rtol=0, atol=1e-9)
    owed = _member(model)["owed"]
    assert owed > 0
    model.add_class()
    model.add_features(2)
    assert _member(model)["owed"] == owed


def test_a_saved_model_goes_on_to_the_bit():
    X, y = stream(400, 60, 4)
    model = made(60, 4)
    model.run(X[:217], y[:217])
    other = pickle.loads(pickle.dumps(model))
    assert (model.run(X[217:], y[217:]) == other.run(X[217:], y[217:])).all()
    assert pickle.dumps(model) == pickle.dumps(other)


def test_a_saved_model_of_one_place_has_its_mean():
    model = made(3, 2)
    model.learn([1.0, 0.0, 0.0], 1)
    other = pickle.loads(pickle.dumps(model))
    assert _member(other)["V"].ravel()[0] == _member(model)["V"].ravel()[0] != 0
    assert (other.predict([1.0, 0.0, 0.0]) == model.predict([1.0, 0.0, 0.0])).all()


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("places", lambda v: v + 0.5),
        ("places", lambda v: v + 1000),
        ("places", lambda v: -v),
        ("places", lambda v: 0 * v),
        ("S", lambda v: -v),
        ("S", lambda v: v + np.triu(v + 1, 1)),
        ("S", lambda v: 1e300 * v),
        ("S", lambda v: v[:-1]),
        ("V", lambda v: v + 1e200),
        ("Q", lambda v: 1e200 + v),
        ("learned", lambda v: 10**12),
        ("learned", lambda v: -1),
        ("pending", lambda v: 10**6),
        ("owed", lambda v: 0.2),
        ("owed", lambda v: np.nan),
        ("regulariser", lambda v: 0.0),
    ],
)
def test_states_that_cannot_be_are_refused(name, change):
    X, y = stream(20, 10, 3)
    model = made(10, 3)
    model.run(X, y)
    state = model._core.state()
    assert state["0.pending"] > 0
    victim = made(10, 3)
    with pytest.raises((ValueError, TypeError)):
        victim._core.restore({**state, f"0.{name}": change(state[f"0.{name}"])})
    # And nothing of what was refused is left: no mean of a place that is made anew.
    np.testing.assert_array_equal(victim.run(X, y), made(10, 3).run(X, y))


def test_it_takes_no_drift():
    with pytest.raises(ValueError, match="drift"):
        mx.AutoGAF(3, 2, grid=[(1.0, 1.0, 0.1)], structure="growing")
    with pytest.raises(ValueError, match="structure must be one of"):
        mx.GAF(3, 2, structure="growing")


def test_what_is_merged_has_the_places_of_both():
    X, y = stream(60, 8, 3)
    X[:30, 5], X[30:, 2] = 0, 0
    model = made(8, 3)
    model.run(X[:30], y[:30])
    known = gaussian(_member(model), 0.01, 0.0)
    written = saved(known)
    assert 5 not in written["places"]
    again = gaussian(written, 0.01, 0.0)
    np.testing.assert_allclose(again.A, known.A, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(again.mean, known.mean)
