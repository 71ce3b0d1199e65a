"""How fast the structures of a posterior are, and what they lose: ratios in one run. Times are
processor times.

    pip install ".[bench]"
    python benchmarks/structures.py [speed] [linear] [peers] [loss]
    python benchmarks/structures.py default FOLDER   # with files NAME.csv.gz: the label is last

`speed`: one posterior of each structure, whole streams and one example at a time. `peers`: the loss
of the linear mixture, that over full posteriors, and Vowpal Wabbit's over it; time and loss of
effort="low"; river's loop over Vowpal Wabbit with examples parsed before. `linear`: the time of the
linear mixture beside Vowpal Wabbit's, by the clock, shared by all processors and with one thread.
`loss`: the default over the full mixture on the streams of averaged.py, log losses. `default`: its
time over Vowpal Wabbit's on files of numbers, one thread, 2,500 rows. growth.py has more sizes.
"""

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import sys
import time
from pathlib import Path

import averaged
import numpy as np
import pandas as pd
from sklearn.datasets import load_digits

import mixable as mx
from mixable.experts.structure import STRUCTURES


def made(n, d, K, seed=0):
    """A stream of a linear model."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X @ rng.normal(size=(d, K)) / d**0.5 * 3 + rng.gumbel(size=(n, K))).argmax(axis=1)


def six():
    """The peers' six streams: name, raw inputs, labels."""

    def shuffled(X, y, n=None):
        order = np.random.default_rng(0).permutation(len(y))[:n]
        return np.asarray(X[order], dtype=float), y[order]

    load = mx.datasets
    yield "vehicle", *shuffled(*load.load_vehicle()[:2])
    yield "segment", *shuffled(*load.load_segment()[:2])
    yield "shuttle", *shuffled(*load.load_shuttle()[:2], 10_000)
    digits = load_digits()
    yield "digits", *shuffled(digits.data, digits.target)
    yield "slow drift", *load.make_drift(5000, kind="slow")
    yield "jumps", *load.make_drift(5000, kind="jump")


def microseconds(run, n, repeats=3):
    """The least time of an example."""
    best = np.inf
    for _ in range(repeats):
        begin = time.process_time()
        run()
        best = min(best, time.process_time() - begin)
    return 1e6 * best / n


def one_by_one(model, X, labels):
    """A loop of predict and learn."""
    for x, y in zip(X, labels, strict=True):
        model.predict(x)
        model.learn(x, y)


def speed():
    """One posterior of each structure."""
    print(f"{'d, K':>8} {'structure':>9} {'run us':>8} {'loop us':>8} {'bytes':>9} {'GB/s':>6}")
    for d, K, n in ((18, 4, 20_000), (64, 10, 3000), (16, 26, 4000), (784, 10, 192), (2000, 3, 96)):
        X, y = made(n, d, K)
        for structure in STRUCTURES:
            if structure == "full" and d * K > 700:
                continue
            # These are called before the loop goes on: B023 does not matter.
            make = lambda: mx.GAF(d, K, structure=structure)  # noqa: B023, E731
            run = microseconds(lambda: make().run(X, y), n)  # noqa: B023
            loop = microseconds(lambda: one_by_one(make(), X, y.tolist()), n)  # noqa: B023
            k = K - 1 if structure == "full" else K
            numbers = {"full": k * k * d * d, "blocks": K * d * d, "shared": d * d}
            size = 8 * numbers.get(structure, 2 * K * d)
            row = f"{run:8.2f} {loop:8.2f} {size:9.2g} {size / loop / 1e3:6.1f}"
            print(f"{d:4},{K:3} {structure:>9} {row}", flush=True)
    memory = np.ones(2**25)
    best = microseconds(memory.sum, 1)
    print(f"one pass over 268 MB by NumPy: {memory.nbytes / best / 1e3:.1f} GB/s")


def vowpal_wabbit(X, y, K, clock=time.process_time):
    """Microseconds to predict and to learn an example that has been parsed, and the log loss."""
    from vowpalwabbit import LabelType, Workspace

    options = f"--oaa {K} --probabilities --loss_function logistic --quiet"
    vw = Workspace(options)
    texts = [
        f"{label + 1} | " + " ".join(f"{i}:{value:.6g}" for i, value in enumerate(row) if value)
        for row, label in zip(X, y, strict=True)
    ]
    examples = [vw.parse(text, LabelType.MULTICLASS) for text in texts]
    loss, begin = 0.0, clock()
    for example, label in zip(examples, y.tolist(), strict=True):
        p = vw.predict(example)
        loss -= np.log(max(p[label], 1e-3 / K))
        vw.learn(example)
    seconds = clock() - begin
    for example in examples:
        vw.finish_example(example)
    return 1e6 * seconds / len(y), loss / len(y)


def log_loss(p, y):
    """The mean."""
    return float(-np.log(p[np.arange(len(y)), y]).mean())


