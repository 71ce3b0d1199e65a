"""AutoGAF: the unit of the inputs, which may jump."""

import pickle

import numpy as np
import pytest
from streams import logistic_stream

from mixable import AutoGAF
from mixable.losses import log_loss


@pytest.mark.parametrize(
    ("row", "factor"),
    [(0, 1e-9), (0, 1e3), (0, 1e5), (5, 1e4), (2, 1e12), (500, 1e5), (500, 1e12), (500, 1e100)],
)
def test_one_input_of_another_size_does_little_harm(row, factor):
    X, y = logistic_stream(2000, 4, 3)
    wild = X.copy()
    wild[row] *= factor
    p = AutoGAF(4, 3).run(wild, y)
    assert np.isfinite(p).all()
    assert log_loss(p, y)[50:].mean() < 1.06 * log_loss(AutoGAF(4, 3).run(X, y), y)[50:].mean()


@pytest.mark.parametrize(("d", "K"), [(10, 4), (5, 2)])
@pytest.mark.parametrize("factor", [1e6, 1e3, 1e-6])
def test_a_jump_of_the_inputs_size_and_back_is_recovered_from(d, K, factor):
    X, y = logistic_stream(4000, d, K)
    X[1500:2000] *= factor
    f = AutoGAF(d, K)
    losses = log_loss(f.run(X, y), y)
    for jump, judged, end in ((1500, 1800, 2000), (2000, 3000, 4000)):
        fresh = log_loss(AutoGAF(d, K).run(X[jump:end], y[jump:end]), y[jump:end])
        assert losses[judged:end].mean() <= 1.1 * fresh[judged - jump :].mean()


def test_what_was_known_of_the_old_size_is_there_after_a_short_jump():
    X, y = logistic_stream(3000, 10, 4)
    steady = log_loss(AutoGAF(10, 4).run(X, y), y)
    X[2000:2200] *= 1e6
    jumped = log_loss(AutoGAF(10, 4).run(X, y), y)
    assert jumped[2250:].mean() <= 1.05 * steady[2250:].mean()


def test_run_equals_the_loop_and_copies_go_on_where_the_size_jumps():
    X, y = logistic_stream(1500, 4, 3)
    X[700:900] *= 1e-6
    whole, one = AutoGAF(4, 3), AutoGAF(4, 3)
    p = whole.run(X, y)
    expected = []
    for t, (x, label) in enumerate(zip(X, y.tolist(), strict=True)):
        expected.append(one.predict(x))
        one.learn(x, label)
        if t % 250 == 30:
            one = pickle.loads(pickle.dumps(one))
        if t == 800:
            assert one.input_scale < 1e-9
    np.testing.assert_allclose(p, expected, rtol=0, atol=1e-9)
    assert whole.input_scale > 1e-2


def test_run_equals_the_loop_and_copies_go_on_where_the_scale_changes():
    X, y = logistic_stream(40, 4, 3)
    X[:3] *= 1e-7
    whole, one = AutoGAF(4, 3), AutoGAF(4, 3)
    expected = []
    for t, (x, label) in enumerate(zip(X, y.tolist(), strict=True)):
        expected.append(one.predict(x))
        one.learn(x, label)
        if t in (0, 2, 3, 9):
            one = pickle.loads(pickle.dumps(one))
    np.testing.assert_allclose(whole.run(X, y), expected, rtol=0, atol=1e-9)
    assert 0.01 < whole.input_scale < 100


def test_weights_beyond_double_precision_are_refused():
    X, y = logistic_stream(100, 4, 3)
    f = AutoGAF(4, 3)
    f.run(X[:50], y[:50], np.full(50, 1e3))
    with pytest.raises(ValueError, match="cannot be learned in double precision"):
        f.learn(X[50], 0, 1e300)
    assert f.steps == 50
    with pytest.raises(ValueError, match="cannot be learned in double precision"):
        f.run(X[50:60], y[50:60], np.where(np.arange(10) == 4, 1e300, 1.0))
    assert f.steps == 54  # the rows before are learned
