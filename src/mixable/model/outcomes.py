"""Outcomes: between the caller's labels or numbers and what a forecaster learns and predicts."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Protocol

import numpy as np

from mixable import _validate
from mixable._types import Array
from mixable.experts.densities import with_normal_ends
from mixable.model.class_weights import Tally

Followed = tuple[Array, int, str | None]  # forecasts, steps done, why not all


class Outcomes(Protocol):
    """What a learner asks of its outcomes. `Z` has rows of the forecaster."""

    @property
    def n_classes(self) -> int | None:
        """Classes that a forecaster must have; None for numbers."""

    def forecast(self, p: Any) -> Any:
        """The caller's forecast for one of the forecaster's, or for a table of them."""

    def learn(self, forecaster: Any, z: Any, y: Any, weight: float) -> None:
        """Let the forecaster learn one row."""

    def run(self, forecaster: Any, Z: Any, y: Any, weight: Array | None) -> Any:
        """Let it learn the rows of a table; return the forecasts made before each."""

    def come(self, y: Any) -> Any:
        """Which outcomes of a stream have come; the others are -1, or NaN."""

    def follow(
        self, forecaster: Any, Z: Any, order: Any, y: Any, room: Any, level: float | None = None
    ) -> Followed:
        """Let it take steps with rows: `Learner.follow`."""

    def stacked(self, pieces: list[Any]) -> Any:
        """What `run` returned for several tables, one after the other."""

    def state(self) -> dict[str, Any]:
        """All that was learned."""

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from what `state` returned, names of labels aside."""


class Labels:
    """Labels of any kind, in the order in which they came; new ones may come at any time.

    With less than two labels the forecaster keeps a place for those to come.
    """

    def __init__(self, names: Sequence[Hashable], *, closed: bool = False) -> None:
        self.names, self.closed = list(names), closed
        self.codes: dict[Hashable, int] = {name: code for code, name in enumerate(self.names)}
        self.tally: Tally = {}  # empty where classes are not balanced

    @property
    def n_classes(self) -> int:
        """Classes that a forecaster must have."""
        return max(2, len(self.names))

    def new(self, y: Sequence[Hashable]) -> list[Hashable]:
        """Labels that have not been met, in the order in which they appear."""
        return list(dict.fromkeys(label for label in y if label not in self.codes))

    def add(self, forecaster: Any, label: Hashable) -> None:
        """Let a forecaster have one more class, all or nothing."""
        self.codes[label] = len(self.names)
        self.names.append(label)
        try:
            if len(self.names) > 2:
                forecaster.add_class()
        finally:
            if forecaster.n_classes < len(self.names):
                self._forget_last()

    def _forget_last(self) -> None:
        del self.codes[self.names.pop()]

    def forecast(self, p: Array) -> Array:
        """Probabilities of the labels met, without the place kept for one to come."""
        known = len(self.names)
        return p if known >= 2 else np.ones((*p.shape[:-1], known))

    def learn(self, forecaster: Any, z: Any, y: Hashable, weight: float) -> None:
        """Let the forecaster learn one row; one of weight 0 only adds its label."""
        if y in self.codes:
            forecaster.learn(z, self.codes[y], weight)
            return
        forecaster.predict(z)  # refuses what cannot be learned, before the class is added
        before, steps = dict(vars(forecaster)), forecaster.steps
        self.add(forecaster, y)
        try:
            forecaster.learn(z, self.codes[y], weight)
        finally:  # also Ctrl-C
            if forecaster.steps == steps:
                self._forget_last()
                vars(forecaster).update(before)

    def run(self, forecaster: Any, Z: Any, y: Sequence[Hashable], weight: Array | None) -> Array:
        """Probabilities (n, labels in the end) made before each row; 0 for labels not met yet."""
        pieces, begin, new = [], 0, self.new(y)
        for label in new:
            first = next(t for t in range(begin, len(Z)) if y[t] == label)
            pieces += self._piece(forecaster, Z, y, weight, slice(begin, first))
            row = Z[first] if isinstance(Z, np.ndarray) else Z[first : first + 1]
            pieces.append(np.atleast_2d(self.forecast(forecaster.predict(row))))
            self.learn(forecaster, row, label, 1.0 if weight is None else float(weight[first]))
            begin = first + 1
        pieces += self._piece(forecaster, Z, y, weight, slice(begin, len(Z)))
        return self.stacked(pieces)

    def _piece(
        self, forecaster: Any, Z: Any, y: Sequence[Hashable], weight: Array | None, rows: slice
    ) -> list[Array]:
        """Run over rows whose labels have all been met."""
        codes = np.array([self.codes[label] for label in y[rows]], dtype=np.int_)
        if not len(codes):
            return []
        weights = None if weight is None else weight[rows]
        return [self.forecast(forecaster.run(Z[rows], codes, weights))]

    def come(self, y: Any) -> Any:
        """Which labels have come, by their codes."""
        return y >= 0

    def follow(
        self, forecaster: Any, Z: Any, order: Any, y: Any, room: Any, level: float | None = None
    ) -> Followed:
        """Probabilities of the labels met, made before each step; y has codes, or -1."""
        P, done, reason = forecaster.follow(Z, order, y, room)
        return self.forecast(P[:done]), done, reason

    def state(self) -> dict[str, Any]:
        """All that was learned."""
        known = {"labels": self.names, "codes": self.codes, "closed": self.closed, "origin": None}
        return {**known, "tally": self.tally} if self.tally else known

    def restore(self, state: dict[str, Any]) -> None:
        """Go on with the saved tally."""
        tally = state.get("tally", {})
        if not isinstance(tally, dict) or not tally.keys() <= self.codes.keys():
            raise ValueError("the saved tally is not one of the labels")
        most = _validate.LARGEST_WEIGHT * _validate.MOST_STEPS
        self.tally = {
            label: _validate.real(each, "tally", least=0, most=most)
            for label, each in tally.items()
        }

    def stacked(self, pieces: list[Array]) -> Array:
        """Tables of probabilities one after the other, each with the labels met by then."""
        if len(pieces) == 1 and pieces[0].shape[1] == len(self.names):
            return pieces[0]
        out, at = np.zeros((sum(map(len, pieces)), len(self.names))), 0
        for piece in pieces:
            out[at : at + len(piece), : piece.shape[1]] = piece
            at += len(piece)
        return out


