"""Each forecaster against its definition, computed by something else: minimisers, closed forms,
scikit-learn, numerical integration.
"""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression
from streams import logistic_stream

from mixable import AIOLI, FTRL, GAF, OGD, ONS, SMP, VAW, Folklore, Foster, GenericGAF
from mixable.integrals import helmert, softmax
from mixable.losses import Squared


def binary_loss(s, y):
    return np.logaddexp(0.0, -s if y == 1 else s)


def test_aioli_is_the_minimiser_of_its_definition():
    """argmin of surrogates + lam |theta|^2 + loss(theta x, +1) + loss(theta x, -1), by SciPy."""
    d, lam, scale = 3, 0.4, 2.5
    X, y = logistic_stream(25, d, 2)
    f = AIOLI(d, lam=lam, scale=scale)
    seen: list[tuple[np.ndarray, float, float, float]] = []

    def objective(theta, x):
        total = lam * theta @ theta + binary_loss(theta @ x, 1) + binary_loss(theta @ x, 0)
        for past, s, g, h in seen:
            total += g * (theta @ past - s) + h / (2 * scale) * (theta @ past - s) ** 2
        return total

    for t in range(25):
        s = (
            minimize(objective, np.zeros(d), args=(X[t],), method="BFGS", options={"gtol": 1e-10}).x
            @ X[t]
        )
        p = 1 / (1 + np.exp(-s))
        np.testing.assert_allclose(f.predict(X[t]), [1 - p, p], rtol=0, atol=1e-6)
        seen.append((X[t], s, p - y[t], p * (1 - p)))
        f.learn(X[t], y[t])


@pytest.mark.parametrize(("lam", "beta"), [(0.2, 1.0), (3.0, 0.15)])
def test_folklore_for_two_classes_is_aioli_with_half_weighted_virtual_losses(lam, beta):
    X, y = logistic_stream(300, 6, 2)
    folklore = Folklore(6, 2, lam=lam, beta=beta).run(X, y)
    aioli = AIOLI(6, lam=lam / 2, scale=1 / beta, virtual_weight=0.5).run(X, y)
    np.testing.assert_allclose(folklore, aioli, rtol=0, atol=1e-9)


@pytest.mark.parametrize("K", [3, 5])
def test_folklore_equals_a_dense_computation_in_the_papers_coordinates(K):
    """K blocks, explicit A and b: predict at the fixed point of the hedged objective, expand the
    surrogate there.
    """
    d, lam, beta = 3, 0.3, 0.6
    c = beta / 2
    X, y = logistic_stream(60, d, K)
    f = Folklore(d, K, lam=lam, beta=beta)
    A, b = lam * np.eye(K * d), np.zeros(K * d)
    for t in range(60):
        Phi = np.kron(np.eye(K), X[t][:, None])
        m = Phi.T @ np.linalg.solve(A, -b / 2)
        G = Phi.T @ np.linalg.solve(A, Phi)
        centre = np.eye(K) - 1 / K
        G = centre @ G @ centre
        # argmin over z of (z - m)^T G^+ (z - m) + logsumexp(z) - diag(G / 2)^T z / ... , solved as
        # a fixed point by Newton
        Q = helmert(K)
        Gr, a = Q.T @ G @ Q, np.diag(G) / 2
        u = Q.T @ m
        for _ in range(200):
            p = softmax(Q @ u)
            residual = u - (Q.T @ m + Q.T @ a / 2 - Gr @ Q.T @ p / 2)
            S = Q.T @ (np.diag(p) - np.outer(p, p)) @ Q
            u = u - np.linalg.solve(np.eye(K - 1) + Gr @ S / 2, residual)
        z = Q @ u
        p = softmax(z)
        np.testing.assert_allclose(f.predict(X[t]), p, rtol=0, atol=1e-9)
        g, H = p - np.eye(K)[y[t]], np.diag(p) - np.outer(p, p)
        A = A + c * Phi @ H @ Phi.T
        b = b + Phi @ (g - 2 * c * H @ z)
        f.learn(X[t], y[t])
    np.testing.assert_allclose(f.coef.ravel(), np.linalg.solve(A, -b / 2), rtol=0, atol=1e-9)
    np.testing.assert_allclose(f.precision(), A, rtol=0, atol=1e-9)


@pytest.mark.parametrize(("d", "K"), [(4, 3), (3, 9), (60, 8), (500, 2)])
def test_ons_equals_a_dense_recomputation(d, K):
    lam, beta, n = 0.5, 0.8, 80
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


@pytest.mark.parametrize("fixed", [False, True])
def test_ogd_equals_its_definition(fixed):
    d, K, step, radius = 5, 4, 0.8, 1.5
    X, y = logistic_stream(200, d, K)
    weight = np.random.default_rng(0).random(200) * 2
    f = OGD(d, K, step=step, fixed=fixed, radius=radius)
    p = f.run(X, y, weight)
    W = np.zeros((K, d))
    for t in range(200):
        q = softmax(W @ X[t])
        np.testing.assert_allclose(p[t], q, rtol=0, atol=1e-10)
        W -= (
            weight[t]
            * (step if fixed else step / np.sqrt(t + 1))
            * np.outer(q - np.eye(K)[y[t]], X[t])
        )
        W *= min(1.0, radius / np.linalg.norm(W))
    np.testing.assert_allclose(f.coef, W, rtol=0, atol=1e-10)


