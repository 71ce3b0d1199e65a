"""What sleep and shared blocks cost and save where posteriors are large: AutoGAF over one in which
nobody sleeps, or one in which setting 7 has a block for each class, too.

    python benchmarks/wide.py [chosen] [kept] [--blocks]

On the streams of `chosen` it was tried to let posteriors sleep earlier, twice, and dropped, and
with `--blocks` it was chosen which settings have blocks. Those of `kept` were looked at once after
each of the latter two. For each stream: the log loss of AutoGAF, that of the other, the ratio, and
the ratio of processor times (the least of two).
"""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import sys
import time

import numpy as np
import sklearn.datasets

import mixable as mx
from mixable.experts.settings import GRID, structures
from mixable.losses import log_loss


def made(n, d, K, seed, *, strength=3.0, tails=None, noise=1.0, active=None):
    """A stream of a linear model, of which only the first `active` columns say something."""
    rng = np.random.default_rng(seed)
    X = rng.standard_t(tails, size=(n, d)) if tails else rng.normal(size=(n, d))
    truth = np.where((np.arange(d) < (active or d))[:, None], rng.normal(size=(d, K)), 0.0)
    scores = X @ truth / (active or d) ** 0.5 * strength
    return X, (scores + noise * rng.gumbel(size=(n, K))).argmax(axis=1)


def digits(seed):
    """The digits, in one order."""
    X, y = sklearn.datasets.load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(y))
    return X[order], y[order]


def streams(kept):
    """Name, inputs, labels."""
    s, drift = (1000 if kept else 0), mx.datasets.make_drift
    make, blobs = sklearn.datasets.make_classification, sklearn.datasets.make_blobs
    for order in (3, 4) if kept else (0, 1, 2):
        yield f"digits, order {order}", *digits(order)
    yield "linear (60, 10)", *made(3000, 60, 10, s + 1)
    yield "linear (90, 6)", *made(3000, 90, 6, s + 2)
    yield "weak (70, 8)", *made(3000, 70, 8, s + 3, strength=1.0)
    yield "strong (50, 12)", *made(3000, 50, 12, s + 4, strength=9.0)
    yield "separable (60, 8)", *made(3000, 60, 8, s + 5, noise=0.0)
    yield "few columns matter (80, 8)", *made(3000, 80, 8, s + 6, active=6, strength=5.0)
    yield "heavy tails (64, 8)", *made(3000, 64, 8, s + 7, tails=2.5)
    yield "slow drift (60, 8)", *drift(4000, 60, 8, kind="slow", seed=s + 8)
    yield "jumps (50, 12)", *drift(4000, 50, 12, kind="jump", seed=s + 9)
    yield "late drift (64, 8)", *drift(4000, 64, 8, kind="late", seed=s + 10)
    yield "wide (200, 4)", *made(2500, 200, 4, s + 11)
    yield "wide (180, 2)", *made(2500, 180, 2, s + 12)
    yield "separable (200, 2)", *made(2500, 200, 2, s + 13, noise=0.0)
    yield "noise (60, 8)", *made(2000, 60, 8, s + 14, strength=0.0)
    options = {"n_informative": 20, "n_classes": 6, "class_sep": 2.0}
    yield "clusters (60, 6)", *make(3000, 60, random_state=s + 15, **options)
    yield "blobs (60, 10)", *blobs(3000, 60, centers=10, cluster_std=12.0, random_state=s + 16)
    yield "many classes (30, 40)", *made(3000, 30, 40, s + 17, strength=6.0)
    yield "short (64, 10)", *made(700, 64, 10, s + 18)


def run(X, y, **options):
    """The mean log loss, and seconds."""
    K = int(y.max()) + 1
    Z = np.column_stack([(X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12), np.ones(len(X))])
    seconds = np.inf
    for _ in range(2):
        f, begin = mx.AutoGAF(Z.shape[1], K, **options), time.process_time()
        p = f.run(Z, y)
        seconds = min(seconds, time.process_time() - begin)
    return float(log_loss(p, y).mean()), seconds


def other(X, y, blocks):
    """The options of the mixture that AutoGAF is compared with; None if it is the same."""
    if not blocks:
        return {"sleep": False}
    chosen = structures(X.shape[1] + 1, int(y.max()) + 1)
    if set(chosen) != {"blocks", "shared"}:
        return None
    return {"structure": [*chosen[:5], "blocks", *chosen[6:]]}


def main(which, *, blocks):
    """Print the ratios."""
    assert GRID[5] == (0.1, 2.0, 1e-3)  # setting 7
    for name in which or ("chosen",):
        rows = []
        for stream, X, y in streams(name == "kept"):
            options = other(X, y, blocks)
            if options is None:
                continue
            (loss, seconds), (before, longest) = run(X, y), run(X, y, **options)
            rows.append((loss / before, seconds / longest))
            print(
                f"{stream:27} {loss:.4f}, other {before:.4f}: loss {rows[-1][0]:.4f}, "
                f"time {rows[-1][1]:.2f} ({1e6 * seconds / len(y):.0f} us)",
                flush=True,
            )
        loss, seconds = np.exp(np.log(rows).mean(axis=0))
        worst = max(row[0] for row in rows)
        print(f"{name}: loss {loss:.4f}, worst {worst:.4f}; time {seconds:.2f}; n {len(rows)}")


if __name__ == "__main__":
    words = sys.argv[1:]
    main([word for word in words if word != "--blocks"], blocks="--blocks" in words)