def peers():
    """Losses beside full posteriors, effort="low" and Vowpal Wabbit; then river's loop."""
    mx.GAFClassifier().prequential(*made(100, 3, 3))  # imports are not to be counted
    first, second = [], []
    for name, X, y in six():
        K = int(y.max()) + 1
        scaled = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
        losses = []
        for options in ({"kernel": None}, {"structure": "full"}, {"effort": "low"}):
            begin = time.process_time()
            p = mx.GAFClassifier(**options).prequential(X, y, classes=range(K))
            seconds = time.process_time() - begin  # the last is kept
            losses.append(log_loss(p, y))
        vw, vw_loss = min(vowpal_wabbit(scaled, y, K) for _ in range(2))
        ours, full, low = losses
        first.append(f"| {name} | {ours:.3f} | {ours / full:.3f} | {vw_loss / ours:.2f} |")
        second.append(f"| {name} | {1e6 * seconds / len(y):.1f} | {low / ours:.2f} |")
        for options in ({"kernel": None}, {}):
            second[-1] += f" {rivers_loop(options, X[:2000], y) / vw:.1f} |"
    head = "| stream | log loss | over full | VW over it |\n|---|---|---|---|"
    print("\n".join([head, *first]), flush=True)
    head = "| stream | us, low | loss, low over linear | river, linear | river |"
    print("\n".join([head, "|---|---|---|---|---|", *second]), flush=True)


def rivers_loop(options, X, y):
    """Microseconds to predict and to learn an example through river."""
    rows = [dict(enumerate(row)) for row in X.tolist()]
    model, begin = mx.river.GAFClassifier(**options), time.process_time()
    for row, label in zip(rows, y.tolist(), strict=False):
        model.predict_proba_one(row)
        model.learn_one(row, label)
    return 1e6 * (time.process_time() - begin) / len(rows)


def linear():
    """The linear mixture beside Vowpal Wabbit, on the clock, each at its best of four in turn."""
    mx.GAFClassifier(kernel=None).prequential(*made(100, 3, 3))
    print("| stream | d | K | us | time over VW | one thread over VW |\n|---|---|---|---|---|---|")
    for name, X, y in six():
        K = int(y.max()) + 1
        scaled = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
        best = {os.cpu_count(): np.inf, 1: np.inf, "VW": np.inf}
        for _ in range(4):
            for threads in (os.cpu_count(), 1):
                model, begin = mx.GAFClassifier(kernel=None, n_jobs=threads), time.perf_counter()
                model.prequential(X, y, classes=range(K))
                passed = 1e6 * (time.perf_counter() - begin) / len(y)
                best[threads] = min(best[threads], passed)
            best["VW"] = min(best["VW"], vowpal_wabbit(scaled, y, K, time.perf_counter)[0])
        own, alone, vw = best.values()
        numbers = f"{own:.3g} | {own / vw:.2f} | {alone / vw:.2f}"
        print(f"| {name} | {X.shape[1]} | {K} | {numbers} |", flush=True)


def default(folder):
    """The default beside Vowpal Wabbit, each at its best of three in turn."""
    mx.GAFClassifier().prequential(*made(100, 3, 3))
    ratios = []
    print("| stream | d | K | us | time over VW |\n|---|---|---|---|---|")
    for path in sorted(Path(folder).glob("*.csv.gz")):
        table = pd.read_csv(path, nrows=2500)
        X, target = table.iloc[:, :-1], table.iloc[:, -1]
        if target.dtype.kind == "f" or target.nunique() > 200:
            continue
        if not all(pd.api.types.is_numeric_dtype(kind) for kind in X.dtypes):
            continue
        X, y = X.to_numpy(float), np.unique(target.astype(str), return_inverse=True)[1]
        K = int(y.max()) + 1
        scaled = np.nan_to_num((X - np.nanmean(X, axis=0)) / (np.nanstd(X, axis=0) + 1e-300))
        best, vw = np.inf, np.inf
        for _ in range(3):
            begin = time.process_time()
            mx.GAFClassifier(n_jobs=1).prequential(X, y, classes=range(K))
            best = min(best, 1e6 * (time.process_time() - begin) / len(y))
            vw = min(vw, vowpal_wabbit(scaled, y, K)[0])
        ratios.append(best / vw)
        name = path.name.split(".")[0]
        print(f"| {name} | {X.shape[1]} | {K} | {best:.0f} | {ratios[-1]:.1f} |", flush=True)
    print(f"\nmedian {np.median(ratios):.1f}")


def loss():
    """The default over the mixture with full posteriors, where they are not the same."""
    print("| streams | number | mean | worst |\n|---|---|---|---|")
    for choose in (averaged.chosen, averaged.more, averaged.kept):
        ratios = []
        for _, X, y in choose():
            K = int(y.max()) + 1
            if K == 2:
                continue
            Z = averaged.standardised(X)
            pair = [
                log_loss(mx.AutoGAF(Z.shape[1], K, structure=structure).run(Z, y), y)
                for structure in (None, "full")
            ]
            ratios.append(pair[0] / pair[1])
        numbers = np.exp(np.log(ratios).mean()), max(ratios)
        row = " | ".join(f"{number:.3f}" for number in numbers)
        print(f"| {choose.__name__} | {len(ratios)} | {row} |", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["default"]:
        sys.exit(default(sys.argv[2]))
    for name in sys.argv[1:] or ("speed", "linear", "peers", "loss"):
        print(f"== {name}", flush=True)
        globals()[name]()
