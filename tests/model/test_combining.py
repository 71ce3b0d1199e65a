"""A forecaster with its inputs: where features and classes are, and those that rest."""

import numpy as np
import pytest
from shards import PARTS, X, Y

import mixable as mx
from mixable._natural import Change
from mixable.model import statistics
from mixable.model.combining import Coordinates, Part, combined_part
from mixable.model.inputs import ScaledInputs

HERE = Coordinates([0, 1, 2, 3], Change(), intercept=True)


def part(rows):
    inputs = ScaledInputs(4, intercept=True, standardize=True, views=1)
    forecaster = mx.GAF(5, 3)
    if rows is not None:
        forecaster.run(inputs.scaler.learn(X[rows]), Y[rows])
    return Part(inputs, forecaster)


def test_terms_that_have_learned_nothing_say_nothing():
    base, more = part(PARTS[0]), part(slice(0, 400))
    state, merged = combined_part(base, [base, more, base], base, [HERE] * 3)
    assert merged.steps == 400
    assert state["count"].tolist() == [[400.0] * 4]
    state, same = combined_part(base, [base, base], base, [HERE] * 2)
    assert same.steps == 150
    np.testing.assert_array_equal(state["mean"], base.inputs.state()["mean"])
    state, none = combined_part(part(None), [base], base, [HERE])
    assert none.steps == 0
    assert state["count"].tolist() == [[0.0] * 4]


def test_features_change_places():
    other = Coordinates([2, 0, 1, 3], Change(), intercept=True)
    change = other.of_rows(5, None)
    assert (change.rows @ [1.0, 20, 30, 10, 40]).tolist() == [1.0, 30, 10, 20, 40]
    assert HERE.of_rows(5, None).rows is None


def test_features_of_kernels_must_keep_their_places():
    state = {"count": X[:1], "mean": X[:1], "square": X[:1], "early": X.T, "first": X[:1, :1]}
    with pytest.raises(ValueError, match="same features in one order"):
        statistics.reordered(state, [1, 0, 2, 3])
