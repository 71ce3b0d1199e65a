"""The regularised multinomial fit: argmin over V of sum_t w_t loss(Q V x_t, y_t) + lam |V|^2.

V is (K-1, d); damped Newton.
"""

from __future__ import annotations

import numpy as np

from mixable._types import Array, Labels
from mixable.paper.integrals import helmert


def loss_and_residual(X: Array, y: Labels, w: Array, V: Array) -> tuple[float, Array, Array]:
    """Weighted loss, probabilities (n, K) and weighted p - e_y (n, K) of the linear model Q V."""
    rows = np.arange(len(y))
    z = X @ (helmert(len(V) + 1) @ V).T
    z -= z.max(axis=1, keepdims=True)
    e = np.exp(z)
    total = e.sum(axis=1)
    p = e / total[:, None]
    residual = p.copy()
    residual[rows, y] = 0.0
    residual[rows, y] = -residual.sum(axis=1)
    return float(w @ (np.log(total) - z[rows, y])), p, residual * w[:, None]


def fit(X: Array, y: Labels, w: Array, lam: float, V: Array) -> Array:
    """Return the minimiser, starting at V; ValueError if double precision does not suffice."""
    k, d = V.shape
    Q = helmert(k + 1)

    def objective(V: Array) -> tuple[float, Array, Array]:
        value, p, residual = loss_and_residual(X, y, w, V)
        return value + lam * float((V**2).sum()), p, (Q.T @ (residual.T @ X)) + 2 * lam * V

    value, p, gradient = objective(V)
    for _ in range(200):
        centred = p @ Q
        hessian = np.empty((k, d, k, d))
        for a in range(k):
            for b in range(a + 1):
                s = w * ((p * Q[:, a]) @ Q[:, b] - centred[:, a] * centred[:, b])
                hessian[a, :, b, :] = X.T @ (s[:, None] * X)
                hessian[b, :, a, :] = hessian[a, :, b, :].T
        H = hessian.reshape(k * d, k * d)
        H[np.diag_indices(k * d)] += 2 * lam
        try:
            step = -np.linalg.solve(H, gradient.ravel()).reshape(k, d)
        except np.linalg.LinAlgError:
            step = np.full((k, d), np.nan)
        if not np.isfinite(step).all():
            raise ValueError(
                "the examples cannot be fitted in double precision: inputs or weights are too "
                "large for lam"
            )
        slope = float((gradient * step).sum())
        fraction = 1.0
        while True:
            trial = objective(V + fraction * step)
            if trial[0] <= value + 1e-4 * fraction * slope + 1e-13 * abs(value) or fraction < 1e-10:
                break
            fraction /= 2
        V, before = V + fraction * step, value
        value, p, gradient = trial
        # Convergence is quadratic: what this step leaves is rounding.
        if -slope <= 1e-14 * abs(value) or before - value <= 1e-15 * abs(value) or fraction < 1e-10:
            break
    return V
