"""What `kernel="rbf"` costs: milliseconds per example against n_components, beside the same mixture
on plain inputs of the same width, and DGEMM. And what it brings: the loss beside the linear model.

    python benchmarks/kernels.py
    python benchmarks/kernels.py loss

One thread. "Start" is over the first examples, where all nine posteriors of the mixture are awake;
"later" is after 6,000 examples of a stationary stream. A share of DGEMM counts the useful
arithmetic of the nine, as core.py does for one; all ratios are within one run. `loss` is one pass
over raw rows, each forecast before it is learned; "late" leaves out the first half.
"""

# isort: off
from core import (
    best_of,
    dgemm_rate,
)  # first, since it sets one BLAS thread before NumPy is imported

# isort: on
import sys
import time
from functools import partial

import numpy as np
from sklearn.datasets import make_friedman1, make_friedman2

from mixable import AutoGAF, GAFClassifier, GAFRegressor, datasets, metrics

ROWS = 512


def stream(n: int, d: int, K: int) -> tuple[np.ndarray, np.ndarray]:
    """Inputs and labels that a linear model does not explain."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, (np.cos(X @ rng.normal(size=(d, K))) * 3 + rng.gumbel(size=(n, K))).argmax(axis=1)


def start(d: int, K: int, m: int, method: str) -> tuple[float, float, float]:
    """Milliseconds per example at the start, shares of DGEMM of the estimator and of its forecaster
    alone, on rows made beforehand.
    """
    X, y = stream(ROWS, d, K)
    model = GAFClassifier(kernel="rbf", n_components=m, method=method)
    before = dgemm_rate()
    whole = best_of(1, partial(model.prequential, X, y, classes=range(K))) / ROWS
    middle = dgemm_rate()
    forecaster = model.forecaster_
    alone = AutoGAF(**forecaster._parameters)
    rows = np.random.default_rng(0).normal(size=(ROWS, forecaster._row_length)) / np.sqrt(m)
    bare = best_of(1, partial(alone.run, rows, y)) / ROWS
    after = dgemm_rate()
    work = len(forecaster.grid) * ((K - 1) * forecaster.n_features) ** 2 * (K + 1)
    return 1e3 * whole, work / whole / ((before + middle) / 2), work / bare / ((middle + after) / 2)


def later(d: int, K: int, m: int) -> float:
    """Milliseconds per example after 6,000 examples."""
    X, y = stream(6000 + ROWS, d, K)
    model = GAFClassifier(kernel="rbf", n_components=m)
    model.prequential(X[:6000], y[:6000], classes=range(K))
    begin = time.perf_counter()
    model.prequential(X[6000:], y[6000:])
    return 1e3 * (time.perf_counter() - begin) / ROWS


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
    settings = ({"kernel": None}, {"method": "fourier"}, {"method": "nystroem"})
    print("| stream | score | components | linear | fourier | nystroem |")
    print("|---|---|---|---|---|---|")
    for name, m, X, y, first in tables():
        late = slice(0 if first else len(y) // 2, None)
        print(f"| {name} | log loss | {m} |", end="")
        for setting in settings:
            model = GAFClassifier(**{"kernel": "rbf", "n_components": m, **setting})
            p = model.prequential(X, y, classes=range(int(y.max()) + 1))
            print(f" {metrics.log_loss(p[late], y[late]):.3f} |", end="", flush=True)
        print()
    for name, make, noise in (("friedman1", make_friedman1, 1), ("friedman2", make_friedman2, 50)):
        X, y = make(2000, noise=noise, random_state=0)
        print(f"| {name}, late | RMSE | 200 |", end="")
        for setting in settings:
            model = GAFRegressor(**{"kernel": "rbf", "n_components": 200, **setting})
            error = (model.prequential(X, y) - y)[1000:]
            print(f" {np.sqrt(np.mean(error**2)):.3g} |", end="", flush=True)
        print()


def cost() -> None:
    """Milliseconds and shares of DGEMM."""
    print(
        "    d   K  n_components      D   method      start: ms   share of DGEMM   forecaster "
        "alone   later: ms"
    )
    for d, K, sizes in ((2, 2, (50, 200, 800)), (18, 4, (50, 100, 200, 400)), (19, 7, (50, 200))):
        for m in sizes:
            for method in ("fourier", "nystroem"):
                ms, share, alone = np.median([start(d, K, m, method) for _ in range(3)], axis=0)
                end = f"{later(d, K, m):12.3f}" if method == "fourier" and m * K <= 800 else ""
                print(
                    f"{d:5}{K:4}{m:14}{(K - 1) * (d + 1 + m):7}   "
                    f"{method:9}{ms:12.3f}{share:15.0%}{alone:19.0%}   {end}",
                    flush=True,
                )


if __name__ == "__main__":
    loss() if "loss" in sys.argv[1:] else cost()
