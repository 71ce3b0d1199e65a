"""Advice is put after the error's own words, once, and only where there is some."""

import numpy as np
import pytest

from mixable import GAFClassifier
from mixable.estimators.rows import about_outcomes, about_rows, on_outcomes, on_rows


def test_the_error_keeps_its_kind_and_its_words():
    error = TypeError("float() argument must be a number.")
    with pytest.raises(TypeError) as raised, about_rows(GAFClassifier(), iter([])):
        raise error
    assert raised.value is error
    assert str(error).startswith("float() argument must be a number. X is a list_iterator: ")


def test_advice_is_given_once():
    inner, outer = (about_rows(GAFClassifier(), np.eye(2)) for _ in range(2))
    with pytest.raises(ValueError, match="infinity") as raised, outer, inner:
        raise ValueError("infinity")
    assert str(raised.value).count("NaN is taken as missing") == 1


def test_other_errors_pass_as_they_are():
    for about in (about_rows(GAFClassifier(), np.eye(2)), about_outcomes([1], 1)):
        with pytest.raises(ValueError, match=r"^something else\.$"), about:
            raise ValueError("something else.")
    assert on_rows(GAFClassifier(), np.eye(2), ValueError("no")) == ""
    assert on_outcomes([1], 1, "no") == ""


def test_lines_stay_lines():
    text = "The feature names should match:\n- pay\n"
    with pytest.raises(ValueError, match="- pay\nGive the columns"), about_rows(None, np.eye(2)):
        raise ValueError(text)
