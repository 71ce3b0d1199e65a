"""Cost of kernels: milliseconds per example against n_components, beside the same mixture on plain
inputs of the same width, and DGEMM.

    python benchmarks/kernels.py

One thread. "Start" is over the first examples, where all nine posteriors of the mixture are awake;
"later" is after 6,000 examples of a stationary stream. A share of DGEMM counts the useful
arithmetic of the nine, as core.py does for one; all ratios are within one run.
"""

# isort: off
from core import (
    best_of,
    dgemm_rate,
)  # first, since it sets one BLAS thread before NumPy is imported

# isort: on
import time
from functools import partial

import numpy as np

from mixable import AutoGAF, GAFClassifier

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


if __name__ == "__main__":
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
