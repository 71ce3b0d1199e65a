"""Structures of a posterior: their names, the shapes that they are saved in, what they take."""

import pytest

from mixable import GAF, _validate
from mixable.experts.structure import (
    STRUCTURES,
    checked_structure,
    in_mixture,
    refuse_if_too_large,
    shapes,
)


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize(("d", "K"), [(3, 2), (2, 5)])
def test_a_state_has_the_shapes_that_are_announced(structure, d, K):
    state = GAF(d, K, structure=structure).__getstate__()["state"]
    assert {name: state[name].shape for name in shapes(d, K, structure)} == shapes(d, K, structure)


def test_names_that_are_refused():
    for wrong in ("Full", "", None, 3, ("full",)):
        with pytest.raises(ValueError, match="structure must be one of 'full', 'blocks'"):
            checked_structure(wrong)


def test_of_two_classes_all_but_the_diagonal_is_one_block():
    assert [in_mixture(each, 2) for each in STRUCTURES] == ["full", "full", "full", "diagonal"]
    assert [in_mixture(each, 3) for each in STRUCTURES] == list(STRUCTURES)


def test_posteriors_are_refused_if_they_do_not_fit_together(monkeypatch):
    asked = []
    monkeypatch.setattr(_validate, "memory", lambda needed, what: asked.append((needed, what)))
    f = GAF(10, 3)
    totals = []
    for posteriors in (1, 2):
        refuse_if_too_large(f, 3, [("full", 0.0)] * posteriors)
        totals.append(asked[-1][0])
    assert totals[0] >= 8 * 20**2  # A^-1 at least
    assert totals[1] == 2 * totals[0]
    assert asked[-1][1] == "GAF with 10 features and 3 classes"
    refuse_if_too_large(f, 3, [("diagonal", 0.0)])
    assert asked[-1][0] < totals[0]
