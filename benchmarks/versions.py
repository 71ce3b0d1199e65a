"""Two versions in one run: processor time of an example, as ratios.

    python benchmarks/versions.py OTHER_PYTHON [TASK ...]
    python benchmarks/versions.py OTHER_PYTHON FOLDER [NAME ...]

OTHER_PYTHON is the interpreter of an environment that has the other version. A process of each
version stays alive. They take turns at short pieces of work, of which the least processor time
counts, so that others may use the machine meanwhile. Prints microseconds of this version, and this
version over the other one for each shape, their median and the worst.

FOLDER has files NAME.csv or NAME.csv.gz, whose last column is the target: then the work is the
default on the first rows of each, and there is a line for each file.
"""

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import IO, cast

ROUNDS = 7
FILE_ROUNDS, FILE_ROWS = 5, 2500
SHAPES = ((4, 2), (10, 2), (20, 3), (54, 7), (50, 10), (8, 4))  # features, classes
TASKS = {
    "table": "GAFClassifier, a table",
    "rows": "GAFClassifier, rows",
    "auto": "AutoGAF, a table",
    "auto_rows": "AutoGAF, rows",
    "gaf": "GAF, a table",
    "gaf_rows": "GAF, rows",
    "regressor": "GAFRegressor, a table",
    "regressor_rows": "GAFRegressor, rows",
    "records": "GAFClassifier, records",
    "river": "river, rows",
    "stream": "stream of CSV, records",
}

WORK = r"""
import contextlib, io, json, os, sys, tempfile, time, warnings
import numpy as np
import mixable as mx
from mixable.cli import main

warnings.simplefilter("ignore")


def numbers(d, K, n):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, (X @ rng.normal(size=(d, K)) + rng.gumbel(size=(n, K))).argmax(1)


def records(d, K, n):
    X, y = numbers(d, K, n)
    names = [f"x{i}" for i in range(d)]
    texts = [[f"c{int(4 * x[0])}", f"u{int(50 * abs(x[1]))}"] for x in X]
    rows = [dict(zip(names, x), a=a, b=b) for x, (a, b) in zip(X.tolist(), texts)]
    return rows, [f"class {label}" for label in y]


def table(d, K):
    X, y = numbers(d, K, 600)
    model = mx.GAFClassifier()
    model.partial_fit(X[:50], y[:50], classes=range(K))
    return 550, lambda: model.prequential(X[50:], y[50:])


def one_by_one(model, X, y):
    def work():
        for t in range(300, 400):
            model.predict_proba(X[t : t + 1])
            model.partial_fit(X[t : t + 1], y[t : t + 1])

    return 100, work


def rows(d, K):
    X, y = numbers(d, K, 400)
    model = mx.GAFClassifier()
    model.partial_fit(X[:300], y[:300], classes=range(K))
    return one_by_one(model, X, y)


def of_forecaster(make):
    def table(d, K):
        X, y = numbers(d, K, 1000)
        model = make(d, K)
        return 1000, lambda: model.run(X, y)

    def rows(d, K):
        X, y = numbers(d, K, 600)
        model = make(d, K)
        model.run(X[:300], y[:300])

        def work():
            for t in range(300, 600):
                model.predict(X[t])
                model.learn(X[t], int(y[t]))

        return 300, work

    return table, rows


auto, auto_rows = of_forecaster(mx.AutoGAF)
gaf, gaf_rows = of_forecaster(mx.GAF)


def curve(X):
    return 2 * X[:, 0] + np.sin(X[:, 1])


def regressor(d, K):
    X = numbers(d, K, 600)[0]
    model = mx.GAFRegressor()
    model.partial_fit(X[:50], curve(X[:50]))
    return 550, lambda: model.prequential(X[50:], curve(X[50:]))


def regressor_rows(d, K):
    X = numbers(d, K, 400)[0]
    z = curve(X)
    model = mx.GAFRegressor()
    model.partial_fit(X[:300], z[:300])

    def work():
        for t in range(300, 400):
            model.predict(X[t : t + 1])
            model.partial_fit(X[t : t + 1], z[t : t + 1])

    return 100, work


def of_records(d, K):
    import pandas as pd

    X, y = records(d, K, 600)
    X = pd.DataFrame(X)
    model = mx.GAFClassifier()
    model.partial_fit(X[:50], y[:50], classes=[f"class {c}" for c in range(K)])
    return 550, lambda: model.prequential(X[50:], y[50:])


def river(d, K):
    X, y = records(d, K, 400)
    model = mx.river.GAFClassifier()
    for t in range(300):
        model.learn_one(X[t], y[t])

    def work():
        for t in range(300, 400):
            model.predict_proba_one(X[t])
            model.learn_one(X[t], y[t])

    return 100, work


def stream(d, K):
    X, y = records(d, K, 800)
    folder = tempfile.mkdtemp()
    with open(folder + "/in.csv", "w") as file:
        file.write(",".join([*X[0], "kind"]) + "\n")
        for x, label in zip(X, y):
            file.write(",".join([*map(str, x.values()), label]) + "\n")
    words = ["mixable", "stream", "--model", folder + "/model", "--target", "kind"]

    def work():
        sys.argv = [*words, "--out", folder + "/out.csv", folder + "/in.csv"]
        with contextlib.suppress(SystemExit), contextlib.redirect_stderr(io.StringIO()):
            main()

    return 800, work


tables = {}


def file(path, most):
    import pandas as pd

    if path not in tables:
        table = pd.read_csv(path, nrows=most)
        X, y = table.iloc[:, :-1], table.iloc[:, -1]
        if all(pd.api.types.is_numeric_dtype(kind) for kind in X.dtypes):
            X = X.to_numpy(np.float64)
        of_numbers = y.dtype.kind == "f" or y.nunique() > 200
        tables[path] = X, y.to_numpy(float) if of_numbers else y.astype(str).to_numpy()
    X, y = tables[path]
    if y.dtype.kind == "f":
        return len(y), lambda: mx.GAFRegressor().prequential(X, y)
    return len(y), lambda: mx.GAFClassifier().prequential(X, y, classes=np.unique(y))


tasks = {**globals(), "records": of_records}
for line in sys.stdin:
    task, *shape = json.loads(line)
    count, work = tasks[task](*shape)
    begin = time.process_time()
    work()
    print(json.dumps((time.process_time() - begin) / count), flush=True)
"""


