"""Estimators: labels and features are united, whatever order they came in."""

import copy

import numpy as np
import pandas as pd
import pytest
from shards import NUMBERS, PARTS, X, Y, distance, shards
from streams import share

import mixable as mx
from mixable import merge, river
from mixable.events.model import EventModel
from mixable.model.pooled import design_of_classes

NAMES = np.array(["x", "y", "z"])[Y]


@pytest.mark.parametrize("options", [{"structure": "full"}, {"structure": "blocks"}, {}])
def test_labels_may_come_in_any_order(options):
    """Models that met the labels in other orders are merged by label, not by code."""
    models = []
    for order in ([0, 1, 2], [2, 1, 0]):
        first = [int(np.flatnonzero(order[i] == Y)[0]) for i in range(3)]
        rows = np.concatenate([first, np.arange(100, 300)])
        model = mx.GAFClassifier(kernel=None, **options)
        models.append(model.partial_fit(X[rows], NAMES[rows]))
    a, b = models
    assert a.learner_.labels != b.learner_.labels
    assert distance(merge([a, b]), merge([b, a])) < 1e-9
    same = mx.GAFClassifier(kernel=None, **options)
    again = [0, 1, 2]
    rows = np.concatenate([[int(np.flatnonzero(again[i] == Y)[0]) for i in range(3)], rows[3:]])
    same.partial_fit(X[rows], NAMES[rows])
    assert distance(merge([a, b]), merge([a, same])) < 0.02  # other first rows, the rest the same


@pytest.mark.parametrize("structure", ["full", "blocks", "shared", "diagonal", None])
def test_labels_are_united(structure):
    """A label that only one model has met is known to all."""
    models = []
    for labels in (("x", "y"), ("y", "z"), ("z", "x")):
        rows = np.flatnonzero(np.isin(NAMES, labels))[:150]
        model = mx.GAFClassifier(kernel=None, structure=structure)
        models.append(model.partial_fit(X[rows], NAMES[rows]))
    merged = merge(models)
    assert merged.classes_.tolist() == ["x", "y", "z"]
    assert share(merged.predict(X) == NAMES) > 0.5
    other = merge([models[2], merge([models[1], models[0]])])
    assert distance(merged, other) < 1e-9


def test_a_model_of_one_label_is_merged():
    rows = np.flatnonzero(Y == 0)[:20]
    one = mx.GAFClassifier(kernel=None).partial_fit(X[rows], NAMES[rows])
    two = mx.GAFClassifier(kernel=None).partial_fit(X[:200], NAMES[:200])
    merged = merge([one, two])
    assert merged.classes_.tolist() == ["x", "y", "z"]
    p, q = merged.predict_proba(X[rows]), two.predict_proba(X[rows])
    assert p[:, 0].mean() > q[:, 0].mean() - 0.05
    same = [mx.GAFClassifier(kernel=None).partial_fit(X[rows], NAMES[rows]) for _ in range(2)]
    assert merge(same).classes_.tolist() == ["x"]


def test_models_of_streams_may_differ_in_threads_but_in_nothing_else():
    def model(threads, lam=None):
        free = {"lam": lam, "beta": None, "alpha": None, "drift": None}
        made = EventModel(design=design_of_classes(None, free, kernel=None, threads=threads))
        for row, label in zip(X[:80].tolist(), NAMES[:80], strict=True):
            made.learn_one(dict(zip("abcd", row, strict=True)), str(label))
        return made

    merged = merge([model(1), model(None)])
    assert merged._steps == 160
    with pytest.raises(ValueError, match="design is"):
        merge([model(1), model(1, lam=3.0)])


