"""The model of a service: what events make of it."""

import copy
import random

import numpy as np
import pytest
from make_fixtures import served
from serve_command import apply, apply_many, same_models, served_model

import mixable as mx
from mixable import persistence
from mixable.events import following
from mixable.events.events import Event, RefusedError
from mixable.events.model import UNSCORED

FEW = {"most_features": 3, "most_classes": 3, "remember": 2}


def event(key=None, features=None, label=None):
    return Event(id=key, features=features, label=label)


def refused(model, *arguments):
    """The refusal of an event, which must change nothing."""
    before = persistence.to_bytes(model)
    with pytest.raises(RefusedError) as error:
        apply(model, event(*arguments))
    assert persistence.to_bytes(model) == before
    return error.value.status, error.value.reason


def test_it_learns_what_a_model_by_hand_does():
    rng = np.random.default_rng(0)
    model, twin = served_model(), served_model()
    scores = mx.metrics.Scores()
    for t, x in enumerate(rng.normal(size=(60, 2)).tolist()):
        features, label = {"a": x[0], "b": x[1]}, "up" if x[0] > 0 else "down"
        p = twin.predict_proba_one(features)
        scores.update(p, label)
        twin.learn_one(features, label)
        if t % 3:
            answer = apply(model, event(None, features, label))
        else:
            answer = apply(model, event(str(t), features))
            late = apply(model, event(str(t), None, label))
            assert late == {"id": str(t), "learned": True, "step": t + 1}
        assert answer["probabilities"] == p
    assert model.predict_proba_one({"a": 0.3}) == twin.predict_proba_one({"a": 0.3})
    assert model.scores.log_loss == scores.log_loss
    assert model.counts == {
        "events": 60,
        "predicted": 60,
        "rejected": 0,
        "learned": 60,
        "late": 20,
        "forgotten": 0,
    }


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
    one, other = served_model(), served_model()
    for model, kind in ((one, int), (other, float)):
        rows = [({"a": kind(t % 3), "b": kind(2**70)}, "xy"[t % 2]) for t in range(20)]
        events = [event(None, x, y) for x, y in rows]
        assert all(isinstance(answer, dict) for answer in apply_many(model, events))
    assert same_models(one, other)


@pytest.mark.parametrize("is_record", [False, True])
@pytest.mark.parametrize("curved", [False, True])
def test_events_together_and_one_by_one_are_answered_and_learned_alike(is_record, curved):
    events = list(mixture_of_events(0, 150, is_record=is_record))
    one, many = served_model(linear=not curved), served_model(linear=not curved)
    answers = []
    for each in events:
        try:
            answers.append(apply(one, each))
        except RefusedError as refused:
            answers.append(refused.status)
    together = apply_many(many, events[:100]) + apply_many(many, events[100:])
    assert answers == [getattr(each, "status", each) for each in together]
    assert {409, 404} <= {each for each in answers if isinstance(each, int)}
    assert same_models(one, many)


def test_a_late_label_scores_the_forecast_of_its_time():
    model = served_model(classes=["a", "b"])
    first = apply(model, event("1", {"x": 1.0}))["probabilities"]
    for _ in range(20):
        apply(model, event(None, {"x": 1.0}, "a"))
    before = model.scores._loss
    apply(model, event("1", None, "b"))
    assert model.scores._loss - before == pytest.approx(-np.log(first["b"]))


def test_what_was_learned_by_its_id_is_not_learned_again():
    model = served_model()
    assert apply(model, event("1", {"x": 1.0}, "a"))["step"] == 1
    apply(model, event("2", {"x": 2.0}))
    apply(model, event("2", None, "b"))
    before = persistence.to_bytes(model)
    for key, features, label, step in (
        ("1", {"x": 1.0}, "a", 1),
        ("1", None, "a", 1),
        ("2", None, "b", 2),
        ("2", {"x": 2.0}, "b", 2),
    ):
        answer = apply(model, event(key, features, label))
        assert answer == {"id": key, "learned": False, "step": step}
    assert persistence.to_bytes(model) == before
    assert refused(model, "1", None, "b") == (409, "the id '1' was learned with another outcome")
    assert refused(model, "2", {"x": 3.0}, "b") == (
        409,
        "the id '2' was learned with other features",
    )


def test_an_id_may_be_forecast_again_after_it_was_learned():
    model = served_model()
    for label in ("a", "b"):
        apply(model, event("me", {"x": 1.0}))
        assert apply(model, event("me", None, label))["learned"]
    assert model.counts["late"] == 2


def test_the_oldest_forecasts_are_forgotten(monkeypatch):
    model = served_model(**FEW)
    for key in "1232":
        apply(model, event(key, {"x": 1.0}))
    assert (list(model.waiting), model.counts["forgotten"]) == (["3", "2"], 2)
    assert refused(model, "1", None, "a") == (404, "no forecast waits under the id '1'")
    monkeypatch.setattr(following, "LARGEST", model.waiting["2"].size)
    apply(model, event("4", {"x": 1.0}))
    assert list(model.waiting) == ["4"]
    assert model.waiting_size == following.LARGEST


