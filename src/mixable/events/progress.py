"""How a model has done over time: its loss beside that of a baseline which sees no features."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mixable import _validate
from mixable._types import Array
from mixable.metrics import LEAST, crps

BLOCKS = 128  # of the history; when it is full, each two become one


class Frequencies:
    """The class frequencies, (n_c + 1/2) / (t + K/2) after t labels of which n_c were c.

    A class that was not known costs as much as `mixable.metrics` says.
    """

    def __init__(self) -> None:
        self.counts: list[int] = []

    @property
    def n(self) -> int:
        """Labels so far."""
        return sum(self.counts)

    def now(self) -> tuple[float, ...]:
        """What is known by now: a late label is compared with what was known at its forecast."""
        return tuple(self.counts)

    def loss(self, y: float, known: int, then: Sequence[float] | None) -> float:
        """The log loss of a label, which is counted from now on; forecasts knew so many."""
        counts, code = self.counts if then is None else then, int(y)
        known = max(known, len(counts))
        loss = -math.log(LEAST)
        if code < known:
            seen = counts[code] if code < len(counts) else 0
            loss = -math.log((seen + 0.5) / (sum(counts) + known / 2))
        self.counts.extend([0] * (max(known, code + 1) - len(self.counts)))
        self.counts[code] += 1
        return loss

    def restore(self, values: Array) -> None:
        """Go on from what `now` was."""
        if values.ndim != 1 or (values < 0).any() or (values != values.round()).any():
            raise ValueError("the saved frequencies are not counts")
        self.counts = [int(each) for each in values.tolist()]


class RunningMean:
    """The normal distribution with the mean and the deviation of the numbers so far."""

    def __init__(self) -> None:
        self.sums = (0.0, 0.0, 0.0)  # numbers, their mean, the sum of their squared distances

    @property
    def n(self) -> int:
        """Numbers so far."""
        return int(self.sums[0])

    def now(self) -> tuple[float, ...]:
        """What is known by now."""
        return self.sums

    def loss(self, y: float, known: int, then: Sequence[float] | None) -> float:
        """The CRPS of a number, which is counted from now on; NaN before the first."""
        n, mean, square = then or self.sums
        loss = crps(mean, math.sqrt(square / n), y) if n else math.nan
        n, mean, square = self.sums
        step = y - mean
        mean += step / (n + 1)
        self.sums = n + 1, mean, min(square + step * (y - mean), 1e300)
        return loss

    def restore(self, values: Array) -> None:
        """Go on from what `now` was."""
        values = _validate.saved(values, (3,), "baseline", most=1e300)
        if values[0] < 0 or values[2] < 0:
            raise ValueError("the saved mean has a number below 0")
        self.sums = (float(values[0]), float(values[1]), float(values[2]))


class Progress:
    """Losses in blocks of equal length, in memory that does not grow.

    >>> progress = Progress(Frequencies())
    >>> for t in range(4):
    ...     progress.add(0.288, progress.baseline.loss(0, 2, None))
    >>> round(progress.mean()[1], 3)
    0.324
    >>> [(n, round(loss, 3)) for n, loss, _ in progress.history()]
    [(1, 0.288), (2, 0.288), (3, 0.288), (4, 0.288)]
    """

    def __init__(self, baseline: Frequencies | RunningMean) -> None:
        self.baseline = baseline
        self.length = 1  # examples of a block
        self._blocks: list[list[float]] = []  # the loss and the baseline's, of whole blocks
        self._open = [0.0, 0.0, 0.0]  # examples, loss, baseline's loss of the last block
        self.seen = (0.0, 0.0, 0.0)  # the same since this object was made; it is not saved

    @property
    def n(self) -> int:
        """Examples."""
        return len(self._blocks) * self.length + int(self._open[0])

    def add(self, loss: float, expected: float) -> None:
        """Count one forecast: its loss, and that of the baseline."""
        n, ours, theirs = self.seen
        self.seen = n + 1.0, ours + loss, theirs + expected
        self._open[0] += 1.0
        self._open[1] += loss
        self._open[2] += expected
        if self._open[0] < self.length:
            return
        self._blocks.append(self._open[1:])
        self._open = [0.0, 0.0, 0.0]
        if len(self._blocks) == BLOCKS:
            pairs = zip(self._blocks[::2], self._blocks[1::2], strict=True)
            self._blocks = [[a[0] + b[0], a[1] + b[1]] for a, b in pairs]
            self.length *= 2

    def history(self) -> list[tuple[int, float, float]]:
        """After how many examples each block ended, its mean loss, the baseline's."""
        out = [
            ((i + 1) * self.length, loss / self.length, baseline / self.length)
            for i, (loss, baseline) in enumerate(self._blocks)
        ]
        n, loss, baseline = self._open
        return [*out, (self.n, loss / n, baseline / n)] if n >= self.length / 2 else out

    def mean(self, share: float = 1.0) -> tuple[float, float]:
        """The mean loss and the baseline's over the last share of the examples; NaN of none."""
        n, loss, baseline = self._open
        for block in reversed(self._blocks):
            if n >= share * self.n:
                break
            n, loss, baseline = n + self.length, loss + block[0], baseline + block[1]
        return (loss / n, baseline / n) if n else (math.nan, math.nan)

    def state(self) -> dict[str, Any]:
        """All of it, as arrays."""
        return {
            "length": self.length,
            "blocks": np.array(self._blocks).reshape(-1, 2),
            "open": np.array(self._open),
            "baseline": np.array(self.baseline.now(), dtype=np.float64),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from what `state` returned; ValueError or TypeError if it is none."""
        self.length = _validate.count(state["length"], "length", most=2**53)
        blocks = state["blocks"]
        if len(blocks) >= BLOCKS:
            raise ValueError("the history of the saved model is not one")
        self._blocks = _positive(blocks, (len(blocks), 2)).tolist()
        self._open = _positive(state["open"], (3,)).tolist()
        # Version 0.2 called frequencies rates.
        self.baseline.restore(np.asarray(state.get("baseline", state.get("rates")), np.float64))
        if not self._open[0] < self.length or self.n > self.baseline.n:
            raise ValueError("the history of the saved model does not add up")


def _positive(values: Array, shape: tuple[int, ...]) -> Array:
    values = _validate.saved(values, shape, "progress", most=1e300)
    if (values < 0).any():
        raise ValueError("the history of the saved model has numbers below 0")
    return values
