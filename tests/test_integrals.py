"""Integrators against brute-force integrals on fine grids, within the errors they state."""

import numpy as np
import pytest

from mixable import GAF
from mixable.integrals import (
    Ladder,
    MonteCarlo,
    Pairwise,
    Quadrature,
    Rung,
    Sobol,
    choose,
    expectation,
    helmert,
    pairwise,
    softmax,
)


def brute_force(mean, covariance):
    """E softmax(Q z) by the trapezoid rule on a tensor grid, for up to three dimensions."""
    k = len(mean)
    z = np.linspace(-8.0, 8.0, 161 if k < 3 else 81)
    grid = np.array(np.meshgrid(*[z] * k)).reshape(k, -1)
    density = np.exp(-0.5 * (grid**2).sum(axis=0))
    values, vectors = np.linalg.eigh(covariance)
    p = softmax(helmert(k + 1) @ (mean[:, None] + (vectors * np.sqrt(values)) @ grid))
    return p @ density / density.sum()


def random_gaussian(rng, k, width):
    basis, _ = np.linalg.qr(rng.normal(size=(k, k)))
    eigenvalues = width * np.append(1.0, rng.uniform(0.05, 1, k - 1))
    return 1.5 * rng.normal(size=k), (basis * eigenvalues) @ basis.T


def log_error(p, q):
    return np.abs(np.log(p) - np.log(q)).max()


@pytest.mark.parametrize("width", [0.01, 0.1, 1.0, 10.0])
@pytest.mark.parametrize("K", [3, 4])
@pytest.mark.parametrize("m", [128, 1024])
def test_sobol_is_within_its_stated_error(K, width, m):
    rng = np.random.default_rng(0)
    integrator = Sobol(m)
    for seed in range(5):
        mean, covariance = random_gaussian(rng, K - 1, width)
        p = expectation(mean, covariance, integrator.rungs(K - 1, seed))
        assert log_error(p, brute_force(mean, covariance)) <= integrator.stated_error(width)


@pytest.mark.parametrize("sd", [0.01, 0.5, 1.0, 3.0, 15.0, 60.0])
def test_quadrature_is_exact(sd):
    """Against the trapezoid rule with a step a hundred times finer."""
    for mean in (-3.0, 0.0, 0.7, 12.0):
        m, S = np.array([mean]), np.array([[sd**2 / 2]])
        z = np.linspace(-9, 9, 200_001)
        density = np.exp(-0.5 * z * z)
        p = softmax(helmert(2) @ (m[:, None] + np.sqrt(S) * z)) @ density / density.sum()
        np.testing.assert_allclose(
            expectation(m, S, Quadrature().rungs(1, 0)), p, rtol=0, atol=1e-9
        )


@pytest.mark.parametrize("tolerance", [1e-2, 1e-3, 1e-4])
@pytest.mark.parametrize("width", [0.003, 0.03, 0.2, 0.6])
@pytest.mark.parametrize("K", [3, 4])
def test_ladder_meets_its_target_within_reach(K, width, tolerance):
    rng = np.random.default_rng(1)
    ladder = Ladder(tolerance).rungs(K - 1, 0)
    assert [rung.reach for rung in ladder] == sorted(rung.reach for rung in ladder)
    for _ in range(5):
        mean, covariance = random_gaussian(rng, K - 1, width)
        if np.linalg.norm(covariance) <= ladder[-2].reach or width < 0.5:
            assert (
                log_error(expectation(mean, covariance, ladder), brute_force(mean, covariance))
                <= tolerance
            )


def test_monte_carlo_is_unbiased_and_seeded():
    mean, covariance = np.array([0.5, -1.0]), np.array([[1.0, 0.3], [0.3, 0.6]])
    ladder = MonteCarlo(50).rungs(2, 7)
    draws = np.array([expectation(mean, covariance, ladder, step) for step in range(2000)])
    standard_error = draws.std(axis=0) / np.sqrt(len(draws))
    assert (np.abs(draws.mean(axis=0) - brute_force(mean, covariance)) < 4 * standard_error).all()
    assert np.array_equal(draws[3], expectation(mean, covariance, ladder, 3))
    assert not np.array_equal(draws[3], draws[4])


