"""AIOLI against its definition."""

import numpy as np
from scipy.optimize import minimize
from streams import logistic_stream

from mixable import AIOLI


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
