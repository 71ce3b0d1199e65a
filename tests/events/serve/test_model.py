"""The model of a service: what events make of it."""

import copy
import random

import numpy as np
import pytest
from make_fixtures import served
from serve_command import same_models, served_model

import mixable as mx
from mixable import persistence
from mixable.events.events import Event, ModelLimits, RefusedError
from mixable.events.serve.model import UNSCORED

LIMITS = ModelLimits(features=3, classes=3, waiting=2)


def event(key=None, features=None, label=None):
    return Event(id=key, features=features, label=label)


def refused(model, *arguments, limits=LIMITS):
    """The refusal of an event, which must change nothing."""
    before = persistence.to_bytes(model)
    with pytest.raises(RefusedError) as error:
        model.apply(event(*arguments), limits)
    assert persistence.to_bytes(model) == before
    return error.value.status, error.value.reason


def test_it_learns_what_a_model_by_hand_does():
    rng = np.random.default_rng(0)
    model, twin = served_model(), served_model()
    scores = mx.metrics.Scores()
    for t, x in enumerate(rng.normal(size=(60, 2)).tolist()):
        features, label = {"a": x[0], "b": x[1]}, "up" if x[0] > 0 else "down"
        p = twin.predict(features)
        scores.update(p, label)
        twin.learn_one(features, label)
        if t % 3:
            answer = model.apply(event(None, features, label), LIMITS)
        else:
            answer = model.apply(event(str(t), features), LIMITS)
            late = model.apply(event(str(t), None, label), LIMITS)
            assert late == {"id": str(t), "learned": True, "step": t + 1}
        assert answer["probabilities"] == p
    assert model.predict({"a": 0.3}) == twin.predict({"a": 0.3})
    assert model.scores.log_loss == scores.log_loss
    assert model.counts == {"remembered": 20, "learned": 60, "late": 20, "forgotten": 0}


def mixture_of_events(seed, n, *, is_record):
    """Events of all kinds: with labels at once, late or never, repeated, refused."""
    draw = random.Random(seed)
    for t in range(n):
        user = draw.randrange(4)
        features = {"a": draw.gauss(0, 1), "b": draw.choice([1, None, 2.5])}
        if is_record:
            features["user"] = f"u{user}"
        label, chance = "xyz"[min(user, 2)], draw.random()
        if chance < 0.6:
            yield event(draw.choice([None, str(t)]), features, label)
        elif chance < 0.7:
            yield event(str(t), features)
        elif chance < 0.8:
            yield event(str(draw.randrange(t + 1)), None, label)
        elif chance < 0.9:
            yield event(str(draw.randrange(t + 1)), features, label)
        else:
            yield event(None, {**features, draw.choice("cd"): draw.choice([1.0, "word", 1e308])})


def test_whole_numbers_are_learned_like_others():
    one, other, limits = served_model(), served_model(), ModelLimits()
    for model, kind in ((one, int), (other, float)):
        rows = [({"a": kind(t % 3), "b": kind(2**70)}, "xy"[t % 2]) for t in range(20)]
        events = [event(None, x, y) for x, y in rows]
        assert all(isinstance(answer, dict) for answer in model.apply_many(events, limits))
    assert same_models(one, other)


@pytest.mark.parametrize("is_record", [False, True])
@pytest.mark.parametrize("curved", [False, True])
def test_events_together_and_one_by_one_are_answered_and_learned_alike(is_record, curved):
    events = list(mixture_of_events(0, 150, is_record=is_record))
    one, many, limits = served_model(curved=curved), served_model(curved=curved), ModelLimits()
    answers = []
    for each in events:
        try:
            answers.append(one.apply(each, limits))
        except RefusedError as refused:
            answers.append(refused.status)
    together = many.apply_many(events[:100], limits) + many.apply_many(events[100:], limits)
    assert answers == [getattr(each, "status", each) for each in together]
    assert {409, 404} <= {each for each in answers if isinstance(each, int)}
    assert same_models(one, many)


