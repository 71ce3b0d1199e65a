"""What GAF learns is by the surrogates of surrogates.py, and those are what they say."""

import copy

import numpy as np
import pytest
from scipy.optimize import minimize
from streams import logistic_stream, mean_loss, shuffled

import mixable as mx
from mixable import GAF
from mixable.experts.compiled import is_all_compiled
from mixable.integrals import Quadrature, Rung, helmert, pairwise, softmax
from mixable.paper.surrogates import (
    Problem,
    averaged,
    averages,
    moments,
    pairwise_with_slopes,
    variational,
)

RULES = {"variational": variational, "moments": moments, "averaged": averaged}


def follow(X, y, weights, rule, *, K, lam, beta):
    """theta and A after a stream, in K - 1 coordinates and dense algebra."""
    d, Q = X.shape[1], helmert(K)
    A, theta = lam * np.eye((K - 1) * d), np.zeros((K - 1) * d)
    for x, label, weight in zip(X, y, weights, strict=True):
        Phi = np.kron(np.eye(K - 1), x[:, None])
        P = np.linalg.solve(A, Phi)
        problem = Problem(Phi.T @ theta, Phi.T @ P, int(label), weight=weight, rungs=averages(K, 0))
        residual, C = rule(problem)
        theta = theta - 0.5 * weight * P @ Q.T @ residual
        A = A + 0.5 * weight * beta * Phi @ C @ Phi.T
    return theta.reshape(K - 1, d), A


@pytest.mark.parametrize("surrogate", list(RULES))
@pytest.mark.parametrize(("K", "d", "lam"), [(2, 3, 0.05), (3, 2, 0.5), (5, 2, 2.0)])
def test_compiled_equals_numpy(surrogate, K, d, lam):
    X, y = logistic_stream(40, d, K)
    weights = np.random.default_rng(0).uniform(0.2, 1.5, size=40)
    f = GAF(d, K, lam=lam, beta=0.8, surrogate=surrogate)
    f.run(X, y, weights)
    theta, A = follow(X, y, weights, RULES[surrogate], K=K, lam=lam, beta=0.8)
    np.testing.assert_allclose(f.coef, helmert(K) @ theta, rtol=1e-7, atol=1e-9)
    Q = np.kron(helmert(K), np.eye(d))
    np.testing.assert_allclose(Q.T @ f.precision() @ Q, A, rtol=1e-7, atol=1e-9)


def grid_problem(y=0, weight=1.0):
    m, G = np.array([0.4]), np.array([[3.0]])
    return Problem(m, G, y, weight=weight, rungs=Quadrature().rungs(1, 0)), m, G


@pytest.mark.parametrize("weight", [1.0, 0.3])
def test_moments_are_those_of_the_true_posterior(weight):
    problem, m, G = grid_problem(y=1, weight=weight)
    u = np.linspace(-30, 30, 200_001)
    density = np.exp(-((u - m) ** 2) / G[0]) * softmax(problem.Q @ u[None])[1] ** weight
    density /= density.sum()
    mean = density @ u
    variance = density @ (u - mean) ** 2
    residual, C = moments(problem)
    assert m - 0.5 * weight * G[0] @ problem.Q.T @ residual == pytest.approx(mean, abs=1e-8)
    assert 0.5 / (1 / G[0, 0] + 0.5 * weight * C[0, 0]) == pytest.approx(variance, rel=1e-7)


NEAR_A_LIMIT = {  # seeds of `drawn`: which of them `moments` can do
    "points of 1/9 to 1/9.3 of the weight": ((249, 568, 1428), False),
    "points of 1/6.8 and 1/7.6 of the weight": ((906, 972), True),
    "a trace of 1.06 to 1.13": ((2363, 2668, 5407), False),
    "a trace of 0.58 and 0.63": ((890, 1036), True),
    "a width below 0": ((0, 1), False),
}


def drawn(seed):
    """A problem of three to five classes, from narrow to very wide, and its covariance G."""
    rng = np.random.default_rng(seed)
    K = int(rng.integers(3, 6))
    root = rng.normal(size=(K - 1, K - 1))
    G = np.exp(rng.uniform(-3, 9)) * root @ root.T
    m = np.exp(rng.uniform(-2, 4)) * rng.normal(size=K - 1)
    y, weight = int(rng.integers(K)), float(np.exp(rng.uniform(-3, 5)))
    return Problem(m, G, y, weight=weight, rungs=averages(K, 0)), G