@pytest.mark.parametrize("integrator", ["montecarlo", "sobol", "ladder"])
def test_the_seed_picks_the_points(integrator):
    """Of the ladder, those of its last rung: three classes and a wide posterior."""

    def forecasts(seed):
        f = GAF(2, 3, lam=0.01, integrator=integrator, seed=seed)
        return f.run(np.eye(2)[[0, 1, 0]], [0, 1, 2])

    zero, one, again = forecasts(0), forecasts(1), forecasts(0)
    assert np.array_equal(zero, again)
    assert np.abs(zero[1:] - one[1:]).max(axis=1).min() > 1e-9


def test_monte_carlo_points_of_one_seed_are_not_those_of_another_at_another_step():
    mean, covariance = np.array([0.5, -1.0]), np.eye(2)
    ladders = [MonteCarlo(10).rungs(2, seed) for seed in range(6)]
    draws = [expectation(mean, covariance, ladder, t) for ladder in ladders for t in range(6)]
    assert len(np.unique(np.round(draws, 12), axis=0)) == 36


def test_sobol_points_have_identity_second_moments_and_the_net_property():
    for k, m in [(1, 128), (3, 128), (9, 128), (25, 128)]:
        (rung,) = Sobol(m).rungs(k, 5)
        np.testing.assert_allclose(rung.points @ rung.points.T / (m // 2), np.eye(k), atol=1e-12)
    from mixable._sobol import scrambled_sobol

    u = scrambled_sobol(40, 64, 3)
    assert ((u > 0) & (u < 1)).all()
    for row in u:  # one point in each of 64 equal intervals, in every coordinate
        assert sorted((row * 64).astype(int)) == list(range(64))


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


def test_names_and_mistakes():
    assert choose(None, 2) == Quadrature()
    assert choose(None, 3) == Sobol(128, most=16384)
    assert choose("pairwise", 3) == Pairwise()
    assert choose("ladder", 3) == Ladder()
    with pytest.raises(ValueError, match="integrator must be one of"):
        choose("simpson", 3)
    with pytest.raises(TypeError, match="integrator"):
        choose(7, 3)
    with pytest.raises(ValueError, match="2 classes"):
        GAF(2, 3, integrator=Quadrature())
    for wrong in (
        lambda: Sobol(0),
        lambda: Sobol(33),
        lambda: MonteCarlo(0),
        lambda: Ladder(0.0),
        lambda: Ladder(float("nan")),
    ):
        with pytest.raises(ValueError, match="must be"):
            wrong()


def test_normal_quantile_against_the_distribution_function():
    from math import erfc, sqrt

    from mixable import _core

    u = np.concatenate([np.logspace(-300, -1, 300), np.linspace(0.01, 0.99, 99)])
    z = _core.normal_quantile(u)
    back = np.array([0.5 * erfc(-value / sqrt(2)) for value in z])
    np.testing.assert_allclose(back, u, rtol=1e-12)


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


def test_the_default_takes_more_points_while_the_posterior_is_wide():
    """K = 5, lam = 0.01: 128 points alone are off by 0.1 nats after the first examples."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), rng.integers(0, 5, 40)

    def off(integrator):
        exact = GAF(3, 5, lam=0.01, mu=0.0, integrator=Sobol(2**16)).run(X, y)
        p = GAF(3, 5, lam=0.01, mu=0.0, integrator=integrator).run(X, y)
        return np.abs(np.log(p[1:]) - np.log(exact[1:]))[np.arange(39), y[1:]]

    assert off(Sobol(128)).max() > 0.05
    assert off(None).max() < 0.02
    reaches = [rung.reach for rung in Sobol(128, most=16384).rungs(4, 0)]
    assert [rung.m for rung in Sobol(128, most=16384).rungs(4, 0)] == [64, 512, 4096, 8192]
    assert reaches == sorted(reaches)
    assert reaches[-1] == np.inf


def test_the_most_points_are_an_even_number():
    with pytest.raises(ValueError, match="even"):
        Sobol(128, most=1001)