def test_a_late_label_scores_the_forecast_of_its_time():
    model = served_model(classes=["a", "b"])
    first = model.apply(event("1", {"x": 1.0}), LIMITS)["probabilities"]
    for _ in range(20):
        model.apply(event(None, {"x": 1.0}, "a"), LIMITS)
    before = model.scores._loss
    model.apply(event("1", None, "b"), LIMITS)
    assert model.scores._loss - before == pytest.approx(-np.log(first["b"]))


def test_what_was_learned_by_its_id_is_not_learned_again():
    model = served_model()
    assert model.apply(event("1", {"x": 1.0}, "a"), LIMITS)["step"] == 1
    model.apply(event("2", {"x": 2.0}), LIMITS)
    model.apply(event("2", None, "b"), LIMITS)
    before = persistence.to_bytes(model)
    for key, features, label, step in (
        ("1", {"x": 1.0}, "a", 1),
        ("1", None, "a", 1),
        ("2", None, "b", 2),
        ("2", {"x": 2.0}, "b", 2),
    ):
        answer = model.apply(event(key, features, label), LIMITS)
        assert answer == {"id": key, "learned": False, "step": step}
    assert persistence.to_bytes(model) == before
    assert refused(model, "1", None, "b") == (409, "the id '1' was learned with another label")
    assert refused(model, "2", {"x": 3.0}, "b") == (
        409,
        "the id '2' was learned with other features",
    )


def test_an_id_may_be_forecast_again_after_it_was_learned():
    model = served_model()
    for label in ("a", "b"):
        model.apply(event("me", {"x": 1.0}), LIMITS)
        assert model.apply(event("me", None, label), LIMITS)["learned"]
    assert model.counts["late"] == 2


def test_the_oldest_forecasts_are_forgotten():
    model = served_model()
    for key in "1232":
        model.apply(event(key, {"x": 1.0}), LIMITS)
    assert (list(model.waiting), model.counts["forgotten"]) == (["3", "2"], 2)
    assert refused(model, "1", None, "a") == (404, "no forecast waits under the id '1'")
    few = ModelLimits(waiting_bytes=model.waiting["2"].bytes)
    model.apply(event("4", {"x": 1.0}), few)
    assert list(model.waiting) == ["4"]
    assert model.waiting_bytes == few.waiting_bytes


def test_features_with_a_label_resolve_a_forecast_that_waits():
    model = served_model()
    model.apply(event("1", {"x": 1.0}), LIMITS)
    model.apply(event("1", {"x": 2.0}, "a"), LIMITS)
    assert (model.counts["learned"], model.counts["forgotten"], model.waiting_bytes) == (1, 1, 0)


def test_limits_are_kept_and_refusals_change_nothing():
    model = served_model()
    for label in "abc":
        model.apply(event(None, {"x": 1.0, "y": 0.0}, label), LIMITS)
    assert refused(model, None, {"x": 1.0}, "d") == (422, "'d' would be class number 4")
    many = {name: 1.0 for name in "xyzw"}
    assert refused(model, None, many, "a")[1] == "the model would have more than 3 features"
    model.apply(event("1", many), LIMITS)  # what is only asked takes no room
    assert refused(model, "1", None, "a")[0] == 422
    closed = served_model(classes=["a", "b"], features=["x"])
    assert refused(closed, None, {"x": 1.0}, "c") == (422, "no class is called 'c'")
    closed.apply(event(None, many, "a"), LIMITS)
    assert list(closed.columns) == ["x"]


def test_a_saved_model_goes_on_with_the_same_bits():
    model = served()
    twin = persistence.from_bytes(persistence.to_bytes(model))
    for each in (model, twin, copy.deepcopy(model)):
        assert each.apply(event("3", {"one": 0.0}), LIMITS)["id"] == "3"
        assert each.apply(event("late", None, "no"), ModelLimits())["step"] == 14
    assert persistence.to_bytes(twin) == persistence.to_bytes(model)


