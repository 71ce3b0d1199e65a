"""The design of a learner: which forecaster, on which inputs."""

import copy

import numpy as np
import pytest

from mixable import AIOLI, GAF, ONS, VAW, AutoGAF, AutoRidge, Folklore
from mixable.model import Design, KernelPlan
from mixable.model.inputs import ScaledInputs
from mixable.model.kernel_inputs import KernelInputs

NOTHING = {"lam": None, "beta": None, "alpha": None, "drift": None}
EVERYTHING = {"lam": 0.5, "beta": 1.0, "alpha": 4.0, "drift": 0.0}
PLAN = KernelPlan(method="fourier", n_components=7, gamma=None)


def test_what_is_not_given_is_mixed_over():
    assert Design.for_classes(None, EVERYTHING).kind is GAF
    assert Design.for_classes(None, NOTHING).kind is AutoGAF
    some = Design.for_classes(None, {**NOTHING, "lam": 0.5, "alpha": 4.0})
    assert {lam for lam, _, _ in some.parameters["grid"]} == {0.5}
    assert some.parameters["alphas"] == (4.0,)
    assert some.parameters["scale"] == 1.0  # what is given is in absolute units
    numbers = Design.for_numbers({"lam": None, "drift": 0.0})
    assert numbers.kind is AutoRidge
    assert {drift for _, drift in numbers.parameters["grid"]} == {0.0}


def test_another_kind_takes_what_is_given():
    design = Design.for_classes(Folklore, {"lam": 2.0, "beta": None}, structure="blocks")
    f = design.forecaster(3, 4)
    assert (type(f), f.lam, f.beta, f.structure) == (Folklore, 2.0, 1.0, "blocks")
    assert (f.n_features, f.n_classes) == (4, 4)  # with the intercept


@pytest.mark.parametrize(
    ("kind", "given", "message"),
    [
        (VAW, {}, "must be a multiclass forecaster class"),
        ("GAF", {}, "must be a multiclass forecaster class"),
        (AIOLI, {}, "must take any number of classes"),
        (ONS, {"alpha": 1.0}, "ONS has no parameter alpha"),
    ],
)
def test_kinds_that_are_refused(kind, given, message):
    with pytest.raises(TypeError, match=message):
        Design.for_classes(kind, given)


@pytest.mark.parametrize("kernel", [None, PLAN])
@pytest.mark.parametrize("fixed", [NOTHING, EVERYTHING])
@pytest.mark.parametrize("flags", [(True, True), (False, True), (True, False)])
def test_the_forecaster_takes_the_rows_that_the_inputs_make(kernel, fixed, flags):
    standardize, intercept = flags
    design = Design.for_classes(
        None, fixed, standardize=standardize, intercept=intercept, kernel=kernel
    )
    inputs, f = design.inputs(3), design.forecaster(3, 2)
    assert type(inputs) is (ScaledInputs if kernel is None else KernelInputs)
    assert inputs.transform(np.zeros(3)).shape == (f._row_length,)
    assert design.fits(f, 3)
    assert not design.fits(f, 2)
    assert not design.fits(VAW(f.n_features), 3)


def test_a_saved_design_is_checked():
    design = Design.for_classes(None, EVERYTHING)
    assert copy.deepcopy(design).parameters == EVERYTHING
    for change, message in (
        ({"kind": dict}, "must be of a forecaster"),
        ({"parameters": {"evil": 1}}, "does not have the parameters"),
        ({"kernel": "rbf"}, "kernel must be None or a KernelPlan"),
        ({"standardize": "yes"}, "standardize must be True or False"),
        ({"kind": AutoGAF, "parameters": {"threads": "2"}}, "threads must be an integer"),
    ):
        with pytest.raises(TypeError, match=message):
            Design.__new__(Design).__setstate__({**vars(design), **change})
