"""Integrators against brute-force integrals on fine grids, within the errors they state."""

import copy
import secrets

import mpmath as mp
import numpy as np
import pytest
from gaussians import brute_force, log_error, random_gaussian

import mixable as mx
from mixable import GAF, AutoGAF, Foster, GenericGAF
from mixable.integrals import (
    Ladder,
    MonteCarlo,
    Pairwise,
    Quadrature,
    Sobol,
    choose,
    expectation,
    proved_error,
)
from mixable.losses import Logistic
from mixable.paper.integrals.integrators import EXACT


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


def probability(mean, sd):
    """E sigmoid(N(mean, sd^2)) to 18 digits: an integral piece by piece around its peak."""
    top = min(sd, max(-mean / sd, 0.0))
    at = [top + step for step in (-14, -3, 0, 3, 14)]
    with mp.workdps(18):
        return mp.quad(lambda z: mp.npdf(z) / (1 + mp.exp(-mean - sd * z)), at)


def compiled(mean, sd):
    """The forecast of a GAF whose logits differ by N(mean, sd^2)."""
    f = GAF(1, 2, lam=1 / sd**2, mu=0.0)
    state = f.__getstate__()
    state["state"]["V"] = np.array([[mean / np.sqrt(2)]])
    f.__setstate__(state)
    return f.predict([1.0])


@pytest.mark.parametrize("sd", [0.01, 0.5, 0.99, 1.7, 3.0, 10.0])
def test_quadrature_is_right_to_1e_10_of_each_probability(sd):
    """However rare the class: 0.2.0 was off by 4e-5 of it at a mean of -30, deviation 3."""
    ladder = Quadrature().rungs(1, 0)
    for mean in (-30.0, -4.0, 0.0):
        exact = probability(mean, sd)
        p = expectation(np.array([mean / np.sqrt(2)]), np.array([[sd**2 / 2]]), ladder)
        for found in (p, compiled(mean, sd), compiled(-mean, sd)[::-1]):
            assert abs(found[0] / exact - 1) < EXACT
            assert abs(found.sum() - 1) < 1e-12


@pytest.mark.parametrize("sd", [23.0, 63.9])
def test_quadrature_of_wide_posteriors(sd):
    """Against a step three times as fine; here there are points that the core need not look at."""
    ladder = Quadrature().rungs(1, 0)
    x = (np.arange(-400 * sd, 400 * sd) + 0.5) / (4 * sd)
    for mean in (0.0, -3 * sd, -10 * sd, -30 * sd):
        logs = np.minimum(mean + sd * x, 0) - np.log1p(np.exp(-np.abs(mean + sd * x))) - x**2 / 2
        exact = np.logaddexp.reduce(logs) - np.logaddexp.reduce(-(x**2) / 2)
        p = expectation(np.array([mean / np.sqrt(2)]), np.array([[sd**2 / 2]]), ladder)
        for found in (p, compiled(mean, sd), compiled(-mean, sd)[::-1]):
            assert abs(np.log(found[0]) - exact) < 1e-9


def test_beyond_a_deviation_of_64_nothing_is_proved_of_two_classes():
    assert proved_error(None, 2, width=64.0**2 / 2) == EXACT
    assert proved_error(None, 2, width=64.1**2 / 2) is None
    assert not GAF(1, 2, lam=1e-4).certificate(bound=1.0).is_exact


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


def attacked(f, n, candidates=30):
    """What f loses against exact expectations to one who believes that its seed is 0."""
    rng = np.random.default_rng(0)
    known = GAF(2, 2, lam=0.5, mu=0.0, integrator=f.integrator, seed=0)
    exact, lost = GAF(2, 2, lam=0.5, mu=0.0), 0.0
    for _ in range(n):
        X = rng.normal(size=(candidates, 2))
        worst = np.log(exact.predict(X) / known.predict(X))
        row, label = np.unravel_index(worst.argmax(), worst.shape)
        lost += float(np.log(exact.predict(X[row]) / f.predict(X[row]))[label])
        for each in (known, exact, f):
            each.learn(X[row], int(label))
    return lost


def test_who_knows_the_seed_can_make_it_lose_at_every_step(monkeypatch):
    """Twenty points: one who does not know them gains nothing to speak of."""
    monkeypatch.setattr(secrets, "randbits", lambda bits: 12345 + bits)
    open_, secret = (
        GAF(2, 2, lam=0.5, mu=0.0, integrator=MonteCarlo(20), seed=seed) for seed in (0, None)
    )
    assert attacked(open_, 40) > 5 * abs(attacked(secret, 40))


def test_a_secret_seed_is_another_each_time_and_stays(tmp_path):
    for make in (
        lambda: GAF(2, 3, integrator="montecarlo", seed=None),
        lambda: AutoGAF(2, 3, integrator="montecarlo", alphas=[1.0], seed=None),
        lambda: Foster(2, 3, radius=2.0, seed=None),
        lambda: GenericGAF(Logistic(3, "montecarlo", seed=None), 2),
        lambda: GAF.from_theory(2, 3, radius=1.0, bound=2.0, integrator="montecarlo", seed=None),
    ):
        f, other = make(), make()
        for model in (f, other):
            model.run(np.eye(2)[[0, 1, 0]], [0, 1, 2])
        mx.save(f, tmp_path / "f.safetensors")
        p = f.predict([1.0, -1.0])
        assert np.abs(p - other.predict([1.0, -1.0])).max() > 1e-9
        for same in (copy.deepcopy(f), mx.load(tmp_path / "f.safetensors")):
            assert np.array_equal(same.predict([1.0, -1.0]), p)


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
