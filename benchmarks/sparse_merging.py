"""What merging costs SparseGAF in loss, by the constant of its rule (mixable/experts/slots.py).

    python benchmarks/sparse_merging.py [--pulls 8] [--rows 1500] [--kept-out]

Streams are the bins and the leaves of tables (model/grids.py), and bags of words: 22 on which the
constant was chosen, and 11 that were held out. Printed is the log loss on the last fifth after 8
shards and 16 rounds, over that of one pass.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import copy
from dataclasses import replace

import numpy as np
import sklearn.datasets as sk

import mixable as mx
from mixable.experts import slots as sparse
from mixable.model import grids

SHARDS, ROUNDS = 8, 16


def tables():
    """Tables of numbers by name."""
    rng = np.random.default_rng(5)
    out = {
        "segment": mx.datasets.load_segment()[:2],
        "shuttle": [each[:2500] for each in mx.datasets.load_shuttle()[:2]],
        "digits": sk.load_digits(return_X_y=True),
        "wine": sk.load_wine(return_X_y=True),
        "moons": sk.make_moons(2000, noise=0.25, random_state=0),
        "3 classes": sk.make_classification(2500, 12, n_informative=6, n_classes=3, random_state=1),
        "5 classes": sk.make_classification(
            2500, 30, n_informative=10, n_classes=5, random_state=2, class_sep=1.5
        ),
    }
    X = rng.standard_t(4, size=(2500, 12))
    W = rng.normal(size=(5, 12))
    out["tails"] = X, (X @ W.T + 2 * rng.gumbel(size=(2500, 5))).argmax(axis=1)
    X = rng.uniform(size=(2500, 8))
    f = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3]
    f = f + 5 * X[:, 4]
    out["curved"] = X, np.digitize(f + rng.normal(size=2500), np.quantile(f, [0.33, 0.66]))
    X = rng.normal(size=(2500, 6))
    out["products"] = X, ((X[:, 0] * X[:, 1] > 0) ^ (rng.random(2500) < 0.1)).astype(int)
    return out


def kept_out():
    """Others, which were looked at once."""
    X = np.random.default_rng(6).normal(size=(2500, 10))
    noisy = {"n_informative": 12, "n_classes": 2, "flip_y": 0.2, "random_state": 9}
    return {
        "vehicle": mx.datasets.load_vehicle()[:2],
        "cancer": sk.load_breast_cancer(return_X_y=True),
        "circles": sk.make_circles(2000, noise=0.15, factor=0.6, random_state=0),
        "noisy": sk.make_classification(2500, 20, **noisy),
        "separable": (X, (X @ np.random.default_rng(7).normal(size=10) > 0).astype(int)),
    }


def shaped(X, y, design):
    """The sparse rows that an expert of a pool makes of a table."""
    order = np.random.default_rng(0).permutation(len(y))[:2500]
    X, y = np.ascontiguousarray(X[order], dtype=float), np.unique(y[order], return_inverse=True)[1]
    inputs = design.inputs(X.shape[1])
    inputs.commit(inputs.stage(X)[1], len(X))
    Z = np.ascontiguousarray(inputs.transform(X)[:, -X.shape[1] :])
    pairs = [inputs.shapes.features(x, z) for x, z in zip(X, Z, strict=True)]
    return [list(zip(*pair, strict=True)) for pair in pairs], y


def words(seed, d, least, most):
    """Bags of words, frequent ones and rare ones."""
    rng = np.random.default_rng(seed)
    W = 1.2 * rng.normal(size=(d, 3))
    chance = np.arange(1, d + 1) ** -0.8
    rows, labels = [], []
    for _ in range(2500):
        keys = np.unique(rng.choice(d, size=rng.integers(least, most), p=chance / chance.sum()))
        logits = 1.5 * W[keys].sum(axis=0) / np.sqrt(len(keys))
        rows.append([(int(key), 1.0) for key in keys])
        labels.append(int((logits + rng.gumbel(size=3)).argmax()))
    return rows, np.array(labels)


def streams(*, kept):
    for name, (X, y) in (kept_out() if kept else tables()).items():
        yield f"{name}, bins", *shaped(X, y, replace(grids.MEMORY, memory=False))
        yield f"{name}, leaves", *shaped(X, y, grids.LEAVES)
    for i, options in enumerate(
        [(2, 3000, 20, 60)] if kept else [(0, 1000, 6, 20), (1, 300, 6, 20)]
    ):
        yield f"words {i}", *words(*options)


def sharded(rows, y, n_classes):
    n = len(y)
    model = mx.SparseGAF(n_classes)
    model.run(rows[: n // 10], y[: n // 10])
    for part in np.array_split(np.arange(n // 10, n), ROUNDS):
        each = []
        for own in np.array_split(part, SHARDS):
            each.append(copy.deepcopy(model))
            if len(own):
                each[-1].run([rows[i] for i in own], y[own])
        model = mx.merge(each, base=model)
    return model


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pulls", type=float, nargs="+", default=[sparse.PULL])
    parser.add_argument("--rows", type=int, default=1500)
    parser.add_argument("--kept-out", action="store_true")
    options = parser.parse_args()
    found = []
    heads = [f"constant {pull:g}" for pull in options.pulls]
    print(f"| stream | one pass | {' | '.join(heads)} |\n|---|---|{'---|' * len(heads)}")
    for name, rows, y in streams(kept=options.kept_out):
        rows, y = rows[: options.rows], y[: options.rows]
        n_classes, end = int(y.max()) + 1, len(y) * 4 // 5
        one = mx.SparseGAF(n_classes)
        one.run(rows[:end], y[:end])
        best = mx.metrics.log_loss(one.predict(rows[end:]), y[end:])
        ratios = []
        for sparse.PULL in options.pulls:
            model = sharded(rows[:end], y[:end], n_classes)
            ratios.append(mx.metrics.log_loss(model.predict(rows[end:]), y[end:]) / best)
        found.append(ratios)
        cells = [f"{each:.3f}" for each in ratios]
        print(f"| {name} | {best:.4f} | {' | '.join(cells)} |", flush=True)
    for name, row in (
        ("geometric mean", np.exp(np.log(found).mean(axis=0))),
        ("worst", np.max(found, axis=0)),
    ):
        print(f"| {name} | | {' | '.join(f'{each:.3f}' for each in row)} |")


if __name__ == "__main__":
    main()
