"""Statistics by Chan's formula, and the affine change that goes with them."""

import numpy as np
import pytest
from shards import PARTS, X

from mixable.model import statistics
from mixable.model.inputs import ScaledInputs


def scaled(rows, **options):
    made = ScaledInputs(4, intercept=True, standardize=True, views=1, **options)
    if len(rows):
        made.scaler.learn(np.ascontiguousarray(rows))
    return made


NEW = scaled([]).state()


def test_statistics_are_those_of_all_rows():
    each = [scaled(X[part]) for part in PARTS]
    merged, _ = statistics.combine(NEW, [one.state() for one in each], NEW, each[0])
    assert merged["count"].tolist() == [[600.0] * 4]
    np.testing.assert_allclose(merged["mean"][0], X.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(merged["square"][0], len(X) * X.var(axis=0), rtol=1e-9)


def test_a_common_beginning_counts_once():
    base = scaled(X[:100])
    later = []
    for part in (slice(100, 300), slice(300, 600)):
        later.append(scaled(X[:100]))
        later[-1].scaler.learn(np.ascontiguousarray(X[part]))
    states = [each.state() for each in later]
    merged, _ = statistics.combine(base.state(), states, base.state(), base)
    assert merged["count"].tolist() == [[600.0] * 4]
    np.testing.assert_allclose(merged["mean"][0], X.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(merged["square"][0], len(X) * X.var(axis=0), rtol=1e-9)


def test_statistics_far_from_zero_keep_their_digits():
    far = 1e9 + X
    each = [scaled(far[part]) for part in PARTS]
    merged, _ = statistics.combine(NEW, [one.state() for one in each], NEW, each[0])
    np.testing.assert_allclose(merged["square"][0], len(X) * far.var(axis=0), rtol=1e-6)


def test_a_few_first_entries_are_kept_together():
    """They are judged by their median as long as there are less than 16."""
    each = [scaled(X[:3]), scaled(X[3:7])]
    merged, _ = statistics.combine(NEW, [one.state() for one in each], NEW, each[0])
    np.testing.assert_array_equal(merged["early"][:, :7], X[:7].T)
    assert np.isnan(merged["early"][:, 7:]).all()


def test_rows_change_with_the_statistics():
    own, other = scaled(X[:100]), scaled(3 * X[100:] + 5)
    merged, (change, _) = statistics.combine(NEW, [own.state(), other.state()], NEW, own)
    after = scaled([])
    after.restore(merged)

    def rows(made, x):  # without learning the row itself
        mean, sd = made.moments()
        return np.concatenate([[1.0], (x - mean) / sd])

    for x in X[:20]:
        np.testing.assert_allclose(change @ rows(own, x), rows(after, x), atol=1e-12)


def test_features_that_never_varied_or_never_came():
    constant = X[:50].copy()
    constant[:, 0], constant[:, 1] = 7.0, np.nan
    own, other = scaled(constant), scaled(X[50:])
    merged, (change, _) = statistics.combine(NEW, [own.state(), other.state()], NEW, own)
    assert np.isfinite(change).all()
    sd = np.sqrt(merged["square"][0] / merged["count"][0])
    assert change[1, 0] == pytest.approx((7.0 - merged["mean"][0, 0]) / sd[0])
    assert change[1, 1] == 0
    assert change[2].tolist() == [0.0] * 5  # what was missing is not known in other units either


def test_models_that_scale_alike_need_no_change():
    own = scaled(X)
    merged, changes = statistics.combine(NEW, [own.state()], NEW, own)
    assert changes == [None]
    np.testing.assert_allclose(merged["mean"], own.state()["mean"], rtol=1e-13)


def test_a_shard_whose_unit_has_changed_since_the_base_says_which_unit():
    """Statistics of two units cannot be added up; rows look the same in each."""
    base, one, other = (scaled(X[:100]) for _ in range(3))
    one.scaler.learn(np.ascontiguousarray(X[100:200]))
    changed = X[200:280] * [1e6, 1.0, 1.0, 1.0]
    other.scaler.learn(np.ascontiguousarray(changed))
    states = [each.state() for each in (one, other)]
    for order in (states, states[::-1]):
        merged, changes = statistics.combine(base.state(), order, base.state(), base)
        for name in ("count", "mean", "square"):
            assert merged[name][0, 0] == states[1][name][0, 0]
        assert merged["count"][0, 1:].tolist() == [280.0] * 3
        for change in changes:
            assert (change[1, :2] == [0.0, 1.0]).all()
        after = scaled([])
        after.restore(merged)


def test_features_in_another_order_keep_their_sizes_and_units():
    own, order = scaled(X[:100]), np.array([2, 0, 3, 1])
    own.scaler.learn(np.ascontiguousarray(X[100:140] * [1e6, 1.0, 1e-4, 1.0]))
    turned = scaled([])
    turned.restore(statistics.reordered(own.state(), np.argsort(order)))
    rows = np.ascontiguousarray(X[200:240])
    Z = own.scaler.learn(rows)
    W = turned.scaler.learn(np.ascontiguousarray(rows[:, order]))
    np.testing.assert_array_equal(W[:, 1:], Z[:, 1:][:, order])
