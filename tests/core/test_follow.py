"""The compiled loop of predicting and learning, row by row."""

import itertools

import numpy as np
import pytest

import mixable as mx
from mixable.learner import Design


@pytest.mark.parametrize(("d", "K"), [(18, 4), (700, 3)])
def test_bits_do_not_depend_on_how_rows_are_spread_over_calls(d, K):
    """Also where BLAS does the products, whose bits in `run` do depend on it; and they are those of
    predict and learn.
    """
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, d)), rng.integers(-1, K, 90)
    design = Design.for_classes(mx.GAF, {})
    outcomes = []
    for cuts in ([0, 90], [0, 1, 8, 50, 51, 90], list(range(91))):
        f, scaler = design.forecaster(d, K), design.inputs(d).scaler
        parts = [f._core.follow(scaler, X[i:j], y[i:j]) for i, j in itertools.pairwise(cuts)]
        assert [part[1:] for part in parts] == [(j - i, None) for i, j in itertools.pairwise(cuts)]
        outcomes.append((np.concatenate([part[0] for part in parts]).tobytes(), f.coef.tobytes()))
    f, scaler, P = design.forecaster(d, K), design.inputs(d).scaler, []
    for x, label in zip(X, y, strict=True):
        z = scaler.transform(x)
        P.append(f.predict(z))
        if label >= 0:
            f.learn(z, label)
            scaler.learn(x)
    outcomes.append((np.array(P).tobytes(), f.coef.tobytes()))
    assert len(set(outcomes)) == 1


def test_what_is_too_large_is_refused_and_nothing_of_it_learned():
    f = mx.GAF(2, 2, lam=1e-14)
    scaler = mx._core.Scaler(2, False, False, 1)
    _, done, reason = f._core.follow(
        scaler, np.array([[1.0, 1.0], [1e9, 0.0], [1.0, 1.0]]), np.array([0, 1, 0])
    )
    assert (done, f.steps) == (1, 1)
    assert "too large" in reason
