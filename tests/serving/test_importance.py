"""Which columns matter, by forecasts without them."""

import pytest
from serve_command import served_model

from mixable import persistence
from mixable.serving.importance import RATE, Importance


def moved(model, features, name):
    """Half the distance between the forecasts with and without a column."""
    p, q = model.predict(features), model.predict({k: features[k] for k in features if k != name})
    return sum(abs(p[label] - q[label]) for label in p) / 2


def learned_model():
    model = served_model()
    for t in range(40):
        model.learn_one({"a": t % 2, "b": t % 3}, "xy"[t % 2])
    return model


def test_it_is_the_mean_over_the_records_and_the_model_stays_as_it_was():
    model, importance = learned_model(), Importance()
    before = persistence.to_bytes(model)
    records = [{"a": 1.0, "b": 2.0}, {"a": 0.0, "other": 1.0}]
    for record in records:
        importance.add(model, record)
    got = importance.most(5)
    assert list(got) == ["a", "b"]
    assert got["a"] == pytest.approx(sum(moved(model, r, "a") for r in records) / 2)
    assert got["b"] == pytest.approx(moved(model, records[0], "b"))
    assert importance.most(1) == {"a": got["a"]}
    assert persistence.to_bytes(model) == before


def test_what_was_long_ago_fades():
    model, importance = learned_model(), Importance()
    for _ in range(200):
        importance.add(model, {"a": 0.5})
    before = importance.most(1)["a"]
    importance.add(model, {"a": 3.0})
    change = moved(model, {"a": 3.0}, "a") - before
    assert importance.most(1)["a"] == pytest.approx(before + RATE * change)
