"""Posteriors with structure in plain NumPy, against the inverse of what they accumulate."""

import numpy as np
import pytest
from scipy.optimize import minimize
from streams import logistic_stream

from mixable import GAF
from mixable.integrals import softmax
from mixable.paper.structured import STRUCTURES, Blocks, Diagonal, Shared, StructuredGAF, leader

D, K, LAM = 3, 4, 0.5


@pytest.fixture
def examples(rng):
    return [(rng.normal(size=D), rng.uniform(0, 1, size=K)) for _ in range(20)]


def learned(kind, examples, drift=0.0):
    posterior = kind(D, K, lam=LAM, drift=drift)
    for x, f in examples:
        posterior.learn(x, posterior.read(x), f)
    return posterior


def test_blocks_are_inverses_of_the_curvature_of_each_class(examples):
    S = learned(Blocks, examples).S
    for c in range(K):
        A = LAM * np.eye(D) + sum(f[c] * np.outer(x, x) for x, f in examples)
        np.testing.assert_allclose(S[c], np.linalg.inv(A), rtol=1e-9)


def test_a_shared_block_has_the_mean_curvature(examples):
    posterior = learned(Shared, examples)
    A = LAM * np.eye(D) + sum(f.mean() * np.outer(x, x) for x, f in examples)
    np.testing.assert_allclose(posterior.S, np.stack([np.linalg.inv(A)] * K), rtol=1e-9)


def test_a_diagonal_is_the_inverse_of_the_sum_of_squares(examples):
    A = LAM + sum(f[:, None] * x**2 for x, f in examples)
    np.testing.assert_allclose(learned(Diagonal, examples).S, 1 / A, rtol=1e-12)


def test_drift_reaches_all_of_a_block_and_of_a_diagonal_what_was_seen():
    x, nothing = np.array([1.0, 0.0, 2.0]), np.zeros(K)
    np.testing.assert_allclose(
        learned(Blocks, [(x, nothing)], drift=0.1).S, np.stack([2.1 * np.eye(D)] * K)
    )
    np.testing.assert_allclose(
        learned(Diagonal, [(x, nothing)], drift=0.1).S, np.tile([2.1, 2.0, 2.1], (K, 1))
    )


@pytest.mark.parametrize("weight", [0.5, 20.0])
def test_the_leader_is_the_minimum(weight, rng):
    m, g = 3 * rng.normal(size=K), rng.uniform(0.1, 5, size=K)

    def objective(u):
        return ((u - m) ** 2 / g).sum() + weight * (np.logaddexp.reduce(u) - u[1])

    found = minimize(objective, m, method="BFGS", options={"gtol": 1e-10})
    np.testing.assert_allclose(leader(m, g, 1, weight), found.x, atol=1e-5)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_a_stream_is_forecast_as_by_gaf(structure):
    X, y = logistic_stream(50, D, K)
    f, compiled = StructuredGAF(D, K, structure), GAF(D, K, structure=structure, mu=0.0)
    for x, label in zip(X, y.tolist(), strict=True):
        np.testing.assert_allclose(f.predict(x), compiled.predict(x), atol=1e-10)
        f.learn(x, label)
        compiled.learn(x, label)
    np.testing.assert_allclose(softmax(f.W @ X[0]), softmax(compiled.coef @ X[0]), atol=1e-10)
