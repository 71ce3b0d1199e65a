"""The default on a folder of streams, against the best peer of each in hindsight.

Run `python benchmarks/streams.py FOLDER [NAME ...]`. The folder has files NAME.csv or NAME.csv.gz,
whose last column is the target, and measured.json, by name: of labels "n" (rows), and for "online"
and "refitted" peers "rows" and "loss"; of numbers "n" and "best" with "rmse". Losses are
-log((1 - 1e-3) p + 1e-3 / K), and are compared on the rows that the peer had. Errors are those of
rows after the first 200, over the deviation of all targets. It prints a row for each stream: the
default, the best peer, the ratio; then the geometric mean of the ratios, how many are below 1, and
the largest.
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


def table_of(path: Path, n: int) -> tuple[Any, Any]:
    """The first n rows, and their targets. Numbers alone are an array."""
    table = pd.read_csv(path, nrows=n)
    X, y = table.iloc[:, :-1], table.iloc[:, -1]
    numbers = all(pd.api.types.is_numeric_dtype(kind) for kind in X.dtypes)
    return X.to_numpy(np.float64) if numbers else X, y


def of_labels(path: Path, known: dict[str, Any]) -> tuple[float, float, str]:
    """The default, the peer that it has most of, and who that is."""
    X, y = table_of(path, known["n"])
    labels = y.astype(str).to_numpy()
    model = mx.GAFClassifier()
    P = model.prequential(X, labels, classes=np.unique(labels))  # peers know them, too
    own = P[np.arange(len(labels)), np.searchsorted(model.classes_, labels)]
    losses = -np.log((1 - LEAST) * own + LEAST / len(model.classes_))
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


def main() -> None:
    """Print a row for each stream, labels first."""
    folder, *wanted = sys.argv[1:]
    warnings.simplefilter("ignore")
    known = json.loads((Path(folder) / "measured.json").read_text())
    for measure, compare, what in ((of_labels, "online", "loss"), (of_numbers, "best", "RMSE")):
        names = [name for name, own in known.items() if compare in own and "n" in own]
        ratios = []
        print(f"| stream | {what} | best peer | | ratio |\n|---|---|---|---|---|")
        for name in [each for each in names if not wanted or each in wanted]:
            path = next(iter(sorted(Path(folder).glob(f"{name}.csv*"))))
            own, peer, who = measure(path, known[name])
            ratios.append(own / peer)
            print(f"| {name} | {own:.4f} | {peer:.4f} | {who} | {own / peer:.4f} |", flush=True)
        print(f"\n{summary(ratios)}\n" if ratios else "")


if __name__ == "__main__":
    main()
