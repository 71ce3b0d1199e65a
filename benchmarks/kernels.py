"""What `kernel="rbf"` costs: milliseconds per example against n_components. And what it brings: the
loss beside the linear model.

    python benchmarks/kernels.py
    python benchmarks/kernels.py loss

One thread, Fourier features, processor time. "First" is over the first examples, where all
posteriors of the mixture are active; "after" is after 6,000 examples of a stationary stream, for
sizes at which that takes seconds. `loss` is one pass over raw rows, each forecast before it is
learned; "late" leaves out the first half.
"""

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import sys
import time

import numpy as np
from sklearn.datasets import make_friedman1, make_friedman2

from mixable import GAFClassifier, GAFRegressor, datasets, metrics
from mixable.kernels import RBF

ROWS, LATER = 512, 6000
SIZES = ((2, 2, (50, 200, 800)), (18, 4, (50, 100, 200, 400)), (19, 7, (50, 200)))


def stream(n: int, d: int, K: int) -> tuple[np.ndarray, np.ndarray]:
    """Inputs and labels that a linear model does not explain."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, (np.cos(X @ rng.normal(size=(d, K))) * 3 + rng.gumbel(size=(n, K))).argmax(axis=1)


def milliseconds(d: int, K: int, m: int, before: int) -> float:
    """Per example, after some examples."""
    X, y = stream(before + ROWS, d, K)
    model = GAFClassifier(kernel=RBF(m))
    if before:
        model.prequential(X[:before], y[:before], classes=range(K))
    begin = time.process_time()
    model.prequential(X[before:], y[before:], classes=range(K))
    return 1e3 * (time.process_time() - begin) / ROWS


def tables(seed: int = 0):
    """Name, number of components, rows and labels of streams; whether the first half counts."""
    for name, load, n in (
        ("vehicle", datasets.load_vehicle, 846),
        ("segment", datasets.load_segment, 2310),
        ("shuttle", datasets.load_shuttle, 4000),
    ):
        X, y, _ = load()
        order = np.random.default_rng(seed).permutation(len(y))[:n]
        yield name, 200, X[order], y[order], True
    for name, X, y in (
        ("still", *datasets.make_drift(4000, kind="none")),
        ("slow drift", *datasets.make_drift(4000, kind="slow")),
        ("jumps", *datasets.make_drift(4000, kind="jump")),
        ("separable", *datasets.make_separable(3000, margin=0.1)),
    ):
        yield name, 50, X, y, True
    for name in ("spirals", "circles", "checkerboard"):
        yield f"{name}, late", 200, *datasets.make_shapes(2000, name), False


def loss() -> None:
    """Log loss of classifiers, then the root mean squared error of regressions."""
    print("| stream | score | components | linear | fourier | nystroem |")
    print("|---|---|---|---|---|---|")
    for name, m, X, y, first in tables():
        late = slice(0 if first else len(y) // 2, None)
        print(f"| {name} | log loss | {m} |", end="")
        for kernel in (None, RBF(m), RBF(m, method="nystroem")):
            model = GAFClassifier(kernel=kernel)
            p = model.prequential(X, y, classes=range(int(y.max()) + 1))
            print(f" {metrics.log_loss(p[late], y[late]):.3f} |", end="", flush=True)
        print()
    for name, make, noise in (("friedman1", make_friedman1, 1), ("friedman2", make_friedman2, 50)):
        X, y = make(2000, noise=noise, random_state=0)
        print(f"| {name}, late | RMSE | 200 |", end="")
        for kernel in (None, RBF(200), RBF(200, method="nystroem")):
            model = GAFRegressor(kernel=kernel)
            error = (model.prequential(X, y) - y)[1000:]
            print(f" {np.sqrt(np.mean(error**2)):.3g} |", end="", flush=True)
        print()


def cost() -> None:
    """Milliseconds: the least of three runs at the start, one run later."""
    milliseconds(2, 2, 10, 0)  # imports
    print(f"| d | K | components | D | ms, first {ROWS} | ms, after {LATER:,} |")
    print("|---|---|---|---|---|---|")
    for d, K, sizes in SIZES:
        for m in sizes:
            first = min(milliseconds(d, K, m, 0) for _ in range(3))
            later = f"{milliseconds(d, K, m, LATER):.2g}" if m * K <= 800 else ""
            D = (K - 1) * (d + 1 + m)
            print(f"| {d} | {K} | {m} | {D:,} | {first:.2g} | {later} |", flush=True)


if __name__ == "__main__":
    loss() if "loss" in sys.argv[1:] else cost()
