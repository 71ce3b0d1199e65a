"""Two versions in one run: microseconds an example, and their ratio.

    python benchmarks/versions.py OTHER_PYTHON

OTHER_PYTHON is the interpreter of an environment that has the other version. The two take turns,
and the best of each counts.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROUNDS = 5
TASKS = ("scikit-learn", "river", "scikit-learn, GAF", "river, GAF", "table", "stream")

WORK = r"""
import contextlib, io, json, os, sys, time
os.environ["OPENBLAS_NUM_THREADS"] = "1"
import numpy as np
import mixable as mx
from mixable.cli import main

X, y, _ = mx.datasets.load_vehicle()
order = np.random.default_rng(0).permutation(len(y))
X, y = np.ascontiguousarray(X[order]), y[order]
n, fixed = len(y), {"lam": 0.1, "beta": 1.0, "alpha": 4.0, "drift": 0.0}


def by_row(model):
    model.partial_fit(X[:50], y[:50], classes=range(4))
    start = time.perf_counter()
    for t in range(50, n):
        model.predict_proba(X[t : t + 1])
        model.partial_fit(X[t : t + 1], y[t : t + 1])
    return (time.perf_counter() - start) / (n - 50)


def by_dictionary(model):
    rows = [dict(enumerate(row)) for row in X.tolist()]
    labels = y.tolist()
    for t in range(50):
        model.learn_one(rows[t], labels[t])
    start = time.perf_counter()
    for t in range(50, n):
        model.predict_proba_one(rows[t])
        model.learn_one(rows[t], labels[t])
    return (time.perf_counter() - start) / (n - 50)


def by_table():
    start = time.perf_counter()
    mx.GAFClassifier(kernel=None).prequential(X, y, classes=range(4))
    return (time.perf_counter() - start) / n


def by_stream(folder):
    rows = [",".join(map(repr, row)) + f",{label}" for row, label in zip(X.tolist(), y.tolist())]
    header = ",".join([*(f"x{i}" for i in range(18)), "kind"])
    with open(folder + "/in.csv", "w") as file:
        file.write("\n".join([header, *rows * 40]) + "\n")
    words = ["mixable", "stream", "--model", folder + "/model", "--target", "kind", "--out"]
    sys.argv = [*words, folder + "/out.csv", "--forecaster", "gaf", folder + "/in.csv"]
    start = time.perf_counter()
    with contextlib.suppress(SystemExit), contextlib.redirect_stderr(io.StringIO()):
        main()
    return (time.perf_counter() - start) / (40 * n)


times = [by_row(mx.GAFClassifier(kernel=None)), by_dictionary(mx.river.GAFClassifier())]
times += [by_row(mx.GAFClassifier(**fixed)), by_dictionary(mx.river.GAFClassifier(**fixed))]
print(json.dumps([*times, by_table(), by_stream(sys.argv[1])]))
"""


def once(python: str) -> list[float]:
    """Seconds an example of each task."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "work.py")
        script.write_text(WORK)
        done = subprocess.run(
            [python, script, folder], check=True, cwd=folder, stdout=subprocess.PIPE, text=True
        )
    times: list[float] = json.loads(done.stdout.splitlines()[-1])
    return times


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    here, there = [], []
    for _ in range(ROUNDS):
        there.append(once(sys.argv[1]))
        here.append(once(sys.executable))
    print(f"{'vehicle (18, 4), us an example':32}{'other':>10}{'this':>10}{'ratio':>8}")
    for task, old, new in zip(
        TASKS, map(min, zip(*there, strict=True)), map(min, zip(*here, strict=True)), strict=True
    ):
        print(f"{task:32}{1e6 * old:10.1f}{1e6 * new:10.1f}{new / old:8.2f}")
