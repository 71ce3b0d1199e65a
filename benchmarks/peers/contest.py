"""What a contestant is, and how its forecasts are scored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import mixable as mx
from benchmarks.peers.streams import Stream

Setting = dict[str, Any]
Play = Callable[[range], Iterable[Any]]
"""Forecasts the examples of a range, and learns each after its forecast."""

MIXED_IN = 1e-3
OURS, BASELINE, REFITTED = "mixable", "baseline", "refitted"


@dataclass(frozen=True, kw_only=True)
class Contestant:
    """Someone who forecasts and learns.

    `inputs(stream)` makes what it is given; that takes no part in its time. `start(inputs, stream,
    setting)` makes the model and returns what forecasts and learns. `whole` is for those that take
    the stream in one table.
    """

    name: str
    kind: str  # the maker, for colours: "mixable", "river", ..., "baseline", "refitted"
    package: str
    inputs: Callable[[Stream], Any]
    start: Callable[[Any, Stream, Setting], Play]
    grid: tuple[Setting, ...] = ()
    whole: bool = False

    def settings(self) -> list[Setting]:
        """The defaults, then the grid."""
        return [{}, *self.grid]


def one_by_one(events: list[Any], step: Callable[[Any], Any]) -> Play:
    """Play with a step that forecasts and learns one event."""
    return lambda rows: [step(events[t]) for t in rows]


def in_words(setting: Setting) -> str:
    """A setting as text."""
    return ", ".join(f"{name} {value}" for name, value in setting.items()) or "defaults"


def fill(p: NDArray[np.float64], forecasts: Iterable[Any]) -> None:
    """Write forecasts as they came, dictionaries by code of the label or rows, to p (n, K)."""
    for row, forecast in zip(p, forecasts, strict=True):
        if isinstance(forecast, Mapping):
            row[list(forecast)] = list(forecast.values())
        else:
            row[:] = forecast


def scores(p: NDArray[np.float64], stream: Stream) -> dict[str, float]:
    """Scores of forecasts (n, K).

    A row is divided by its sum. A row without a sum above 0, or with NaN, is no forecast: it gives
    0 to every class. The log loss is that of (1 - 0.001) p + 0.001 / K.
    """
    total = p.sum(axis=1, keepdims=True)
    is_forecast = np.isfinite(total) & (total > 0) & (p >= 0).all(axis=1, keepdims=True)
    p = np.divide(p, total, out=np.zeros_like(p), where=is_forecast)
    own = p[np.arange(len(p)), stream.y]
    loss = -np.log((1 - MIXED_IN) * own + MIXED_IN / stream.K)
    tables = mx.metrics.scores(p, stream.y)
    worst = tables.worst_class
    assert worst is not None  # there is at least one forecast
    return {
        "log_loss": float(loss.mean()),
        "second_half": float(loss[len(loss) // 2 :].mean()),
        "accuracy": tables.accuracy,
        "worst_class": worst.relative_error,
    }


def _class_frequencies(inputs: Any, stream: Stream, setting: Setting) -> Play:
    counts = np.ones(stream.K)

    def step(label: int) -> NDArray[np.float64]:
        p = counts / counts.sum()
        counts[label] += 1
        return p

    return one_by_one(inputs, step)


def _last_label(inputs: Any, stream: Stream, setting: Setting) -> Play:
    """How often the last label has come again; the rest goes to the others by their rates."""
    counts, again, last = np.ones(stream.K), [1, 1], -1  # again: yes, no

    def step(label: int) -> NDArray[np.float64]:
        nonlocal last
        p = counts / counts.sum()
        if last >= 0:
            stays = again[0] / sum(again)
            p[last] = 0.0
            p *= (1 - stays) / p.sum()
            p[last] = stays
            again[0 if label == last else 1] += 1
        counts[label] += 1
        last = label
        return p

    return one_by_one(inputs, step)


def _labels(stream: Stream) -> list[int]:
    return list(stream.y.tolist())


BASELINES = [
    Contestant(name=name, kind=BASELINE, package="numpy", inputs=_labels, start=start)
    for name, start in (("class frequencies", _class_frequencies), ("last label", _last_label))
]
