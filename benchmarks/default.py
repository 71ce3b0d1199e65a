"""Regret of GAFClassifier() on a stream that is hard for whoever scales inputs as they come.

    python benchmarks/default.py

One column near +-0.9 in epochs that grow by a factor of four; labels are drawn from a fixed linear
model of it, the comparator. `pool alone` has no fallback on the raw inputs, as in version 0.2.
"""

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np

import mixable as mx
from mixable.model import RecordPool, design_of_classes


def epochs(n):
    """The column, and labels."""
    rng = np.random.default_rng(0)
    epoch = np.searchsorted(np.cumsum(8 * 4 ** np.arange(20)), np.arange(n), side="right")
    x = 0.9 * (-1.0) ** epoch + rng.uniform(-0.1, 0.1, n)
    return x[:, None], (rng.random(n) < 1 / (1 + np.exp(-x))).astype(int)


def loss(x, y, *, fallback):
    """Nats of the default, in all."""
    blend = RecordPool(design_of_classes(None, {"lam": None}), 1, 2)
    if not fallback:
        blend._fallback = None
    return -np.log(blend.run(x, y)[np.arange(len(y)), y]).sum()


def main():
    """Print a table in Markdown."""
    print("| n | pool alone | `GAFClassifier()` | promised |")
    print("|---|---|---|---|")
    for n in (1_000, 20_000, 100_000, 400_000):
        x, y = epochs(n)
        best = np.log1p(np.exp(-np.where(y == 1, x[:, 0], -x[:, 0]))).sum()
        regrets = [loss(x, y, fallback=fallback) - best for fallback in (False, True)]
        promised = mx.bounds.default_on(x, [[-0.5], [0.5]])
        print(f"| {n:,} |", " | ".join(f"{each:.0f}" for each in [*regrets, promised]), "|")


if __name__ == "__main__":
    main()