class Worker:
    """A process that works with one of the versions."""

    def __init__(self, python: str, **environment: str | None) -> None:
        kept = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", **environment}
        self._process = subprocess.Popen(
            [python, "-c", WORK],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={name: value for name, value in kept.items() if value is not None},
        )

    def seconds(self, task: str, shape: tuple[int, int] | tuple[str, int]) -> float:
        """Processor time of an example of a task."""
        worker = self._process
        questions, answers = cast("tuple[IO[str], IO[str]]", (worker.stdin, worker.stdout))
        questions.write(json.dumps([task, *shape]) + "\n")
        questions.flush()
        return float(json.loads(answers.readline()))


def compared(
    other: Worker, this: Worker, task: str, shape: tuple[int, int] | tuple[str, int], rounds: int
) -> tuple[float, float]:
    """Microseconds of the other version and of this one: the least of some rounds."""
    pairs = [(other.seconds(task, shape), this.seconds(task, shape)) for _ in range(rounds)]
    old, new = map(min, zip(*pairs, strict=True))
    return 1e6 * old, 1e6 * new


def by_shape(other: Worker, this: Worker, names: Iterable[str]) -> None:
    """Print a line for each task."""
    print(f"| | {' | '.join(f'{d}, {K}' for d, K in SHAPES)} | median | worst |")
    print("|---" * (len(SHAPES) + 3) + "|")
    for task in names:
        pairs = [compared(other, this, task, shape, ROUNDS) for shape in SHAPES]
        ratios = [new / old for old, new in pairs]
        cells = [f"{new:.1f}, {new / old:.2f}" for old, new in pairs]
        cells += [f"{statistics.median(ratios):.2f}", f"{max(ratios):.2f}"]
        print(f"| {TASKS[task]} | {' | '.join(cells)} |", flush=True)


def by_file(other: Worker, this: Worker, folder: Path, names: list[str]) -> None:
    """Print a line for each file."""
    ratios = []
    print("| file | us | us, other | ratio |\n|---|---|---|---|")
    for path in sorted(folder.glob("*.csv*")):
        name = path.name.split(".")[0]
        if names and name not in names:
            continue
        old, new = compared(other, this, "file", (str(path), FILE_ROWS), FILE_ROUNDS)
        ratios.append(new / old)
        print(f"| {name} | {new:.1f} | {old:.1f} | {new / old:.2f} |", flush=True)
    ends = f"least {min(ratios):.2f}, worst {max(ratios):.2f}"
    print(f"\nmedian {statistics.median(ratios):.2f}, {ends}")


def main() -> None:
    """Print a table."""
    python, *words = sys.argv[1:] or [""]
    folder = Path(words[0]) if words and Path(words[0]).is_dir() else None
    if not python or not (folder or set(words) <= set(TASKS)):
        sys.exit(f"{__doc__}\nTASK: {' '.join(TASKS)}")
    other, this = Worker(python, PYTHONPATH=None), Worker(sys.executable)
    if folder:
        by_file(other, this, folder, words[1:])
    else:
        by_shape(other, this, words or TASKS)


if __name__ == "__main__":
    main()
