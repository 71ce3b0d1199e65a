"""SparseGAF beside SGDClassifier and Vowpal Wabbit: log loss of forecasts made before learning, one
pass, and time.

    python benchmarks/sparse.py                                # a text that is made here
    python benchmarks/sparse.py bank.csv.gz:subscribed ...     # records: file:target

Needs Vowpal Wabbit (`pip install ".[bench]"`). Text: 20,000 rows of 50 words, a million columns, 20
classes, in chunks of 1,000. Records: each value of each column is a feature ("age=58"); an empty
field is none. The others are run at several settings, and the best one in hindsight is named;
SparseGAF is run once. The time of Vowpal Wabbit includes reading its text.
"""

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import csv
import gzip
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.linear_model import SGDClassifier
from vowpalwabbit import Workspace

import mixable as mx

RATES = (0.1, 0.5, 2.5, 12.5)
SGD_RATES = (0.003, 0.01, 0.03, 0.1)
VW = {
    "defaults": "",
    "ftrl": "--ftrl",
    "coin": "--coin",
    **{f"rate {rate:g}": f"-l {rate}" for rate in RATES},
}
LEAST = 1e-6  # probabilities of the others are kept above it; SparseGAF's are as they are


def text(
    n: int = 20_000, words: int = 50, columns: int = 1_000_000, K: int = 20, seed: int = 0
) -> tuple[csr_matrix, Any]:
    """Words by a power law; some are of the row's class, which has an order of its own."""
    rng = np.random.default_rng(seed)
    ranks = np.cumsum(np.arange(1, columns + 1) ** -1.05)
    y = rng.integers(0, K, n)
    drawn = np.searchsorted(ranks / ranks[-1], rng.random((2, n, words)))
    step, begin = 1 + 2 * rng.integers(0, columns // 2, K), rng.integers(0, columns, K)
    topical = (drawn[0] * step[y][:, None] + begin[y][:, None]) % columns
    chosen = np.where(rng.random((n, words)) < 0.15 * rng.random((n, 1)), topical, drawn[1])
    X = csr_matrix(
        (np.ones(n * words), chosen.ravel(), words * np.arange(n + 1)), shape=(n, columns)
    )
    X.sum_duplicates()
    return X, y


def records(path: str, target: str) -> tuple[csr_matrix, Any]:
    """One feature for each value of each column."""
    features: dict[tuple[str, str], int] = {}
    labels: dict[str, int] = {}
    keys, start, y = [], [0], []
    with gzip.open(path, "rt") if path.endswith(".gz") else open(path) as file:
        for record in csv.DictReader(file):
            y.append(labels.setdefault(record.pop(target), len(labels)))
            for field in record.items():
                if field[1]:
                    keys.append(features.setdefault(field, len(features)))
            start.append(len(keys))
    return csr_matrix((np.ones(len(keys)), keys, start), shape=(len(y), len(features))), np.array(y)


def chunks(X: csr_matrix, y: Any) -> Iterator[tuple[csr_matrix, Any]]:
    """A thousand rows at a time."""
    for t in range(0, len(y), 1000):
        yield X[t : t + 1000], y[t : t + 1000]


def loss(p: Any, y: Any) -> float:
    """Log loss, of probabilities of at least LEAST."""
    return float(-np.log(np.maximum(p[np.arange(len(y)), y], LEAST)).mean())


def timed(run: Callable[[], Any]) -> tuple[Any, float]:
    """What a call gives, and its seconds."""
    start = time.perf_counter()
    out = run()
    return out, time.perf_counter() - start


def sgd(X: csr_matrix, y: Any, K: int, rate: float | None) -> tuple[float, float]:
    """Loss of SGDClassifier, each chunk predicted before it is learned; seconds of learning."""
    schedule = {} if rate is None else {"learning_rate": "constant", "eta0": rate}
    model, p, seconds = SGDClassifier(loss="log_loss", **schedule), [], 0.0
    for part, labels in chunks(X, y):
        p.append(model.predict_proba(part) if p else np.full((len(labels), K), 1 / K))
        seconds += timed(lambda: model.partial_fit(part, labels, classes=np.arange(K)))[1]  # noqa: B023
    return loss(np.concatenate(p), y), seconds


def write_for_vw(X: csr_matrix, y: Any, K: int, path: Path) -> None:
    """Vowpal Wabbit's own format; two classes are -1 and 1, more are 1 to K."""
    with path.open("w") as file:
        for t, label in enumerate(y):
            entries = range(X.indptr[t], X.indptr[t + 1])
            row = " ".join(f"{X.indices[i]}:{X.data[i]:g}" for i in entries)
            file.write(f"{2 * label - 1 if K == 2 else label + 1} | {row}\n")


def vowpal_wabbit(path: Path, y: Any, K: int, options: str) -> tuple[float, float]:
    """Loss of Vowpal Wabbit's own forecasts before learning, and its seconds."""
    kind = "--link logistic" if K == 2 else f"--oaa {K} --probabilities"
    out = path.with_suffix(".out")

    def run() -> None:
        workspace = Workspace(
            f"-d {path} -p {out} -b 22 --loss_function logistic {kind} {options} --quiet"
        )
        workspace.run_parser()
        workspace.finish()

    seconds = timed(run)[1]
    lines = out.read_text().split("\n")[: len(y)]
    if K == 2:
        second = np.array([float(line.split()[0]) for line in lines])
        return loss(np.column_stack([1 - second, second]), y), seconds
    p = np.array([[float(each.split(":")[1]) for each in line.split()[:K]] for line in lines])
    return loss(p, y), seconds


def show(name: str, results: dict[str, tuple[float, float]], ours: tuple[float, float]) -> None:
    """Print each result, and the ratios to the best one."""
    for setting, (value, seconds) in results.items():
        print(f"  {name} {setting:10} {value:.4f}  {seconds:6.2f} s")
    best = min(results, key=lambda setting: results[setting][0])
    value, seconds = results[best]
    print(
        f"  SparseGAF / {name}, best in hindsight ({best}): loss {ours[0] / value:.3f}, "
        f"time {ours[1] / seconds:.2f}; defaults: loss {ours[0] / results['defaults'][0]:.3f}"
    )


def compare(name: str, X: csr_matrix, y: Any, *, with_sgd: bool) -> None:
    """Run all on one stream."""
    K = int(y.max()) + 1
    f = mx.SparseGAF(K)
    p, seconds = timed(lambda: np.concatenate([f.run(*chunk) for chunk in chunks(X, y)]))
    ours = float(mx.losses.log_loss(p, y).mean()), seconds
    print(f"{name}: {X.shape[0]} rows, {X.shape[1]} columns, {K} classes, {X.nnz} entries")
    print(
        f"  SparseGAF {ours[0]:.4f}  {seconds:6.2f} s  {1e6 * seconds / len(y):.1f} us a row, "
        f"{f.n_features} features, {f.memory / 1e6:.1f} MB"
    )
    if with_sgd:
        settings = {"defaults": None, **{f"eta0 {rate:g}": rate for rate in SGD_RATES}}
        g = mx.SparseGAF(K)
        late = []  # as SGDClassifier has it: a chunk is predicted before any of its rows is learned
        for part, labels in chunks(X, y):
            late.append(g.predict(part))
            g.run(part, labels)
        late_loss = loss(np.concatenate(late), y)
        print(f"  SparseGAF {late_loss:.4f}, with forecasts a chunk ahead, as of SGDClassifier")
        results = {name: sgd(X, y, K, rate) for name, rate in settings.items()}
        show("SGD", results, (late_loss, seconds))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.vw")
        write_for_vw(X, y, K, path)
        show("VW", {name: vowpal_wabbit(path, y, K, each) for name, each in VW.items()}, ours)


def main() -> None:
    """Run what the command line names."""
    for argument in sys.argv[1:]:
        path, _, target = argument.rpartition(":")
        compare(Path(path).name, *records(path, target), with_sgd=False)
    if len(sys.argv) == 1:
        compare("text", *text(), with_sgd=True)


if __name__ == "__main__":
    main()