@pytest.mark.parametrize("d", [1, 7, 450])
def test_vaw_equals_the_closed_form_and_generic_gaf(d):
    rng = np.random.default_rng(0)
    n, lam = 70, 0.5
    X = rng.normal(size=(n, d))
    y = X @ rng.normal(size=d) / np.sqrt(d) + rng.normal(size=n)
    weight = rng.random(n) * 2
    f = VAW(d, lam=lam)
    out = f.run(X, y, weight)
    for t in range(n):
        past = (X[:t].T * weight[:t]) @ X[:t] + np.outer(X[t], X[t])
        expected = np.linalg.solve(lam * np.eye(d) + past, X[t]) @ (X[:t].T @ (weight[:t] * y[:t]))
        assert out[t] == pytest.approx(expected, abs=1e-10)
    np.testing.assert_allclose(
        f.precision(), lam * np.eye(d) + (X.T * weight) @ X, rtol=0, atol=1e-9
    )
    if d < 100:
        generic = GenericGAF(Squared(), d, lam=lam).run(X, y, weight)
        np.testing.assert_allclose(out, generic[:, 0], rtol=0, atol=1e-10)


@pytest.mark.parametrize("lam", [0.05, 2.0])
def test_ftrl_equals_scikit_learn_refitted_at_each_step(lam):
    d, K = 3, 3
    X, y = logistic_stream(40, d, K)
    f = FTRL(d, K, lam=lam)
    compared = 0
    for t in range(40):
        f.learn(X[t], y[t])
        if len(set(y[: t + 1])) == K:
            model = LogisticRegression(
                C=1 / (2 * lam), fit_intercept=False, tol=1e-10, max_iter=10_000
            ).fit(X[: t + 1], y[: t + 1])
            np.testing.assert_allclose(
                f.predict(X[(t + 1) % 40]),
                model.predict_proba(X[(t + 1) % 40][None])[0],
                rtol=0,
                atol=1e-5,
            )
            compared += 1
    assert compared > 20


def test_smp_equals_its_definition():
    """K independent fits by SciPy's BFGS in the paper's coordinates."""
    d, K, lam, n = 2, 3, 0.5, 15
    X, y = logistic_stream(n + 5, d, K)
    f = SMP(d, K, lam=lam)
    for t in range(n):
        f.learn(X[t], y[t])

    def fitted(inputs, labels):
        def objective(w):
            z = inputs @ w.reshape(K, d).T
            return (
                np.log(np.exp(z).sum(axis=1)).sum()
                - z[np.arange(len(labels)), labels].sum()
                + lam * w @ w
            )

        return minimize(
            objective, np.zeros(K * d), method="BFGS", options={"gtol": 1e-8}
        ).x.reshape(K, d)

    for x in X[n:]:
        p = np.array(
            [
                softmax(fitted(np.vstack([X[:n], x]), np.append(y[:n], label)) @ x)[label]
                for label in range(K)
            ]
        )
        np.testing.assert_allclose(f.predict(x), p / p.sum(), rtol=0, atol=1e-5)


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


