"""What the averaged surrogate does to the mixtures: loss and time, with it over without.

    python benchmarks/averaged.py [chosen] [more] [kept] [two] [--models AutoGAF linear default]

`chosen` and `more` are the streams on which the settings were chosen; `kept` and `two` (of two
classes) those that were looked at once, afterwards. For each stream: the log loss of the mixture
with averaged posteriors (two for two classes, else one), that of the mixture with tangent ones
only, the ratio, and the ratio of processor times (the least of six, in turn). Then a table of means
and of the worst. `linear` is GAFClassifier(kernel=None), `default` is GAFClassifier().
"""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import argparse
import time

import numpy as np
import sklearn.datasets

import mixable as mx
from mixable.losses import log_loss

MODELS = {
    "AutoGAF": "`AutoGAF`",
    "linear": "`GAFClassifier(kernel=None)`",
    "default": "`GAFClassifier()`",
}


def made(n, d, K, seed, *, strength=3.0, tails=None, separable=False):
    """A stream of a linear model."""
    rng = np.random.default_rng(seed)
    X = rng.standard_t(tails, size=(n, d)) if tails else rng.normal(size=(n, d))
    scores = X @ rng.normal(size=(d, K)) / d**0.5 * strength
    if not separable:
        scores = scores + rng.gumbel(size=(n, K))
    return X, scores.argmax(axis=1)


def shuffled(X, y, seed, most=2500):
    """Rows in a random order."""
    order = np.random.default_rng(seed).permutation(len(y))[:most]
    return np.asarray(X, dtype=float)[order], np.asarray(y)[order]


def chosen():
    """Name, inputs, labels."""
    load = mx.datasets
    for name in ("vehicle", "segment"):
        yield name, *shuffled(*getattr(load, f"load_{name}")()[:2], 0)
    X, y = load.load_shuttle()[:2]
    yield "shuttle, 2,000", X[:2000], y[:2000]
    for name in ("iris", "wine", "breast_cancer"):
        bunch = getattr(sklearn.datasets, f"load_{name}")()
        yield name, *shuffled(bunch.data, bunch.target, 0)
    yield "linear (5, 2)", *made(1500, 5, 2, 1)
    yield "linear (20, 2)", *made(1500, 20, 2, 2)
    yield "separable (10, 2)", *made(1500, 10, 2, 3, separable=True)
    yield "slow drift (10, 2)", *load.make_drift(3000, 10, 2, kind="slow")
    yield "linear (10, 3)", *made(1500, 10, 3, 4)
    yield "separable (8, 4)", *made(1500, 8, 4, 5, separable=True)
    yield "slow drift (10, 4)", *load.make_drift(3000, 10, 4, kind="slow")
    yield "jumps (10, 4)", *load.make_drift(5000, 10, 4, kind="jump")
    yield "heavy tails (10, 4)", *made(1500, 10, 4, 6, tails=2)
    yield "many classes (5, 12)", *made(2000, 5, 12, 7)
    yield "150 rows (12, 4)", *made(150, 12, 4, 8)
    yield "120 rows (15, 2)", *made(120, 15, 2, 9)
    yield "noise (8, 2)", *made(1000, 8, 2, 10, strength=0)
    yield "weak (20, 2)", *made(1500, 20, 2, 11, strength=0.7)
    yield "heavy tails (8, 2)", *made(1500, 8, 2, 12, tails=2)
    yield "strong (30, 2)", *made(1000, 30, 2, 13, strength=9)
    yield "noise (6, 4)", *made(1000, 6, 4, 14, strength=0)
    yield "strong (12, 5)", *made(1500, 12, 5, 15, strength=9)
    yield "weak (20, 3)", *made(1500, 20, 3, 16, strength=0.7)


