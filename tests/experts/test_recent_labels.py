"""Frequencies of recent labels as an expert, and what a pool makes of it."""

import copy

import numpy as np
import pytest

import mixable as mx
from mixable._natural import Change
from mixable.experts import RecentLabels
from mixable.model import Design, PooledDesign, RecentDesign, RecordPool

K, N = 3, 300
rng = np.random.default_rng(0)
Y = rng.integers(K, size=N)
X = rng.normal(size=(N, 2))
W = rng.choice([0.0, 0.5, 1.0, 3.0], size=N)


def learned(y=Y, weight=None):
    f = RecentLabels(2, K)
    f.run(X[: len(y)], y, weight)
    return f


def counts(f):
    return f._core.state()["counts"][0]


def test_it_is_what_its_definition_says():
    ages = np.arange(N)[::-1]
    expected = np.array([(0.99 ** ages[c == Y]).sum() for c in range(K)])
    np.testing.assert_allclose(counts(learned()), expected)
    p = (expected + 0.5) / (expected + 0.5).sum()
    np.testing.assert_allclose(learned().predict(X[:4]), np.tile(p, (4, 1)))
    np.testing.assert_allclose(RecentLabels(2, K).predict(X[0]), 1 / K)


def test_an_example_of_weight_3_counts_as_3_and_one_of_weight_0_does_not():
    times = np.tile([0, 1, 3], 20)
    weighed = learned(Y[:60], times.astype(float))
    np.testing.assert_allclose(counts(weighed), counts(learned(np.repeat(Y[:60], times))))


def test_a_table_is_the_loop_and_predicting_changes_nothing():
    f, before = RecentLabels(2, K), []
    for x, y, w in zip(X, Y, W, strict=True):
        before.append(f.predict(x))
        f.learn(x, y, w)
    g = RecentLabels(2, K)
    assert np.array_equal(g.run(X, Y, W), before)
    assert np.array_equal(counts(f), counts(g))
    assert f.steps == g.steps == N


def test_new_classes_and_features_change_nothing_else():
    f = learned()
    before = counts(f)
    f.add_class()
    f.add_features(3)
    np.testing.assert_array_equal(counts(f), [*before, 0.0])
    assert (f.n_features, f.n_classes) == (5, K + 1)


def test_merged_ones_have_the_sum_of_the_counts_in_any_groups():
    base = learned(Y[:50])
    models = [copy.deepcopy(base) for _ in range(3)]
    for model, part in zip(models, (Y[50:100], Y[100:220], Y[220:]), strict=True):
        model.run(X[: len(part)], part)
    merged = base._combine(models, base, [Change()] * 3)
    expected = sum(map(counts, models)) - 2 * counts(base)
    np.testing.assert_allclose(counts(merged), expected)
    assert merged.steps == N
    first = base._combine(models[:2], base, [Change()] * 2)
    again = base._combine([first, models[2]], base, [Change()] * 2)
    np.testing.assert_allclose(counts(again), expected)
    swapped = Change(classes=np.eye(K)[[1, 0, 2]])
    moved = RecentLabels(2, K)._combine([base], None, [swapped])
    np.testing.assert_allclose(counts(moved), counts(base)[[1, 0, 2]])


def test_merged_counts_are_not_below_0():
    """Shards with labels that the base had not: its counts decayed in each of them."""
    base = learned(np.zeros(N, int))
    models = [copy.deepcopy(base) for _ in range(8)]
    for model in models:
        model.run(X, np.ones(N, int))
    merged = base._combine(models, base, [Change()] * 8)
    assert counts(merged)[0] == 0
    merged.run(X[:100], np.zeros(100, int))
    assert counts(merged)[0] > 60


def test_saved_counts_are_checked():
    state = learned()._core.state()
    for bad in ([np.nan, 0, 0], [1e13, 0, 0], [-1.0, 0, 0]):
        with pytest.raises(ValueError, match="fit"):
            RecentLabels(2, K)._core.restore({**state, "counts": np.array([bad])})


def test_in_a_pool_it_begins_with_no_weight_and_corrects_experts():
    """Labels come in runs, of which no column tells."""
    linear = Design.for_classes(None, dict.fromkeys(("lam", "beta", "alpha", "drift")))
    y = np.repeat(rng.integers(K, size=60), 25)
    Z = rng.normal(size=(len(y), 2))
    pool, alone = (
        RecordPool(PooledDesign([linear, *more]), 2, K) for more in ([RecentDesign()], [])
    )
    assert pool.weights.tolist() == [1.0, 0.0]
    losses = [mx.metrics.log_loss(each.run(Z, y), y) for each in (pool, alone)]
    assert losses[0] < 0.95 * losses[1]
    assert abs(pool.weights[1]) > 0.1  # the linear expert follows labels too closely


def test_the_default_has_it_and_goes_on_after_saving():
    model = mx.GAFClassifier().partial_fit(X[:150], Y[:150])
    place = model.learner_.design.names.index("recent labels")
    assert isinstance(model.learner_.pool.experts[place], RecentLabels)
    twin, copied = mx.loads(mx.dumps(model)), copy.deepcopy(model)
    for each in (model, twin, copied):
        each.partial_fit(X[150:], Y[150:])
    np.testing.assert_array_equal(twin.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(copied.predict_proba(X), model.predict_proba(X))
