"""Models whose columns of categories differ: indicators and class frequencies are united."""

import copy

import numpy as np
import pandas as pd
import pytest

import mixable as mx
from mixable.merging import freeze


def frame(n, seed, first=0):
    """Columns of categories, of which some values come in one part only."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 5, n), rng.integers(first, first + 12, n)
    x = rng.normal(size=n)
    y = np.array(["no", "yes", "maybe"])[(a + (b % 2) + (x > 0)) % 3]
    return pd.DataFrame(
        {"x": x, "a": np.char.add("a", a.astype(str)), "b": [f"b{i}" for i in b]}
    ), y


def of(*parts, **options):
    model = mx.GAFClassifier(kernel=None, **options)
    for X, y in parts:
        model.partial_fit(X, y)
    return model


def loss(model, X, y):
    p = model.predict_proba(X)
    return -np.log(p[np.arange(len(y)), np.searchsorted(model.classes_, y)]).mean()


def names(model):
    """What stands for each indicator, in the order in which they were given."""
    encoder = model.learner_.records.encoder
    return [encoder.name(key) for key in model.learner_.pool.made.core.indicators().tolist()]


def test_indicators_are_united():
    one, two = frame(400, 1), frame(400, 2, first=8)
    a, b, whole = of(one), of(two), of(one, two)
    merged = mx.merge([a, b])
    assert set(names(merged)) == {*names(a), *names(b)} == set(names(whole))
    X, y = frame(300, 3, first=4)
    assert loss(merged, X, y) < min(loss(a, X, y), loss(b, X, y))
    merged.partial_fit(*one)  # it goes on
    assert merged.learner_.pool.steps == 1200


def test_order_does_not_matter():
    one, two = frame(200, 1), frame(200, 2, first=6)
    a, b = of(one), of(two)
    X, _ = frame(50, 3, first=4)
    p = mx.merge([a, b]).predict_proba(X)
    np.testing.assert_allclose(mx.merge([b, a]).predict_proba(X), p, atol=1e-6)


def test_columns_may_come_in_any_order():
    models = []
    for columns in (["x", "a", "b"], ["x", "a", "b"], ["x", "b", "a"]):
        model = mx.river.GAFClassifier(kernel=None)
        X, y = frame(100, len(models) > 0)
        for record, label in zip(X[columns].to_dict("records"), y, strict=True):
            model.learn_one(record, label)
        models.append(model)
    first, same, other = models
    p, q = (
        [list(mx.merge([first, each]).predict_proba_one(x).values()) for x in X.to_dict("records")]
        for each in (same, other)
    )
    np.testing.assert_allclose(q, p, atol=1e-6)


def test_counts_add_up():
    one, two = frame(100, 1), frame(150, 2)
    base = of(frame(50, 0))
    models = [copy.deepcopy(base).partial_fit(*part) for part in (one, two)]
    merged = mx.merge(models, base=base)
    whole = of(frame(50, 0), one, two)

    def counts(model):
        state = model.learner_.pool.made.core.state()
        labels = np.argsort(model.learner_.labels)
        slots = state["slots"][:, 2 + labels]
        return dict(zip(state["keys"].tolist(), slots.tolist(), strict=True)), (
            state["totals"][labels].tolist()
        )

    assert counts(merged) == counts(whole)


@pytest.mark.parametrize("kernel", [None, "auto"])
def test_models_that_were_settled_see_the_same(kernel):
    base = mx.GAFClassifier(kernel=kernel).partial_fit(*frame(150, 0, first=3))
    parts = [frame(150, 1), frame(150, 2, first=6)]
    shards = [copy.deepcopy(base) for _ in parts]
    for shard, part in zip(shards, parts, strict=True):
        freeze(shard)
        shard.partial_fit(*part)
        assert names(shard) == names(base)
    merged = mx.merge(shards, base=base)
    assert names(merged) == names(base)
    X, y = frame(300, 3, first=3)
    assert loss(merged, X, y) < loss(base, X, y)
    before = len(names(merged))
    merged.partial_fit(*frame(200, 4, first=30))
    assert len(names(merged)) > before  # it gives indicators again


def test_too_many_indicators_are_refused(monkeypatch):
    models = [of(frame(100, 1)), of(frame(100, 2))]
    monkeypatch.setattr("mixable.model.uniting.MOST", 10)
    with pytest.raises(ValueError, match="more than 10"):
        mx.merge(models)
