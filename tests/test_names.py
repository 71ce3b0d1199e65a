"""Names of version 0.2 work, and say what they are called now."""

import numpy as np
import pytest

import mixable as mx
from mixable import _renamed, merging, plots

X = np.random.default_rng(0).normal(size=(40, 3))
LABELS = np.arange(40) % 2


@pytest.mark.parametrize(
    "make", [lambda: mx.AutoGAF(3, 2), lambda: mx.Pool([mx.GAF(3, 2), mx.AutoGAF(3, 2)])]
)
def test_attributes_have_their_old_names(make):
    model = make()
    model.run(X, LABELS)
    with pytest.warns(FutureWarning, match="trust is called expert_weights now"):
        assert model.trust.tolist() == model.expert_weights.tolist()


def test_the_fallback_of_autogaf_was_its_guard():
    with pytest.warns(FutureWarning, match="guard is called fallback now"):
        old = mx.AutoGAF(3, 2, guard=None)
    assert old.fallback is None
    assert old.fallback_kind is None
    with pytest.warns(FutureWarning, match="guard_kind is called fallback_kind"):
        assert old.guard_kind is None
    with pytest.raises(TypeError, match="give one of them"):
        mx.AutoGAF(3, 2, guard=None, fallback=None)
    with pytest.warns(FutureWarning):
        bound = mx.bounds.auto_gaf(846, 19, 4, 1.0, 10.0, 1.0, guard=10.0)
    assert bound == mx.bounds.auto_gaf(846, 19, 4, 1.0, 10.0, 1.0, fallback=10.0)


def test_functions_have_their_old_names():
    with pytest.warns(FutureWarning, match=r"mixable\.plots\.trust is called expert_weights"):
        assert plots.trust is plots.expert_weights
    with pytest.warns(FutureWarning, match="settle is called freeze"):
        assert merging.settle is merging.freeze
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = plots.nothing


def test_an_old_argument_reaches_the_function():
    @_renamed.arguments(old="new")
    def function(new=0):
        return new

    with pytest.warns(FutureWarning):
        assert function(old=3) == 3
    assert function(new=4) == 4
