"""Regression: forecasts of numbers in streams and services, at once and late."""

import csv
import json

import numpy as np
import pytest
from serve_command import apply, apply_many, same_models
from stream_command import counts, rejects, run

import mixable as mx
from mixable.events import EventModel
from mixable.events.events import Event


def rows(n=300, seed=0):
    rng = np.random.default_rng(seed)
    for t in range(n):
        a, word = rng.normal(), "ab"[int(rng.integers(2))]
        yield t, round(a, 3), word, round(2 * a + 3 * (word == "a") + 0.1 * rng.normal() + 100, 4)


def table(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("has_words", [False, True])
def test_a_stream_of_numbers_is_what_a_regressor_forecasts(tmp_path, has_words):
    lines = [f"{a},{word if has_words else ''},{y}\n" for _, a, word, y in rows()]
    head = "a,w,y\n" if has_words else "a,ignored,y\n"
    (tmp_path / "in.csv").write_text(head + "".join(lines))
    ignore = () if has_words else ("--features", "a")
    options = ("--target", "y", "--regression", "--out", tmp_path / "out.csv", *ignore)
    done = run(tmp_path, *options, "--effort", "low", source="in.csv").stderr.decode()
    assert "90% intervals hold" in done
    assert "running mean" in done
    twin = mx.river.GAFRegressor(effort="low")
    found = table(tmp_path / "out.csv")
    for row, (_, a, word, y) in zip(found, rows(), strict=True):
        x = {"a": str(a), "w": word} if has_words else {"a": a}
        assert float(row["mean"]) == pytest.approx(twin.predict_one(x), abs=1e-9)
        twin.learn_one(x, y)
    last = found[-100:]
    inside = [
        float(row["low"]) <= y <= float(row["high"])
        for row, (*_, y) in zip(last, list(rows())[-100:], strict=True)
    ]
    assert 80 <= sum(inside) <= 100
    model = mx.load(tmp_path / "model")
    assert model.scores.crps < 0.8 * model.progress.mean()[1]
    assert model.scores.n == model.progress.n > 290


@pytest.mark.parametrize("late", [0, 20])
def test_intervals_hold_what_they_say_and_are_not_the_normals(late):
    rng, n = np.random.default_rng(0), 800
    X = rng.normal(size=(n, 2))
    y = (X[:, 0] + rng.standard_t(3, size=n) * np.exp(X[:, 1] / 2)).tolist()
    events = []
    for t in range(n + late):
        if t < n:
            features = {"a": X[t, 0], "b": X[t, 1]}
            events.append(Event(id=str(t), features=features, label=None if late else str(y[t])))
        if late and t >= late:
            events.append(Event(id=str(t - late), features=None, label=str(y[t - late])))
    model = EventModel(regression=True)
    answers = apply_many(model, events)
    known = [a for a in answers if a.get("std") is not None][100:]
    within = [low <= y[int(a["id"])] <= high for a in known for low, high in [a["interval"]]]
    wider = [(a["interval"][1] - a["interval"][0]) / (2 * 1.645 * a["std"]) for a in known]
    assert np.mean(within) == pytest.approx(0.9, abs=0.035)  # three deviations
    assert np.median(np.abs(np.array(wider) - 1)) > 0.01  # than a normal's, or narrower
    assert model.scores.coverage == pytest.approx(np.mean(within), abs=0.02)


def test_late_numbers_are_learned_with_the_inputs_of_their_forecast(tmp_path):
    lines = []
    for t, a, word, _ in rows(80):
        lines.append(json.dumps({"id": t, "a": a, "w": word}))
        if t >= 5:
            lines.append(json.dumps({"id": t - 5, "y": list(rows(80))[t - 5][3]}))
        if t == 40:
            lines += [json.dumps({"a": 1.0, "y": "high"}), json.dumps({"id": 99, "y": 1.0})]
    (tmp_path / "in.jsonl").write_text("\n".join(lines) + "\n")
    options = ("--target", "y", "--id", "id", "--regression", "--rejects", tmp_path / "rejects")
    for name, every in (("model", 1000), ("slow", 1)):
        run(tmp_path, *options, "--every", every, source="in.jsonl", model=name)
    assert (tmp_path / "slow").read_bytes() == (tmp_path / "model").read_bytes()
    got = counts(tmp_path)
    assert (got["events"], got["late"], got["rejected"]) == (82, 75, 2)
    reasons = [each["reason"] for each in rejects(tmp_path)]
    assert reasons == [
        "the outcome must be a number, got 'high'",
        "a label for '99', which is not remembered",
    ]


def test_events_of_numbers_together_and_one_by_one_are_learned_alike():
    events = []
    for t, a, word, y in rows(60):
        features = {"a": a, "w": word} | ({"b": t} if t > 20 else {})
        if t % 3:
            events.append(Event(id=str(t), features=features, label=str(y)))
        else:
            events.append(Event(id=str(t), features=features, label=None))
        if t % 3 == 2:
            events.append(Event(id=str(t - 2), features=None, label=str(y)))
    events.append(Event(id="1", features={"a": 1.0}, label="7"))
    one, many = EventModel(regression=True), EventModel(regression=True)
    answers = []
    for each in events:
        try:
            answers.append(apply(one, each))
        except mx.events.events.RefusedError as refused:
            answers.append(refused.status)
    together = apply_many(many, events)
    assert [getattr(each, "status", each) for each in together] == answers
    assert answers[-1] == 409
    assert one.encoder is not None
    assert same_models(one, many)


def test_a_service_answers_mean_deviation_and_interval(start):
    service, call = start()
    assert call("PUT", "/models/price", {"regression": True, "level": 0.8})[0] == 201
    first = call("POST", "/models/price/predict", {"features": {"a": 1, "w": "a"}})
    assert first == (200, {"mean": 0.0, "std": None, "interval": [None, None]})
    for t, a, word, y in rows(60):
        body = {"id": t, "features": {"a": a, "w": word}, "label": y}
        assert call("POST", "/models/price/learn", body)[0] == 200
    status, answer = call("POST", "/models/price/predict", {"features": {"a": 0.5, "w": "a"}})
    low, high = answer["interval"]
    assert (status, low < answer["mean"] < high) == (200, True)
    learner = service.loaded["price"].model.learner
    ends = learner.interval([{"a": 0.5, "w": "a"}], 0.8)
    assert (low, high) == pytest.approx([end[0] for end in ends])
    figures = call("GET", "/models/price")[1]
    assert {"rmse", "crps", "coverage", "baseline"} <= set(figures["scores"])
    assert figures["scores"]["crps"] < figures["scores"]["baseline"]
    refused = call("POST", "/models/price/learn", {"features": {"a": 1}, "label": "high"})
    assert refused == (422, {"error": "the outcome must be a number, got 'high'"})
    assert b"mixable_crps" in call.raw("GET", "/metrics")[1]


def test_a_model_stays_one_of_numbers(tmp_path):
    (tmp_path / "in.csv").write_text("a,y\n1,2\n2,3\n")
    run(tmp_path, "--target", "y", "--regression", source="in.csv")
    model = mx.load(tmp_path / "model")
    with pytest.raises(TypeError, match="no probabilities"):
        model.predict_proba_one({"a": 1.0})
    refused = run(tmp_path, "--target", "y", "--classes", "2,3", source="in.csv", status=2)
    assert b"was made with other --classes: none given" in refused.stderr
    run(tmp_path, "--target", "y", source="in.csv", data=None)
    merged = mx.merge([model, mx.load(tmp_path / "model")])
    assert merged.options.regression
    assert merged.scores.n == model.scores.n + mx.load(tmp_path / "model").scores.n


def test_a_regression_of_numbers_refuses_words_in_a_sentence():
    """What it knows cannot go on with them; the kinds of columns can be declared."""
    model = EventModel(regression=True)
    apply(model, Event(id=None, features={"a": 1.0}, label="2"))
    before = mx.dumps(model)
    assert model.forecast({"a": 1.0, "w": "word"}) == model.forecast({"a": 1.0})
    for key, label in ((None, "2"), ("7", None)):
        with pytest.raises(mx.events.events.RefusedError, match="declare the kinds"):
            apply(model, Event(id=key, features={"a": 1.0, "w": "word"}, label=label))
    with pytest.raises(TypeError, match="declare the kinds"):
        model.learn_one({"w": "word"}, 1.0)
    assert mx.dumps(model) == before
