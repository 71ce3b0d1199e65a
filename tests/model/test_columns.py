"""Rows from dictionaries: columns by name, and what is missing."""

import math

import numpy as np
import pandas as pd
import pytest

from mixable.model.columns import Columns, check_dictionary, finite_or_missing, label, number


@pytest.fixture
def columns():
    made = Columns()
    made.add(["a", "b", 3])
    return made


def test_new_names_get_the_next_places(columns):
    assert columns.new(["z", "a", "y", 3]) == ["z", "y"]
    columns.add(columns.new(["z", "a", "y"]))
    assert columns == {"a": 0, "b": 1, 3: 2, "z": 3, "y": 4}


def test_rows_have_what_is_known_and_nan_for_what_is_missing(columns):
    np.testing.assert_array_equal(columns.row({3: 1, "a": True}), [1.0, np.nan, 1.0])
    np.testing.assert_array_equal(columns.row({"b": None, "other": 7.0}), [np.nan] * 3)
    np.testing.assert_array_equal(columns.row({3: 3.0, "b": 2.0, "a": 1.0}), [1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    "x",
    [
        {"a": 1.0, "b": 2.0},
        {"a": 1.0, "b": 2.0, "c": 3.0},
        {"a": 1.0, "b": True, 3: 3.0},
        {"a": 1.0, "b": 10**400, 3: 3.0},
        {"a": 1.0, "b": math.nan, 3: 3.0},
        [1.0, 2.0, 3.0],
    ],
)
def test_a_row_is_plain_only_if_all_is_there_and_finite(columns, x):
    assert columns.plain_row(x) is None
    for whole in (2.0, 2):
        assert columns.plain_row({"b": whole, 3: 3.0, "a": 1.0}).tolist() == [1.0, 2.0, 3.0]


def test_tables_by_name(columns):
    table = columns.table(pd.DataFrame({"b": [1, None], "other": ["x", "y"], "a": [0.5, 2.0]}))
    np.testing.assert_array_equal(table, [[0.5, 1.0, np.nan], [2.0, np.nan, np.nan]])
    with pytest.raises(ValueError, match="infinite entries"):
        columns.table(pd.DataFrame({"a": [np.inf]}))
    with pytest.raises(ValueError, match="infinite entries"):
        finite_or_missing(np.array([[-np.inf]]))


def test_refusals():
    with pytest.raises(TypeError, match="feature 'a' must be a number, got 'red'"):
        number("a", "red")
    with pytest.raises(ValueError, match="feature 'a' is inf"):
        number("a", math.inf)
    with pytest.raises(TypeError, match="x must be a dictionary of features, got list"):
        check_dictionary([])
    with pytest.raises(TypeError, match="a label must be hashable"):
        label([1])
    for nothing in (None, math.nan):
        with pytest.raises(ValueError, match="a label must be a class"):
            label(nothing)
    assert label(("a", 1)) == ("a", 1)
