"""What columns of noise cost: nats that the linear default loses to the class frequencies in all.

    python benchmarks/noise.py

Labels do not depend on the inputs. `without` has neither the expert that counts the classes nor
the fallback. The last column is the number of rows.
"""

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np

import mixable as mx


def rates(y, K):
    """The loss of (n_c + 1/2) / (n + K/2)."""
    counts, loss = np.full(K, 0.5), 0.0
    for label in y:
        loss -= np.log(counts[label] / counts.sum())
        counts[label] += 1
    return loss


def main():
    """Print a table in Markdown."""
    print("| columns | classes | rate | with | without | rows |")
    print("|---|---|---|---|---|---|")
    for n, d, K, rate in (
        (1000, 5, 2, 0.5),
        (1000, 20, 2, 0.5),
        (1000, 20, 2, 0.05),
        (5000, 30, 2, 0.02),
        (1000, 20, 5, None),
        (400, 60, 3, None),
    ):
        behind = []
        for fallback in ("auto", None):
            losses = []
            for seed in range(3):
                rng = np.random.default_rng(seed)
                X = np.column_stack([rng.normal(size=(n, d)), np.ones(n)])
                y = rng.integers(0, K, n) if rate is None else (rng.random(n) < rate).astype(int)
                p = mx.AutoGAF(d + 1, K, fallback=fallback).run(X, y)
                losses.append(-np.log(p[np.arange(n), y]).sum() - rates(y, K))
            behind.append(f"{np.mean(losses):.1f}")
        print(f"| {d} | {K} | {rate or 'even'} |", " | ".join(behind), f"| {n:,} |", flush=True)


if __name__ == "__main__":
    main()
