"""Streams that the tests share."""

import numpy as np


def logistic_stream(n: int, d: int, K: int, seed: int = 0, scale: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Normal inputs, labels drawn from a softmax of random weights."""
    rng = np.random.default_rng([seed, n, d, K])
    X = scale * rng.normal(size=(n, d))
    W = rng.normal(size=(K, d)) / (scale * np.sqrt(d)) * 2
    return X, (X @ W.T + rng.gumbel(size=(n, K))).argmax(axis=1)
