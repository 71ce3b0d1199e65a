"""What curves bring and cost: log loss and time of the linear and of the default classifier.

    pip install ".[bench]"
    python benchmarks/curves.py [landmarks | peers [OTHER_PYTHON] | planes | kept]

`landmarks` has the default with other ceilings of its landmarks (n_components) in place of the
linear one. `kept` has the loss of the default over that of the linear one on streams that had no
part in the choice of its settings. `peers` has the time of the default over that of Vowpal Wabbit,
as it comes and with one thread, and over the former that of kernel="rbf" with as many components
(OTHER_PYTHON is the interpreter of an environment with another version of mixable) and of river's
forests at their defaults. `planes` has streams on which a linear model is right: what the default
loses there, and what it costs after 2,048 examples.

One pass over raw rows in the order of `default_rng(0)`, each row forecast before its label is
learned. Time is the processor's, with one thread: the least of three runs in which all take their
turn. `peers` goes by the clock; kernel="rbf" and the forests, which take long, run once.
"""

import os
import sys

if not {"peers", "rbf"} & set(sys.argv):  # these have as many threads as they take
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = "1"

import subprocess
import time

import numpy as np
from sklearn.datasets import load_digits

import mixable as mx

ROUNDS = 3
KINDS = {"linear": {"kernel": None}, "default": {}}
CEILINGS = {str(m): {"kernel": mx.kernels.Auto(m)} for m in (50, 100, 200, 300, 400)}


def streams():
    """Name, rows and labels of each stream."""

    def shuffled(X, y, n=None):
        order = np.random.default_rng(0).permutation(len(y))[:n]
        return X[order], y[order]

    yield "vehicle", *shuffled(*mx.datasets.load_vehicle()[:2])
    yield "segment", *shuffled(*mx.datasets.load_segment()[:2])
    yield "shuttle, 4,000 rows", *shuffled(*mx.datasets.load_shuttle()[:2], 4000)
    yield "digits", *shuffled(*load_digits(return_X_y=True))
    yield "slow drift, 5,000 rows", *mx.datasets.make_drift(5000, kind="slow")
    yield "jumps, 5,000 rows", *mx.datasets.make_drift(5000, kind="jump")


def measured(options, X, y, clock=time.process_time):
    """Log loss and microseconds of one pass."""
    model = mx.GAFClassifier(**options)
    start = clock()
    p = model.prequential(X, y, classes=range(int(y.max()) + 1))
    seconds = clock() - start
    return mx.metrics.log_loss(p, y), 1e6 * seconds / len(y)


def head(*names):
    """Print the head of a table in Markdown."""
    print("| stream |", " | ".join(names), "|")
    print("|---" * (len(names) + 1) + "|")


def river_time(model, X, y):
    """Microseconds of an example in river's loop."""
    events = [dict(enumerate(row)) for row in X.tolist()]
    start = time.perf_counter()
    for event, label in zip(events, y.tolist(), strict=True):
        model.predict_proba_one(event)
        model.learn_one(event, label)
    return 1e6 * (time.perf_counter() - start) / len(events)


def rbf():
    """Print the microseconds of kernel="rbf" on each stream."""
    for _, X, y in streams():
        print(measured({"kernel": "rbf"}, X, y, time.perf_counter)[1], flush=True)


def peers():
    """The time of the default beside that of others, on the clock, each on the same rows."""
    python = sys.argv[2] if len(sys.argv) > 2 else sys.executable
    command = [python, "-W", "ignore", __file__, "rbf"]
    lines = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.split()

    from river import forest
    from structures import vowpal_wabbit  # sets the number of threads of what is started later

    clock = time.perf_counter
    head("us", "over VW", "one thread over VW", *(f"{it} over it" for it in ("rbf", "AMF", "ARF")))
    for (name, X, y), kernels in zip(streams(), map(float, lines), strict=True):
        K = int(y.max()) + 1
        scaled = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
        own, alone, others = [], [], []
        for _ in range(ROUNDS):
            own.append(measured({}, X, y, clock)[1])
            alone.append(measured({"n_jobs": 1}, X, y, clock)[1])
            others.append(vowpal_wabbit(scaled, y, K, clock)[0])
        mine, one, vw = min(own), min(alone), min(others)
        amf = river_time(forest.AMFClassifier(seed=0), X, y)
        arf = river_time(forest.ARFClassifier(seed=0), X, y)
        numbers = [f"{mine:.0f}", f"{mine / vw:.1f}", f"{one / vw:.1f}"]
        numbers += [f"{kernels / mine:.0f}", *(f"{each / mine:.1f}" for each in (amf, arf))]
        print(f"| {name} |", " | ".join(numbers), "|", flush=True)


