"""How far the default is behind class frequencies, at most, in the first rows of streams.

Run `python benchmarks/first_rows.py FILE.csv ...`: the label is the last column of each file. It
prints the largest difference of the losses so far, in nats, within the first 100 rows and within
all: of GAFClassifier(), and of Krichevsky's and Trofimov's frequencies. A label that comes for the
first time is left out, since neither can know it.
"""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd

import mixable as mx

ROWS = 600


def behind(path: str) -> np.ndarray:
    """The difference of the losses after each row."""
    table = pd.read_csv(path, nrows=ROWS)
    y = table.iloc[:, -1].astype(str).to_numpy()
    model = mx.GAFClassifier()
    P = model.prequential(table.iloc[:, :-1], y)
    at = np.searchsorted(model.classes_, y)
    counts: dict[str, int] = {}
    out = np.zeros(len(y))
    for t, label in enumerate(y):
        if label in counts:
            own = (counts[label] + 0.5) / (t + len(counts) / 2)
            out[t] = np.log(own) - np.log(P[t, at[t]])
        counts[label] = counts.get(label, 0) + 1
    return np.cumsum(out)


def main() -> None:
    """Print a row for each file."""
    print("| stream | nats behind, 100 rows | all rows |\n|---|---|---|")
    for path in sys.argv[1:]:
        far = behind(path)
        print(f"| {path.split('/')[-1]} | {far[:100].max():.2f} | {far.max():.2f} |", flush=True)


if __name__ == "__main__":
    main()
