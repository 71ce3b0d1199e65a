"""The same promises for forecasters whose outcomes are numbers."""

import copy
import pickle

import numpy as np
import pytest
from promises import NUMBERS, D, N, X, changed, fingerprint


class TestRegression:
    """The same promises for forecasters whose outcomes are numbers."""

    TARGETS = X @ np.arange(D) + np.sin(np.arange(N))

    @pytest.fixture(params=NUMBERS)
    def f(self, request):
        return NUMBERS[request.param]()

    def test_run_equals_the_loop_and_predict_is_pure(self, f):
        whole = copy.deepcopy(f)
        expected = []
        for t in range(N):
            first = f.predict(X[t])
            f.predict(X[0])
            assert f.predict(X[t]) == first
            expected.append(first)
            f.learn(X[t], float(self.TARGETS[t]), 0.5)
        np.testing.assert_allclose(
            whole.run(X, self.TARGETS, np.full(N, 0.5)), expected, rtol=0, atol=1e-9
        )
        np.testing.assert_allclose(f.predict(X), [f.predict(x) for x in X], rtol=0, atol=1e-12)

    def test_copies_go_on_with_the_same_bits(self, f):
        f.run(X[:31], self.TARGETS[:31])
        twin = pickle.loads(pickle.dumps(f))
        assert np.array_equal(twin.run(X, self.TARGETS), f.run(X, self.TARGETS))

    @pytest.mark.parametrize(
        ("y", "error"),
        [
            (np.nan, ValueError),
            (np.inf, ValueError),
            ("1", TypeError),
            (None, TypeError),
            (1j, TypeError),
        ],
    )
    def test_bad_targets(self, f, y, error):
        before = fingerprint(f)
        with pytest.raises(error, match="y "):
            f.learn(X[0], y)
        assert fingerprint(f) == before

    @pytest.mark.parametrize(
        ("arguments", "error", "message"),
        [
            ((X, changed(TARGETS, 5, np.nan)), ValueError, r"y\[5\] is nan"),
            ((X, TARGETS[:-1]), ValueError, "y must have shape"),
            ((X, ["a"] * N), TypeError, "y must be numeric"),
            ((changed(X, (7, 2), np.nan), TARGETS), ValueError, r"X\[7, 2\] is nan"),
            ((X[:0], TARGETS[:0]), ValueError, "X is empty"),
        ],
    )
    def test_run_checks_everything_first(self, f, arguments, error, message):
        before = fingerprint(f)
        with pytest.raises(error, match=message):
            f.run(*arguments)
        assert fingerprint(f) == before

    def test_integers_and_numpy_numbers_are_targets(self, f):
        g = copy.deepcopy(f)
        for y in (3, np.float32(0.5), np.int64(-2), True):
            f.learn(X[0], y)
            g.learn(X[0], float(y))
        assert np.array_equal(f.coef, g.coef)
