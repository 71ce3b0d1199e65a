"""What merging costs the default pool in loss, on 35 streams.

    python -m benchmarks.pool_merging [--shards 8] [--rounds 16] [--model default]

Printed is the log loss on the last fifth of a stream (at most 1,500 rows) after shards and rounds,
over that of one pass. The pool has 50 landmarks here, to be quicker.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
from functools import partial

import numpy as np
import sklearn.datasets as sk

import mixable as mx
from benchmarks.merging import MODELS, losses, sharded
from benchmarks.sparse_merging import kept_out, tables

ROWS = 1500
KINDS = {**MODELS, "default": partial(mx.GAFClassifier, kernel=mx.kernels.Auto(50))}


def made(seed):
    """Classes of some shape: linear, nonlinear, in clusters, with tails, rare columns, noise."""
    rng = np.random.default_rng(seed)
    d, K = int(rng.integers(3, 20)), int(rng.integers(2, 6))
    X = rng.normal(size=(ROWS, d)) if seed % 3 else rng.standard_t(3, size=(ROWS, d))
    X = X @ rng.normal(size=(d, d)) / d**0.5
    if seed % 4 == 0:  # a column that is rarely anything, and then much
        X[:, 0] = np.where(rng.random(ROWS) < 0.05, 20 * np.abs(X[:, 0]), 0.0)
    hidden = np.tanh(X @ rng.normal(size=(d, 12)) + rng.normal(size=12))
    logits = [X @ rng.normal(size=(d, K)), 3 * hidden @ rng.normal(size=(12, K)), np.zeros((1, K))]
    logits = logits[seed % 2] if seed % 7 else logits[2]
    return X, (2 * logits + rng.gumbel(size=(ROWS, K))).argmax(axis=1)


def streams():
    found = {**tables(), **kept_out(), "iris": sk.load_iris(return_X_y=True)}
    found["drift"] = mx.datasets.make_drift(ROWS, kind="slow")
    found["spirals"] = mx.datasets.make_shapes(ROWS)
    found.update({f"made {seed}": made(seed) for seed in (*range(12), *range(20, 25))})
    for name, (X, y) in found.items():
        order = np.arange(len(y))[:ROWS]
        if name != "drift":
            order = np.random.default_rng(0).permutation(len(y))[:ROWS]
        X, y = np.ascontiguousarray(X[order], dtype=float), y[order]
        yield name, X, np.unique(y, return_inverse=True)[1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=KINDS, default="default")
    parser.add_argument("--shards", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=16)
    options = parser.parse_args()
    print("| stream | one pass | over one pass |\n|---|---|---|")
    ratios, make, cell = [], KINDS[options.model], (options.shards, options.rounds)
    for name, X, y in streams():
        end, classes = len(y) * 4 // 5, np.unique(y)
        best = losses(make().partial_fit(X[:end], y[:end], classes=classes), X, y, end)
        ratios.append(losses(sharded(make, X[:end], y[:end], *cell, classes), X, y, end) / best)
        print(f"| {name} | {best:.4f} | {ratios[-1]:.3f} |", flush=True)
    error = np.std(np.log(ratios), ddof=1) / len(ratios) ** 0.5
    print("\n| over one pass | ratio |\n|---|---|")
    print(f"| geometric mean | {np.exp(np.log(ratios).mean()):.3f} |")
    print(f"| its standard error | {error:.3f} |")
    print(f"| median | {np.median(ratios):.3f} |")
    print(f"| worst | {max(ratios):.2f} |")


if __name__ == "__main__":
    main()
