"""Files written long ago load, forecast the same, and go on."""

import json

import numpy as np
import pytest
from make_fixtures import FOLDER, MODELS, X, forecast

import mixable as mx
from mixable import merging, persistence
from mixable._description import OLD_NAMES

FORECASTS = json.loads((FOLDER / "forecasts.json").read_text())


def test_every_class_that_can_be_saved_has_a_fixture():
    savable = {name for name, home in persistence.HOMES.items() if name not in persistence.PARTS}
    assert set(MODELS) == set(FORECASTS)
    made = {name.partition("-")[0] for name in MODELS}
    assert {OLD_NAMES.get(name, name) for name in made} == savable


@pytest.mark.parametrize("name", MODELS)
def test_files_written_long_ago_load_and_forecast_the_same(name):
    model = mx.load(FOLDER / f"{name}.safetensors")
    kind = name.removeprefix("river.").partition("-")[0]
    assert type(model).__name__ == OLD_NAMES.get(kind, kind)
    # The expectations of two classes were off by so much up to version 0.2.0.
    # An agent learns here, and what it learns differs so much between instruction sets.
    off = {"GenericGAF": 1e-10, "Agent": 1e-7, "Decisions": 1e-7}.get(name, 1e-12)
    np.testing.assert_allclose(forecast(model), FORECASTS[name], rtol=off, atol=off)


UNMERGEABLE = {
    *("Agent", "Decisions", "Encoder", "Encoder-formats", "EventModel-numbers", "FTRL", "Foster"),
    *("FreshStarts", "GAFRegressor-sparse", "KernelGAF", "Mixture", "SMP", "ScaleFree"),
    "river.GAFRegressor-records",
}


@pytest.mark.parametrize("name", MODELS)
def test_models_of_files_written_long_ago_merge_or_say_why_not(name):
    one, two = (mx.load(FOLDER / f"{name}.safetensors") for _ in range(2))
    if name in UNMERGEABLE:
        with pytest.raises((TypeError, ValueError), match="cannot be merged"):
            mx.merge([one, two])
        return
    merged = mx.merge([one, two])
    assert merging.steps_of(merged) == 2 * merging.steps_of(one) > 0


def test_what_a_file_does_not_say_is_not_proved():
    """Those of 0.2.0 have no largest norm and weight."""
    for name, norm in (("GenericGAF", None), ("KernelGAF", None), ("GenericGAF-met", 2.0)):
        proof = mx.load(FOLDER / f"{name}.safetensors").certificate(bound=2.0)
        assert (proof.largest_norm is None) is (norm is None)
        assert proof.holds is (norm is not None and proof.largest_norm <= norm)
    proof = mx.load(FOLDER / "GAF-met.safetensors").certificate(bound=3.0)
    assert proof.largest_norm == pytest.approx(np.linalg.norm(X, axis=1).max())
    assert (proof.holds, proof.largest_weight) == (True, 1.0)


@pytest.mark.parametrize(
    "name", ["GAFClassifier", "GAFRegressor", "river.GAFClassifier", "river.GAFRegressor"]
)
def test_files_written_long_ago_go_on_learning(name):
    """Some were saved before the scaler kept the first entries of each feature."""
    model = mx.load(FOLDER / f"{name}.safetensors")
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(60, 2))
    outcome = {
        "GAFClassifier": lambda x: "b" if x > 0 else "a",
        "river.GAFClassifier": lambda x: bool(x > 0),
    }.get(name, lambda x: x)
    for x in rows:
        y = outcome(x[0])
        if "river" in name:
            model.learn_one({"one": x[0], "two": x[1]}, y)
        else:
            model.partial_fit(x[None, :], [y])
    learner = model._learner if "river" in name else model.learner_
    mean, sd = learner.inputs.moments()
    assert np.abs(mean).max() < 0.5
    assert np.abs(sd - 1).max() < 0.3
    high = {"one": 1.5, "two": 0.0}
    forecast = {
        "GAFClassifier": lambda: model.predict_proba([[1.5, 0.0]])[0][1],
        "GAFRegressor": lambda: model.predict([[1.5, 0.0]])[0] - 0.5,
        "river.GAFClassifier": lambda: model.predict_proba_one(high)[True],
        "river.GAFRegressor": lambda: model.predict_one(high) - 0.5,
    }[name]
    assert 0.7 < forecast() < 1.3


def test_pools_of_version_0_2_go_on_as_they_were_without_a_fallback():
    old, new = (
        mx.load(FOLDER / f"GAFClassifier-{name}.safetensors") for name in ("auto", "fallback")
    )
    rows, labels = np.random.default_rng(6).normal(size=(30, 2)), np.array(["a", "b", "c"] * 10)
    for model, has in ((old, False), (new, True)):
        model.partial_fit(rows, labels)
        again = mx.loads(mx.dumps(model))
        assert bool(again.forecaster_.fallback_weights) == has
        np.testing.assert_array_equal(again.predict_proba(rows), model.predict_proba(rows))
