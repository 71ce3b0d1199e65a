"""How a model has done over time: its loss beside that of the class rates, calibration by class."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mixable import _validate
from mixable._types import Array
from mixable.metrics import LEAST

BLOCKS = 128  # of the history; when it is full, each two become one
BINS = 10


class Progress:
    """Losses in blocks of equal length, and calibration, in memory that does not grow.

    The baseline predicts the rates of the classes, (n_c + 1/2) / (t + K/2) after t labels of which
    n_c were c: those that had come when the forecast was made, however late its own label comes. A
    class that was not known costs both as much as `mixable.metrics` says.

    >>> progress = Progress()
    >>> for t in range(4):
    ...     progress.add([0.75, 0.25], 0)
    >>> round(progress.baseline, 3)
    0.324
    >>> [(n, round(loss, 3)) for n, loss, _ in progress.history()]
    [(1, 0.288), (2, 0.288), (3, 0.288), (4, 0.288)]
    """

    def __init__(self) -> None:
        self.length = 1  # examples of a block
        self._blocks: list[list[float]] = []  # the loss and the baseline's, of whole blocks
        self._open = [0.0, 0.0, 0.0]  # examples, loss, baseline's loss of the last block
        self._rates: list[int] = []  # how often each class came
        # By class, then by bin: forecasts, their sum, how often the class came.
        self._bins = np.zeros((0, BINS, 3))

    @property
    def n(self) -> int:
        """Examples."""
        return len(self._blocks) * self.length + int(self._open[0])

    @property
    def rates(self) -> list[int]:
        """How often each class has come so far."""
        return list(self._rates)

    def expect(self, known: int, code: int, rates: Sequence[int] | None = None) -> float:
        """The loss of the baseline for a label, which is counted from now on.

        `known` is the number of classes that the forecast knew, `rates` are those of its time; None
        are those so far.
        """
        then = self._rates if rates is None else rates
        known = max(known, len(then))
        loss = -math.log(LEAST)
        if code < known:
            seen = then[code] if code < len(then) else 0
            loss = -math.log((seen + 0.5) / (sum(then) + known / 2))
        self._rates.extend([0] * (max(known, code + 1) - len(self._rates)))
        self._rates[code] += 1
        return loss

    def add(self, p: list[float], code: int, rates: Sequence[int] | None = None) -> None:
        """Count one forecast, which may have been made before the class was known."""
        self.add_many([p], [code], [self.expect(len(p), code, rates)])

    def add_many(self, P: list[list[float]], codes: list[int], baselines: list[float]) -> None:
        """Count forecasts of as many classes, with the losses of the baseline (`expect`).

        The bits do not depend on how many come together.
        """
        known = len(P[0])
        for p, code, baseline in zip(P, codes, baselines, strict=True):
            own = p[code] if code < known else 0.0
            self._count(-math.log(max(own, LEAST)), baseline)
        new = np.zeros((len(self._rates) - len(self._bins), BINS, 3))
        self._bins = np.concatenate([self._bins, new]) if len(new) else self._bins
        values, flat = np.array(P, dtype=np.float64), self._bins.reshape(-1, 3)
        bins = np.minimum((values * BINS).astype(np.int_), BINS - 1)
        places = bins + BINS * np.arange(known)
        np.add.at(flat[:, 0], places.ravel(), 1.0)  # one after the other
        np.add.at(flat[:, 1], places.ravel(), values.ravel())
        hits = [row[code] for row, code in zip(places.tolist(), codes, strict=True) if code < known]
        np.add.at(flat[:, 2], hits, 1.0)

    def _count(self, loss: float, baseline: float) -> None:
        self._open[0] += 1.0
        self._open[1] += loss
        self._open[2] += baseline
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

    @property
    def baseline(self) -> float:
        """Mean log loss of the class rates in nats; NaN before the first forecast."""
        total = sum(block[1] for block in self._blocks) + self._open[2]
        return total / self.n if self.n else math.nan

    def calibration(self, code: int) -> list[tuple[float, float, int]]:
        """Of each bin of a class: the mean forecast, how often the class came, forecasts."""
        bins = self._bins[code].tolist() if code < len(self._bins) else []
        return [(total / n, hits / n, int(n)) for n, total, hits in bins if n]

    def calibration_error(self, code: int) -> float:
        """Mean distance between the forecasts of a class and how often it came."""
        bins = self._bins[code].tolist() if code < len(self._bins) else []
        n = sum(each[0] for each in bins)
        return sum(abs(total - hits) for _, total, hits in bins) / n if n else math.nan

    def state(self) -> dict[str, Any]:
        """All of it, as arrays."""
        return {
            "length": self.length,
            "blocks": np.array(self._blocks).reshape(-1, 2),
            "open": np.array(self._open),
            "rates": np.array(self._rates, dtype=np.int64),
            "bins": self._bins.copy(),
        }

    @classmethod
    def restored(cls, state: dict[str, Any], classes: int) -> Progress:
        """What `state` returned, once it is known to go with a model of so many classes."""
        out = cls()
        out.length = _validate.count(state["length"], "length", most=2**53)
        blocks, rates, bins = state["blocks"], state["rates"], state["bins"]
        m, k = len(blocks), len(rates)
        if m >= BLOCKS or k > classes or rates.dtype.kind != "i" or rates.shape != (k,):
            raise ValueError("the history of the saved model is not one")
        out._blocks = _positive(blocks, (m, 2)).tolist()
        out._open = _positive(state["open"], (3,)).tolist()
        out._bins = _positive(bins, (k, BINS, 3)).copy()
        out._rates = rates.tolist()
        if not out._open[0] < out.length or (rates < 0).any() or rates.sum() != out.n:
            raise ValueError("the history of the saved model does not add up")
        return out


def _positive(values: Array, shape: tuple[int, ...]) -> Array:
    values = _validate.saved(values, shape, "progress", most=1e300)
    if (values < 0).any():
        raise ValueError("the history of the saved model has numbers below 0")
    return values
