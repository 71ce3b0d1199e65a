"""What stands beside the pool of GAFClassifier(): compiled as in NumPy, and with a bound."""

import copy
import math

import numpy as np
import pytest
from fallbacks import Fallback, epochs
from streams import logistic_stream

import mixable as mx
from mixable import _core, bounds
from mixable.model import RecordPool, design_of_classes, design_of_records
from mixable.model.pool import FALLBACK, new_fallback
from mixable.paper.bounds.parameter_free import SHARE
from mixable.records import Rows

FREE = {"lam": None}


def design():
    return design_of_classes(None, FREE, features=(8, None, "nystroem"))


def small_blend(d, K, *, records=False):
    return RecordPool(design_of_records(design()) if records else design(), d, K)


def alone(blend):
    """The same pool without its fallback."""
    twin = copy.deepcopy(blend)
    twin._fallback = None
    return twin


def nats(p, y):
    return -np.log(p[np.arange(len(y)), y])


@pytest.mark.parametrize(("d", "K"), [(1, 2), (3, 2), (3, 3), (2, 5), (9, 5)])
def test_it_is_the_reference(d, K):
    X, y = logistic_stream(200, d, K)
    X *= 10.0 ** np.random.default_rng(0).integers(-3, 4, d)
    X[50:, 0] *= 300  # units grow
    X[::9, -1] = np.nan
    weight = np.where(np.arange(200) % 10 == 3, 0.0, 0.5)
    weight[7] = 3.0
    blend = small_blend(d, K)
    pooled = alone(blend).run(X, y, weight)
    expected = Fallback(d, K)
    for t, p in enumerate(blend.run(X, y, weight)):
        q = expected.step(pooled[t], X[t], y[t], weight[t]) if weight[t] else None
        if q is not None:
            np.testing.assert_allclose(p, q, rtol=1e-6, atol=1e-9)
    shares = blend._fallback.expert_weights()
    np.testing.assert_allclose(shares[: len(expected.logs)], np.exp(expected.logs), rtol=1e-5)
    assert SHARE == _core.FALLBACK_SHARE
    assert (len(expected.models) == 2) == (d < 9)


def test_sparse_features_have_weights_of_their_own():
    rng = np.random.default_rng(1)
    y, start = rng.integers(0, 3, 300), 3 * np.arange(301)
    keys = rng.integers(0, 6, (300, 3))
    keys[np.arange(300), 0] = np.where(rng.random(300) < 0.5, y, keys[:, 0])
    values = np.where(rng.random((300, 3)) < 0.7, 1.0, rng.normal(size=(300, 3)))
    dense = np.zeros((300, 6))
    np.add.at(dense, (np.repeat(np.arange(300), 3), keys.ravel()), values.ravel())
    numbers = rng.normal(size=(300, 1))
    rows = Rows.of(numbers, start, keys.ravel().astype(np.uint64), values.ravel())
    blend = small_blend(1, 3, records=True)
    pooled = alone(blend).run(rows, y)
    expected = Fallback(1, 3, extra=6)
    for t, p in enumerate(blend.run(rows, y)):
        q = expected.step(pooled[t], np.concatenate([numbers[t], dense[t]]), y[t])
        np.testing.assert_allclose(p, q, rtol=0, atol=1e-5)


def test_the_default_has_a_bound_where_scaled_inputs_have_none():
    """Version 0.2.0 has a regret of 306 at n = 400,000, and this one of 34."""
    X, y = epochs(40_000)
    blend = small_blend(1, 2)
    pool = alone(blend)
    comparator = np.array([[-0.5], [0.5]])
    z = X @ comparator.T
    best = (np.log(np.exp(z).sum(axis=1)) - z[np.arange(len(y)), y]).sum()
    own, without = (nats(each.run(X, y), y).sum() - best for each in (blend, pool))
    assert own < bounds.default_on(X, comparator) < 60 < without