def more():
    """The same; other orders, seeds, sizes and kinds. A first choice was judged on these, once."""
    load = mx.datasets
    for name in ("vehicle", "segment"):
        yield f"{name}, order 1", *shuffled(*getattr(load, f"load_{name}")()[:2], 1)
    X, y = load.load_shuttle()[:2]
    yield "shuttle, next 2,000", X[2000:4000], y[2000:4000]
    for name in ("Phishing", "Bananas"):
        import river.datasets

        rows = list(getattr(river.datasets, name)())
        yield (
            name,
            np.array([list(x.values()) for x, _ in rows], float),
            np.array([int(y) for _, y in rows]),
        )
    yield "linear (7, 2)", *made(2000, 7, 2, 101)
    yield "separable (14, 2)", *made(1000, 14, 2, 102, separable=True)
    yield "strong (16, 2)", *made(1500, 16, 2, 103, strength=6)
    yield "late drift (12, 2)", *load.make_drift(4000, 12, 2, kind="late", seed=1)
    yield "linear (14, 4)", *made(2000, 14, 4, 104)
    yield "separable (6, 3)", *made(2000, 6, 3, 105, separable=True)
    yield "jumps (8, 3)", *load.make_drift(5000, 8, 3, kind="jump", seed=2)
    yield "late drift (10, 4)", *load.make_drift(4000, 10, 4, kind="late", seed=3)
    yield "heavy tails (12, 3)", *made(1500, 12, 3, 106, tails=2.5)
    yield "many classes (4, 9)", *made(2000, 4, 9, 107)
    yield "200 rows (20, 3)", *made(200, 20, 3, 108)
    yield "noise (5, 3)", *made(1500, 5, 3, 109, strength=0)
    make = sklearn.datasets.make_classification
    for K in (2, 4):
        X, y = make(1500, 15, n_informative=8, n_classes=K, class_sep=1.5, random_state=K)
        yield f"clusters (15, {K})", X, y
    X, y = sklearn.datasets.make_blobs(1500, 8, centers=6, cluster_std=6.0, random_state=0)
    yield "blobs (8, 6)", X, y


def kept():
    """The same; looked at once, after the last choice."""
    load = mx.datasets
    for name in ("vehicle", "segment"):
        yield f"{name}, order 2", *shuffled(*getattr(load, f"load_{name}")()[:2], 2)
    X, y = load.load_shuttle()[:2]
    yield "shuttle, 2,000 from 6,000", X[6000:8000], y[6000:8000]
    bunch = sklearn.datasets.load_breast_cancer()
    yield "breast_cancer, order 1", *shuffled(bunch.data, bunch.target, 1)
    yield "linear (12, 2)", *made(1500, 12, 2, 201)
    yield "separable (6, 2)", *made(2000, 6, 2, 202, separable=True)
    yield "heavy tails (14, 2)", *made(1500, 14, 2, 203, tails=2)
    yield "linear (6, 5)", *made(2000, 6, 5, 204)
    yield "separable (12, 3)", *made(2500, 12, 3, 205, separable=True)
    yield "separable (5, 5)", *made(2500, 5, 5, 206, separable=True)
    yield "strong (20, 3)", *made(1500, 20, 3, 207, strength=8)
    yield "slow drift (8, 5)", *load.make_drift(3000, 8, 5, kind="slow", seed=4)
    yield "jumps (12, 4)", *load.make_drift(4000, 12, 4, kind="jump", seed=5)
    yield "heavy tails (8, 6)", *made(1500, 8, 6, 208, tails=2)
    yield "180 rows (10, 5)", *made(180, 10, 5, 209)
    make = sklearn.datasets.make_classification
    for K in (2, 3, 5):
        X, y = make(1500, 12, n_informative=9, n_classes=K, class_sep=2.5, random_state=10 + K)
        yield f"clusters (12, {K})", X, y


