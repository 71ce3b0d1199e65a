"""The design of regression on records, from that of numbers."""

import pytest

import mixable as mx
from mixable.learner import RecordRidgeDesign, design_of_numbers, design_of_records
from mixable.learner.pooled import takes_records

FEATURES = (4, None, "nystroem")
NOTHING = {"lam": None, "drift": None}


def plan(kernel="auto", *, fixed=NOTHING, numbers=True, crosses=False, **options):
    design = design_of_numbers(fixed, kernel=kernel, features=FEATURES, **options)
    return design_of_records(design, numbers=numbers, crosses=crosses)


def test_the_second_stage_is_curved_where_that_of_numbers_is():
    assert plan().curved is not None
    assert plan(None).curved is None
    assert plan(effort="low").curved is None
    assert plan(numbers=False).curved is None  # sparse matrices
    assert len(plan(effort="low").linear.parameters["grid"]) == 1
    assert not plan(effort="high").linear.parameters["sleep"]


def test_crosses_are_among_the_features_where_they_were_asked_for():
    assert plan(crosses=True).shapes.takes_crosses
    assert not plan().shapes.takes_crosses


def test_an_intercept_and_scaled_numbers_there_are_always():
    made = plan(standardize=False, intercept=False)
    assert made.intercept
    assert made.standardize
    assert made.forecaster(2, None).head.inputs.intercept


@pytest.mark.parametrize(
    ("kernel", "fixed"),
    [("rbf", NOTHING), ("auto", {"lam": 1.0, "drift": None}), (None, {"lam": None, "drift": 0.1})],
)
def test_what_is_for_numbers_only_is_refused(kernel, fixed):
    design = design_of_numbers(fixed, kernel=kernel, features=FEATURES)
    assert not takes_records(design)
    with pytest.raises(TypeError, match="neither lam nor drift"):
        design_of_records(design)


def test_designs_that_ask_for_the_same_are_alike():
    assert plan().is_like(plan())
    for other in (plan(None), plan(crosses=True), plan(effort="high")):
        assert not plan().is_like(other)
    forecaster = plan().forecaster(3, None)
    assert plan().fits(forecaster, 3)
    assert not plan().fits(forecaster, 2)
    assert not plan(None).fits(forecaster, 3)


@pytest.mark.parametrize(
    "change",
    [
        {"grid": ()},
        {"grid": ((0.0, 1.0),)},
        {"grid": ((1.0, float("nan")),)},
        {"shapes": None},
        {"rests": 1},
        {"linear": None},
        {"curved": plan().linear},
        {"linear": plan().curved},
        {"linear": mx.learner.Design(mx.AutoRidge, {}, standardize=True, intercept=False)},
    ],
)
def test_a_forged_design_is_refused(change):
    state = {**plan().__getstate__(), **change}
    with pytest.raises((TypeError, ValueError)):
        RecordRidgeDesign.__new__(RecordRidgeDesign).__setstate__(state)
