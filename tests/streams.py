"""Streams that the tests share, and the best linear model for one, by SciPy's solver."""

import numpy as np
from scipy.optimize import minimize

from mixable.datasets import make_drift
from mixable.losses import log_loss


def logistic_stream(
    n: int, d: int, K: int, seed: int = 0, scale: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """Normal inputs, labels drawn from a softmax of random weights."""
    rng = np.random.default_rng([seed, n, d, K])
    X = scale * rng.normal(size=(n, d))
    W = rng.normal(size=(K, d)) / (scale * np.sqrt(d)) * 2
    return X, (X @ W.T + rng.gumbel(size=(n, K))).argmax(axis=1)


def share(truths):
    """How many of some truths are True, as a share of all."""
    return np.count_nonzero(truths) / np.size(truths)


def with_intercept(X):
    return np.column_stack([X, np.ones(len(X))])


def shuffled(X, y, seed, n=None):
    """The first n rows of an order that depends on the seed, z-scored over those rows, clipped to
    +-10, with an intercept.
    """
    order = np.random.default_rng(seed).permutation(len(y))[:n]
    X, y = X[order], y[order]
    spread = X.std(axis=0)
    return with_intercept(
        np.clip((X - X.mean(axis=0)) / np.where(spread > 0, spread, 1), -10, 10)
    ), y


def drifting_stream(kind, n=20_000, d=10, K=4):
    """`make_drift` with an intercept."""
    X, y = make_drift(n, d, K, kind=kind)
    return with_intercept(X), y


def best_loss_in_ball(X, y, K, radius):
    """The least cumulative logistic loss of a linear model of norm at most `radius`, by SciPy's
    SLSQP from two starting points.
    """
    n, d = X.shape

    def value_and_gradient(w):
        z = X @ w.reshape(K, d).T
        z -= z.max(axis=1, keepdims=True)
        p = np.exp(z)
        total = p.sum(axis=1)
        p /= total[:, None]
        value = (np.log(total) - z[np.arange(n), y]).mean()
        p[np.arange(n), y] -= 1
        return value, (p.T @ X).ravel() / n

    ball = {"type": "ineq", "fun": lambda w: radius**2 - w @ w, "jac": lambda w: -2 * w}
    options = {"ftol": 1e-14, "maxiter": 1000}
    starts = (np.zeros(K * d), 0.1 * radius * np.ones(K * d) / np.sqrt(K * d))
    return n * min(
        minimize(
            value_and_gradient, w, jac=True, method="SLSQP", constraints=[ball], options=options
        ).fun
        for w in starts
    )


def mean_loss(f, X, y):
    return float(log_loss(f.run(X, y), y).mean())


LABELS = {
    "adversary": lambda p, rng: int(p.argmin()),
    "flattered": lambda p, rng: int(p.argmax()),
    "drawn from the forecast": lambda p, rng: int(rng.choice(len(p), p=p / p.sum())),
}


def play(f, X, label, rng):
    """Labels that depend on the forecasts, and what the forecasts cost."""
    y, total = np.empty(len(X), dtype=int), 0.0
    for t, x in enumerate(X):
        p = f.predict(x)
        y[t] = label(p, rng)
        total -= np.log(p[y[t]])
        f.learn(x, int(y[t]))
    return y, total
