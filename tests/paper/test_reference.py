"""The executable specification checked against things nobody here wrote: SciPy's minimiser, closed
forms.
"""

import contextlib
import copy

import numpy as np
import pytest
from scipy.optimize import minimize
from streams import logistic_stream

from mixable import GenericGAF
from mixable.losses import Logistic, Squared


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


def test_generic_gaf_checks_its_arguments():
    with pytest.raises(TypeError, match="loss must have"):
        GenericGAF("squared", 3)
    with pytest.raises(TypeError, match=r"got the class: make one, Squared\(\)"):
        GenericGAF(Squared, 2)
    with pytest.raises(ValueError, match="lam"):
        GenericGAF(Squared(), 3, lam=0)
    with pytest.raises(ValueError, match="y must have shape"):
        GenericGAF(Squared(2), 3).learn([1.0, 2.0, 3.0], [1.0])
    with pytest.raises(ValueError, match="alpha must be at least 1e-300"):
        GenericGAF(Squared(), 3, alpha=1e-320)
    with pytest.raises(ValueError, match="beta must be at least 1e-100 and at most 1e\\+100"):
        GenericGAF(Squared(), 3, beta=1e308)
    with pytest.raises(MemoryError, match="bytes"):
        GenericGAF(Logistic(1000), 10_000)


@pytest.mark.parametrize(("x", "weight"), [(-1.1e30, 1.0), (-1442.0, 1e200)])
def test_a_model_that_has_seen_extremes_can_be_copied(x, weight):
    """The Hessian is semidefinite where one class is certain, too."""
    f = GenericGAF(Logistic(4), 1, beta=0.01)
    with contextlib.suppress(ValueError):
        f.learn([x], 2, weight)
    g = copy.deepcopy(f)
    assert np.array_equal(g.precision(), f.precision())
    assert np.isfinite(g.predict([1.0])).all()


def test_with_drift_what_was_learned_is_definite():
    """Found by tests/fuzz_api.py: A was indefinite after huge weights, and the model could not be
    copied.
    """
    learned, rng = [], np.random.default_rng(0)
    for weight in np.repeat(10.0 ** np.arange(9, 17), 8):
        f = GenericGAF(Squared(), 2, drift=1e-3)
        with contextlib.suppress(ValueError):
            f.learn(1e3 * rng.normal(size=2), 0.0, weight)
        assert np.linalg.eigvalsh(f.precision())[0] > 0
        assert np.array_equal(copy.deepcopy(f).precision(), f.precision())
        learned.append(f.steps)
    assert 20 < sum(learned) < 60
