"""A service of records: text, categories, lists."""

import json

import numpy as np
import pytest
from serve_command import apply, read, served_model

import mixable as mx
from mixable import persistence
from mixable.events.events import RefusedError
from mixable.events.serve.figures import explained, figures
from mixable.events.serve.shown import Held


def applied(model, **event):
    return apply(model, read(json.dumps(event).encode()))


def learned_model(n=40, **options):
    model, rng = served_model(**options), np.random.default_rng(0)
    for t in range(n):
        user = int(rng.integers(4))
        record = {"user": f"u{user}", "price": float(rng.normal()), "tags": ["a", "b"][: t % 3]}
        applied(model, features=record, label="yes" if user < 2 else "no")
    return model


def test_the_first_record_decides_and_the_model_says_its_kinds():
    model = learned_model()
    p = applied(model, features={"user": "u1", "new": "column"})["probabilities"]
    assert p["yes"] > 0.6
    said = figures(Held("m", 1, model, 0))
    assert said["columns"] == ["user", "price", "tags"]
    assert "user: category, 4 values so far" in said["kinds"]
    json.dumps(said, allow_nan=False)
    without = explained(model, {"user": "u1", "price": 1.0, "other": "x"})["without"]
    assert set(without) == {"user", "price"}
    assert without["user"] != without["price"]


def test_a_label_finds_its_record_after_loading(tmp_path):
    model = learned_model()
    applied(model, id="7", features={"user": "\u00fc", "price": "unknown"})
    mx.save(model, tmp_path / "model")
    again = mx.load(tmp_path / "model")
    answers = [applied(each, id="7", label="no") for each in (model, again)]
    assert answers[0] == answers[1] == {"id": "7", "learned": True, "step": 41}
    assert "price: number, no number in 1" in again.encoder.describe()
    record = {"user": "\u00fc", "price": 0.5}
    assert model.predict_proba_one(record) == again.predict_proba_one(record)


def test_what_is_refused_changes_nothing():
    model = learned_model()
    before = persistence.to_bytes(model)
    for features in ({"a": {"b": 1}}, {"a": [["x"]]}, {"price": float("inf")}, {"price": ["x"]}):
        with pytest.raises(RefusedError):
            applied(model, features=features, label="yes")
    assert persistence.to_bytes(model) == before


def test_features_that_are_named_are_the_only_ones():
    model = learned_model(features=("user", "price"))
    assert list(model.encoder.kinds) == ["user", "price"]
    p = model.predict_proba_one({"user": "u1"})
    assert model.predict_proba_one({"user": "u1", "tags": ["a"]}) == p
    assert figures(Held("m", 1, model, 0))["settings"]["options"]["features"] == ["user", "price"]
    new = served_model(features=("user",), classes=("yes", "no"))
    assert new.predict_proba_one({"user": "u1"}) == pytest.approx(
        {"yes": 0.5, "no": 0.5}, rel=1e-12
    )
