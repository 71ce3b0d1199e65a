"""Forecasters that keep all their examples: what is saved, and what is not believed of a file."""

import copy

import numpy as np
import pytest
from streams import logistic_stream

from mixable import FTRL, Foster

X, Y = logistic_stream(12, 2, 3)


@pytest.fixture(params=[lambda: FTRL(2, 3), lambda: Foster(2, 3, m=4, moves=2)])
def learned(request):
    f = request.param()
    f.run(X, Y)
    return f


def test_examples_and_weights_are_kept_in_order(learned):
    learned.learn([1.0, -1.0], 2, 0.5)
    assert learned.steps == 13
    assert np.array_equal(learned._X, np.vstack([X, [1.0, -1.0]]))
    assert learned._y.tolist() == [*Y.tolist(), 2]
    assert learned._w.tolist() == [1.0] * 12 + [0.5]


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("_V", lambda V: V[..., :1], "saved V must have shape"),
        ("_V", lambda V: V * 1e308, "V must have shape|outside the ball"),
        ("_X", lambda X: X[1:], "saved X must have shape"),
        ("_X", lambda X: X * 1e200, "too large"),
        ("_y", lambda y: y + 3, r"y\[0\] is \d; labels are 0 to 2"),
        ("_w", lambda w: -w, r"weight\[0\] is -1.0"),
    ],
)
def test_a_state_that_cannot_be_is_refused(learned, name, change, message):
    state = copy.deepcopy(vars(learned))
    state[name] = change(state[name])
    with np.errstate(over="ignore"), pytest.raises(ValueError, match=message):
        type(learned).__new__(type(learned)).__setstate__(state)


def test_growing_learns_the_same_examples_again():
    f = FTRL(2, 3)
    f.run(X, Y)
    f.add_features(1)
    wide = FTRL(3, 3)
    wide.run(np.column_stack([X, np.zeros(12)]), Y)
    np.testing.assert_allclose(f.predict([1.0, 2.0, 3.0]), wide.predict([1.0, 2.0, 3.0]), rtol=1e-9)
    assert f.steps == 12