def learned(problem, G, surrogate):
    """Mean and precision, in K - 1 coordinates, of a compiled forecaster after the example."""
    k, A = len(G), np.linalg.inv(G)
    f = GAF(1, k + 1, lam=0.5 * np.linalg.eigvalsh(A)[0], surrogate=surrogate)
    state = f.__getstate__()
    state["state"].update(V=problem.m[:, None], A_inverse=G, A=(A + A.T) / 2)
    f.__setstate__(state)
    f.learn([1.0], problem.y, problem.weight)
    Q = helmert(k + 1)
    return Q.T @ f.coef[:, 0], Q.T @ f.precision() @ Q


@pytest.mark.parametrize("limit", list(NEAR_A_LIMIT))
def test_where_moments_give_up_both_do(limit):
    """On either side of each limit, compiled and in NumPy; else it would be another Gaussian."""
    seeds, can = NEAR_A_LIMIT[limit]
    for seed in seeds:
        problem, G = drawn(seed)
        residual, C = moments(problem)
        instead = variational(problem)
        is_other = np.abs(residual - instead[0]).max() > 1e-6
        assert bool(is_other) is can
        mean, A = learned(problem, G, "moments")
        step = 0.5 * problem.weight * G @ problem.Q.T @ residual
        np.testing.assert_allclose(mean, problem.m - step, rtol=1e-5, atol=1e-6 * abs(step).max())
        more = np.linalg.inv(G) + 0.5 * problem.weight * C
        np.testing.assert_allclose(A, more, rtol=1e-5, atol=1e-6 * abs(more).max())


def test_variational_is_the_nearest_gaussian():
    """Mean and deviation that minimise KL(q, posterior), by SciPy on a grid."""
    problem, m, G = grid_problem()
    z = np.linspace(-9, 9, 4001)
    mass = np.exp(-0.5 * z * z)
    mass /= mass.sum()

    def divergence(at):
        u = at[0] + np.exp(at[1]) * z
        return mass @ ((u - m) ** 2 / G[0, 0] - np.log(softmax(problem.Q @ u[None])[0])) - at[1]

    best = minimize(divergence, [0.0, 0.0], method="BFGS", options={"gtol": 1e-9}).x
    residual, C = variational(problem)
    assert (m - 0.5 * G[0] @ problem.Q.T @ residual)[0] == pytest.approx(best[0], abs=1e-4)
    assert 0.5 / (1 / G[0, 0] + 0.5 * C[0, 0]) == pytest.approx(np.exp(2 * best[1]), rel=1e-3)


def test_narrow_posteriors_have_one_surrogate():
    """Where the Gaussian is narrow all three agree, with beta = 1."""
    X, y = logistic_stream(30, 2, 3)
    coefs = [GAF(2, 3, lam=1e4, surrogate=each) for each in ("tangent", *RULES)]
    for f in coefs:
        f.run(X, y)
    for f in coefs[1:]:
        np.testing.assert_allclose(f.coef, coefs[0].coef, rtol=2e-3, atol=1e-9)


@pytest.mark.parametrize("surrogate", list(RULES))
@pytest.mark.parametrize("K", [2, 4])
def test_saved_and_grown_it_goes_on_as_ever(surrogate, K, tmp_path):
    X, y = logistic_stream(60, 3, K)
    f = GAF(3, K, surrogate=surrogate)
    f.run(X[:30], y[:30])
    mx.save(f, tmp_path / "model")
    again, copied = mx.load(tmp_path / "model"), copy.deepcopy(f)
    assert again.surrogate == surrogate
    expected = f.run(X[30:], y[30:])
    np.testing.assert_array_equal(again.run(X[30:], y[30:]), expected)
    np.testing.assert_array_equal(copied.run(X[30:], y[30:]), expected)
    f.add_class()
    f.learn(X[0], K)
    assert f.predict(X[0]).sum() == pytest.approx(1.0)


@pytest.mark.parametrize("surrogate", list(RULES))
def test_extreme_examples_leave_finite_forecasts(surrogate):
    for K in (2, 3, 6):
        f = GAF(2, K, lam=1e-6, surrogate=surrogate)
        for t, scale in enumerate([0.0, 1e-8, 1.0, 30.0, 1e3, 1.0]):
            x = scale * np.array([1.0, -0.5])
            f.learn(x, t % K, weight=1.0 if t % 2 else 1e-6)
            p = f.predict(x)
            assert np.isfinite(p).all()
            assert p.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("surrogate", list(RULES))
def test_curvatures_of_all_sizes_can_be_learned(surrogate):
    """Far from every boundary probabilities are 1e-100, and so are curvatures."""
    X, y = shuffled(*mx.datasets.load_segment()[:2], seed=0, n=150)
    p = GAF(X.shape[1], 7, lam=0.001, surrogate=surrogate).run(X, y)
    assert np.isfinite(p).all()


