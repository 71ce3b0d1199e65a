"""Forecasters of the compiled core: their states, and what Python adds to them."""

import copy

import numpy as np
import pytest
from streams import logistic_stream

from mixable import AIOLI, FTRL, GAF, OGD, ONS, AutoGAF, Folklore
from mixable.experts.compiled import is_all_compiled, with_structure
from mixable.integrals import Quadrature, Sobol

X, Y = logistic_stream(40, 3, 4)


@pytest.mark.parametrize(
    ("make", "is_so"),
    [
        (lambda: GAF(2, 3), True),
        (lambda: Folklore(2, 3), True),
        (lambda: OGD(2, 3), True),
        (lambda: AIOLI(2), True),
        (lambda: AutoGAF(2, 3), True),
        (lambda: ONS(2, 3, radius=1.0), False),  # Python projects
        (lambda: FTRL(2, 3), False),
        (lambda: type("Mine", (GAF,), {"predict": lambda self, x: x})(2, 3), False),
    ],
)
def test_whose_verbs_are_all_compiled(make, is_so):
    assert is_all_compiled(make()) is is_so


@pytest.mark.parametrize("drift", [0.0, 0.01])
def test_precision_and_covariances_are_of_one_gaussian(drift):
    """Of the weights that matter: differences between classes."""
    f = GAF(3, 4, drift=drift, lam=0.5)
    f.run(X, Y)
    covariance = 0.5 * np.linalg.inv(f.precision()).reshape(4, 3, 4, 3)
    each = f.feature_covariances()
    contrast = np.array([1.0, -1.0, 0.0, 0.0])
    for j in range(3):
        expected = contrast @ covariance[:, j, :, j] @ contrast
        assert contrast @ each[j] @ contrast == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("structure", ["blocks", "shared", "diagonal"])
def test_precision_of_a_structure_is_the_inverse_of_what_is_kept(structure):
    f = GAF(3, 4, structure=structure)
    f.run(X, Y)
    shapes = {"blocks": (4, 3, 3), "shared": (3, 3), "diagonal": (4, 3)}
    A = f.precision()
    assert A.shape == shapes[structure]
    kept = f._core.covariance()
    inverse = 1 / A if structure == "diagonal" else np.linalg.inv(A)
    np.testing.assert_allclose(inverse.reshape(kept.shape), kept, rtol=1e-9)
    np.testing.assert_allclose(f.coef.sum(axis=0), 0, atol=1e-12)


def test_a_state_of_other_sizes_is_refused_before_anything_is_made():
    f = GAF(3, 4)
    f.run(X, Y)
    state = copy.deepcopy(f.__getstate__())
    state["parameters"]["n_features"] = 10**6
    with pytest.raises(ValueError, match=r"V must have shape \(3, 1000000\), got \(3, 3\)"):
        GAF.__new__(GAF).__setstate__(state)


def test_a_state_of_version_0_1_is_full_and_has_its_points():
    state = {"parameters": {"n_classes": 3, "integrator": None}, "state": {}}
    assert with_structure(state)["parameters"]["structure"] == "full"
    assert with_structure(state)["parameters"]["integrator"] == Sobol()
    state["parameters"]["n_classes"] = 2
    assert with_structure(state)["parameters"]["integrator"] == Quadrature()
    newer = {"parameters": {"structure": "blocks"}, "state": {}}
    assert with_structure(newer) is newer
