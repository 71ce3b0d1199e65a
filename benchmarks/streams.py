"""The default on a folder of streams, against the best peer of each in hindsight.

    python benchmarks/streams.py FOLDER [NAME ...]
    python benchmarks/streams.py --long FOLDER [NAME ...]     # all rows, by segment
    python benchmarks/streams.py --behind FOLDER [NAME ...]   # the first rows, and noise

The folder has files NAME.csv or NAME.csv.gz, whose last column is the target, and measured.json, by
name: of labels "n" (rows), and for "online" and "refitted" peers "rows" and "loss"; of numbers "n"
and "best" with "rmse". Losses are -log((1 - 1e-3) p + 1e-3 / K), and are compared on the rows that
the peer had. Errors are those of rows after the first 200, over the deviation of all targets. It
prints a row for each stream: the default, the best peer, the ratio; then the geometric mean of the
ratios, how many are below 1, and the largest.

`--long` compares all rows of the streams that have "long" in measured.json: the loss of LightGBM,
fitted again each time the rows have grown by 1.41, by segment.

`--behind` prints by how many nats, after any number of rows, the default was at most behind what
knows no column: class frequencies, (n_c + 1/2) / (n + K/2); of numbers the running
mean, in squared errors over twice the variance of all targets. Streams of noise, made here, come
last.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import mixable as mx

LEAST, FIRST = 1e-3, 200


def table_of(path: Path, n: int | None) -> tuple[Any, Any]:
    """The first n rows, and their targets. Numbers alone are an array."""
    table = pd.read_csv(path, nrows=n)
    X, y = table.iloc[:, :-1], table.iloc[:, -1]
    numbers = all(pd.api.types.is_numeric_dtype(kind) for kind in X.dtypes)
    return X.to_numpy(np.float64) if numbers else X, y


def losses_of(X: Any, y: Any) -> np.ndarray:
    """The log loss of the default on each row."""
    labels = y.astype(str).to_numpy()
    model = mx.GAFClassifier()
    P = model.prequential(X, labels, classes=np.unique(labels))  # peers know them, too
    own = P[np.arange(len(labels)), np.searchsorted(model.classes_, labels)]
    return -np.log((1 - LEAST) * own + LEAST / len(model.classes_))


def of_labels(path: Path, known: dict[str, Any]) -> tuple[float, float, str]:
    """The default, the peer that it has most of, and who that is."""
    losses = losses_of(*table_of(path, known["n"]))
    peers = [known[kind] for kind in ("online", "refitted") if kind in known]
    rows = [(losses[: peer["rows"]].mean(), peer["loss"], peer["who"]) for peer in peers]
    return max(rows, key=lambda row: row[0] / row[1])


def of_numbers(path: Path, known: dict[str, Any]) -> tuple[float, float, str]:
    """The same for a stream of numbers."""
    X, y = table_of(path, known["n"])
    targets = y.to_numpy(np.float64)
    missed = mx.GAFRegressor().prequential(X, targets) - targets
    error = np.sqrt(np.square(missed[FIRST:]).mean()) / targets.std()
    return error, known["best"]["rmse"], known["best"]["who"]


def summary(ratios: list[float]) -> str:
    """What all ratios have in common."""
    mean = np.exp(np.log(ratios).mean())
    below = sum(ratio < 1 for ratio in ratios)
    return (
        f"below 1: {below} of {len(ratios)}; geometric mean {mean:.3f}; largest {max(ratios):.3f}"
    )


def best_table(folder: Path, known: dict[str, Any], wanted: list[str]) -> None:
    """Print a row for each stream, labels first."""
    for measure, compare, what in ((of_labels, "online", "loss"), (of_numbers, "best", "RMSE")):
        names = [name for name, own in known.items() if compare in own and "n" in own]
        ratios = []
        print(f"| stream | {what} | best peer | | ratio |\n|---|---|---|---|---|")
        for name in [each for each in names if not wanted or each in wanted]:
            own, peer, who = measure(file_of(folder, name), known[name])
            ratios.append(own / peer)
            print(f"| {name} | {own:.4f} | {peer:.4f} | {who} | {own / peer:.4f} |", flush=True)
        print(f"\n{summary(ratios)}\n" if ratios else "")


def long_table(folder: Path, known: dict[str, Any], wanted: list[str]) -> None:
    """Print the ratio to LightGBM, refitted, in each segment of the long streams."""
    for name in [each for each, own in known.items() if "long" in own]:
        if wanted and name not in wanted:
            continue
        peer = known[name]["long"]["lightgbm"]
        losses = losses_of(*table_of(file_of(folder, name), None))
        print(f"| {name} | default | LightGBM | ratio |\n|---|---|---|---|")
        theirs = 0.0
        for segment, loss in peer.items():
            start, end = map(int, segment.split("-"))
            own, theirs = losses[start:end].mean(), theirs + loss * (end - start)
            print(f"| {segment} | {own:.4f} | {loss:.4f} | {own / loss:.4f} |")
        own, loss = losses[:end].mean(), theirs / end
        print(f"| all | {own:.4f} | {loss:.4f} | {own / loss:.4f} |\n", flush=True)


def behind_labels(X: Any, y: Any) -> np.ndarray:
    """By how many nats the default is behind class frequencies after each row."""
    labels = y.astype(str).to_numpy()
    classes, codes = np.unique(labels, return_inverse=True)
    P = mx.GAFClassifier().prequential(X, labels, classes=classes)
    each = np.eye(len(classes))[codes]
    counts = each.cumsum(axis=0) - each + 0.5
    rates = counts / counts.sum(axis=1, keepdims=True)
    rows = np.arange(len(labels))
    return np.log(rates[rows, codes] / P[rows, codes]).cumsum()


def behind_numbers(X: Any, y: Any) -> np.ndarray:
    """The same beside the running mean: squared errors over twice the variance of all targets."""
    targets = y.to_numpy(np.float64)
    means = np.r_[0.0, targets[:-1].cumsum() / np.arange(1, len(targets))]
    errors = np.square(mx.GAFRegressor().prequential(X, targets) - targets)
    return ((errors - np.square(means - targets)) / (2 * targets.var())).cumsum()


def noise_of(seed: int, n: int = 1000) -> dict[str, tuple[Any, pd.Series]]:
    """Targets that depend on no column: of labels two streams, of numbers three."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 10))
    words = pd.DataFrame({f"c{j}": rng.choice(list("abcdefgh"), n) for j in range(10)})
    labels = pd.Series(rng.choice(["a", "b", "c"], n, p=[0.5, 0.3, 0.2]))
    return {
        "labels, numbers": (X, labels),
        "labels, categories": (words, labels),
        "numbers, numbers": (X, pd.Series(rng.normal(size=n))),
        "numbers, heavy tails": (X, pd.Series(rng.standard_t(3, size=n))),
        "numbers, categories": (words, pd.Series(rng.normal(size=n))),
    }


