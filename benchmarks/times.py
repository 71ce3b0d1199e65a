"""Records with a time: what the first expert should see of it, beside indicators of hour and day.

    python benchmarks/times.py          # the 26 streams of the choice
    python benchmarks/times.py kept     # 14 that were held out

Prints the log loss of `GAFClassifier()` without the column, with every number of a time and its
bins shown to the expert on keys, and as it is now. In half of the streams the time says nothing, or
only the day does; in the others labels depend on the hour, smoothly or by steps, on the hour and
another number together, or on the time since the record before.
"""

import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd

import mixable as mx
from mixable import datasets
from mixable.records.time import Time

KINDS = (
    "none",
    "cycle",
    "hours",
    "days",
    "office",
    "hour*x",
    "since",
    "since step",
    "since*x",
    "smooth peak",
    "weekend*hour",
    "drift",
)
Stream = tuple[pd.DataFrame, Any]


def effect(kind: str, seconds: Any, gap: Any, x: Any) -> Any:
    """What the time of each record adds to the score of a class; an array (n,) or of codes."""
    hour, day = seconds / 3600 % 24, seconds // 86400 % 7
    angle, late = 2 * np.pi * hour / 24, np.arange(len(x)) > len(x) // 2
    return {
        "office": np.where((hour > 9) & (hour < 17) & (day < 5), 2.5, 0.0),
        "hour*x": 2 * np.sin(angle) * x,
        "since": np.log1p(gap) - 4,
        "since step": np.where(gap < 30, 2.5, 0.0),
        "since*x": (np.log1p(gap) - 4) * x,
        "smooth peak": 3 * np.exp(-(((hour - 13) % 24) ** 2) / 8),
        "weekend*hour": 1.5 * np.where(day > 4, np.sin(angle), np.cos(angle)),
        "drift": 1.5 * np.where(late, np.sin(angle), -np.sin(angle)),
    }[kind]


def stream(seed: int, kind: str, n: int = 6000, K: int = 2, gap: float = 600.0) -> Stream:
    """Records with a time, two numbers, a category and a user, and their labels."""
    rng = np.random.default_rng(1000 + seed)
    is_quick = rng.random(n) < 0.5
    gaps = np.where(is_quick, rng.exponential(0.1 * gap, n), rng.exponential(gap, n))
    seconds = np.cumsum(gaps)
    x, price = rng.normal(size=n), np.exp(rng.normal(2, 1, n))
    category, user = rng.integers(0, 12, n), np.minimum(rng.zipf(1.4, n), 5000)
    score = 0.8 * rng.normal(size=(12, K))[category] + 0.7 * x[:, None] * rng.normal(size=(1, K))
    score += 0.5 * rng.normal(size=(5001, K))[user]
    hour, day = seconds / 3600 % 24, (seconds // 86400).astype(int) % 7
    if kind == "cycle":
        angle = 2 * np.pi * hour / 24
        score += np.stack([np.sin(angle), np.cos(angle)], 1) @ rng.normal(size=(2, K))
    elif kind == "hours":
        score += rng.normal(size=(24, K))[hour.astype(int)]
    elif kind == "days":
        score += rng.normal(size=(7, K))[day]
    elif kind != "none":
        score += effect(kind, seconds, gaps, x)[:, None] * rng.normal(size=(1, K))
    p = np.exp(score - score.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    y = np.count_nonzero(rng.random(n)[:, None] > np.cumsum(p, 1)[:, :-1], axis=1)
    start = datetime(2024, 1, 1)
    times = [start + timedelta(seconds=float(each)) for each in seconds]
    columns = {
        "time": [each.isoformat(timespec="milliseconds") for each in times],
        "x": x,
        "price": price,
        "category": [f"c{each}" for each in category],
        "user": [f"u{each}" for each in user],
    }
    return pd.DataFrame(columns), y


def shop(seed: int, n: int) -> Stream:
    """Events of a shop."""
    records, labels, _ = datasets.make_shop(n, seed)
    return pd.DataFrame(records), np.array(labels)


def streams(*, kept: bool) -> dict[str, Callable[[], Stream]]:
    """All streams by name."""
    out: dict[str, Callable[[], Stream]] = {}
    for i, kind in enumerate(KINDS):
        if kept:
            out[kind] = lambda i=i, kind=kind: stream(200 + i, kind, 5000, 2 + i % 3, 200.0)
            continue
        out[kind] = lambda i=i, kind=kind: stream(i, kind, K=2 + i % 2)
        out[f"{kind}, denser"] = lambda i=i, kind=kind: stream(
            50 + i, kind, K=2 + (i + 1) % 2, gap=60.0
        )
    for seed in (5, 6) if kept else (0, 1):
        out[f"shop {seed}"] = lambda seed=seed: shop(seed, 10_000 if kept else 6000)
    return out


def loss(X: Any, y: Any) -> float:
    """The log loss of forecasts before learning."""
    model = mx.GAFClassifier()
    P = model.prequential(X, y)
    names = model.classes_.tolist()
    own = P[np.arange(len(y)), [names.index(label) for label in y]]
    return float(-np.log(np.maximum(own, 1e-6)).mean())


def main() -> None:
    """Print a line for each stream, and means of ratios."""
    begin, found = Time.__init__, {}

    def all_shown(self: Time, *args: Any, **kwargs: Any) -> None:
        begin(self, *args, **kwargs)
        self.shown = (0,) * len(self.dense_parts)

    print("| stream | no time | all shown | now | now over all shown |\n|---|---|---|---|---|")
    for name, make in streams(kept="kept" in sys.argv).items():
        X, y = make()
        Time.__init__ = all_shown  # type: ignore[method-assign]
        before = loss(X, y)
        Time.__init__ = begin  # type: ignore[method-assign]
        now, without = loss(X, y), loss(X.drop(columns="time"), y)
        found[name] = without, before, now
        cells = [f"{each:.4f}" for each in found[name]]
        print(f"| {name} | {' | '.join(cells)} | {now / before:.3f} |", flush=True)
    ratios = [now / before for _, before, now in found.values()]
    idle = [now / without for name, (without, _, now) in found.items() if name.startswith("none")]
    print("\n| what | ratio |\n|---|---|")
    print(f"| now over all shown, geometric mean | {np.exp(np.log(ratios).mean()):.3f} |")
    print(f"| now over all shown, worst stream | {max(ratios):.3f} |")
    print(f"| now over no time, where the time says nothing | {np.exp(np.log(idle).mean()):.3f} |")


if __name__ == "__main__":
    main()
