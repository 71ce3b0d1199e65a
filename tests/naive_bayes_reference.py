"""Naive Bayes from its definition, in NumPy."""

import numpy as np

EVIDENCE = 0.7  # how much densities count; core/pool/naive_bayes.hpp


def moments(X, weight):
    """Weight, mean and sum of squared deviations of each column, of what is there."""
    w = np.where(np.isnan(X), 0.0, weight[:, None])
    total, values = w.sum(axis=0), np.nan_to_num(X)
    mean = (w * values).sum(axis=0) / np.where(total > 0, total, 1.0)
    return total, mean, (w * (values - mean) ** 2).sum(axis=0)


def forecast(X, y, weight, x, n_classes):
    """Probabilities of one row. Each variance begins as if one example had said that of all."""
    total, middle, square = moments(X, weight)
    used = ~np.isnan(x) & (square > 0)
    overall = square[used] / total[used]
    logs = np.empty(n_classes)
    for c in range(n_classes):
        n, mean, square = (each[used] for each in moments(X[y == c], weight[y == c]))
        mean = np.where(n > 0, mean, middle[used])
        variance = (square + overall) / (n + 1)
        terms = np.log(variance) + (x[used] - mean) ** 2 / variance
        logs[c] = np.log(weight[y == c].sum() + 0.5) - EVIDENCE * 0.5 * terms.sum()
    p = np.exp(np.maximum(logs - logs.max(), -27))
    return p / p.sum()


def run(X, y, n_classes):
    """Forecasts of each row from those before."""
    ones = np.ones(len(X))
    rows = range(len(X))
    return np.array([forecast(X[:t], y[:t], ones[:t], X[t], n_classes) for t in rows])
