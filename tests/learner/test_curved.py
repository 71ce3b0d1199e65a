"""Which design a regressor has."""

import copy

import numpy as np
import pytest

import mixable as mx
from mixable.learner import CurvedDesign, CurvedRidge, Design, design_of_numbers

FREE = {"lam": None, "drift": None}
FEATURES = (20, None, "fourier")


def test_auto_is_curved_unless_the_effort_is_low():
    assert type(design_of_numbers(FREE, kernel="auto", features=FEATURES)) is CurvedDesign
    design = design_of_numbers(FREE, kernel="auto", features=FEATURES, effort="low")
    assert type(design) is Design
    assert design.is_linear


@pytest.mark.parametrize("fixed", [{"lam": 1.0}, {"drift": 1e-3}, {"lam": 1.0, "drift": 0.0}])
def test_parameters_are_those_of_the_linear_part(fixed):
    design = design_of_numbers({**FREE, **fixed}, kernel="auto", features=FEATURES)
    assert type(design) is CurvedDesign
    for at, name in enumerate(FREE):
        settings = {row[at] for row in design.linear.parameters["grid"]}
        assert name not in fixed or settings == {fixed[name]}
    assert design.curved.is_like(design_of_numbers(FREE, kernel="auto", features=FEATURES).curved)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2))
    y = np.sin(3 * X[:, 0]) + 0.05 * rng.normal(size=500)
    said = mx.GAFRegressor(kernel=mx.kernels.Auto(40), **fixed).prequential(X, y)
    assert np.mean((said - y)[300:] ** 2) < 0.5 * y.var()


def test_a_forecaster_fits_its_own_design_only():
    design = design_of_numbers(FREE, kernel="auto", features=FEATURES)
    forecaster = design.forecaster(3, None)
    assert isinstance(forecaster, CurvedRidge)
    assert not design.is_linear
    assert design.fits(forecaster, 3)
    assert not design.fits(forecaster, 4)
    assert not design.fits(forecaster.linear, 3)
    other = design_of_numbers(FREE, kernel="auto", features=(21, None, "fourier"))
    assert not other.fits(forecaster, 3)
    high = design_of_numbers(FREE, kernel="auto", features=FEATURES, effort="high")
    assert not high.fits(forecaster, 3)


def test_a_copy_is_the_same_design_and_parts_of_other_kinds_are_refused():
    design = design_of_numbers(FREE, kernel="auto", features=FEATURES)
    assert copy.copy(design).fits(design.forecaster(2, None), 2)
    state = design.__getstate__()
    for wrong in ({"linear": state["curved"]}, {"curved": 3}, {"rests": 1}):
        with pytest.raises(TypeError, match="curved design"):
            CurvedDesign.__new__(CurvedDesign).__setstate__({**state, **wrong})


def test_words_that_are_no_kernel_are_refused():
    with pytest.raises(ValueError, match="kernel must be None, 'rbf' or 'auto'"):
        design_of_numbers(FREE, kernel="poly", features=FEATURES)
    with pytest.raises(ValueError, match="n_components"):
        design_of_numbers(FREE, kernel="auto", features=(0, None, "fourier"))