def two():
    """The same; of two classes only. Looked at once, after the default was chosen."""
    load = mx.datasets
    for digit in (3, 8):
        bunch = sklearn.datasets.load_digits()
        X, y = shuffled(bunch.data, bunch.target, digit)
        yield f"digits, is it {digit}", X, (y == digit).astype(int)
    bunch = sklearn.datasets.load_breast_cancer()
    yield "breast_cancer, order 2", *shuffled(bunch.data, bunch.target, 2)
    for name, label in (("vehicle", 1), ("segment", 2)):
        X, y = shuffled(*getattr(load, f"load_{name}")()[:2], 3)
        yield f"{name}, is it {label}", X, (y == label).astype(int)
    X, y = load.load_shuttle()[:2]
    yield "shuttle, is it 0", X[8000:10_000], (y[8000:10_000] == 0).astype(int)
    yield "linear (4, 2)", *made(2000, 4, 2, 301)
    yield "linear (16, 2)", *made(1500, 16, 2, 302)
    yield "linear (40, 2)", *made(1500, 40, 2, 303)
    yield "weak (10, 2)", *made(2000, 10, 2, 304, strength=0.7)
    yield "strong (10, 2)", *made(1500, 10, 2, 305, strength=8)
    yield "separable (20, 2)", *made(1500, 20, 2, 306, separable=True)
    yield "separable (4, 2)", *made(2000, 4, 2, 307, separable=True)
    yield "heavy tails (10, 2)", *made(2000, 10, 2, 308, tails=2)
    yield "150 rows (10, 2)", *made(150, 10, 2, 309)
    yield "noise (15, 2)", *made(1000, 15, 2, 310, strength=0)
    for seed, (kind, d) in enumerate(
        [("slow", 6), ("slow", 15), ("late", 8), ("late", 20), ("jump", 5), ("jump", 12)]
    ):
        yield f"{kind} ({d}, 2)", *load.make_drift(4000, d, 2, kind=kind, seed=20 + seed)
    for d, seed in ((8, 31), (25, 32)):
        X, y = sklearn.datasets.make_classification(
            1500, d, n_informative=d // 2, class_sep=1.0, random_state=seed
        )
        yield f"clusters ({d}, 2)", X, y
    X, y = sklearn.datasets.make_hastie_10_2(2000, random_state=0)
    yield "hastie (10, 2)", X, (y > 0).astype(int)


def standardised(X):
    """Rows scaled in hindsight, with an intercept."""
    spread = X.std(axis=0)
    X = np.clip((X - X.mean(axis=0)) / np.where(spread > 0, spread, 1), -10, 10)
    return np.column_stack([X, np.ones(len(X))])


def run(model, X, y):
    """Log loss and seconds of processor time."""
    K = int(y.max()) + 1
    if model == "AutoGAF":
        X = standardised(X)
        f = mx.AutoGAF(X.shape[1], K)
        begin = time.process_time()
        p = f.run(X, y)
    else:
        f = mx.GAFClassifier(kernel=None) if model == "linear" else mx.GAFClassifier()
        begin = time.process_time()
        p = f.prequential(X, y, classes=range(K))
    return float(log_loss(p, y).mean()), time.process_time() - begin


def with_surrogate(surrogate, model, X, y):
    """The same, if this were the default of AutoGAF."""
    mx.AutoGAF.__init__.__kwdefaults__["surrogate"] = surrogate
    try:
        return run(model, X, y)
    finally:
        mx.AutoGAF.__init__.__kwdefaults__["surrogate"] = None


def compared(model, stream, X, y):
    """Loss and time with averaged posteriors over those without; prints both."""
    rounds = []
    for i in range(6):  # each goes first as often as the other
        order = ("averaged", "tangent")[:: 1 if i % 2 else -1]
        found = {each: with_surrogate(each, model, X, y) for each in order}
        rounds.append([found["averaged"], found["tangent"]])
    loss = [rounds[0][i][0] for i in (0, 1)]
    seconds = [min(each[i][1] for each in rounds) for i in (0, 1)]
    pair = loss[0] / loss[1], seconds[0] / seconds[1]
    numbers = f"{loss[0]:.4f} {loss[1]:.4f}  {pair[0]:.3f}  time {pair[1]:.2f}"
    print(f"{model:8} {stream:22} {numbers} ({1e6 * seconds[0] / len(y):.0f} us)", flush=True)
    return pair


def main():
    """Print a line for each stream, and a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", default=["chosen"])
    parser.add_argument("--models", nargs="+", default=["AutoGAF"], choices=MODELS)
    options = parser.parse_args()
    rows = []
    for name in options.sets:
        for model in options.models:
            run(model, *made(100, 3, 3, 0))  # imports are not to be counted
            ratios = {"two": [], "more": []}
            for stream, X, y in {"chosen": chosen, "more": more, "kept": kept, "two": two}[name]():
                pair = compared(model, stream, X, y)
                ratios["two" if y.max() == 1 else "more"].append(pair)
            for classes, found in ratios.items():
                if found:
                    loss, seconds = np.exp(np.log(found).mean(axis=0))
                    worst = max(found)[0]
                    rows.append((name, classes, MODELS[model], loss, worst, seconds))
    print("\n| streams | classes | mixture | loss | worst | time |\n|---|---|---|---|---|---|")
    for *words, loss, worst, seconds in rows:
        print("|", " | ".join(words), f"| {loss:.3f} | {worst:.3f} | {seconds:.2f} |")


if __name__ == "__main__":
    main()