IN_UNIT = np.array([1.0, 0.0, 1.0, 1.0])  # a deviation has no origin


class Targets:
    """Numbers, measured from the first that counts, so that a large offset need not be learned."""

    def __init__(self, *, centred: bool, origin: float | None = None) -> None:
        self.centred = centred
        self.origin = origin  # None until the first number has come

    @property
    def n_classes(self) -> None:
        """There are no classes."""
        return None

    def state(self) -> dict[str, Any]:
        """All that was learned."""
        return {"labels": None, "codes": {}, "closed": False, "origin": self.origin}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on with the saved origin."""
        self.origin = state["origin"]

    @property
    def offset(self) -> float:
        """What is added to the forecaster's numbers."""
        return self.origin or 0.0

    def forecast(self, p: Any) -> Any:
        """The mean, in the caller's unit."""
        return p + self.offset

    def learn(self, forecaster: Any, z: Any, y: float, weight: float) -> None:
        """Let the forecaster learn one row."""
        before, steps = self.origin, forecaster.steps
        try:
            if weight > 0:
                self._begin(y)
            forecaster.learn(z, y - self.offset, weight)
        finally:  # also Ctrl-C
            if forecaster.steps == steps:
                self.origin = before

    def run(self, forecaster: Any, Z: Any, y: Array, weight: Array | None) -> tuple[Array, Array]:
        """Means and standard deviations (n,) made before each row."""
        before, steps = self.origin, forecaster.steps
        counts = np.flatnonzero(np.ones(len(y)) if weight is None else weight)
        first = int(counts[0]) if len(counts) else len(y)
        try:
            if first < len(y):
                self._begin(float(y[first]))
            mean, std = forecaster.run(Z, y - self.offset, weight).T.copy()
        finally:  # also Ctrl-C
            if forecaster.steps - steps <= first:
                self.origin = before
        begin = first + 1 if before is None else 0  # rows before had no origin yet
        mean[begin:] += self.offset
        return mean, std

    def come(self, y: Any) -> Any:
        """Which numbers have come."""
        return ~np.isnan(y)

    def follow(
        self, forecaster: Any, Z: Any, order: Any, y: Any, room: Any, level: float | None = None
    ) -> Followed:
        """Means and standard deviations (n, 2), made before each step; y has numbers, or NaN.

        With a level, the ends of intervals, too (n, 4).
        """
        before, steps = self.origin, forecaster.steps
        come = np.flatnonzero(self.come(y))
        first = int(come[0]) if len(come) else len(y)
        try:
            if first < len(y):
                self._begin(float(y[first]))
            P, done, reason = forecaster.follow(Z, order, y - self.offset, room, level)
        finally:  # also Ctrl-C
            if forecaster.steps == steps:
                self.origin = before
        if level is not None and P.shape[1] == 2:  # without a judge
            P = with_normal_ends(P, level)
        begin = first + 1 if before is None else 0  # steps before had no origin yet
        P[begin:] += self.offset * IN_UNIT[: P.shape[1]]
        return P[:done], done, reason

    def _begin(self, y: float) -> None:
        if self.origin is None:
            self.origin = float(y) if self.centred else 0.0

    def stacked(self, pieces: list[tuple[Array, Array]]) -> tuple[Array, Array]:
        """Means and deviations of several tables one after the other."""
        means, deviations = zip(*pieces, strict=True) if pieces else ([np.empty(0)], [np.empty(0)])
        return np.concatenate(means), np.concatenate(deviations)
