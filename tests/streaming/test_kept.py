"""What models of streams and services share: text labels, and stacks of rows."""

import numpy as np
import pytest

from mixable.learner import Design
from mixable.learner.late import stacked, stacked_texts, unstacked
from mixable.streaming.kept import KeptModel, as_text


class Model(KeptModel):
    COUNTS = ("learned",)


def new(**options):
    return Model(Design.for_classes(None, {"lam": 0.1, "beta": 1.0}), **options)


def test_labels_are_text():
    model = new()
    for label in (1, "1", 2.5, True):
        model.learn_one({"a": 1.0}, label)
    assert model.learner.labels == ["1", "2.5", "true"]
    assert as_text("x") == "x"


def test_closed_classes_and_features_stay_as_they_are():
    model = new(classes=["a", "b"], features=["x"])
    model.learn_one({"x": 1.0, "y": 2.0}, "a")
    with pytest.raises(ValueError, match="no class is called 'c'"):
        model.learn_one({"x": 1.0}, "c")
    assert (list(model.columns), model.learner.labels) == (["x"], ["a", "b"])


def test_stacks_give_the_rows_back():
    rows = [np.array([1.0, np.nan]), np.empty(0), np.array([2.0])]
    for got, row in zip(unstacked(stacked(rows), "f"), rows, strict=True):
        np.testing.assert_array_equal(got, row)
    assert [bytes(each) for each in unstacked(stacked_texts([b"ab", b""]), "u")] == [b"ab", b""]
    assert unstacked(stacked([]), "f") == []


def test_stacks_that_do_not_fit_are_refused():
    stack = stacked([np.ones(3), np.ones(2)])
    with pytest.raises(ValueError, match="lengths"):
        unstacked({**stack, "lengths": np.array([3, 3])}, "f")
    with pytest.raises(ValueError, match="lengths"):
        unstacked({**stack, "lengths": np.array([-1, 6])}, "f")
    with pytest.raises(TypeError, match="float64"):
        unstacked(stack, "u")


def test_parts_that_do_not_go_together_are_refused():
    state = new(classes=["a", "b"]).__dict__
    for change, reason in (
        ({"scores": None}, "design, scores and a learner"),
        ({"classes": ("a", "c")}, "do not go together"),
        ({"counts": {"other": 1}}, "counts must be learned"),
        ({"counts": {"learned": -1}}, "learned"),
    ):
        with pytest.raises((ValueError, TypeError), match=reason):
            new()._check_parts({**state, **change})