def behind_table(folder: Path, known: dict[str, Any], wanted: list[str]) -> None:
    """Print by how much the default is behind what knows no column, at most and in the end."""
    print("| stream | most nats behind | after rows | in the end |\n|---|---|---|---|")
    for name in [each for each in known if not wanted or each in wanted]:
        measure = behind_numbers if name.startswith("r_") else behind_labels
        _print_behind(name, measure(*table_of(file_of(folder, name), known[name].get("n", 3000))))
    for seed in range(5) if not wanted or "noise" in wanted else ():
        for name, (X, y) in noise_of(seed).items():
            measure = behind_labels if name.startswith("labels") else behind_numbers
            _print_behind(f"noise {seed}: {name}", measure(X, y))


def _print_behind(name: str, nats: np.ndarray) -> None:
    worst = int(nats.argmax())
    print(f"| {name} | {nats[worst]:.2f} | {worst + 1} | {nats[-1]:.2f} |", flush=True)


def file_of(folder: Path, name: str) -> Path:
    """The file of a stream."""
    return next(iter(sorted(folder.glob(f"{name}.csv*"))))


def main() -> None:
    """Print a table."""
    warnings.simplefilter("ignore")
    tables = {"--long": long_table, "--behind": behind_table}
    table = tables.get(sys.argv[1], best_table)
    folder, *wanted = sys.argv[1 if table is best_table else 2 :]
    known = json.loads((Path(folder) / "measured.json").read_text())
    table(Path(folder), known, wanted)


if __name__ == "__main__":
    main()
