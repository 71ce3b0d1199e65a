"""The executable specification checked against things nobody here wrote: SciPy's minimiser, closed
forms, finite differences.
"""

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize
from streams import logistic_stream

from mixable.losses import Logistic, Squared
from mixable.reference import GenericGAF


@pytest.mark.parametrize("loss", [Logistic(2), Logistic(4), Squared(), Squared(3)], ids=repr)
def test_gradient_and_hessian_are_the_derivatives_of_value(loss):
    rng = np.random.default_rng(0)
    for _ in range(20):
        z = 2 * rng.normal(size=loss.n_outputs)
        y = loss.outcome(
            rng.integers(loss.n_outputs)
            if isinstance(loss, Logistic)
            else rng.normal(size=loss.n_outputs)
        )
        np.testing.assert_allclose(
            loss.gradient(z, y), approx_fprime(z, lambda z, y=y: loss.value(z, y), 1e-7), atol=1e-5
        )
        jacobian = np.atleast_2d(approx_fprime(z, lambda z, y=y: loss.gradient(z, y), 1e-7))
        np.testing.assert_allclose(loss.hessian(z, y), jacobian, atol=1e-5)


@pytest.mark.parametrize("K", [2, 3, 6])
def test_theta_is_stationary_for_the_surrogate_objective(K):
    """2 A_t theta_{t+1} + b_t = 0 with b updated at theta_{t+1}; the printed update, at theta_t,
    does not keep it.
    """
    X, y = logistic_stream(100, 4, K)
    f = GenericGAF(Logistic(K), 4, lam=0.1, beta=0.7)
    printed_b = np.zeros(4 * K)
    for t in range(100):
        before = f.coef.ravel()
        f.learn(X[t], y[t])
        residual = 2 * f.precision() @ f.coef.ravel() + f.linear_term()
        assert np.abs(residual).max() < 1e-10
        Phi = np.kron(np.eye(K), X[t][:, None])
        z = f.coef @ X[t]
        printed_b += Phi @ (
            f.loss.gradient(z, y[t]) - f.beta * f.loss.hessian(z, y[t]) @ Phi.T @ before
        )
    assert np.abs(2 * f.precision() @ f.coef.ravel() + printed_b).max() > 1e-2


@pytest.mark.parametrize("K", [2, 3, 5])
def test_theta_is_the_argmin_of_the_true_objective(K):
    """Eq. (2) by SciPy's BFGS, which knows nothing of the reduction to K dimensions."""
    d, lam, beta = 3, 0.3, 0.8
    X, y = logistic_stream(12, d, K)
    f = GenericGAF(Logistic(K), d, lam=lam, beta=beta)
    centres: list[np.ndarray] = []

    def objective(theta, t):
        total = lam * theta @ theta
        for s, centre in enumerate(centres):
            z0, dz = centre @ X[s], theta.reshape(K, d) @ X[s] - centre @ X[s]
            total += (
                f.loss.value(z0, y[s])
                + f.loss.gradient(z0, y[s]) @ dz
                + beta / 2 * dz @ f.loss.hessian(z0, y[s]) @ dz
            )
        return total + f.loss.value(theta.reshape(K, d) @ X[t], y[t])

    for t in range(12):
        fit = minimize(objective, f.coef.ravel(), args=(t,), method="BFGS", options={"gtol": 1e-9})
        f.learn(X[t], y[t])
        np.testing.assert_allclose(f.coef.ravel(), fit.x, atol=1e-6)
        centres.append(f.coef)


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("alpha", [0.5, 1.0, 7.0])
def test_squared_loss_gives_vovk_azoury_warmuth(outputs, alpha):
    """The closed form Y^T X (lam I + sum of x x^T including the new x)^-1 x, whatever the
    mixability constant.
    """
    rng = np.random.default_rng(2)
    d, n, lam = 4, 60, 0.5
    X = rng.normal(size=(n, d))
    Y = X @ rng.normal(size=(d, outputs)) + rng.normal(size=(n, outputs))
    f = GenericGAF(Squared(outputs), d, lam=lam, beta=1.0, alpha=alpha)
    predictions = f.run(X, Y if outputs > 1 else Y[:, 0])
    for t in range(n):
        gram = lam * np.eye(d) + X[: t + 1].T @ X[: t + 1]
        expected = Y[:t].T @ X[:t] @ np.linalg.solve(gram, X[t])
        np.testing.assert_allclose(predictions[t], expected, rtol=0, atol=1e-10)


def test_squared_substitution_meets_the_mixability_inequality():
    """Eq. (4) at random Gaussians: (yhat - y)^2 <= -1/alpha log E exp(-alpha (z - y)^2) for all |y|
    <= Y.
    """
    rng = np.random.default_rng(3)
    loss = Squared(target_bound=2.0)
    alpha = loss.constants(1.0, 1.0).alpha
    for _ in range(200):
        m, s2 = rng.normal() * 2, rng.exponential() * 3
        yhat = float(loss.substitute(np.array([m]), np.array([[s2]]), alpha)[0])
        for y in np.linspace(-2, 2, 9):
            mixed = np.log1p(2 * alpha * s2) / (2 * alpha) + (m - y) ** 2 / (1 + 2 * alpha * s2)
            assert (yhat - y) ** 2 <= mixed + 1e-12


def test_logistic_value_has_no_overflow_and_no_cancellation():
    loss = Logistic(3)
    assert loss.value(np.array([800.0, 0.0, 0.0]), 1) == pytest.approx(800.0)
    assert loss.value(np.array([40.0, 0.0, 0.0]), 0) == pytest.approx(2 * np.exp(-40.0), rel=1e-12)


@pytest.mark.parametrize(
    ("kind", "beta", "gamma", "zeta"),
    [
        ("paper", 1 / (np.log(4) / 2 + 7), 9.0, 36.0),
        ("tight", 1 / (np.log(4) / 2 + 6 / 2**0.5 + 1), 4.5, 1.278),
    ],
)
def test_logistic_constants(kind, beta, gamma, zeta):
    assert Logistic(4).constants(radius=2.0, bound=3.0, kind=kind) == pytest.approx(
        (1.0, beta, gamma, zeta)
    )


def test_squared_constants_are_the_papers_with_gamma_corrected():
    assert Squared(target_bound=3.0).constants(
        radius=2.0, bound=1.5, n_features=5
    ) == pytest.approx((1 / 18, 1.0, 4.5, 1 / (8 * 9 * 5 * 4)))
