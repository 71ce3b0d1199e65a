"""What there is to know of a model: JSON that says what the model does."""

import json

import numpy as np
import pytest
from serve_command import apply, served_model

from mixable import persistence
from mixable.events import EventModel
from mixable.events.events import Event, RefusedError
from mixable.events.serve.figures import (
    RATE,
    drifting,
    explained,
    figures,
    matter,
    try_without,
    weights,
)
from mixable.events.serve.shown import Held
from mixable.model import Design, design_of_classes


def filled(model, n=200):
    rng = np.random.default_rng(0)
    for strong, weak in rng.normal(size=(n, 2)).tolist():
        label = "up" if strong + 0.1 * weak > 0 else "down"
        features = {"weak": weak, "strong": strong}
        apply(model, Event(id=None, features=features, label=label))
    return model


def curved():
    fixed = dict.fromkeys(("lam", "beta", "alpha", "drift"))
    return EventModel(
        design=design_of_classes(None, fixed, kernel="auto", features=(10, None, "fourier"))
    )


def single():
    return EventModel(design=Design.for_classes(None, {"lam": 0.1, "beta": 1.0}))


@pytest.mark.parametrize("make", [served_model, curved, single])
def test_figures_are_json_before_and_after_learning(make):
    empty = json.loads(json.dumps(figures(Held("m", 1, make(), 0)), allow_nan=False))
    assert (empty["learned"], empty["scores"]["log_loss"], empty["history"]) == (0, None, [])
    model = filled(make(), 60)
    got = json.loads(json.dumps(figures(Held("m", 1, model, 0)), allow_nan=False))
    assert (got["learned"], got["classes"]) == (60, model.learner.labels)
    assert got["columns"] == ["strong", "weak"]
    assert got["scores"]["log_loss"] == model.scores.log_loss
    losses = [loss for _, loss, _ in got["history"]]  # of blocks of one, as there are few
    assert got["scores"]["log_loss"] == pytest.approx(np.mean(losses))


def test_weights_add_up_to_one_and_drift_is_part_of_it():
    for make in (served_model, curved):
        model = filled(make(), 40)
        assert sum(weights(model).values()) == pytest.approx(1)
        assert 0 <= drifting(model) <= 1
    assert (weights(single()), drifting(single())) == ({}, None)


@pytest.mark.parametrize("word", [None, "red"])
def test_the_drift_gauge_moves_while_the_first_expert_is_alone(word):
    rng, model, said = np.random.default_rng(0), served_model(linear=False), []
    for t in range(2600):
        x = rng.normal(size=2)
        label = "up" if (2 * x[0] if t < 2200 else -2 * x[0]) + rng.logistic() > 0 else "down"
        features = {"a": x[0], "b": x[1], **({} if word is None else {"c": word})}
        apply(model, Event(id=None, features=features, label=label))
        if t == 2100:
            core = model.learner.forecaster._core
            left = np.array([[0.0, *[99.0] * (len(model.learner.forecaster.experts) - 1)]])
            core.restore({**core.state(), "activity.left": left, "activity.level": 1e9 * left})
        if t >= 2100 and t % 50 == 0:
            assert model.learner.forecaster.active == [0]
            said.append(drifting(model))
    first = model.learner.forecaster.experts[0]
    forgets = [
        getattr(each, "drift", 0) > 0 or getattr(each, "b", 1) == 0 for each in first.experts
    ]
    assert said[-1] != pytest.approx(0)
    assert drifting(model) == pytest.approx(first.expert_weights[forgets].sum(), abs=1e-12)
    assert len(set(said)) == len(said)
    if word is None:
        assert max(said[3:]) > 0.5 > 0.2 > max(said[:2])


