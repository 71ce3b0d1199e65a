"""How forecasts and outcomes of each class go together: what `metrics.Scores` keeps of it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mixable import _validate
from mixable._types import Array, Labels

MOST_CLASSES = 1000
"""Classes that are kept; further ones are not told apart."""

SEEN = 30  # outcomes that a class must have to be called the worst, if another has them


class Bin(NamedTuple):
    """One row of a reliability table: the forecasts that were between `low` and `high` sure."""

    low: float
    high: float
    n: int
    confidence: float
    accuracy: float


def bins_of(count: Labels, weight: Array, *, sure: Array, right: Array) -> list[Bin]:
    """The bins that are not empty, from the sums of each: weights, forecasts, outcomes."""
    edges = np.linspace(0, 1, len(count) + 1)
    return [
        Bin(
            low=float(edges[b]),
            high=float(edges[b + 1]),
            n=int(count[b]),
            confidence=float(sure[b] / weight[b]),
            accuracy=float(right[b] / weight[b]),
        )
        for b in np.flatnonzero(weight > 0)
    ]


@dataclass(frozen=True, kw_only=True)
class ClassScore:
    """How well the forecasts of one class are calibrated.

    `forecast` is their mean, `rate` how often the class came, `error` the expected calibration
    error of the class: the mean distance between the two, bin by bin.
    """

    label: Any
    n: int  # times that it came
    forecast: float
    rate: float
    error: float

    @property
    def relative_error(self) -> float:
        """The error in units of the rate, or of the forecast if that is larger."""
        size = max(self.rate, self.forecast)
        return self.error / size if size > 0 else 0.0


class PerClass:
    """Sums of forecasts and outcomes for each class, in bins of the forecast."""

    def __init__(self, bins: int) -> None:
        self.bins, self.weight = bins, 0.0
        self.places: dict[Hashable, int] = {}
        self.came = np.zeros(0, np.int_)
        self.count = np.zeros((0, bins), np.int_)
        self.sums = np.zeros((3, 0, bins))  # weights, forecasts, outcomes

    def _place(self, labels: Sequence[Hashable]) -> Labels:
        """Where each label is; -1 for those that are one too many."""
        for label in labels:
            if label not in self.places and len(self.places) < MOST_CLASSES:
                self.places[label] = len(self.places)
        new = len(self.places) - len(self.came)
        if new:
            self.came = np.pad(self.came, (0, new))
            self.count = np.pad(self.count, ((0, new), (0, 0)))
            self.sums = np.pad(self.sums, ((0, 0), (0, new), (0, 0)))
        return np.array([self.places.get(label, -1) for label in labels], np.int_)

    def _place_many(self, y: Sequence[Hashable]) -> Labels:
        """The same of labels that come again."""
        own = as_names(y)
        codes: dict[Hashable, int] = {}
        code = [codes.setdefault(label, len(codes)) for label in own]
        return self._place(list(codes))[np.array(code, np.int_)] if code else self._place([])

    def include(self, other: PerClass, sign: int = 1) -> None:
        """Add what another has counted, or take it away with a sign of -1."""
        at = self._place(list(other.places))
        known = at >= 0
        self.weight += sign * other.weight
        np.add.at(self.came, at[known], sign * other.came[known])
        np.add.at(self.count, at[known], sign * other.count[known])
        for mine, theirs in zip(self.sums, other.sums, strict=True):
            np.add.at(mine, at[known], sign * theirs[known])

    def add(
        self, p: Array, weight: Array, *, columns: Sequence[Hashable], y: Sequence[Hashable]
    ) -> None:
        """Count forecasts (n, K), whose columns and outcomes are named."""
        column = self._place([as_name(each) for each in columns])
        outcome = self._place_many(y)
        self.weight = float(np.cumsum(np.concatenate([[self.weight], weight]))[-1])
        bins = np.minimum((p * self.bins).astype(np.int_), self.bins - 1)
        # Who knew no class, or not this one yet, forecast nothing of it.
        row, k = np.nonzero((p > 0) & (column >= 0))
        at = (column[k], bins[row, k])
        np.add.at(self.count, at, 1)
        np.add.at(self.sums[0], at, weight[row])
        np.add.at(self.sums[1], at, weight[row] * p[row, k])
        place = np.full(len(self.places), -1)  # the column of each class that has one
        place[column[column >= 0]] = np.flatnonzero(column >= 0)
        known = np.flatnonzero(outcome >= 0)
        k_own = place[outcome[known]]
        own_bin = (
            np.where(k_own >= 0, bins[known, k_own], 0) if p.shape[1] else np.zeros_like(known)
        )
        np.add.at(self.came, outcome[known], 1)
        np.add.at(self.sums[2], (outcome[known], own_bin), weight[known])

    def scores(self) -> list[ClassScore]:
        """A row for each class, in the order in which they came."""
        total = self.weight if self.weight > 0 else float("nan")
        error = np.abs(self.sums[1] - self.sums[2]).sum(axis=1) / total
        forecast, rate = self.sums[1:].sum(axis=2) / total
        return [
            ClassScore(
                label=label,
                n=int(self.came[i]),
                forecast=float(forecast[i]),
                rate=float(rate[i]),
                error=float(error[i]),
            )
            for label, i in self.places.items()
        ]

    def worst(self) -> ClassScore | None:
        """The class whose error is largest for its size, of those that came often enough."""
        scores = self.scores()
        often = [score for score in scores if score.n >= SEEN] or scores
        return max(often, key=lambda score: score.relative_error, default=None)

    def table(self, label: Hashable) -> tuple[Labels, Array, Array, Array]:
        """Of a class, bin by bin: forecasts, their weights, their sums and those of outcomes."""
        place = self.places.get(as_name(label))
        if place is None:
            raise ValueError(f"label is {label!r:.80}, which no forecast or outcome was")
        weights, forecasts, outcomes = self.sums[:, place]
        return self.count[place], weights, forecasts, outcomes

    def state(self) -> dict[str, Any]:
        """All of it."""
        arrays = {"came": self.came, "count": self.count, "sums": self.sums}
        return {"labels": list(self.places), "weight": self.weight, **arrays}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from what `state` returned; ValueError or TypeError if it does not fit."""
        labels, size = [as_name(label) for label in state["labels"]], len(state["labels"])
        self.places = {label: place for place, label in enumerate(labels)}
        if len(self.places) != size or size > MOST_CLASSES:
            raise ValueError("the saved labels are too many, or not different")
        self.weight = _validate.real(state["weight"], "weight", least=0)
        for name, shape in (("came", (size,)), ("count", (size, self.bins))):
            values = state[name]
            is_counts = isinstance(values, np.ndarray) and values.dtype.kind == "i"
            if not is_counts or values.shape != shape or (values < 0).any():
                raise ValueError(f"the saved {name} of the classes must be counts {shape}")
            setattr(self, name, values.astype(np.int_))
        self.sums = _validate.saved(state["sums"], (3, size, self.bins), "sums", most=1e300)
        most = 1.001 * self.sums[0] + 1e-300
        if (self.sums < 0).any() or (self.sums[1] > most).any():
            raise ValueError("the saved sums of the classes do not go with their weights")
        if self.sums[2].sum() > 1.001 * self.weight + 1e-300:
            raise ValueError("the saved classes came more often than there were forecasts")


def as_name(label: Any) -> Hashable:
    """A label as it can be saved: what is neither text nor a number by its text."""
    if isinstance(label, np.generic):
        label = label.item()
    is_plain = label is None or isinstance(label, (str, bool, int, float))
    return label if is_plain else f"{label!r:.200}"


def as_names(labels: Sequence[Hashable]) -> list[Hashable]:
    """Labels as they can be saved."""
    if {*map(type, labels)} <= {int, str}:  # as most are
        return list(labels)
    return [as_name(label) for label in labels]
