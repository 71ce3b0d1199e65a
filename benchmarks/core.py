"""Speed of the compiled core: microseconds per example, against reference.py and against this
machine's DGEMM.

    python benchmarks/core.py [--quick] [--auto]

One thread unless stated; needs river (`pip install ".[river]"`). Every time is the best of several
repeats, and every ratio compares two figures of this run; the share of DGEMM is the median over
repeats of a ratio to the DGEMMs just before and after. It counts the useful arithmetic of one step,
D^2 (K + 1) flops with D = (K - 1) d: projection 2 D^2, symmetric update (K - 1) D^2.
"""

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import resource
import time
from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.linalg.blas import dgemm

import mixable
from mixable import AIOLI, GAF, OGD, ONS, AutoGAF, Folklore, GenericGAF
from mixable.experts.compiled import CompiledMulticlassForecaster
from mixable.integrals import Sobol
from mixable.losses import Logistic

# (d, K, rows of the stream, rows of the one-at-a-time loop, rows for reference.py)
SIZES = [
    (18, 4, 6000, 3000, 300),
    (9, 7, 4000, 2000, 200),
    (19, 7, 3000, 1500, 100),
    (36, 6, 2400, 1200, 60),
    (16, 26, 600, 300, 10),
    (64, 10, 1000, 300, 5),
    (1000, 2, 1280, 200, 0),
    (256, 10, 640, 60, 0),
    (784, 10, 320, 12, 0),
]


def dgemm_rate(n: int = 768) -> float:
    """Flops per second of one n x n DGEMM, the best of a few."""
    A = np.asfortranarray(np.random.default_rng(0).random((n, n)))
    return 2 * n**3 / best_of(5, lambda: dgemm(1.0, A, A))


def best_of(repeats: int, action: Callable[[], object]) -> float:
    """Seconds of the fastest of several calls."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)


def loop(forecaster: GAF | GenericGAF | AutoGAF, X: np.ndarray, labels: list[int]) -> None:
    """One example at a time, as a service would."""
    for x, y in zip(X, labels, strict=True):
        forecaster.predict(x)
        forecaster.learn(x, y)


def measure(
    d: int, K: int, n: int, n_loop: int, n_reference: int, repeats: int
) -> dict[str, float]:
    """Microseconds per example in each mode, and the DGEMM rate measured in between."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, d)), rng.integers(0, K, n)
    labels = y.tolist()
    times = []
    for _ in range(
        repeats
    ):  # in turn, so that all three see the same weather; making a model is not timed
        f = GAF(d, K)
        before = dgemm_rate()
        stream = best_of(1, partial(f.run, X, y)) / n
        rate = (before + dgemm_rate()) / 2
        f = GAF(d, K)
        single = best_of(1, partial(loop, f, X[:n_loop], labels[:n_loop])) / n_loop
        times.append((stream, single, rate, stream * rate))
    # The share comes from the median of stream time x DGEMM rate, which the machine's clock cancels
    # out of.
    stream, single, rate, work = (
        np.min(times, axis=0)[0],
        np.min(times, axis=0)[1],
        np.max(times, axis=0)[2],
        np.median(times, axis=0)[3],
    )
    reference = np.nan
    if n_reference:
        specification = GenericGAF(Logistic(K, Sobol(128)), d, lam=0.1)
        reference = (
            best_of(
                min(repeats, 3), lambda: loop(specification, X[:n_reference], labels[:n_reference])
            )
            / n_reference
        )
    share = ((K - 1) * d) ** 2 * (K + 1) / work
    return {
        "stream": stream * 1e6,
        "single": single * 1e6,
        "reference": reference * 1e6,
        "rate": rate,
        "share": share,
    }


def neighbours(repeats: int) -> None:
    """Print whole-stream times of the other compiled forecasters beside GAF's."""
    print(
        "\nother forecasters, whole stream; microseconds per example, and the ratio to GAF at the "
        "same size"
    )
    print(
        "    d   K        GAF          Folklore               ONS               OGD             "
        "AIOLI"
    )
    for d, K in [(18, 4), (9, 7), (18, 2)]:
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(5000, d)), rng.integers(0, K, 5000)
        makers: list[Callable[[], CompiledMulticlassForecaster]] = [
            lambda d=d, K=K: GAF(d, K),
            lambda d=d, K=K: Folklore(d, K),
            lambda d=d, K=K: ONS(d, K),
            lambda d=d, K=K: OGD(d, K),
        ]
        if K == 2:
            makers.append(lambda d=d: AIOLI(d))
        times = np.full(len(makers), np.inf)
        for _ in range(repeats):
            for i, make in enumerate(makers):
                f = make()
                times[i] = min(times[i], best_of(1, partial(f.run, X, y)) / len(X) * 1e6)
        print(
            f"{d:5}{K:4}{times[0]:11.2f}"
            + "".join(f"{value:11.2f} ({value / times[0]:.2f})" for value in times[1:]),
            flush=True,
        )