def test_they_pay_where_the_posterior_is_wide():
    """Segment, 200 rows, one read-out: averages tell a wide Gaussian from a narrow one."""
    X, y = shuffled(*mx.datasets.load_segment()[:2], seed=0, n=200)
    losses = {
        each: mean_loss(GAF(X.shape[1], 7, lam=0.1, surrogate=each), X, y)
        for each in ("tangent", *RULES)
    }
    assert losses["variational"] < 0.85 * losses["tangent"]
    assert losses["moments"] < 0.85 * losses["tangent"]
    assert losses["averaged"] < 0.85 * losses["tangent"]


def test_slopes_are_those_of_the_closed_form():
    rng = np.random.default_rng(0)
    m, L, step = rng.normal(size=4), 2 * rng.normal(size=(4, 4)), 1e-6
    p, S = pairwise_with_slopes(m, L @ L.T)
    np.testing.assert_allclose(p, pairwise(m, L @ L.T), rtol=1e-12)
    rate = [(pairwise(m + e, L @ L.T) - pairwise(m - e, L @ L.T)) / 2e-6 for e in step * np.eye(4)]
    np.testing.assert_allclose(S, (np.array(rate) + np.array(rate).T) / 2, atol=1e-8)
    assert np.linalg.eigvalsh(S).min() > -1e-12


@pytest.mark.parametrize("seed", [921, 1358, 1861])
def test_rates_between_two_classes_are_never_positive(seed):
    """The closed form's are, at these Gaussians: there they are 0, compiled and in NumPy."""
    problem, G = drawn(seed)
    problem.weight = 1e-3  # the Gaussian does not move, so that its own rates are taken
    z, V, step = problem.Q @ problem.m, problem.N @ problem.N.T, 1e-5
    rate = [(pairwise(z + e, V) - pairwise(z - e, V)) / 2e-5 for e in step * np.eye(len(z))]
    raw = (np.array(rate) + np.array(rate).T) / 2 * (1 - np.eye(len(z)))
    assert raw.max() > 1e-3
    S = pairwise_with_slopes(z, V)[1]
    off = S * (1 - np.eye(len(z)))
    np.testing.assert_allclose(off, np.minimum(raw, 0), atol=1e-7)
    np.testing.assert_allclose(S.sum(axis=1), 0, atol=1e-12)
    _, A = learned(problem, G, "averaged")
    more = (A - np.linalg.inv(G)) / (0.5 * problem.weight)
    np.testing.assert_allclose(more, averaged(problem)[1], atol=1e-5)


def test_averages_in_closed_form_are_near_those_over_points():
    rng = np.random.default_rng(1)
    for K in (2, 4):
        L = 1.5 * rng.normal(size=(K - 1, K - 1))
        m = rng.normal(size=K - 1)
        problem = Problem(m, L @ L.T, 1, weight=1.0, rungs=averages(K, 0))
        for found, wanted in zip(averaged(problem), variational(problem), strict=True):
            np.testing.assert_allclose(found, wanted, atol=0.05)


def test_what_they_cannot_do_is_refused():
    with pytest.raises(ValueError, match="surrogate"):
        GAF(2, 2, surrogate="secant")
    with pytest.raises(ValueError, match="needs structure"):
        GAF(2, 2, surrogate="moments", structure="blocks")
    with pytest.raises(ValueError, match="certificate"):
        GAF(2, 2, surrogate="moments", beta=0.4).certificate(bound=1.0)
    assert isinstance(averages(3, 0)[0], Rung)


@pytest.mark.parametrize("surrogate", list(RULES))
def test_compiled_loops_do_not_learn_by_another_surrogate(surrogate):
    """Those over points are rules in Python, which a compiled loop would leave out."""
    assert is_all_compiled(GAF(2, 2, surrogate=surrogate)) is (surrogate == "averaged")
    assert is_all_compiled(GAF(2, 2))


@pytest.mark.parametrize("surrogate", ["variational", "moments"])
def test_an_example_of_weight_0_or_beyond_double_precision_teaches_nothing(surrogate):
    X, y = logistic_stream(10, 2, 3)
    f = GAF(2, 3, surrogate=surrogate)
    f.run(X, y)
    before = f.predict(X)
    for x, label, weight, why in (
        ([1e9, 0.0], 0, 1.0, "too large"),
        (X[0], 3, 1.0, "labels are"),
        (X[0], 0, -1.0, "weight must"),
        (X[0], 0, 1e308, "double precision"),
    ):
        with pytest.raises(ValueError, match=why):
            f.learn(x, label, weight)
        np.testing.assert_array_equal(f.predict(X), before)
    f.learn(X[0], 0, 0.0)
    np.testing.assert_allclose(f.predict(X), before, rtol=1e-12)
    assert f.steps == 11