def forged(name, change):
    state = served().__getstate__()
    return {**state, name: change(state[name])}


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("journal", lambda _: 7),
        ("place", lambda _: -1),
        ("counts", lambda counts: {**counts, "learned": -1}),
        ("waiting", lambda each: {**each, "P": {**each["P"], "values": each["P"]["values"] + 2}}),
        ("waiting", lambda each: {**each, "features": each["ids"]}),
        ("done", lambda each: {**each, "learned": each["learned"] + 100}),
        ("done", lambda each: {**each, "learned": each["learned"][:2]}),
        ("progress", lambda each: {**each, "rates": np.ones(9, dtype=int)}),
    ],
)
def test_forged_states_are_refused(name, change):
    with pytest.raises((ValueError, TypeError)):
        served_model().__setstate__(forged(name, change))


def test_merged_models_of_services_count_from_now_on():
    models = [served_model() for _ in range(2)]
    for t in range(40):
        event = Event(id=str(t), features={"a": float(t % 5)}, label="xy"[t % 5 > 2])
        models[t % 2].apply(event, ModelLimits())
    merged = mx.merge(models)
    assert (merged.counts["learned"], merged.scores.n, merged.progress.n) == (0, 0, 0)
    assert (len(merged.done), merged.journal, merged.place) == (0, "", 0)
    assert merged.predict({"a": 4.0})["y"] > 0.6
    assert models[0].counts["learned"] == 20
    assert mx.loads(mx.dumps(merged)).predict({"a": 4.0}) == merged.predict({"a": 4.0})


def test_a_late_label_is_learned_with_the_inputs_of_its_forecast():
    """Whatever is learned in between has no part in what its record looked like."""
    rng = np.random.default_rng(0)
    model, by_hand = served_model(), served_model()
    for t in range(30):
        x = {"x": float(rng.normal() * (1 + t)), "y": 1.0}
        for each in (model, by_hand):
            each.apply(event(None, x, "ab"[t % 2]), ModelLimits())
    model.apply(event("late", {"x": 3.0, "y": 0.5}), ModelLimits())
    kept = by_hand.learner.kept(np.array([3.0, 0.5]))
    for t in range(30):
        for each in (model, by_hand):
            each.apply(event(None, {"x": 1e3 * t, "y": -1.0}, "ab"[t % 2]), ModelLimits())
    again = copy.deepcopy(model)
    for each in (model, again):
        each.apply(event("late", None, "b"), ModelLimits())
    by_hand.learner.learn_kept(kept, "b")
    expected = by_hand.predict({"x": 2.0, "y": 0.1})
    assert model.predict({"x": 2.0, "y": 0.1}) == again.predict({"x": 2.0, "y": 0.1}) == expected


def test_forecasts_before_the_first_label_have_their_inputs_too():
    model = served_model()
    model.apply(event("1", {"x": 1.0}), ModelLimits())
    model.apply(event("2", {"x": 2.0, "new": 5.0}), ModelLimits())
    assert [len(each.inputs.x) for each in model.waiting.values()] == [1, 2]
    for key, label in (("2", "a"), ("1", "b")):
        assert model.apply(event(key, None, label), ModelLimits())["learned"]


def filled(n, ask):
    """A model with n forecasts of a growing number of classes; `ask` says when scores are read."""
    rng, model = np.random.default_rng(0), served_model()
    for label in "abc":
        model.learner.add_label(label)
    for t in range(n):
        known = min(t // 3, 3)  # the first label is not known to its forecast
        p = rng.dirichlet(np.ones(known)).tolist() if known else []
        model.score(p, int(rng.integers(min(known + 1, 3))))
        if ask(t):
            assert model.scores.n == model.progress.n == t + 1
    return model


@pytest.mark.parametrize("n", [1, 10, 2 * UNSCORED + 3])
def test_it_does_not_matter_when_scores_are_asked_for(n):
    never, always, sometimes = (
        filled(n, ask) for ask in (lambda _: 0, lambda _: 1, lambda t: t % 7)
    )
    assert same_models(never, always)
    assert same_models(never, sometimes)
    assert never.counts["learned"] == never.scores.n == n


def test_few_forecasts_are_kept_unscored():
    model = filled(5 * UNSCORED, lambda _: 0)
    assert 0 < len(model._unscored) <= UNSCORED