def planes():
    """What curves lose and cost where a plane is right, or moves."""

    def linear(n, d, K, tails=False):
        rng = np.random.default_rng(d)
        X = rng.standard_t(3, size=(n, d)) if tails else rng.normal(size=(n, d))
        scores = X @ rng.normal(size=(d, K)) * 3 / d**0.5 + rng.gumbel(size=(n, K))
        return X, scores.argmax(axis=1)

    first, last, n = 2048, 5000, 8192
    cases = {f"{d} columns, {K} classes": linear(n, d, K) for d, K in ((4, 2), (10, 4), (30, 3))}
    cases["heavy tails, 8 columns, 3 classes"] = linear(n, 8, 3, tails=True)
    for kind in ("none", "slow", "jump"):
        cases[f"make_drift, {kind}"] = mx.datasets.make_drift(n, kind=kind)
    head("loss over linear, 5,000 rows", "time over linear, after 2,048 rows")
    for name, (X, y) in cases.items():
        runs = [[], []]
        for _ in range(ROUNDS):
            for options, times in zip(KINDS.values(), runs, strict=True):
                model = mx.GAFClassifier(**options)
                model.prequential(X[:first], y[:first], classes=range(int(y.max()) + 1))
                start = time.process_time()
                model.prequential(X[first:], y[first:])
                times.append(time.process_time() - start)
        losses = [measured(options, X[:last], y[:last])[0] for options in KINDS.values()]
        ratio = min(runs[1]) / min(runs[0])
        print(f"| {name} | {losses[1] / losses[0]:.3f} | {ratio:.2f} |", flush=True)


def unseen(most=4000):
    """Name, rows and labels of streams that were held out when the settings were chosen."""
    from river import datasets
    from river.datasets import synth
    from sklearn.datasets import load_iris, make_moons

    for seed in (1, 2):
        for name in ("vehicle", "segment", "shuttle"):
            X, y = getattr(mx.datasets, f"load_{name}")()[:2]
            order = np.random.default_rng(seed).permutation(len(y))[:most]
            yield f"{name}, order {seed}", X[order], y[order]
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    yield "iris", X[order], y[order]
    yield "moons", *make_moons(2000, noise=0.2, random_state=0)
    for name, events in (
        ("phishing", datasets.Phishing()),
        ("bananas", datasets.Bananas()),
        ("waveform", synth.Waveform(seed=0).take(most)),
        ("hyperplane", synth.Hyperplane(seed=0).take(most)),
    ):
        rows, labels = zip(*((list(x.values()), int(y)) for x, y in events), strict=True)
        yield name, np.array(rows, dtype=float), np.array(labels)


def kept():
    """The loss of the default over that of the linear mixture."""
    head("rows", "loss, linear", "loss, default", "ratio")
    ratios = []
    for name, X, y in unseen():
        linear, default = (measured(options, X, y)[0] for options in KINDS.values())
        ratios.append(default / linear)
        numbers = f"{linear:.3f} | {default:.3f} | {ratios[-1]:.2f}"
        print(f"| {name} | {len(y):,} | {numbers} |", flush=True)
    print(f"| geometric mean | | | | {np.exp(np.log(ratios).mean()):.2f} |")


def landmarks():
    """Loss and time with other ceilings: a table of each."""
    found = [
        (name, [[measured(each, X, y) for each in CEILINGS.values()] for _ in range(ROUNDS)])
        for name, X, y in streams()
    ]
    for title, i, digits in (("loss", 0, 3), ("us", 1, 0)):
        head(*(f"{title}, {ceiling}" for ceiling in CEILINGS))
        for name, runs in found:
            least = np.min([[pair[i] for pair in run] for run in runs], axis=0)
            print(f"| {name} |", " | ".join(f"{number:.{digits}f}" for number in least), "|")
        print()


def main():
    """Print a table in Markdown."""
    measured({}, *mx.datasets.make_drift(100, kind="none"))  # imports
    for other in (peers, planes, rbf, kept, landmarks):
        if other.__name__ in sys.argv[1:]:
            return other()
    head(*(f"{what}, {kind}" for what in ("loss", "us") for kind in KINDS))
    for name, X, y in streams():
        runs = [[measured(options, X, y) for options in KINDS.values()] for _ in range(ROUNDS)]
        losses = [f"{loss:.3f}" for loss, _ in runs[0]]
        times = [f"{min(run[i][1] for run in runs):.0f}" for i in range(len(KINDS))]
        print(f"| {name} |", " | ".join(losses + times), "|", flush=True)


if __name__ == "__main__":
    main()
