"""A learner of numbers becomes one of records, with what it knows."""

import copy

import numpy as np
import pytest

from mixable.model import Design, Learner, design_of_classes
from mixable.model.widening import widened

FIXED = dict.fromkeys(("lam", "beta", "alpha", "drift"))


def taught(design, n=150):
    """A learner of three columns, the last of which never has a value."""
    learner = Learner(design, 3, ["no", "yes"])
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(n, 2)), np.full(n, np.nan)])
    y = np.where(X[:, 0] + rng.logistic(size=n) / 2 > 0, "yes", "no")
    learner.learn(X, list(y))
    return learner


@pytest.mark.parametrize("kernel", [None, "auto"])
def test_experts_go_on_and_a_column_without_values_has_no_kind(kernel):
    learner = taught(design_of_classes(None, FIXED, kernel=kernel))
    experts = learner.forecaster.experts if kernel else [learner.forecaster]
    made = widened(learner, ["a", "b", "c"])
    encoder = made.inputs.encoder
    assert encoder.kinds == {"a": "number", "b": "number"}
    assert (encoder.n_dense, made.n_features) == (3, 3)
    names = made.design.names
    steps = {name: e.steps for name, e in zip(names, made.forecaster.experts, strict=True)}
    new = dict.fromkeys(("sparse", "leaves", "kernel of indicators", "selected columns"), 0)
    assert steps == {name: new.get(name, 150) for name in names}
    assert made.forecaster.experts[names.index("linear")] is experts[0]
    record = {"a": 1.0, "b": 0.0}
    (p,) = made.predict([record])
    assert p[1] > 0.6
    assert made.labels == ["no", "yes"]
    made.learn([{**record, "c": "red shoes for men"}], ["third"])
    assert encoder.kinds["c"] == "text"
    assert made.labels == ["no", "yes", "third"]


def test_a_widened_learner_is_saved_and_goes_on_the_same():
    made = widened(taught(design_of_classes(None, FIXED)), ["a", "b", "c"])
    again = copy.deepcopy(made)
    records = [{"a": t / 5 - 1, "b": "unknown" if t % 3 else 1.0} for t in range(12)]
    for each in (made, again):
        each.learn(records, ["yes", "no"] * 6)
    np.testing.assert_array_equal(made.predict(records), again.predict(records))


def test_forecasters_that_take_no_records_are_refused():
    fixed = {"lam": 1.0, "beta": 1.0, "alpha": 1.0, "drift": 0.0}
    with pytest.raises(TypeError, match="text, categories"):
        widened(taught(Design.for_classes(None, fixed)), ["a", "b", "c"])
