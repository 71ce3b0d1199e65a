"""How time and memory grow with the size: structures one by one, and a sweep.

    python benchmarks/growth.py [structures] [sweep]

`structures`: one posterior of each structure in tables; the multiply-adds that it needs, as a share
of what DGEMM does on this machine, or the bytes that it goes through, as a share of what a copy
does. `sweep`: the estimators at 24 sizes; which take more than 10 ms an example without saying so.
Times are processor times. Each takes a few minutes at most: sizes are measured for about a second.
"""

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import sys
import time
import warnings

import numpy as np

import mixable as mx

SIZES = {
    "full": ((10, 2), (100, 2), (1000, 2), (18, 4), (64, 10), (16, 26), (128, 10)),
    "blocks": ((18, 4), (64, 10), (16, 26), (784, 10), (100, 100), (2000, 3)),
    "shared": ((18, 4), (64, 10), (784, 10), (784, 1000), (2000, 10), (4000, 10)),
    "diagonal": ((18, 4), (784, 10), (5000, 10), (5000, 200), (10_000, 1000)),
}


def made(n, d, K, seed=0):
    """A stream of a linear model."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X @ rng.normal(size=(d, K)) / d**0.5 * 3 + rng.gumbel(size=(n, K))).argmax(axis=1)


def timed(run, X, y, first, budget=0.7):
    """Seconds an example, after the first few: pieces of as many rows as fit into the budget."""
    run(X[:first], y[:first])
    done, seconds = 0, 0.0
    while seconds < budget and first + done < len(y):
        rows = slice(first + done, first + done + first)
        begin = time.process_time()
        run(X[rows], y[rows])
        seconds += time.process_time() - begin
        done += len(y[rows])
    return seconds / done


def machine():
    """Multiply-adds a second of DGEMM, and bytes a second of a copy."""
    A, B = np.ones((768, 768)), np.ones((768, 768))
    large, other = np.ones(2**24), np.ones(2**24)

    def best(work):
        times = []
        for _ in range(5):
            begin = time.process_time()
            work()
            times.append(time.process_time() - begin)
        return min(times)

    gemm = 768**3 / best(lambda: A @ B)
    copy = 2 * large.nbytes / best(lambda: np.copyto(other, large))
    return gemm, copy


def needed(structure, d, K):
    """Multiply-adds of a step, and bytes that a diagonal one goes through.

    Matrices are read (n^2), changed and summed up (half of that for each column of the change).
    """
    k, D = K - 1, (K - 1) * d
    if structure == "full":
        return D * D * (1 + k / 2) + D * D / 2, 0
    if structure == "diagonal":
        return 6 * K * d, 8 * 6 * K * d
    return 2 * (K if structure == "blocks" else 1) * d * d + 2 * K * d, 0


def short(number):
    """Three digits, or all before the point."""
    return f"{number:.3g}" if number < 1000 else f"{number:,.0f}"


def structures():
    """One posterior of each structure."""
    gemm, copy = machine()
    print(f"DGEMM {gemm / 1e9:.1f}e9 multiply-adds a second, copy {copy / 1e9:.1f} GB/s")
    print("| structure | d | K | weights | us | share |\n|---|---|---|---|---|---|")
    for structure, sizes in SIZES.items():
        for d, K in sizes:
            first = 64 if d * K < 1e6 else 4
            X, y = made(64 * first if d * K < 1e5 else 8 * first, d, K)
            f = mx.GAF(d, K, structure=structure, integrator=mx.integrals.Pairwise())
            seconds = timed(f.run, X, y, first)
            work, size = needed(structure, d, K)
            weights = K * d if structure != "full" else (K - 1) * d
            share = work / seconds / gemm
            if structure == "diagonal":
                share = size / seconds / copy
            row = f"{d:,} | {K:,} | {weights:,} | {short(1e6 * seconds)} | {share:.0%}"
            print(f"| {structure} | {row} |", flush=True)


def sweep():
    """The estimators by size, after a few examples."""
    silent = []
    print("| d | K | ms, default | ms, linear | said so |\n|---|---|---|---|---|")
    for K in (2, 10, 100, 1000):
        for d in (1, 10, 100, 784, 2000, 5000):
            X, y = made(512, d, K)
            times, words = [], []
            for name, kernel in (("default", "auto"), ("linear", None)):
                with warnings.catch_warnings(record=True) as said:
                    warnings.simplefilter("always")
                    model = mx.GAFClassifier(kernel=kernel)
                    model.partial_fit(X[:2], y[:2], classes=range(K))
                    first = 64 if d * K <= 20_000 else 4
                    ms = 1e3 * timed(model.prequential, X[2:], y[2:], first)
                times.append(f"{ms:.2g}" if ms < 10 else f"{ms:.0f}")
                if said:
                    words.append(name)
                elif ms > 10:
                    silent.append(f"{name} ({d}, {K})")
            print(f"| {d:,} | {K:,} |", " | ".join([*times, ", ".join(words)]), "|", flush=True)
    print(f"Slower than 10 ms without a word: {', '.join(silent) or 'none'}.")


if __name__ == "__main__":
    for name in sys.argv[1:] or ("structures", "sweep"):
        print(f"== {name}", flush=True)
        globals()[name]()