def river_loop(rows: list[dict[int, float]], labels: list[int]) -> None:
    """What `loop` does, with river's SoftmaxRegression."""
    from river.linear_model import SoftmaxRegression

    model = SoftmaxRegression()
    for x, y in zip(rows, labels, strict=True):
        model.predict_proba_one(x)
        model.learn_one(x, y)


def automatic(repeats: int) -> None:
    """Print AutoGAF's cost beside GAF's, at the start of a stream and later, and beside river's
    over the first 10,000 examples.
    """
    print(
        "\nAutoGAF on a stationary stream: ratio to GAF over the same rows (whole stream), and "
        "microseconds per predict + learn, one by one"
    )
    print(
        "    d   K    first 500   two threads: speed-up   after 5,000    first 10,000: AutoGAF     "
        "river     ratio"
    )
    n = 10_000
    for d, K in [(18, 4), (9, 7), (19, 7), (36, 6)]:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n, d))
        y = (X @ rng.normal(size=(d, K)) * 2 / np.sqrt(d) + rng.gumbel(size=(n, K))).argmax(axis=1)
        labels, rows = y.tolist(), [dict(enumerate(x)) for x in X.tolist()]
        times = []
        for _ in range(repeats):
            single, automatic, parallel = GAF(d, K), AutoGAF(d, K), AutoGAF(d, K, threads=2)
            start = [
                best_of(1, partial(f.run, X[:500], y[:500])) for f in (single, automatic, parallel)
            ]
            for f in (single, automatic):
                f.run(X[500:5000], y[500:5000])
            later = [best_of(1, partial(f.run, X[5000:], y[5000:])) for f in (single, automatic)]
            ours = best_of(1, partial(loop, AutoGAF(d, K), X, labels)) / n * 1e6
            theirs = best_of(1, partial(river_loop, rows, labels)) / n * 1e6
            times.append(
                (
                    start[1] / start[0],
                    start[1] / start[2],
                    later[1] / later[0],
                    ours,
                    theirs,
                    ours / theirs,
                )
            )
        got = np.median(times, axis=0)
        print(
            f"{d:5}{K:4}{got[0]:13.1f}{got[1]:24.2f}{got[2]:14.1f}"
            f"{got[3]:27.1f}{got[4]:10.1f}{got[5]:10.2f}",
            flush=True,
        )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--quick", action="store_true", help="fewer repeats and only the sizes up to D = 1000"
    )
    parser.add_argument("--auto", action="store_true", help="AutoGAF only (needs river)")
    arguments = parser.parse_args()
    quick = arguments.quick
    mixable.show_config()
    automatic(3 if quick else 7)
    if arguments.auto:
        return
    print("\nGAF, Sobol 128 (quadrature for K = 2); microseconds per example; one thread")
    print(
        "    d   K     D    stream  one by one  ratio  reference  speed-up  DGEMM GF/s  share  "
        "bytes / 8 D^2"
    )
    for d, K, n, n_loop, n_reference in SIZES:
        D = (K - 1) * d
        if quick and D > 1000:
            continue
        got = measure(d, K, n, n_loop, n_reference, 3 if quick or D > 3000 else 7)
        matrices = mixable._core.posterior_bytes(K - 1, d, K - 1, False) / (8 * D * D)
        print(
            f"{d:5}{K:4}{D:6}{got['stream']:10.2f}{got['single']:12.2f}"
            f"{got['single'] / got['stream']:7.2f}{got['reference']:11.1f}"
            f"{got['reference'] / got['stream']:10.1f}{got['rate'] / 1e9:12.1f}"
            f"{got['share']:7.1%}{matrices:15.2f}",
            flush=True,
        )
    neighbours(3 if quick else 7)
    print(
        "peak resident memory of this process: "
        f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB"
    )


if __name__ == "__main__":
    main()
