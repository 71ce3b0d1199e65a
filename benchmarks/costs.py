"""What each expert of the default costs and gains, how its time grows, its longest step, its lead.

    python benchmarks/costs.py experts FILE.csv.gz ...   # the label is the last column of each file
    python benchmarks/costs.py sizes
    python benchmarks/costs.py steps [ROWS]              # of 20 columns; fewer of 500
    python benchmarks/costs.py lead [ROWS]               # needs LightGBM

`experts` leaves out one expert at a time, of all but the first, and divides loss and time of the
default by those without it. `sizes` has rows of numbers. Times are processor time of one thread.
`steps` predicts and learns one row at a time. `lead` divides the log loss of the default by that of
LightGBM, fitted again each time the rows have grown by 1.41.
"""

from __future__ import annotations

import datetime
import itertools
import math
import platform
import resource
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import mixable as mx
from mixable.estimators import base
from mixable.model import PooledDesign, parameters

ROWS = 2000
FLOOR = 1e-3  # of all classes together, in both losses


def machine() -> str:
    """Where and when it was measured."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    name = names[0] if names else platform.processor()
    return f"{name}, {len(names)} cores, {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d}."


def losses(P: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Log losses; no probability is taken for 0."""
    return -np.log((1 - FLOOR) * P[np.arange(len(P)), codes] + FLOOR / P.shape[1])


def without(name: str | None) -> Any:
    """The model's designs without an expert: patches of what makes them."""

    def patched(make: Any) -> Any:
        def made(*arguments: Any, **options: Any) -> Any:
            design = make(*arguments, **options)
            names = zip(design.parts, design.names, strict=True)
            parts = [part for part, own in names if own != name]
            return PooledDesign(parts, standardize=design.standardize)

        return made

    return patched


def tried(X: Any, y: np.ndarray, name: str | None) -> tuple[float, float, list[str]]:
    """Loss, microseconds, and experts, without one of them."""
    place = parameters if isinstance(X, np.ndarray) else base
    what = "design_of_classes" if place is parameters else "design_of_records"
    make = getattr(place, what)
    setattr(place, what, without(name)(make))
    try:
        model = mx.GAFClassifier(n_jobs=1)
        begin = time.process_time()
        P = model.prequential(X, y, classes=np.unique(y))
        seconds = time.process_time() - begin
    finally:
        setattr(place, what, make)
    loss = losses(P, np.searchsorted(model.classes_, y)).mean()
    return float(loss), 1e6 * seconds / len(y), model.learner_.design.names


def experts(paths: list[str]) -> None:
    """Print a row for each expert."""
    gains: dict[str, list[float]] = {}
    costs: dict[str, list[float]] = {}
    shares: dict[str, list[float]] = {}
    for path in paths:
        table = pd.read_csv(path, nrows=ROWS)
        y = table.iloc[:, -1].astype(str).to_numpy()
        X: Any = table.iloc[:, :-1]
        if all(X[name].dtype.kind in "fi" for name in X):
            X = X.to_numpy(float)
        loss, us, names = tried(X, y, None)
        for name in names[1:]:
            other, least, _ = tried(X, y, name)
            gains.setdefault(name, []).append(loss / other)
            costs.setdefault(name, []).append(us - least)
            shares.setdefault(name, []).append(us / least)
    print("| expert | streams | us of a row | time | loss | best | worst |")
    print("|---|---|---|---|---|---|---|")
    for name, own in gains.items():
        mean = math.exp(statistics.fmean(map(math.log, own)))
        us, share = (statistics.median(each[name]) for each in (costs, shares))
        ends = f"{min(own):.3f} | {max(own):.3f}"
        print(f"| {name} | {len(own)} | {us:.0f} | {share:.2f} | {mean:.4f} | {ends} |")


