"""The estimators as they are by default: experts of several kinds, each merged by its own."""

import copy

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from shards import NUMBERS, PARTS, X, Y, distance
from streams import share

import mixable as mx
from mixable import merge, merging
from mixable._natural import SAME
from mixable.merging import freeze, release

COLOURS = np.array(["red", "blue", "green", "black"])[(Y + np.arange(600) // 7) % 4]
WORDS = np.array(["cheap red shoes", "a blue hat", "green", "nothing to say here"])
RECORDS = pd.DataFrame(X, columns=list("abcd")).assign(
    colour=COLOURS, words=WORDS[(Y + np.arange(600) // 5) % 4]
)
KINDS = {
    "classifier": (lambda: mx.GAFClassifier(kernel=mx.kernels.Auto(12)), X, Y),
    "regressor": (lambda: mx.GAFRegressor(kernel=mx.kernels.Auto(12)), X, NUMBERS),
    "records": (lambda: mx.GAFClassifier(kernel=mx.kernels.Auto(12)), RECORDS, Y),
}


def shards(name, base, parts):
    _, rows, y = KINDS[name]
    models = []
    for part in parts:
        models.append(copy.deepcopy(base))
        freeze(models[-1])
        models[-1].partial_fit(rows[part], y[part])
        release(models[-1])  # as the engines do: its forecasts go by its own statistics
    return models


@pytest.fixture(scope="module", params=KINDS)
def case(request):
    """A base, three models that began with it, and rows."""
    make, rows, y = KINDS[request.param]
    base = make().partial_fit(rows[:200], y[:200])
    models = shards(request.param, base, (slice(200, 350), slice(350, 480), slice(480, 600)))
    return base, models, rows[:40]


def test_groups_and_order_do_not_matter(case):
    base, (a, b, c), rows = case
    flat = merge([a, b, c], base=base)
    assert flat.forecaster_.steps == 600
    assert distance(flat, merge([c, a, b], base=base), rows) < 1e-9
    assert distance(flat, merge([merge([a, b], base=base), c], base=base), rows) < 1e-9
    assert distance(flat, a, rows) > 1e-3
    assert distance(base._combine([a], base, [SAME]), a, rows) < 1e-9
    assert distance(merge([a, copy.deepcopy(base)], base=base), a, rows) == 0


def test_a_merged_model_goes_on_and_is_saved(case):
    base, models, rows = case
    merged = merge(models, base=base)
    again = mx.loads(mx.dumps(merged))
    assert distance(merged, again, rows) == 0
    for model in (merged, again):
        y = NUMBERS if isinstance(model, mx.GAFRegressor) else Y
        model.partial_fit(rows, y[:40])
    assert distance(merged, again, rows) == 0


def test_deltas_and_tempered_models_come_near(case):
    base, models, rows = case
    flat = merge(models, base=base)
    spread = np.ptp(NUMBERS) if isinstance(base, mx.GAFRegressor) else 1.0
    added = merge([base, *(model.delta(base) for model in models)])
    assert distance(added, flat, rows) < 0.1 * spread
    assert distance(merging.tempered(flat, 0.5), flat, rows) < 0.1 * spread


def test_merging_helps():
    base = mx.GAFClassifier(kernel=mx.kernels.Auto(12)).partial_fit(X[:60], Y[:60])
    models = shards("classifier", base, (slice(60, 240), slice(240, 420), slice(420, 600)))
    fresh = X + 0.01
    losses = [
        mx.metrics.log_loss(each.predict_proba(fresh), Y)
        for each in (merge(models, base=base), *models)
    ]
    assert losses[0] < np.mean(losses[1:])


def test_labels_are_united_in_any_order():
    names = np.array(["x", "y", "z"])[Y]
    base = mx.GAFClassifier(kernel=mx.kernels.Auto(5)).partial_fit(
        X[:50][Y[:50] == 0], names[:50][Y[:50] == 0]
    )
    models = []
    for labels in ((0, 1), (0, 2), (2, 1)):
        rows = np.random.default_rng(1).permutation(np.flatnonzero(np.isin(Y, labels)))[:150]
        models.append(copy.deepcopy(base))
        freeze(models[-1])
        models[-1].partial_fit(X[rows], names[rows])
    merged, other = merge(models, base=base), merge(models[::-1], base=base)
    assert merged.classes_.tolist() == ["x", "y", "z"]
    assert distance(merged, other) < 1e-6
    assert share(merged.predict(X) == names) > 0.5


def test_experts_that_are_inactive_say_nothing():
    base = mx.GAFClassifier(kernel=mx.kernels.Auto(5)).partial_fit(X[:100], Y[:100])
    state, experts = base.learner_.forecaster._core.state(), base.learner_.design.names
    left = np.array([[0.0, *[5.0] * (len(experts) - 1)]])
    state.update({"activity.left": left, "activity.level": 1e9 * left})
    base.learner_.forecaster._core.restore(state)
    models = shards("classifier", base, PARTS[1:])
    merged = merge(models, base=base).forecaster_
    assert merged.active == [0]
    assert merged.steps == 550
    steps = [550, *[100] * 3, 0, 100, 550, 550]  # the fifth waits for columns to select
    assert [expert.steps for expert in merged.experts] == steps


def test_sparse_matrices():
    rng = np.random.default_rng(0)
    Z = csr_array((rng.random((600, 30)) < 0.1).astype(float))
    y = (np.asarray(Z[:, :4].sum(axis=1)).ravel() > 0).astype(int)
    models = [mx.GAFClassifier().partial_fit(Z[part], y[part]) for part in PARTS]
    merged = merge(models)
    assert merged.forecaster_.steps == 600
    assert merged.score(Z, y) >= min(model.score(Z, y) for model in models)


def test_what_cannot_be_merged_is_refused_with_what_to_do():
    apart = [
        mx.GAFClassifier(kernel=mx.kernels.Auto(5)).partial_fit(X[part], Y[part])
        for part in PARTS[:2]
    ]
    with pytest.raises(ValueError, match=r"other directions .*call mixable.merging.freeze"):
        merge(apart)
    base = mx.GAFClassifier(kernel=mx.kernels.Auto(5)).partial_fit(X[:50], Y[:50])
    far = [copy.deepcopy(base) for _ in range(2)]
    for sign, model in zip((-1, 1), far, strict=True):  # not settled: each by a scale of its own
        model.partial_fit(X[50:300] + 9 * sign, Y[50:300])
    with pytest.raises(ValueError, match=r"scale their inputs alike, and feature 0 .*kernel=None"):
        merge(far, base=base)
    river = [mx.river.GAFClassifier(kernel=None) for _ in range(2)]
    river[0].learn_many(RECORDS[:50], pd.Series(Y[:50]))
    river[1].learn_many(RECORDS[list("abcd")][:50], pd.Series(Y[:50]))
    with pytest.raises(ValueError, match="models of records, and models of numbers only"):
        merge(river)


@pytest.mark.parametrize("has_category", [False, True])
def test_two_classes_that_came_in_other_orders(has_category):
    rng = np.random.default_rng(0)
    models, rows = [], rng.normal(size=(400, 2))
    for first in (0, 1):
        model = mx.river.GAFClassifier()
        for t, (a, b) in enumerate(rows):
            record = {"a": a, "b": b} | ({"c": "uv"[t % 2]} if has_category else {})
            model.learn_one(record, [first, 1 - first][t] if t < 2 else int(a > 0))
        models.append(model)
    assert models[0]._learner.labels != models[1]._learner.labels
    merged = mx.merge(models)
    for a in (-1.5, 1.5):
        record = {"a": a, "b": 0.0} | ({"c": "u"} if has_category else {})
        assert merged.predict_proba_one(record)[int(a > 0)] > 0.9