def test_features_with_a_label_resolve_a_forecast_that_waits():
    model = served_model()
    apply(model, event("1", {"x": 1.0}))
    apply(model, event("1", {"x": 2.0}, "a"))
    assert (model.counts["learned"], model.counts["forgotten"], model.waiting_size) == (1, 1, 0)


def test_limits_are_kept_and_refusals_change_nothing():
    model = served_model(**FEW)
    for label in "abc":
        apply(model, event(None, {"x": 1.0, "y": 0.0}, label))
    status, reason = refused(model, None, {"x": 1.0}, "d")
    assert (status, "'d' would be class number 4" in reason) == (422, True)
    many = {name: 1.0 for name in "xyzw"}
    for arguments in ((None, many, "a"), ("1", many)):
        assert refused(model, *arguments)[1].startswith("more than 3 features")
    closed = served_model(classes=["a", "b"], features=["x"])
    assert refused(closed, None, {"x": 1.0}, "c") == (422, "no class is called 'c'")
    apply(closed, event(None, many, "a"))
    assert list(closed.columns) == ["x"]


def test_a_saved_model_goes_on_with_the_same_bits():
    model = served()
    twin = persistence.from_bytes(persistence.to_bytes(model))
    for each in (model, twin, copy.deepcopy(model)):
        assert apply(each, event("3", {"one": 0.0}))["id"] == "3"
        assert apply(each, event("late", None, "no"))["step"] == 14
    assert persistence.to_bytes(twin) == persistence.to_bytes(model)


def forged(name, change):
    state = served().__getstate__()
    return {**state, name: change(state[name])}


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("place", lambda _: -1),
        ("_before", lambda _: [7]),
        ("counts", lambda counts: {**counts, "learned": -1}),
        ("waiting", lambda each: {**each, "P": {**each["P"], "values": each["P"]["values"] + 2}}),
        ("waiting", lambda each: {**each, "base": each["ids"]}),
        ("waiting", lambda each: {**each, "about": each["about"][:, :2]}),
        ("waiting", lambda each: {**each, "about": -1 - each["about"]}),
        ("done", lambda each: {**each, "learned": each["learned"] - 100}),
        ("done", lambda each: {**each, "learned": each["learned"][:2]}),
        ("done", lambda each: {**each, "outcomes": each["outcomes"] * np.nan}),
        ("progress", lambda each: {**each, "baseline": np.zeros(2)}),
    ],
)
def test_forged_states_are_refused(name, change):
    with pytest.raises((ValueError, TypeError)):
        served_model().__setstate__(forged(name, change))


def test_merged_models_forget_what_waits():
    models = [served_model() for _ in range(2)]
    for t in range(40):
        apply(models[t % 2], event(str(t), {"a": float(t % 5)}, "xy"[t % 5 > 2]))
    merged = mx.merge(models)
    assert (merged.counts["learned"], merged.scores.n, merged.progress.n) == (40, 40, 0)
    assert models[0].score_figures()["baseline"] > 0
    assert merged.score_figures()["baseline"] is None  # it would be of other forecasts
    assert (len(merged.done), merged.place) == (0, {})
    assert merged.predict_proba_one({"a": 4.0})["y"] > 0.6
    assert models[0].counts["learned"] == 20
    again = mx.loads(mx.dumps(merged))
    assert again.predict_proba_one({"a": 4.0}) == merged.predict_proba_one({"a": 4.0})


def test_a_late_label_is_learned_with_the_inputs_of_its_forecast():
    """Whatever is learned in between has no part in what its record looked like."""
    rng = np.random.default_rng(0)
    model, by_hand = served_model(), served_model()
    for t in range(30):
        x = {"x": float(rng.normal() * (1 + t)), "y": 1.0}
        for each in (model, by_hand):
            apply(each, event(None, x, "ab"[t % 2]))
    apply(model, event("late", {"x": 3.0, "y": 0.5}))
    kept = by_hand.learner.kept(np.array([3.0, 0.5]))
    for t in range(30):
        for each in (model, by_hand):
            apply(each, event(None, {"x": 1e3 * t, "y": -1.0}, "ab"[t % 2]))
    again = copy.deepcopy(model)
    for each in (model, again):
        apply(each, event("late", None, "b"))
    by_hand.learner.learn_kept(kept, "b")
    expected = by_hand.predict_proba_one({"x": 2.0, "y": 0.1})
    assert (
        model.predict_proba_one({"x": 2.0, "y": 0.1})
        == again.predict_proba_one({"x": 2.0, "y": 0.1})
        == expected
    )


def test_forecasts_before_the_first_label_have_their_inputs_too():
    model = served_model()
    apply(model, event("1", {"x": 1.0}))
    apply(model, event("2", {"x": 2.0, "new": 5.0}))
    assert [len(each.kept.x) for each in model.waiting.values()] == [1, 2]
    for key, label in (("2", "a"), ("1", "b")):
        assert apply(model, event(key, None, label))["learned"]


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
    assert never.scores.n == n


def test_few_forecasts_are_kept_unscored():
    model = filled(5 * UNSCORED, lambda _: 0)
    assert 0 < len(model._unscored) <= UNSCORED
