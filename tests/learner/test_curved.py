"""Which design a regressor has."""

import copy

import pytest

from mixable.learner import CurvedDesign, CurvedRidge, Design, design_of_numbers

FREE = {"lam": None, "drift": None}
FEATURES = (20, None, "fourier")


def test_auto_is_curved_and_what_is_given_makes_it_linear():
    assert type(design_of_numbers(FREE, kernel="auto", features=FEATURES)) is CurvedDesign
    for fixed, options in (({"lam": 1.0, "drift": None}, {}), (FREE, {"effort": "low"})):
        design = design_of_numbers(fixed, kernel="auto", features=FEATURES, **options)
        assert type(design) is Design
        assert design.is_linear


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
