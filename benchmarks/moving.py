"""Curved truths whose inputs move on: what an exchange of landmarks brings, and what it leaves.

    pip install ".[bench]"
    python benchmarks/moving.py [still] [SEED]

Each stream has four windows of 3,000 rows; losses are of the last three. "stay" is the default
classifier if landmarks are never exchanged, "default" as it is. "fresh" is the default started anew
at the beginning of each window, so it knows none of the rows before. "linear" is kernel=None.

`still` has streams on which nothing moves, and the time of the default over that of "stay", in CPU
seconds, the least of three runs in which both take their turn.
"""

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import sys
import time

import numpy as np
from sklearn.datasets import load_digits

import mixable as mx
from mixable.learner import exchange

WINDOW, WINDOWS = 3000, 4


def clusters(rng, X, centres, labels):
    """Rows around centres drawn at random, and the labels of these; one in fifty is any."""
    which = rng.integers(len(centres), size=len(X))
    y = np.where(rng.random(len(X)) < 0.02, rng.integers(labels.max() + 1), labels[which])
    return centres[which] + X, y


def shape(kind, rng, centre):
    X, y = mx.datasets.make_shapes(WINDOW, kind, seed=int(rng.integers(1000)))
    return X + centre, y


def jumps(rng, make):
    """Each window is made by itself."""
    parts = [make(rng, i) for i in range(WINDOWS)]
    return np.vstack([X for X, _ in parts]), np.concatenate([y for _, y in parts])


def wander(rng, d, size):
    """A place that moves by `size` in a window, in a direction that changes slowly."""
    n = WINDOW * WINDOWS
    turns = np.cumsum(rng.normal(size=(n, d)), axis=0) / WINDOW**0.5 + rng.normal(size=d)
    return np.cumsum(turns / np.linalg.norm(turns, axis=1, keepdims=True), axis=0) * size / WINDOW


def some_clusters(d, count, classes=3, spread=2.0):
    def make(rng, _):
        centres = spread * rng.normal(size=(count, d))
        return clusters(rng, rng.normal(size=(WINDOW, d)), centres, np.arange(count) % classes)

    return make


def clusters_that_appear(rng):
    d, centres = 8, 2 * rng.normal(size=(10 * WINDOWS, 8))
    labels = rng.permutation(np.arange(len(centres)) % 3)

    def make(rng, i):
        known = 10 * (i + 1)
        return clusters(rng, rng.normal(size=(WINDOW, d)), centres[:known], labels[:known])

    return jumps(rng, make)


def clusters_that_wander(rng):
    n, d, count = WINDOW * WINDOWS, 10, 12
    which, X = rng.integers(count, size=n), rng.normal(size=(n, d))
    for i in range(count):
        path = 2 * rng.normal(size=d) + wander(rng, d, 6.0)
        X[which == i] += path[which == i]
    return X, which % 3


def two_places(rng):
    makers = [some_clusters(6, 12), some_clusters(6, 12)]
    seeds = rng.integers(1000, size=2)
    return jumps(rng, lambda rng, i: makers[i % 2](np.random.default_rng([seeds[i % 2]]), i))


def shell(rng, _):
    X = rng.normal(size=(WINDOW, 5))
    return X + 3 * rng.normal(size=5), (np.sum(X * X, axis=1) > 4.35).astype(int)


def products(rng, _):
    X = rng.normal(size=(WINDOW, 6))
    y = (X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3] > 0.3 * rng.normal(size=WINDOW)).astype(int)
    return X + 3 * rng.normal(size=6), y


def sliding_board(rng):
    X = rng.uniform(size=(WINDOW * WINDOWS, 2)) + wander(rng, 2, 1.0)
    return X, (np.floor(4 * X).sum(axis=1) % 2).astype(int)


def wandering_rings(rng):
    X, y = mx.datasets.make_shapes(WINDOW * WINDOWS, "circles")
    return X + wander(rng, 2, 2.0), y


STREAMS = {
    "spirals jump, 2 columns": lambda rng: jumps(
        rng, lambda rng, _: shape("spirals", rng, 2 * rng.normal(size=2))
    ),
    "rings wander, 2 columns": wandering_rings,
    "a checkerboard slides, 2 columns": sliding_board,
    "a shell jumps, 5 columns": lambda rng: jumps(rng, shell),
    "products jump, 6 columns": lambda rng: jumps(rng, products),
    "clusters jump, 5 columns": lambda rng: jumps(rng, some_clusters(5, 20)),
    "clusters jump, 10 columns": lambda rng: jumps(rng, some_clusters(10, 30)),
    "clusters wander, 10 columns": clusters_that_wander,
    "clusters appear, 8 columns": clusters_that_appear,
    "clusters come and go, 6 columns": two_places,
}