@pytest.mark.parametrize("classes", [None, ("often", "seldom")])
def test_late_labels_score_forecast_and_class_rates_at_the_time_of_the_forecast(classes):
    """All forecasts are made before the first label: neither knows how often classes come."""
    model, n = served_model(classes=classes), 60
    for t in range(n):
        apply(model, Event(id=str(t), features={"a": 1.0}, label=None))
    model = persistence.from_bytes(persistence.to_bytes(model))
    for t in range(n):
        label = "seldom" if t % 10 == 9 else "often"
        apply(model, Event(id=str(t), features=None, label=label))
    scores = figures(Held("m", 1, model, 0))["scores"]
    assert scores["baseline"] == pytest.approx(scores["log_loss"])
    if classes:
        assert scores["baseline"] == pytest.approx(np.log(2))
    # Labels that come at once are compared with the rates so far.
    model = served_model(classes=("often", "seldom"))
    for t in range(n):
        label = "seldom" if t % 10 == 9 else "often"
        apply(model, Event(id=str(t), features={"a": 1.0}, label=label))
    assert figures(Held("m", 1, model, 0))["scores"]["baseline"] < 0.5


def test_the_column_that_decides_matters_most():
    sizes = figures(Held("m", 1, filled(served_model()), 0))["matter"]
    assert list(sizes) == ["strong", "weak"]
    assert sizes["strong"] > 3 * sizes["weak"]
    assert list(filled(curved()).important()) == ["strong", "weak"]


def test_columns_of_curved_models_matter_by_forecasts_without_them():
    held = Held("m", 1, filled(curved(), 60), 0)
    assert figures(held)["matter"] == {}
    held.recent.append({"strong": 1.0, "weak": 1.0})
    got = figures(held)
    assert (list(got["matter"]), got["matter_by"]) == (
        ["strong", "weak"],
        "forecasts without the column",
    )
    held.recent.append({"strong": float("inf")})  # a bad one
    assert figures(held)["matter"] == got["matter"]
    assert not held.recent  # each is tried once


def test_a_forecast_is_explained_by_what_it_would_be_without_each_feature():
    model = filled(served_model())
    features = {"strong": 2.0, "weak": 0.5, "unknown": 1.0}
    answer = explained(model, features)
    assert answer["without"] == {
        "strong": model.predict_proba_one({"weak": 0.5}),
        "weak": model.predict_proba_one({"strong": 2.0}),
    }
    (first, *_) = model.explain(features)
    assert answer["log_odds"]["strong"] == first.log_odds
    assert answer["deviation"]["strong"] == first.deviation
    assert first.log_odds["up"] > first.deviation["up"] > 0
    with pytest.raises(RefusedError, match="up to 200 features"):
        explained(model, dict.fromkeys(map(str, range(201)), 1.0))


def moved(model, features, name):
    """Half the distance between the forecasts with and without a column."""
    p, q = (
        model.predict_proba_one(features),
        model.predict_proba_one({k: features[k] for k in features if k != name}),
    )
    return sum(abs(p[label] - q[label]) for label in p) / 2


def learned_model():
    model = served_model()
    for t in range(40):
        model.learn_one({"a": t % 2, "b": t % 3}, "xy"[t % 2])
    return model


def test_it_is_the_mean_over_the_records_and_the_model_stays_as_it_was():
    held = Held("m", 1, learned_model(), 0)
    model = held.model
    before = persistence.to_bytes(model)
    records = [{"a": 1.0, "b": 2.0}, {"a": 0.0, "other": 1.0}]
    for record in records:
        try_without(held, record)
    got = matter(held)
    assert list(got) == ["a", "b"]
    assert got["a"] == pytest.approx(sum(moved(model, r, "a") for r in records) / 2)
    assert got["b"] == pytest.approx(moved(model, records[0], "b"))
    assert persistence.to_bytes(model) == before


def test_what_was_long_ago_fades():
    held = Held("m", 1, learned_model(), 0)
    model = held.model
    for _ in range(200):
        try_without(held, {"a": 0.5})
    before = matter(held)["a"]
    try_without(held, {"a": 3.0})
    change = moved(model, {"a": 3.0}, "a") - before
    assert matter(held)["a"] == pytest.approx(before + RATE * change)
