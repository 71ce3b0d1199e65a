"""What public functions accept: an error names the argument, and the first bad place."""

import math

import numpy as np
import pytest

from mixable import _validate

RAGGED = [[1.0, 2.0], [3.0]]
MASKED = np.ma.array([1.0, 2.0], mask=[False, True])


@pytest.mark.parametrize(
    ("check", "error", "message"),
    [
        (lambda: _validate.as_floats(None, "X"), TypeError, "X must be an array of numbers"),
        (lambda: _validate.as_floats(RAGGED, "X"), ValueError, "X is ragged"),
        (lambda: _validate.as_floats(MASKED, "X"), ValueError, "X has masked entries"),
        (lambda: _validate.as_floats([1j], "X"), TypeError, "X must be real"),
        (lambda: _validate.as_floats(["a"], "X"), TypeError, "X must be numeric"),
        (lambda: _validate.as_floats([0.0, {}], "X"), TypeError, r"X\[1\] is not made of numbers"),
        (lambda: _validate.as_floats([0, 10**400], "X"), ValueError, r"X\[1\] holds a number too"),
        (lambda: _validate.row([1.0], 2), ValueError, r"x must have shape \(2,\), got \(1,\)"),
        (lambda: _validate.row([1.0, math.nan], 2), ValueError, r"x\[1\] is nan"),
        (lambda: _validate.table([[1.0], [math.inf]], 1), ValueError, r"X\[1, 0\] is inf"),
        (lambda: _validate.table(np.empty((0, 1)), 1), ValueError, "X is empty"),
        (lambda: _validate.label(1.0, 3), TypeError, "y must be an integer label, got float"),
        (lambda: _validate.label(3, 3), ValueError, "y is 3; labels are 0 to 2"),
        (lambda: _validate.labels([0, 3], 3, 2), ValueError, r"y\[1\] is 3; labels are 0 to 2"),
        (lambda: _validate.labels([0.0], 3, 1), TypeError, "y must be integer labels"),
        (lambda: _validate.labels([0], 3, 2), ValueError, r"y must have shape \(2,\)"),
        (lambda: _validate.targets([1e9], 1, 1e3), ValueError, "at most 1000 in size"),
        (lambda: _validate.weights([-1.0], 1), ValueError, r"weight\[0\] is -1.0"),
        (lambda: _validate.count(2.0, "m"), TypeError, "m must be an integer, got float"),
        (lambda: _validate.count(0, "m"), ValueError, "m must be at least 1, got 0"),
        (lambda: _validate.count(9, "m", most=8), ValueError, "m must be at most 8, got 9"),
        (lambda: _validate.count(2**63, "m"), ValueError, r"m must be below 2\^63"),
        (lambda: _validate.real("1", "lam"), TypeError, "lam must be a number, got str"),
        (lambda: _validate.real(0, "b", above=0), ValueError, "b must be above 0, and finite"),
        (lambda: _validate.real(math.inf, "b"), ValueError, "b must be a number, and finite"),
        (lambda: _validate.flag(1, "sleep"), TypeError, "sleep must be True or False, got 1"),
        (lambda: _validate.drift(1.0, 1e200), ValueError, "drift must be at least 0 and at most"),
        (lambda: _validate.saved([0.0], (1,), "V"), TypeError, "saved V must be an array"),
        (lambda: _validate.saved(np.ones(2), (1,), "V"), ValueError, r"V must have shape \(1,\)"),
    ],
)
def test_refusals(check, error, message):
    with pytest.raises(error, match=message):
        check()


def test_what_is_accepted_comes_back_as_plain_numbers():
    assert _validate.as_floats([[True, 2]], "X").dtype == np.float64
    assert _validate.label(np.True_, 2) == 1
    assert _validate.labels(np.array([1, 0], dtype=object), 2, 2).tolist() == [1, 0]
    assert type(_validate.count(np.int8(3), "m")) is int
    assert type(_validate.real(np.float32(0.5), "mu")) is float
    assert _validate.mixability(math.inf, "alpha") == math.inf
    assert _validate.weights(None, 3) is None


def test_an_optional_value_is_none_or_checked():
    check = _validate.optional(_validate.count)
    assert check(None, "moves", most=5) is None
    assert check(5, "moves", most=5) == 5
    with pytest.raises(ValueError, match="moves must be at most 5"):
        check(6, "moves", most=5)


def test_a_size_names_the_first_row_that_is_too_large():
    _validate.size(np.array([[3.0, 4.0]]), 25.0, "X")
    with pytest.raises(ValueError, match=r"X\[1\] is too large: \|x\|\^2 is 25"):
        _validate.size(np.array([[1.0, 0.0], [3.0, 4.0]]), 24.0, "X")
    with pytest.raises(ValueError, match=r"x is too large: \|x\|\^2 is inf"):
        _validate.size(np.array([1e200]), 24.0, "x")
