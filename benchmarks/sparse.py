"""SparseGAF beside SGDClassifier and Vowpal Wabbit: log loss of forecasts made before learning, one
pass, and time.

    python benchmarks/sparse.py words bank.csv.gz:subscribed ...   # a text made here, and records
    python benchmarks/sparse.py sgd                                # SGDClassifier on the text

Needs Vowpal Wabbit (`pip install ".[bench]"`). Text: 20,000 rows of 50 words, a million columns, 20
classes, in chunks of 1,000. Records: each value of each column is a feature ("age=58"); an empty
field is none. The others are run at several settings, and the best one in hindsight is named;
SparseGAF is run once. Times are of the processor; that of Vowpal Wabbit includes reading its text.
Prints Markdown.
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
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.linear_model import SGDClassifier
from vowpalwabbit import Workspace

import mixable as mx

FREQUENCIES = (0.1, 0.5, 2.5, 12.5)
SGD_RATES = (0.003, 0.01, 0.03, 0.1)
VW = {
    "defaults": "",
    "ftrl": "--ftrl",
    "coin": "--coin",
    **{f"rate {rate:g}": f"-l {rate}" for rate in FREQUENCIES},
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
    start = time.process_time()
    out = run()
    return out, time.process_time() - start


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


class Compared(NamedTuple):
    """One stream: its size, and (loss, seconds) of all."""

    name: str
    rows: int
    features: int
    classes: int
    ours: tuple[float, float]
    vw: dict[str, tuple[float, float]]

    @property
    def best(self) -> str:
        """The setting of Vowpal Wabbit with the least loss."""
        return min(self.vw, key=lambda setting: self.vw[setting][0])


def compare(name: str, X: csr_matrix, y: Any) -> Compared:
    """Run SparseGAF and Vowpal Wabbit on one stream."""
    K = int(y.max()) + 1
    f = mx.SparseGAF(K)
    p, seconds = timed(lambda: np.concatenate([f.run(*chunk) for chunk in chunks(X, y)]))
    ours = float(mx.losses.log_loss(p, y).mean()), seconds
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.vw")
        write_for_vw(X, y, K, path)
        vw = {setting: vowpal_wabbit(path, y, K, options) for setting, options in VW.items()}
    return Compared(name, len(y), f.n_features, K, ours, vw)


def show(found: list[Compared]) -> None:
    """Print losses, sizes and times."""
    print("| stream | SparseGAF | VW, defaults | VW, best | its setting |\n|---|---|---|---|---|")
    for each in found:
        losses = each.ours[0], each.vw["defaults"][0], each.vw[each.best][0]
        cells = [f"**{loss:.4f}**" if loss == min(losses) else f"{loss:.4f}" for loss in losses]
        print(f"| {each.name} | {' | '.join(cells)} | {each.best} |")
    print("\n| stream | rows | features | classes | time over VW |\n|---|---|---|---|---|")
    for each in found:
        sizes = f"{each.rows:,} | {each.features:,} | {each.classes}"
        print(f"| {each.name} | {sizes} | {each.ours[1] / each.vw[each.best][1]:.1f} |")


def beside_sgd() -> None:
    """Print losses a chunk ahead, and seconds of learning, of SparseGAF and SGDClassifier."""
    X, y = text()
    K = int(y.max()) + 1
    f, late, seconds = mx.SparseGAF(K), [], 0.0
    for part, labels in chunks(X, y):
        late.append(f.predict(part))
        seconds += timed(lambda: f.run(part, labels))[1]  # noqa: B023
    print("| model | log loss | seconds |\n|---|---|---|")
    print(f"| SparseGAF | {loss(np.concatenate(late), y):.3f} | {seconds:.1f} |")
    for rate in (None, *SGD_RATES):
        value, seconds = sgd(X, y, K, rate)
        setting = f"rate {rate:g}" if rate else "defaults"
        print(f"| SGDClassifier, {setting} | {value:.3f} | {seconds:.1f} |", flush=True)


def main() -> None:
    """Run what the command line names."""
    if sys.argv[1:] == ["sgd"]:
        beside_sgd()
        return
    found = []
    for argument in sys.argv[1:] or ["words"]:
        path, _, target = argument.rpartition(":")
        name = Path(path).name.partition(".")[0] if target != argument else argument
        found.append(compare(name, *(text() if argument == "words" else records(path, target))))
    show(found)


if __name__ == "__main__":
    main()