def test_constants_of_from_theory():
    assert OGD.from_theory(3, 4, radius=2.0, bound=3.0).step == pytest.approx(2 / (np.sqrt(2) * 3))
    ons = ONS.from_theory(3, 4, radius=2.0, bound=0.5)
    assert ons.beta == pytest.approx(
        min(1 / (4 * np.sqrt(2) * 0.5 * 4), np.exp(-np.sqrt(2)) / 3) / 2
    )
    assert ons.lam == pytest.approx(1 / (ons.beta * 4) ** 2)
    assert AIOLI.from_theory(3, radius=2.0, bound=3.0).scale == 7.0
    assert Folklore.from_theory(3, 4, radius=2.0, bound=3.0).beta == pytest.approx(
        1 / (np.log(4) / 2 + 7)
    )
    assert FTRL.from_theory(3, 4, bound=3.0).lam == SMP.from_theory(3, 4, bound=3.0).lam == 9.0
    assert Foster.from_theory(1, 2, radius=2.0, horizon=100).mu == 0.01
    assert VAW.from_theory(5, radius=2.0, bound=1.0, target_bound=3.0).lam == pytest.approx(
        5 * (1 / (8 * 9 * 5 * 4)) * 18
    )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: OGD(3, 4, step=0.0), "step"),
        (lambda: OGD(3, 4, radius=-1.0), "radius"),
        (lambda: ONS(3, 4, beta=0.0), "beta"),
        (lambda: ONS(3, 1), "n_classes"),
        (lambda: AIOLI(3, scale=-1.0), "scale"),
        (lambda: Folklore(0, 4), "n_features"),
        (lambda: FTRL(3, 4, lam=np.nan), "lam"),
        (lambda: Foster(1, 2, radius=0.0), "radius"),
        (lambda: Foster(1, 2, m=0), "m must"),
        (lambda: VAW(3, lam=-1.0), "lam"),
    ],
)
def test_bad_parameters(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_sizes_that_would_not_fit_are_refused():
    for make in (
        lambda: ONS(100_000, 11),
        lambda: Folklore(100_000, 11),
        lambda: AIOLI(10**6),
        lambda: VAW(10**6),
        lambda: FTRL(100_000, 11),
    ):
        with pytest.raises(MemoryError, match=r"\d+ bytes"):
            make()


def test_gaf_without_hedging_and_full_curvature_is_close_to_ftrl():
    """Surrogates instead of losses cost little on benign data: the plug-in and the true leader end
    up near each other.
    """
    X, y = logistic_stream(300, 3, 3)
    gaf, ftrl = GAF(3, 3, lam=0.5, alpha=np.inf, mu=0.0), FTRL(3, 3, lam=0.5)
    gaf.run(X, y)
    ftrl.run(X, y)
    assert np.linalg.norm(gaf.coef - ftrl.coef) < 0.15 * np.linalg.norm(ftrl.coef)


@pytest.mark.parametrize(
    "make",
    [
        lambda: FTRL(2, 3),
        lambda: SMP(2, 3),
        lambda: Foster(2, 3, radius=2.0, m=5),
        lambda: ONS(2, 3, radius=1.0),
    ],
    ids=["FTRL", "SMP", "Foster", "ONS"],
)
def test_what_cannot_be_learned_in_double_precision_is_refused_and_leaves_no_trace(make):
    f = make()
    f.learn([1.0, 2.0], 0)
    before = f.predict([0.5, -1.0])
    for scale in (1e120, 1e200, 1e308):
        for action in (f.predict, lambda x: f.learn(x, 1)):
            with pytest.raises(ValueError, match="too large"):
                action([scale, 1.0])
        with pytest.raises(ValueError, match=r"X\[1\] is too large"):
            f.run([[1.0, 2.0], [scale, 1.0]], [0, 1])
    if not isinstance(f, Foster):
        with pytest.raises(ValueError, match="double precision"):
            f.learn([1.0, 2.0], 1, 1e300)
    assert f.steps == 1
    assert np.array_equal(f.predict([0.5, -1.0]), before)


@pytest.mark.parametrize(
    ("parameters", "scale", "weight"),
    [
        ({}, 1e139, 1e300),
        ({}, 1.0, 1e308),
        ({}, 1e100, 1e60),
        ({"step": 1e300}, 1e130, 1.0),
        ({"step": 1e160, "fixed": True}, 1.0, 1.0),
        ({"radius": 1.0}, 1e139, 1e300),
        ({"radius": 1.0}, 1e100, 1e60),
    ],
)
def test_ogd_refuses_examples_that_overflow_and_forgets_them(parameters, scale, weight):
    X, y = logistic_stream(20, 2, 3)
    weights = np.ones(20)
    if "step" in parameters:
        X, weights = 1e-20 * X, np.full(20, 1e-280)
    f, same = OGD(2, 3, **parameters), OGD(2, 3, **parameters)
    f.run(X[:10], y[:10], weights[:10])
    same.run(X[:10], y[:10], weights[:10])
    for _ in range(2):
        with pytest.raises(ValueError, match="cannot be learned in double precision"):
            f.learn([scale, -scale], 1, weight)
    bad = (
        np.insert(X[10:], 3, [scale, -scale], axis=0),
        np.insert(y[10:], 3, 1),
        np.insert(weights[10:], 3, weight),
    )
    with pytest.raises(ValueError, match="cannot be learned in double precision"):
        f.run(*bad)
    assert f.steps == 13
    same.run(X[10:13], y[10:13], weights[10:13])
    assert np.array_equal(
        f.run(X[13:], y[13:], weights[13:]), same.run(X[13:], y[13:], weights[13:])
    )
    assert np.isfinite(f.predict([1e139, -1e139])).all()
    assert np.isfinite(f.coef).all()


def test_foster_keeps_its_probabilities_positive_without_smoothing():
    f = Foster(1, 2, radius=5.0, mu=0.0, m=10)
    for _ in range(20):
        f.learn([1.0], 1)
    assert (f.predict([1e4]) > 0).all()


def test_ons_refuses_weights_and_radii_that_overflow():
    f = ONS(2, 3)
    with pytest.raises(ValueError, match="double precision"):
        f.learn([1.0, 2.0], 0, 1e160)
    assert f.steps == 0
    with pytest.raises(ValueError, match="radius"):
        ONS.from_theory(2, 3, radius=300.0, bound=1.0)
    with pytest.raises(ValueError, match="bound"):
        GAF.from_theory(2, 3, radius=1.0, bound=1e-200)