@pytest.mark.parametrize("records", [False, True])
def test_it_is_never_far_behind_any_of_them(records):
    """Also while all other experts are inactive, as where no input tells of the labels."""
    rng = np.random.default_rng(3)
    n, K = 4000, 3
    y = rng.choice(K, n, p=[0.9, 0.07, 0.03])
    X = rng.normal(size=(n, 1))
    rows = X
    if records:
        rows = Rows.of(X, np.arange(n + 1), rng.integers(0, 50, n).astype(np.uint64), np.ones(n))
    blend = small_blend(1, K, records=records)
    twin = alone(blend)
    own, pool = nats(blend.run(rows, y), y), nats(twin.run(rows, y), y)
    assert len(blend.active) <= 2
    counts = np.bincount(y, minlength=K)
    constant = -(counts * np.log(counts / n)).sum()
    assert own.sum() <= constant + bounds.class_frequencies(n, K)
    assert own.sum() <= pool.sum() - math.log(1 - 3 * SHARE)


def test_predict_leaves_no_trace_even_of_the_largest_input():
    X, y = logistic_stream(100, 2, 3)
    blend = small_blend(2, 3)
    blend.run(X, y)
    before = blend._fallback.state()
    p = blend.predict(1e6 * X[:3])
    q = np.array([blend.predict(1e6 * row) for row in X[:3]])
    np.testing.assert_allclose(p, q, rtol=1e-9)
    after = blend._fallback.state()
    assert all(np.array_equal(before[name], after[name]) for name in before)


def test_units_do_not_matter_to_it():
    X, y = logistic_stream(400, 3, 3)
    scale = 2.0 ** np.array([30, -40, 0])
    p, q = (Fallbacks(3, 3).run(rows, y) for rows in (X, X * scale))
    np.testing.assert_allclose(p, q, rtol=1e-12)


def test_classes_in_another_order_give_the_same():
    X, y = logistic_stream(400, 3, 4)
    order = np.array([2, 0, 3, 1])
    p, q = Fallbacks(3, 4).run(X, y), Fallbacks(3, 4).run(X, order[y])
    np.testing.assert_allclose(p, q[:, order], rtol=0, atol=1e-9)


class Fallbacks(RecordPool):
    """A blend of which the pool says 1/K: the fallback by itself, nearly."""

    def __init__(self, d, K):
        super().__init__(design(), d, K)
        state = self._fallback.state()
        state["trust"] = np.log([[1e-12, 0.2, 0.4, 0.4 - 1e-12]])
        self._fallback.restore(state)


def test_it_grows_with_classes_and_columns():
    X, y = logistic_stream(300, 3, 2)
    blend = small_blend(3, 2)
    blend.run(X, y)
    before = blend.predict(X)
    blend.add_features(1)
    wide = np.column_stack([X, np.full(300, np.nan)])
    np.testing.assert_allclose(blend.predict(wide), before, atol=1e-3)
    blend.add_class()
    assert blend.predict(wide).shape == (300, 3)
    assert blend.fallback_weights[FALLBACK[2]] > 0
    shares = blend.fallback_weights
    for _ in range(2):  # 4 classes of 14 numbers: more weights than Folklore takes
        blend.add_class()
        blend.add_features(5)
    after = blend.fallback_weights
    assert after[FALLBACK[2]] == 0
    assert after[FALLBACK[1]] == pytest.approx(shares[FALLBACK[1]] + shares[FALLBACK[2]])
    more = np.column_stack([wide, np.ones((300, 10))])
    again = copy.deepcopy(blend)
    for each in (blend, again):
        each.run(more, y + 1)
    np.testing.assert_array_equal(blend.predict(more), again.predict(more))


def test_of_two_classes_the_third_begins_beside_both():
    """Two classes have one gambler for each input, more have one for each class."""
    X, y = logistic_stream(100, 3, 2)
    blend = small_blend(3, 2)
    blend.run(X, y)
    two = blend._fallback.state()
    blend.add_class()
    three = blend._fallback.state()
    np.testing.assert_array_equal(
        three["gain"], [-two["gain"][0], two["gain"][0], 0 * X[0, [0] * 4]]
    )
    np.testing.assert_array_equal(three["wealth"][:2], two["wealth"][[0, 0]])
    np.testing.assert_array_equal(three["wealth"][2], 1)


def forged(name, value):
    def change(state):
        out = {key: np.array(each) for key, each in state.items() if isinstance(each, np.ndarray)}
        out[name].flat[0] = value
        return {**state, **out}

    return change


