"""Foster against numerical integration."""

import copy

import numpy as np
import pytest

from mixable import Foster
from mixable.integrals import helmert, softmax


def test_foster_equals_numerical_integration_in_one_dimension():
    """One free weight v on [-B, B] with density (B^2 - v^2)^(1/2) exp(-loss): the marginal of the
    uniform disc of both classes' weights.
    """
    B, n, m = 4.0, 30, 400
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 1))
    y = (rng.random(n) < 1 / (1 + np.exp(-2 * X[:, 0]))).astype(int)
    v = np.linspace(-B, B, 20_001)[1:-1]
    log_density = 0.5 * np.log(B**2 - v**2)
    errors, scale = [], []
    f = Foster(1, 2, radius=B, mu=0.0, m=m, seed=1)
    for t in range(n):
        weights = np.exp(log_density - log_density.max())
        weights /= weights.sum()
        for x in (-1.0, 0.7, 2.5):
            values = softmax(helmert(2) @ (v * x)[None, :])[1]
            mean = weights @ values
            errors.append(f.predict([x])[1] - mean)
            scale.append(np.sqrt(weights @ (values - mean) ** 2 / m))
        z = helmert(2) @ (v * X[t, 0])[None, :]
        log_density = log_density + z[y[t]] - np.log(np.exp(z).sum(axis=0))
        f.learn(X[t], y[t])
    ratio = np.abs(errors) / np.array(scale)
    assert np.median(ratio) < 1.5
    assert ratio.max() < 6


def test_foster_refuses_what_it_cannot_serve_unless_told_to_go_on():
    with pytest.raises(ValueError, match=r"54 free weights.*force=True"):
        Foster(18, 4)
    assert Foster(18, 4, force=True).predict(np.zeros(18)).sum() == pytest.approx(1.0)


def test_foster_keeps_its_probabilities_positive_without_smoothing():
    f = Foster(1, 2, radius=5.0, mu=0.0, m=10)
    for _ in range(20):
        f.learn([1.0], 1)
    assert (f.predict([1e4]) > 0).all()


def test_foster_on_a_huge_ball_can_be_copied_and_takes_inputs_it_can_multiply():
    f = Foster(2, 4, radius=1e100, m=1, moves=1, mu=1e-6)
    assert copy.deepcopy(f).predict([1.0, 0.0]).sum() == pytest.approx(1)
    assert f.predict([1e49, 0.0]).sum() == pytest.approx(1)
    with pytest.raises(ValueError, match="x"):
        f.predict([1e60, 0.0])


def test_a_tiny_ball():
    """Found by tests/fuzz_api.py: the largest |x|^2 overflowed."""
    f = Foster(2, 3, radius=1e-6, m=3)
    f.learn([1.0, -1.0], 2)
    np.testing.assert_allclose(f.predict([1e3, 1.0]), 1 / 3, rtol=1e-2)
    with pytest.raises(ValueError, match="too large"):
        f.predict([1e101, 1.0])
