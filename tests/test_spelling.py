"""Names that were not found."""

import inspect

import pytest

from mixable import GAFClassifier, GAFRegressor
from mixable._spelling import did_you_mean, names_its_parameters


def test_only_what_is_alike_is_proposed():
    assert did_you_mean("efort", ["effort", "lam"]) == "; did you mean 'effort'?"
    assert did_you_mean("zzz", ["effort", "lam"]) == ""


def test_a_constructor_keeps_its_signature_and_names_what_it_takes():
    class Thing:
        @names_its_parameters
        def __init__(self, *, lam: float = 1.0) -> None:
            self.lam = lam

    assert str(inspect.signature(Thing)) == "(*, lam: float = 1.0) -> None"
    assert Thing(lam=2.0).lam == 2.0
    with pytest.raises(TypeError, match=r"Thing has no parameter 'x' \(its parameters are lam\)"):
        Thing(x=1)
    with pytest.raises(TypeError, match="positional"):
        Thing(1.0)


@pytest.mark.parametrize("kind", [GAFClassifier, GAFRegressor])
def test_parameters_are_still_found(kind):
    assert {"lam", "verbose", "effort"} <= kind().get_params().keys()
