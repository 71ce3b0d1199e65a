"""A service begins with a model that was saved before."""

import json

import numpy as np
import pandas as pd
import pytest
from make_fixtures import served
from serve_command import apply, read, served_model

import mixable as mx
from mixable import river
from mixable.events.beginning import begun_from
from mixable.events.model import EventModel
from mixable.model import design_of_classes


def rows(n=60, *, is_record=False):
    rng = np.random.default_rng(0)
    for a, b in rng.normal(size=(n, 2)).tolist():
        x = {"a": a, "b": b} | ({"word": "high" if b > 0 else "low"} if is_record else {})
        yield x, "up" if a > 0 else "down"


def stream_model(*, is_record=False, **options):
    fixed = dict.fromkeys(("lam", "beta", "alpha", "drift"))
    model = EventModel(design=design_of_classes(None, fixed), **options)
    for x, y in rows(is_record=is_record):
        model.learn_one(x, y)
    return model


def saved(model, tmp_path):
    mx.save(model, tmp_path / "saved")
    return tmp_path / "saved"


def applied(model, **event):
    return apply(model, read(json.dumps(event).encode()))


@pytest.mark.parametrize("is_record", [False, True])
def test_a_model_of_a_stream_goes_on_where_it_was(tmp_path, is_record):
    model = stream_model(is_record=is_record)
    begun = begun_from(saved(model, tmp_path))
    for x, y in rows(5, is_record=is_record):
        assert begun.predict_proba_one(x) == model.predict_proba_one(x)
        assert applied(begun, features=x, label=y)["learned"]
        model.learn_one(x, y)
    assert begun.counts["learned"] == begun.scores.n == 5
    closed = stream_model(classes=("up", "down"), features=("a",))
    begun = begun_from(saved(closed, tmp_path))
    assert (begun.classes, begun.features) == (("up", "down"), ("a",))


@pytest.mark.parametrize("kernel", ["auto", None])
def test_classifiers_go_on_and_their_labels_are_text(tmp_path, kernel):
    X = pd.DataFrame([x for x, _ in rows()])
    y = np.array([1 if label == "up" else 0 for _, label in rows()])
    model = mx.GAFClassifier(kernel=kernel).fit(X, y)
    other = river.GAFClassifier(kernel=kernel)
    for x, label in zip(X.to_dict("records"), y.tolist(), strict=True):
        other.learn_one(x, label)
    x = {"a": 0.3, "b": -1.0}
    expected = dict(zip(["0", "1"], model.predict_proba(pd.DataFrame([x]))[0], strict=True))
    assert begun_from(saved(model, tmp_path)).predict_proba_one(x) == pytest.approx(expected)
    expected = {str(label): p for label, p in other.predict_proba_one(x).items()}
    begun = begun_from(saved(other, tmp_path))
    assert begun.predict_proba_one(x) == expected
    assert applied(begun, features={"a": 1, "c": 2}, label="new")["step"] == 1


def test_a_model_of_a_service_begins_another(tmp_path):
    model = served()
    begun = begun_from(saved(model, tmp_path))
    x = {"one": 0.5}
    assert begun.predict_proba_one(x) == model.predict_proba_one(x)
    assert (len(begun.waiting), begun.counts["learned"]) == (0, 0)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda X, y: mx.GAF(2, 3), "holds a GAF that a service cannot go on with"),
        (lambda X, y: mx.GAFRegressor(), "holds a GAFRegressor that"),
        (lambda X, y: mx.GAFClassifier(), "holds a GAFClassifier that"),
        (lambda X, y: mx.GAFClassifier(kernel=None).fit(X, y), "its features by name"),
        (
            lambda X, y: mx.GAFClassifier(kernel=mx.kernels.RBF(5)).fit(
                pd.DataFrame(X, columns=["a", "b"]), y
            ),
            "cannot be served",
        ),
    ],
)
def test_what_cannot_be_served_is_refused(tmp_path, make, reason):
    X = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises(ValueError, match=reason):
        begun_from(saved(make(X, (X[:, 0] > 0).astype(int)), tmp_path))


def test_what_is_no_model_is_refused(tmp_path):
    (tmp_path / "saved").write_bytes(b"nothing")
    with pytest.raises(ValueError, match="saved"):
        begun_from(tmp_path / "saved")
    assert served_model().predict_proba_one({"a": 1.0}) == {}
