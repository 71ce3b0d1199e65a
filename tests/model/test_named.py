"""A learner of dictionaries: features as they come, and what is refused leaves no trace."""

import copy

import pandas as pd
import pytest

from mixable.events.model import EventModel
from mixable.model import Design, design_of_classes
from mixable.model.named import NamedLearner


class Labelled(NamedLearner):
    """Of labels; the intercept may be missing."""

    def __init__(self, *, intercept=True):
        self.intercept = intercept
        self._begin()

    def _design(self):
        return Design.for_classes(
            None, {"lam": 1.0, "beta": 1.0, "alpha": 1.0, "drift": 0.0}, intercept=self.intercept
        )

    def _labels(self):
        return ()


def test_features_are_added_as_they_come():
    model = Labelled()
    assert model._probabilities({"a": 1.0}) == {}
    model._learn_one({"a": 1.0}, "up", 1.0)
    model._learn_one({"b": 2.0, "a": 0.0}, "down", 1.0)
    assert list(model._columns) == ["a", "b"]
    assert model._learner.n_features == 2
    p = model._probabilities({"b": 1.0, "never seen": 3.0})
    assert list(p) == ["up", "down"]
    assert sum(p.values()) == pytest.approx(1)


def test_without_features_and_intercept_there_is_nothing_to_learn():
    model = Labelled(intercept=False)
    model._learn_one({}, "up", 1.0)
    assert model._learner is None
    model._learn_one({"a": 1.0}, "up", 1.0)
    assert model._learner.forecaster.steps == 1


@pytest.mark.parametrize(
    ("x", "weight", "error"),
    [
        ({"a": 1.0, "new": "red"}, 1.0, TypeError),
        ({"new": float("inf")}, 1.0, ValueError),
        ({"new": 1.0}, -1.0, ValueError),
        ([("new", 1.0)], 1.0, TypeError),
    ],
)
def test_what_is_refused_adds_no_feature(x, weight, error):
    model = Labelled()
    model._learn_one({"a": 1.0}, "up", 1.0)
    with pytest.raises(error):
        model._learn_one(x, "up", weight)
    assert list(model._columns) == ["a"]
    assert model._learner.forecaster.steps == 1


def test_tables_are_learned_as_rows():
    X = pd.DataFrame({"a": [1.0, 2.0, -1.0], "b": [0.5, None, 2.0]})
    whole, single = Labelled(), Labelled()
    whole._learn_many(X, ["up", "down", "up"])
    for row, label in zip(X.to_dict("records"), ["up", "down", "up"], strict=True):
        single._learn_one(row, label, 1.0)
    assert whole._probabilities({"a": 0.3}) == pytest.approx(single._probabilities({"a": 0.3}))
    with pytest.raises(ValueError, match="two columns of the table are called"):
        whole._learn_many(pd.DataFrame([[1.0, 2.0]], columns=["a", "a"]), ["up"])
    with pytest.raises(ValueError, match="y must have 3 entries"):
        whole._learn_many(X, ["up"])


def test_a_saved_state_must_go_together():
    model = Labelled()
    model._learn_one({"a": 1.0}, "up", 1.0)
    assert copy.deepcopy(model)._probabilities({"a": 1.0}) == model._probabilities({"a": 1.0})
    state = vars(model)
    old = {"intercept": True, "_columns": {"a": 0}, "_engine": model._learner}
    for change, error, message in (
        ({**state, "_columns": {"a": 1}}, ValueError, "columns are not numbered"),
        ({**state, "_columns": {"a": 0, "b": 1}}, ValueError, "do not go together"),
        ({**state, "_learner": "evil"}, TypeError, "must be a Learner"),
        ({**state, "_engine": model._learner}, ValueError, "two learners"),
    ):
        with pytest.raises(error, match=message):
            Labelled.__new__(Labelled)._restore(change)
    renamed = Labelled.__new__(Labelled)
    renamed._restore(old)  # version 0.1.0 called a learner an engine
    assert renamed._probabilities({"a": 1.0}) == model._probabilities({"a": 1.0})


def bags(n=120):
    for t in range(n):
        yield dict.fromkeys(("spam" if t % 2 else "ham", f"w{t % 7}", f"v{t % 11}"), 1), t % 2


def test_a_bag_of_words_is_sparse_from_an_early_record_on():
    """What is absent counts as 0, not as the mean of where it is there, which is 1 everywhere."""
    model = EventModel(design=design_of_classes(None, {"lam": None}))
    for x, y in bags():
        model.learn_one(x, str(y))
    assert model.encoder is not None
    assert model.encoder.registry.bag
    assert model.learner.forecaster.steps == 118  # the first two were numbers, as far as one saw
    assert model.predict_proba_one({"spam": 1})["1"] > 0.9
    assert model.predict_proba_one({"ham": 1})["0"] > 0.9


def test_numbers_that_may_be_missing_are_no_bag():
    model = EventModel(design=design_of_classes(None, {"lam": None}))
    for t in range(20):
        model.learn_one({"a": 1.0 * t, "b": 2.0, **({"c": 1.0} if t > 9 else {})}, str(t % 2))
    assert model.encoder is None
    closed = EventModel(design=design_of_classes(None, {"lam": None}), features=["ham", "w0", "v0"])
    for x, y in bags(20):
        closed.learn_one(x, str(y))
    assert closed.encoder is None


def test_a_bag_that_is_refused_changes_nothing():
    model = EventModel(design=design_of_classes(None, {"lam": None}))
    model.learn_one(dict.fromkeys("abdefg", 1.0), "x")
    with pytest.raises(ValueError, match="inf"):
        model.learn_one({"c": float("inf")}, "y")
    assert (model.encoder, model.learner.labels, list(model.columns)) == (None, ["x"], [*"abdefg"])