@pytest.mark.parametrize(
    "change",
    [
        forged("trust", 1.0),
        forged("trust", -5.0),
        forged("counts", -1.0),
        forged("wealth", 0.0),
        forged("square", -1.0),
        forged("largest", -1.0),
        forged("gain", np.nan),
        forged("folklore.A", 1e-9),
        forged("folklore.S", 1e3),
        forged("folklore.V", 1e12),
        forged("folklore.units", 3.0),
        lambda state: {**state, "folklore.lam": 0.0},
        lambda state: {**state, "folklore.steps": -1},
        lambda state: {**state, "counts": np.zeros((1, 4))},
        lambda state: {**state, "keys": np.zeros(1, np.uint64)},
        lambda state: {name: value for name, value in state.items() if name != "slots"},
        lambda state: {**state, "slots": np.zeros((0, 10))},
    ],
)
def test_a_forged_state_is_refused(change):
    X, y = logistic_stream(50, 2, 3)
    blend = small_blend(2, 3)
    blend.run(X, y)
    state = blend._fallback.state()
    fresh = new_fallback(2, 3, False)
    fresh.restore(state)
    with pytest.raises((ValueError, TypeError, KeyError)):
        fresh.restore(change(state))
    assert np.array_equal(fresh.state()["trust"], state["trust"])


def test_forged_slots_are_refused():
    fallback = new_fallback(0, 2, True)
    state = fallback.state()
    keys, good = np.array([5], np.uint64), np.array([[1.0, 1.0, 0.0, 0.0]], np.float32)
    fallback.restore({**state, "keys": keys, "slots": good})
    for at, value in ((0, 0.0), (0, 1e9), (1, -1.0), (2, np.inf), (3, -1.0)):
        bad = good.copy()
        bad[0, at] = value
        with pytest.raises(ValueError, match="do not fit"):
            fallback.restore({**state, "keys": keys, "slots": bad})
    twice = {"keys": keys[[0, 0]], "slots": good[[0, 0]]}
    with pytest.raises(ValueError, match="do not fit"):
        fallback.restore({**state, **twice})
    assert fallback.state()["keys"].tolist() == [5]


def test_it_can_know_no_more_than_so_many_sparse_features():
    many = _core.Fallback(0, 2, 3, 0.0, 0.0)
    assert many.most_features == 3
    assert new_fallback(0, 500, True).most_features < new_fallback(0, 2, True).most_features


def test_extreme_inputs_and_weights_do_no_harm():
    X = np.array([[1e300, 1e-300], [-1e300, 0.0], [np.nan, 5.0], [1e-200, -1e150]] * 5)
    y = np.arange(20) % 2
    blend = small_blend(2, 2)
    p = blend.run(X, y, np.where(np.arange(20) == 3, 1e12, 1.0))
    assert np.isfinite(p).all()
    again = copy.deepcopy(blend)
    np.testing.assert_array_equal(again.predict(X), blend.predict(X))
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-9)


@pytest.mark.parametrize("kind", ["noise", "rare", "sorted", "signal"])
def test_the_default_is_never_far_behind_class_frequencies(kind):
    """At no moment more than ln 20 nats in all: of Krichevsky's and Trofimov's, from row 1."""
    rng, n = np.random.default_rng(5), 300
    X = rng.normal(size=(n, 30))
    y = rng.integers(0, 3, n)
    if kind == "rare":
        y = rng.choice(3, n, p=[0.97, 0.02, 0.01])
    elif kind == "sorted":
        y = np.sort(y)
    elif kind == "signal":
        y = (X[:, :3] * 2).argmax(axis=1)
    p = mx.GAFClassifier(kernel=mx.kernels.Auto(5)).prequential(X, y, classes=range(3))
    counts = np.vstack([np.zeros(3), np.cumsum(np.eye(3)[y], axis=0)[:-1]])
    frequencies = (counts + 0.5) / (counts.sum(axis=1, keepdims=True) + 1.5)
    behind = np.cumsum(nats(p, y) - nats(frequencies, y))
    assert behind.max() <= math.log(20)
