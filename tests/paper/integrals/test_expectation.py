"""The expectation of a softmax: compiled, in NumPy, in closed form and by brute force."""

import numpy as np
import pytest
from gaussians import brute_force, log_error

from mixable import GAF
from mixable.integrals import (
    Ladder,
    MonteCarlo,
    Pairwise,
    Rung,
    Sobol,
    expectation,
    helmert,
    pairwise,
)


def test_compiled_expectation_equals_its_numpy_twin_on_every_rung(core):
    """The first prediction after one example has a known mean and width; every kind of rung must
    agree.
    """
    rng = np.random.default_rng(4)
    for K in (2, 3, 6, 20):
        k, d = K - 1, 2
        ladders = [
            Sobol(64).rungs(k, 1),
            MonteCarlo(33).rungs(k, 9),
            [Rung("taylor", np.inf)],
            Ladder(1e-2).rungs(k, 0),
            Pairwise().rungs(k, 0),
            Sobol(64, most=512).rungs(k, 0),
        ]
        for ladder in ladders:
            f = core.GAF(d, K, 5.0, 1.0, 1.0, 0.0, 0.0, ladder)
            f.learn(rng.normal(size=d), 0)  # before that, forecasts are uniform
            for _ in range(3):
                x = rng.normal(size=d)
                Phi = np.kron(np.eye(k), x[:, None])
                expected = expectation(
                    f.mean() @ x, Phi.T @ f.covariance() @ Phi / 2, ladder, f.steps
                )
                np.testing.assert_allclose(f.predict(x), expected, rtol=0, atol=1e-12)
                f.learn(x, int(rng.integers(K)))


def test_forecaster_probabilities_agree_with_brute_force():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(80, 2))
    y = rng.integers(0, 3, 80)
    f = GAF(2, 3, lam=0.5, mu=0.0)
    f.run(X, y)
    for x in rng.normal(size=(10, 2)):
        Q, Phi = helmert(3), np.kron(np.eye(3), x[:, None])
        S = Q.T @ Phi.T @ np.linalg.solve(f.precision(), Phi) @ Q / 2
        width = np.linalg.eigvalsh(S)[-1]
        assert log_error(f.predict(x), brute_force(Q.T @ f.coef @ x, S)) <= Sobol(128).stated_error(
            width
        )


@pytest.mark.parametrize("K", [2, 3, 4])
@pytest.mark.parametrize(("width", "error"), [(0.01, 1e-3), (0.3, 0.02), (3.0, 0.15)])
def test_the_closed_form_is_near_the_integral(K, width, error):
    rng = np.random.default_rng(K)
    for _ in range(5):
        mean, L = rng.normal(size=K - 1), rng.normal(size=(K - 1, K - 1))
        S = L @ L.T
        S *= width / np.linalg.eigvalsh(S)[-1]
        p = expectation(mean, S, Pairwise().rungs(K - 1, 0))
        assert abs(p.sum() - 1) < 1e-12
        assert np.abs(p - brute_force(mean, S)).max() < error


def test_the_closed_form_treats_classes_alike_and_is_mackays_for_two():
    rng = np.random.default_rng(0)
    m, L = rng.normal(size=5), rng.normal(size=(5, 5))
    order = rng.permutation(5)
    p, q = pairwise(m, L @ L.T), pairwise(m[order], (L @ L.T)[np.ix_(order, order)])
    np.testing.assert_allclose(q, p[order], rtol=1e-14)
    v = 1.7
    two = pairwise(np.array([0.4, -0.5]), np.diag([v / 2, v / 2]))
    assert two[0] == pytest.approx(1 / (1 + np.exp(-0.9 / np.sqrt(1 + np.pi / 8 * v))), rel=1e-14)


@pytest.mark.parametrize(
    ("structure", "integrator"),
    [
        *[("full", each) for each in (None, Sobol(128), MonteCarlo(20), "ladder", "pairwise")],
        *[(structure, None) for structure in ("blocks", "shared", "diagonal")],
    ],
)
def test_before_anything_is_learned_a_forecast_is_uniform(structure, integrator):
    f = GAF(3, 5, lam=0.01, integrator=integrator, structure=structure)
    p = f.predict(np.array([1.0, -2.0, 0.5]))
    np.testing.assert_allclose(p, 0.2, rtol=1e-14)