def test_columns_must_be_the_same():
    frame = pd.DataFrame(X, columns=list("abcd"))
    a = mx.GAFClassifier(kernel=None).fit(frame[:100], Y[:100])
    b = mx.GAFClassifier(kernel=None).fit(frame[:100].rename(columns={"a": "e"}), Y[:100])
    with pytest.raises(ValueError, match="same columns"):
        merge([a, b])
    c = mx.GAFClassifier(kernel=None).fit(X[:100, :3], Y[:100])
    with pytest.raises(ValueError, match="number of features is 3 and 4"):
        merge([mx.GAFClassifier(kernel=None).fit(X[:100], Y[:100]), c])


def test_names_and_order_of_columns_are_kept():
    frame = pd.DataFrame(X, columns=list("abcd"))
    models = [mx.GAFClassifier(kernel=None).fit(frame[part], Y[part]) for part in PARTS]
    assert merge(models).feature_names_in_.tolist() == list("abcd")


def dictionaries(rows, names):
    return [dict(zip(names, row.tolist(), strict=True)) for row in rows]


def taught(model, rows, names, labels):
    for x, y in zip(dictionaries(rows, names), labels.tolist(), strict=True):
        model.learn_one(x, y)
    return model


def test_features_of_river_are_united_in_any_order():
    make = river.GAFClassifier
    a = taught(make(kernel=None), X[:200], list("abcd"), NAMES[:200])
    b = taught(make(kernel=None), X[200:400][:, ::-1], list("dcba"), NAMES[200:400])
    same = taught(make(kernel=None), X[200:400], list("abcd"), NAMES[200:400])
    x = dictionaries(X[:1], "abcd")[0]
    p, q = (merge([a, each]).predict_proba_one(x) for each in (b, same))
    assert p == pytest.approx(q, abs=1e-9)
    part = taught(make(kernel=None), X[200:400, :2], list("ab"), NAMES[200:400])
    more = taught(make(kernel=None), X[200:400, 1:], list("bcd"), NAMES[200:400])
    merged = merge([part, more])
    assert sorted(merged._columns) == list("abcd")
    # A feature that a model has never observed counts as its mean, and groups may have other means.
    left, right = merge([merged, a]), merge([part, merge([more, a])])
    p, q = left.predict_proba_one(x), right.predict_proba_one(x)
    assert p == pytest.approx(q, abs=0.05)


def test_a_river_model_that_begins_with_another_is_checked():
    make = river.GAFClassifier
    base = taught(make(kernel=None), X[:50], list("abcd"), NAMES[:50])
    model = taught(copy.deepcopy(base), X[50:90], list("abcd"), NAMES[50:90])
    assert merge([model], base=base)._learner.forecaster.steps == 90
    other = taught(make(kernel=None), X[:90], list("efgh"), NAMES[:90])
    with pytest.raises(ValueError, match="other features than base"):
        merge([other], base=base)


def test_numbers_are_measured_from_one_origin():
    """Models whose first targets differ: what they know of the level is added all the same."""
    parts = [slice(start, start + 40) for start in (0, 200, 400)]
    models = [mx.GAFRegressor(kernel=None).partial_fit(X[part], NUMBERS[part]) for part in parts]
    assert len({model.learner_.outcomes.origin for model in models}) == 3
    merged = merge(models)
    truth = X @ [1.0, -2.0, 0.5, 0.0] + 30
    misses = [np.abs(each.predict(X) - truth).mean() for each in (merged, *models)]
    assert misses[0] < np.mean(misses[1:])
    assert abs((merged.predict(X) - truth).mean()) < 0.2


def test_other_landmarks_are_refused():
    for make in (lambda: mx.ScaleFree(2, 2), lambda: mx.FreshStarts(mx.GAF(2, 2))):
        with pytest.raises(TypeError, match="born at times of its own stream"):
            merge([make(), make()])
    kernel = {"kernel": mx.kernels.RBF(5, method="nystroem")}
    models = [mx.GAFClassifier(**kernel).partial_fit(X[part], Y[part]) for part in PARTS[:2]]
    with pytest.raises(ValueError, match="other directions"):
        merge(models)


def test_all_of_a_stream_in_one_round():
    assert merge(shards("linear")).learner_.forecaster.steps == 600
