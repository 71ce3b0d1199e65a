"""SparseGAF: accumulators add, weights between a sum of steps and a mean."""

import copy

import numpy as np
import pytest

import mixable as mx
from mixable import merge, merging
from mixable._natural import Change
from mixable.experts import slots as sparse
from mixable.experts.slots import Slots

PARTS = (slice(0, 200), slice(200, 450), slice(450, 700))


def rows(n, d, *, classes=2, seed=0, each=6):
    """Rows of few features, frequent ones and rare ones, and labels that depend on them."""
    rng, W = np.random.default_rng(seed), np.random.default_rng(9).normal(size=(classes, d))
    weight = 1 / np.arange(1, d + 1)
    made, labels = [], []
    for _ in range(n):
        keys = np.unique(rng.choice(d, each, p=weight / weight.sum()))
        made.append({int(key): 1.0 for key in keys})
        labels.append(int((W[:, keys].sum(axis=1) + rng.gumbel(size=classes)).argmax()))
    return made, np.array(labels)


X, Y = rows(1500, 120)


def taught(model, part, labels=Y):
    model.run(X[part], labels[part])
    return model


def shards(base=None, parts=PARTS):
    return [taught(copy.deepcopy(base or mx.SparseGAF(2)), part) for part in parts]


def distance(a, b):
    return np.abs(a.predict(X[:60]) - b.predict(X[:60])).max()


@pytest.mark.parametrize("begun", [True, False])
def test_groups_and_order_do_not_matter(begun):
    """Though weights are kept in single precision: what that lost is known until a model learns."""
    base = taught(mx.SparseGAF(2), slice(900, 1200)) if begun else None
    a, b, c = shards(base)
    flat = merge([a, b, c], base=base)
    assert flat.steps == (1000 if begun else 700)
    assert distance(flat, merge([c, a, b], base=base)) < 1e-9
    both = merge([a, b], base=base)
    assert distance(flat, merge([both, c], base=base)) < 1e-9
    assert distance(flat, merge([mx.loads(mx.dumps(both)), c], base=base)) < 1e-9
    assert distance(flat, a) > 1e-3
    alone = (base or a._fresh())._combine([a], base, [Change()])
    assert distance(alone, a) < 1e-9
    assert distance(merge([a, mx.SparseGAF(2)]), a) == 0


def test_accumulators_add_over_the_base():
    base = taught(mx.SparseGAF(2), PARTS[0])
    models = shards(base, PARTS[1:])
    merged = merge(models, base=base)
    keys = sorted({key for model in models for key in model.keys.tolist()})
    assert sorted(merged.keys.tolist()) == keys

    def sums(model):
        slots = Slots.of(model._core.state(), model.grid)
        known = dict(zip(slots.keys.tolist(), slots.acc[1:].tolist(), strict=True))
        return np.array([slots.acc[0], *(known.get(key, 0.0) for key in keys)])

    wanted = sum(sums(model) for model in models) - sums(base)
    np.testing.assert_allclose(sums(merged), wanted, rtol=1e-6)


def test_worth_is_the_precision_of_a_gaussian_where_nothing_is_forgotten():
    """q(D) = D / (1 - r(D)) by its definition, and its limits."""
    f = taught(mx.SparseGAF(2), PARTS[0])
    slots = Slots.of(f._core.state(), f.grid)
    lam, b = slots.lam, slots.b
    for more in (0.0, 1e-12, 1e-3, 1.0, 1e4):
        q = slots.worth(np.full(len(slots.acc), more))[:, 0]
        u = slots.acc[:, None] + more * (np.arange(4000) + 0.5) / 4000
        rate = 1 / (lam[:, None, None] + b[:, None, None] * u**0.75)
        gone = -np.expm1(-sparse.PULL * more * rate.mean(axis=-1)).T
        at_once = (lam + b * slots.acc[:, None] ** 0.75) / sparse.PULL
        wanted = at_once if more < 1e-9 else more / gone
        np.testing.assert_allclose(q, wanted, rtol=2e-3)


@pytest.mark.parametrize(("classes", "d"), [(2, 120), (3, 400)])
def test_merging_costs_little_and_never_blows_up(classes, d):
    """Adding A theta, or steps, counts what all have learned once for each: 50% more and above."""
    X, y = rows(4500, d, classes=classes)
    fresh, labels = rows(800, d, classes=classes, seed=1)

    def loss(model):
        return mx.metrics.log_loss(model.predict(fresh), labels)

    one = mx.SparseGAF(classes)
    one.run(X, y)
    for n_rounds, most in ((1, 1.25), (8, 1.05)):
        model = mx.SparseGAF(classes)
        model.run(X[:500], y[:500])
        for part in np.array_split(np.arange(500, 4500), n_rounds):
            each = []
            for own in np.array_split(part, 8):
                each.append(copy.deepcopy(model))
                each[-1].run([X[i] for i in own], y[own])
            model = merge(each, base=model)
        assert loss(model) < most * loss(one)


def test_classes_change_places():
    a = taught(mx.SparseGAF(2), PARTS[0])
    b = taught(mx.SparseGAF(2), PARTS[0], 1 - Y)
    swap = Change(classes=np.array([[0.0, 1.0], [1.0, 0.0]]))
    np.testing.assert_allclose(
        mx.SparseGAF(2)._combine([a, b], None, [Change(), swap]).predict(X[:40]),
        mx.SparseGAF(2)._combine([a, copy.deepcopy(a)], None, [Change(), Change()]).predict(X[:40]),
        atol=1e-6,
    )


def test_units_of_values_do_not_matter():
    """A model whose values are measured by another scale is moved to the common one."""
    a = taught(mx.SparseGAF(2), PARTS[0])
    b = mx.SparseGAF(2)
    b.learn({5: 3.0}, 1)  # the first row sets the scale
    taught(b, PARTS[1])
    assert b.input_scale == pytest.approx(9)
    merged = merge([a, b])
    assert 1 < merged.input_scale < 9
    assert distance(merged, merge([b, a])) < 1e-6
    losses = [mx.metrics.log_loss(m.predict(X[700:]), Y[700:]) for m in (merged, a, b)]
    assert losses[0] < max(losses[1:])


def test_features_beyond_the_limit_share_slots():
    models = [mx.SparseGAF(2, max_features=60) for _ in range(2)]
    for model, part in zip(models, (slice(0, 12), slice(300, 312)), strict=True):
        taught(model, part)
    assert all(model.collisions == 0 for model in models)
    merged = merge(models)
    assert merged.n_features <= 60
    again = mx.loads(mx.dumps(merged))
    united = {key for model in models for key in model.keys.tolist()}
    assert (merged.collisions > 0) == (len(united) > 60)
    taught(again, slice(20, 40))
    small = [mx.SparseGAF(2, max_features=16) for _ in range(2)]
    for model, part in zip(small, PARTS, strict=False):
        taught(model, part)
    merged = merge(small)
    assert merged.n_features == 16
    assert merged.collisions > sum(model.collisions for model in small)
    assert np.isfinite(merged.predict(X[:20])).all()


def test_a_delta_added_to_the_base_is_the_model():
    base = taught(mx.SparseGAF(2), PARTS[0])
    a = taught(copy.deepcopy(base), PARTS[1])
    again = merge([base, a.delta(base)])
    assert again.steps == a.steps
    assert distance(again, a) < 0.02
    assert distance(merging.tempered(a, 0.1), a) < 0.3