def rows_of(d: int, K: int, n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Normal columns; labels by lines, products of two and steps of some of them."""
    rng = np.random.default_rng(seed)
    few = min(d, 12)
    own, pairs, steps = (rng.normal(size=(few, K)) for _ in range(3))
    X = rng.normal(size=(n, d))
    Z = X[:, :few]
    score = Z @ own + (Z * np.roll(Z, 1, axis=1)) @ pairs + 2 * ((Z > 0.5) @ steps)
    return X, (score / math.sqrt(few) * 1.5 + rng.gumbel(size=(n, K))).argmax(1)


def sizes() -> None:
    """Print microseconds of a row by columns, classes and rows."""
    print("| columns | classes | rows | us, first 1,000 | us, all | us, the last quarter |")
    print("|---|---|---|---|---|---|")
    shapes = [(10, 2, 4096), (10, 2, 16384), (10, 10, 4096), (30, 2, 4096), (30, 5, 16384)]
    shapes += [(100, 2, 4096), (100, 10, 4096), (300, 3, 2048)]
    for d, K, n in shapes:
        X, y = rows_of(d, K, n)
        model = mx.GAFClassifier(n_jobs=1)
        ends, spent = [0, 1000, n - n // 4, n], []
        for start, end in itertools.pairwise(ends):
            begin = time.process_time()
            model.prequential(X[start:end], y[start:end], classes=range(K))
            spent.append(1e6 * (time.process_time() - begin))
        us = spent[0] / 1000, sum(spent) / n, spent[2] / (n // 4)
        print(f"| {d} | {K} | {n:,} | {us[0]:.0f} | {us[1]:.0f} | {us[2]:.0f} |", flush=True)


def steps(n: int) -> None:
    """Print the longest steps, one row at a time, and memory."""
    print("| columns | classes | rows | us, median | ms, 99.9% | ms, longest | MB more |")
    print("|---|---|---|---|---|---|---|")
    for d, K, rows in ((20, 2, n), (500, 20, n // 200)):
        X, y = rows_of(d, K, min(rows, 100_000))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        model = mx.GAFClassifier(n_jobs=1)
        model.partial_fit(X[:1], y[:1], classes=range(K))
        took = np.empty(rows)
        for t in range(rows):
            i = t % len(X)
            begin = time.thread_time()
            model.predict_proba(X[i : i + 1])
            model.partial_fit(X[i : i + 1], y[i : i + 1])
            took[t] = time.thread_time() - begin
        more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        late, longest = 1e3 * np.quantile(took, 0.999), 1e3 * took.max()
        print(
            f"| {d} | {K} | {rows:,} | {1e6 * np.median(took):.0f} | {late:.2f} | {longest:.2f} | "
            f"{more:.0f} |",
            flush=True,
        )


def lead(n: int) -> None:
    """Print losses by rows, and their ratio."""
    import lightgbm

    X, y = rows_of(20, 3, n)
    model = mx.GAFClassifier(n_jobs=1)
    P = model.prequential(X, y, classes=range(3))
    ours, theirs = losses(P, y), np.full(n, np.nan)
    at = 1000
    while at < n:
        end = min(int(at * 1.41), n)
        peer = lightgbm.LGBMClassifier(n_jobs=1, verbose=-1)
        peer.fit(X[:at], y[:at])
        theirs[at:end] = losses(np.asarray(peer.booster_.predict(X[at:end])), y[at:end])
        at = end
    print("| rows | log loss | LightGBM | ratio |\n|---|---|---|---|")
    edges = [1000, 3000, 10_000, 30_000, 100_000, 200_000, 300_000, 500_000]
    for start, end in itertools.pairwise(edges):
        if end <= n:
            a, b = ours[start:end].mean(), theirs[start:end].mean()
            print(f"| {start:,} to {end:,} | {a:.4f} | {b:.4f} | {a / b:.3f} |", flush=True)


def main() -> None:
    """Print a table."""
    task, *arguments = sys.argv[1:] or [""]
    tasks = {"experts": experts, "sizes": sizes, "steps": steps, "lead": lead}
    if task not in tasks:
        sys.exit(__doc__)
    if task == "experts":
        experts(arguments)
    elif task == "sizes":
        sizes()
    else:
        rows = {"steps": 1_000_000, "lead": 500_000}[task]
        {"steps": steps, "lead": lead}[task](int(arguments[0]) if arguments else rows)
    print(f"\nMeasured on {machine()}")


if __name__ == "__main__":
    main()
