"""What curves bring and cost: log loss and time of the linear and of the default classifier.

    python benchmarks/curves.py [landmarks]

`landmarks` has the default with other ceilings of its landmarks (n_components) in place of the
linear one.

One pass over raw rows in the order of `default_rng(0)`, each row forecast before its label is
learned. Time is of one core: the least of three runs in which all take their turn.
"""

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import sys
import time

import numpy as np
from sklearn.datasets import load_digits

import mixable as mx

ROUNDS = 3
KINDS = {"linear": {"kernel": None}, "default": {}}
CEILINGS = {f"{m} landmarks": {"n_components": m} for m in (50, 100, 200, 300, 400)}


def streams():
    """Name, rows and labels of each stream."""

    def shuffled(X, y, n=None):
        order = np.random.default_rng(0).permutation(len(y))[:n]
        return X[order], y[order]

    yield "vehicle", *shuffled(*mx.datasets.load_vehicle()[:2])
    yield "segment", *shuffled(*mx.datasets.load_segment()[:2])
    yield "shuttle, 4,000 rows", *shuffled(*mx.datasets.load_shuttle()[:2], 4000)
    yield "digits", *shuffled(*load_digits(return_X_y=True))
    yield "slow drift, 5,000 rows", *mx.datasets.make_drift(5000, kind="slow")
    yield "jumps, 5,000 rows", *mx.datasets.make_drift(5000, kind="jump")


def measured(options, X, y):
    """Log loss and microseconds of one pass."""
    model = mx.GAFClassifier(**options)
    start = time.process_time()
    p = model.prequential(X, y, classes=range(int(y.max()) + 1))
    seconds = time.process_time() - start
    return mx.metrics.log_loss(p, y), 1e6 * seconds / len(y)


def main():
    """Print a table in Markdown."""
    kinds = CEILINGS if "landmarks" in sys.argv[1:] else KINDS
    measured({}, *mx.datasets.make_drift(100, kind="none"))  # imports
    heads = [f"{what}, {kind}" for what in ("loss", "us") for kind in kinds]
    print("| stream |", " | ".join(heads), "|")
    print("|---" * (len(heads) + 1) + "|")
    for name, X, y in streams():
        runs = [[measured(options, X, y) for options in kinds.values()] for _ in range(ROUNDS)]
        losses = [f"{loss:.3f}" for loss, _ in runs[0]]
        times = [f"{min(run[i][1] for run in runs):.0f}" for i in range(len(kinds))]
        print(f"| {name} |", " | ".join(losses + times), "|", flush=True)


if __name__ == "__main__":
    main()
