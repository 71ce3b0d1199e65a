"""Kinds of columns: a null says nothing, clients declare them, and words may come later."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from command_line import in_process
from serve_command import apply, apply_many, in_thread, read, same_models, saved, served_model

from mixable import persistence
from mixable.cli import serve
from mixable.events import EventModel
from mixable.events.events import RefusedError
from mixable.model import Design


def event(**values):
    return read(json.dumps(values).encode())


def numbers(rng, n):
    """Events of numbers whose label follows from them."""
    for x in rng.normal(size=(n, 3)):
        label = "yes" if 2 * x[0] - x[1] + rng.logistic() > 0 else "no"
        yield event(features=dict(zip("abc", x.tolist(), strict=True)), label=label)


def test_a_null_in_the_first_record_says_nothing_of_a_kind(start):
    _, call = start()
    assert call.learn(features={"query": None, "price": 3, "old": None}, label="x")[0] == 200
    for query in ("red shoes for men", "a blue hat for you", "new shoes for me"):
        assert call.learn(features={"query": query, "price": 4}, label="y")[0] == 200
    kinds = call("GET", "/model")[1]["kinds"]
    assert kinds == ["price: number", "query: text"]


def test_a_word_is_missing_until_one_that_is_remembered_makes_the_model_take_records(start):
    _, call = start()
    for t in range(20):
        assert call.learn(features={"a": t % 5}, label="xy"[t % 2])[0] == 200
    assert call.predict(id="0", features={"a": 1})[0] == 200
    status, forecast = call.predict(features={"a": 1, "colour": "red"})
    assert status == 200
    assert forecast["probabilities"] == call.predict(features={"a": 1})[1]["probabilities"]
    status, explained = call("POST", "/predict?explain=true", {"features": {"a": "red"}})
    assert (status, explained["without"]) == (200, {})
    assert call("GET", "/model")[1]["kinds"] == []
    assert call.predict(id="1", features={"a": 1, "colour": "red"})[0] == 200
    assert call.learn(id="1", label="y")[1]["step"] == 21
    assert call("GET", "/model")[1]["kinds"] == ["a: number", "colour: category, 1 values so far"]
    assert call.learn(features={"a": "unknown", "colour": 7}, label="x")[1]["step"] == 22
    assert call.learn(id="0", label="x")[1]["step"] == 23  # forecast by a model of numbers


def test_numbers_that_become_words_change_the_kind():
    model = served_model()
    for t in range(300):
        apply(model, event(features={"a": t % 7, "b": t % 2}, label="xy"[t % 2]))
    for t in range(20):
        apply(model, event(features={"a": f"{'ab'[t % 2]}{t % 3}", "b": 1}, label="xy"[t % 2]))
    assert model.encoder.kinds == {"a": "category", "b": "number"}


@pytest.mark.parametrize("curved", [False, True])
def test_a_model_of_numbers_goes_on_with_what_it_knows(curved):
    rng = np.random.default_rng(0)
    model, fresh = served_model(linear=not curved), served_model(linear=not curved)
    for each in numbers(rng, 1100):
        apply(model, each)
    losses = []
    for which in (model, fresh):
        total = 0.0
        for t, each in enumerate(numbers(np.random.default_rng(1), 100)):
            each.features["colour"] = ["red", "blue"][t % 2]
            p = apply(which, each)["probabilities"]
            total -= np.log(p.get(each.label, 0.5))
        losses.append(total / 100)
    assert model.encoder is not None
    assert losses[0] < 0.52 < losses[1]
    assert model.counts["learned"] == 1200
    again = persistence.from_bytes(persistence.to_bytes(model))
    for each in numbers(rng, 20):
        assert apply(model, each) == apply(again, each)
    assert same_models(model, again)


def test_the_bits_do_not_depend_on_how_many_events_come_together():
    rng = np.random.default_rng(2)
    events = list(numbers(rng, 60))
    for t in (20, 21, 47):
        events[t].features["b"] = "unknown"
    one, many = served_model(), served_model()
    for each in events:
        apply(one, each)
    apply_many(many, events)
    assert same_models(one, many)


def test_a_word_that_is_refused_changes_nothing():
    model = served_model()
    for each in numbers(np.random.default_rng(3), 30):
        apply(model, each)
    model.options = replace(model.options, most_classes=2)
    before = persistence.to_bytes(model)
    with pytest.raises(ValueError, match="finite"):
        model.learn_one({"a": "word", "b": float("inf")}, "yes")
    with pytest.raises(RefusedError, match="class number 3"):
        apply(model, event(features={"a": "word"}, label="third"))
    assert persistence.to_bytes(model) == before
    fixed = {"lam": 1.0, "beta": 1.0, "alpha": 1.0, "drift": 0.0}
    linear = EventModel(design=Design.for_classes(None, fixed))
    apply(linear, event(features={"a": 1}, label="x"))
    before = persistence.to_bytes(linear)
    with pytest.raises(RefusedError, match="must be a number"):
        apply(linear, event(features={"a": "word"}, label="x"))
    assert persistence.to_bytes(linear) == before


def test_kinds_are_declared_when_a_model_is_made(start):
    _, call = start()
    body = {
        "kinds": {"user": "category", "zip": "category", "at": "time"},
        "cross": [["user", "zip"]],
    }
    assert call("PUT", "/models/shop", body)[0] == 201
    record = {"user": 17, "zip": 1234, "at": 1700000000, "price": 1.5}
    assert call("POST", "/models/shop/learn", {"features": record, "label": "x"})[0] == 200
    kinds = call("GET", "/models/shop")[1]["kinds"]
    assert [line.split(",")[0] for line in kinds[:3]] == [
        "user: category",
        "zip: category",
        "at: time",
    ]
    assert call("PUT", "/models/shop", body) == (200, {"name": "shop", "made": False})
    assert call("PUT", "/models/shop") == (200, {"name": "shop", "made": False})
    status, answer = call("PUT", "/models/shop", {"kinds": {"user": "text"}})
    assert (status, "DELETE /models/shop first" in answer["error"]) == (409, True)


@pytest.mark.parametrize(
    "body",
    [
        "[]",
        "nothing",
        '{"kind": {}}',
        '{"kinds": []}',
        '{"kinds": {"a": "word"}}',
        '{"kinds": {"a": ["text"]}}',
        '{"kinds": {"a": "ignore"}, "cross": ["a*b"]}',
        '{"cross": 7}',
        '{"cross": [["a", ["b"]]]}',
    ],
)
def test_what_declares_nothing_is_refused(start, body):
    service, call = start()
    assert call("PUT", "/models/shop", body)[0] == 422
    assert set(service.names) == {"default"}


def test_kinds_are_options_of_the_command(tmp_path, monkeypatch):
    monkeypatch.setattr(serve, "_run", lambda app, service, sock: service._lock.release())
    options = ("--category", "user,zip", "--text", "q", "--cross", "user*zip")
    done = in_process("serve", tmp_path / "models", "--port", "0", *options)
    assert done.exit_code == 0, done.stderr
    declared = saved(tmp_path / "models")[0].declared
    assert (declared.category, declared.text) == (("user", "zip"), ("q",))
    assert declared.cross == (("user", "zip"),)


def test_after_a_crash_the_log_makes_the_same_model(tmp_path):
    folder, later = tmp_path / "models", tmp_path / "later"
    with in_thread(folder, seconds=1000) as (_, call):
        for t in range(30):
            features = {"a": t % 3 if t < 20 else "word", "b": None}
            assert call.learn(features=features, label="xy"[t % 2])[0] == 200
        shutil.copytree(folder, later)  # what a crash would leave
        forecast = call.predict(features={"a": "word"})
    with in_thread(later) as (_, call):
        assert call.predict(features={"a": "word"}) == forecast
        assert call("GET", "/model")[1]["learned"] == 30