def shuffled(X, y, n=None):
    return lambda rng: (lambda order: (X[order], y[order]))(rng.permutation(len(y))[:n])


def still_clusters(d, count, classes, spread, even=True):
    def make(rng):
        share = np.full(count, 1 / count) if even else rng.dirichlet(np.full(count, 0.5))
        which = rng.choice(count, size=6000, p=share)
        centres = spread * rng.normal(size=(count, d))
        return centres[which] + rng.normal(size=(6000, d)), which % classes

    return make


def function(d, value, tails=False):
    def make(rng):
        X = rng.standard_t(3, size=(6000, d)) if tails else rng.normal(size=(6000, d))
        return X, (value(X) + 0.3 * rng.normal(size=6000) > 0).astype(int)

    return make


def still_streams():
    """Streams that stand still, by name."""
    return {
        "segment": shuffled(*mx.datasets.load_segment()[:2]),
        "shuttle, 8,000 rows": shuffled(*mx.datasets.load_shuttle()[:2], 8000),
        "digits": shuffled(*load_digits(return_X_y=True)),
        "12 clusters, 6 columns": still_clusters(6, 12, 3, 2.0),
        "30 clusters, 10 columns": still_clusters(10, 30, 4, 1.5),
        "40 clusters, 20 columns": still_clusters(20, 40, 5, 1.0),
        "40 uneven clusters, 8 columns": still_clusters(8, 40, 3, 2.0, even=False),
        "products, 6 columns": function(6, lambda X: X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3]),
        "a shell, heavy tails, 8 columns": function(
            8, lambda X: np.sum(X * X, axis=1) - np.median(np.sum(X * X, axis=1)), tails=True
        ),
        "sines, 4 columns": function(
            4, lambda X: np.sin(2 * X[:, 0]) + X[:, 1] * np.cos(2 * X[:, 2])
        ),
    }


def run(X, y, options, stay=False):
    """Forecasts of all rows; landmarks that are to `stay` are not looked at."""
    usual = exchange.PERIOD, exchange.EVERY
    if stay:
        exchange.PERIOD = exchange.EVERY = 2**40
    try:
        return mx.GAFClassifier(**options).prequential(X, y, classes=range(int(y.max()) + 1))
    finally:
        exchange.PERIOD, exchange.EVERY = usual


def head(*names):
    print("| stream |", " | ".join(names), "|")
    print("|---" * (len(names) + 1) + "|")


def moving(seed):
    """Print what the exchange brings, and what a fresh start would."""
    head("loss, linear", "loss, stay", "loss, default", "loss, fresh", "default over stay")
    ratios = []
    for name, make in STREAMS.items():
        X, y = make(np.random.default_rng(seed))
        seed += 1
        windows = [slice(i * WINDOW, (i + 1) * WINDOW) for i in range(1, WINDOWS)]
        known = [run(X, y, {"kernel": None}), run(X, y, {}, stay=True), run(X, y, {})]
        found = [mx.metrics.log_loss(p[WINDOW:], y[WINDOW:]) for p in known]
        fresh = np.concatenate([run(X[now], y[now], {}) for now in windows])
        found += [mx.metrics.log_loss(fresh, y[WINDOW:]), found[2] / found[1]]
        ratios.append(found[-1])
        print(f"| {name} |", " | ".join(f"{value:.3f}" for value in found), "|", flush=True)
    print(f"| geometric mean | | | | | {np.exp(np.mean(np.log(ratios))):.3f} |")


def still(seed):
    """Print what it costs where nothing moves."""
    head("loss, stay", "loss, default", "default over stay", "time over stay")
    ratios = []
    for name, make in still_streams().items():
        X, y = make(np.random.default_rng(seed))
        seed += 1
        times, losses = ([], []), [0.0, 0.0]
        for _ in range(3):
            for i, stay in enumerate((True, False)):
                start = time.process_time()
                p = run(X, y, {}, stay)
                times[i].append(time.process_time() - start)
                losses[i] = mx.metrics.log_loss(p, y)
        ratios.append([losses[1] / losses[0], min(times[1]) / min(times[0])])
        found = [*losses, *ratios[-1]]
        print(f"| {name} |", " | ".join(f"{value:.3f}" for value in found), "|", flush=True)
    means = np.exp(np.mean(np.log(ratios), axis=0))
    print("| geometric mean | | |", " | ".join(f"{value:.3f}" for value in means), "|")


def main(*words):
    """Print a table in Markdown."""
    seed = int(next((word for word in words if word.isdigit()), 0))
    (still if "still" in words else moving)(seed)


if __name__ == "__main__":
    main(*sys.argv[1:])
