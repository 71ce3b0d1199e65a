"""ONS against a dense recomputation, and its projection."""

import copy

import numpy as np
import pytest
from scipy.optimize import minimize
from streams import logistic_stream

from mixable import GAF, ONS
from mixable.integrals import softmax


@pytest.mark.parametrize(("d", "K"), [(4, 3), (3, 9), (40, 6), (450, 2)])
def test_ons_equals_a_dense_recomputation(d, K):
    lam, beta, n = 0.5, 0.8, 50
    X, y = logistic_stream(n, d, K)
    f = ONS(d, K, lam=lam, beta=beta)
    p = f.run(X, y)
    A, theta = lam * np.eye(K * d), np.zeros(K * d)
    for t in range(n):
        Phi = np.kron(np.eye(K), X[t][:, None])
        q = softmax(Phi.T @ theta)
        np.testing.assert_allclose(p[t], q, rtol=0, atol=1e-8)
        g = Phi @ (q - np.eye(K)[y[t]])
        A += np.outer(g, g)
        theta -= np.linalg.solve(A, g) / beta
    np.testing.assert_allclose(f.coef.ravel(), theta, rtol=0, atol=1e-8)
    np.testing.assert_allclose(f.precision(), A, rtol=0, atol=1e-8)


def test_ons_projects_in_the_norm_of_a():
    """Against SLSQP, step by step."""
    d, K, radius, beta = 2, 3, 0.7, 0.3
    X, y = logistic_stream(40, d, K)
    f = ONS(d, K, lam=0.2, beta=beta, radius=radius)
    projected = 0
    for t in range(40):
        before, A = f.coef.ravel(), f.precision()
        Phi = np.kron(np.eye(K), X[t][:, None])
        g = Phi @ (softmax(Phi.T @ before) - np.eye(K)[y[t]])
        A += np.outer(g, g)
        free = before - np.linalg.solve(A, g) / beta
        f.learn(X[t], y[t])
        if np.linalg.norm(free) > radius:
            projected += 1
            ball = {"type": "ineq", "fun": lambda v: radius**2 - v @ v, "jac": lambda v: -2 * v}
            start = free * radius / np.linalg.norm(free)
            free = minimize(
                lambda v, A=A, free=free: (v - free) @ A @ (v - free),
                start,
                jac=lambda v, A=A, free=free: 2 * A @ (v - free),
                method="SLSQP",
                constraints=[ball],
                options={"ftol": 1e-15, "maxiter": 500},
            ).x
        np.testing.assert_allclose(f.coef.ravel(), free, rtol=0, atol=1e-5)
        assert np.linalg.norm(f.coef) <= radius * (1 + 1e-12)
    assert projected > 10


def test_ons_refuses_weights_and_radii_that_overflow():
    f = ONS(2, 3)
    with pytest.raises(ValueError, match="double precision"):
        f.learn([1.0, 2.0], 0, 1e160)
    assert f.steps == 0
    with pytest.raises(ValueError, match="radius"):
        ONS.from_theory(2, 3, radius=300.0, bound=1.0)
    with pytest.raises(ValueError, match="bound"):
        GAF.from_theory(2, 3, radius=1.0, bound=1e-200)
    with pytest.raises(ValueError, match="radius"):
        ONS.from_theory(2, 3, radius=170.0, bound=1.0)
    with pytest.raises(ValueError, match="beta must be at least 1e-100"):
        ONS(1, 4, beta=1e-200)


@pytest.mark.parametrize("lam", [1.0, 1e-300])
def test_ons_with_the_least_beta_stays_in_the_ball(lam):
    f = ONS(1, 4, lam=lam, beta=1e-100, radius=10.0)
    for label in (0, 3):
        f.learn([0.3 * lam**0.5], label)
        assert np.linalg.norm(f.coef) <= 10.0 * (1 + 1e-9)
        assert np.linalg.norm(f.coef) >= 9.9


def test_a_weight_that_leaves_nothing_of_the_other_directions_is_refused():
    f = ONS(2, 3)
    f.learn([0.3, 1.0], 2, 1e7)
    with pytest.raises(ValueError, match="double precision"):
        f.learn([0.3, 1.0], 0, 1e12)
    f.add_features(1)
    assert copy.deepcopy(f).steps == 1
