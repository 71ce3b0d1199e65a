"""Inputs that are records: dictionaries, or frames with text, categories, times."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from mixable._types import Array
from mixable.learner.inputs import Pending, RawInputs
from mixable.records import Encoder, Row
from mixable.records.column import RECONSIDERED
from mixable.records.cutting import alike
from mixable.records.grid import Grid


class RecordInputs(RawInputs):
    """An encoder between records and the rows of a blend; tables are lists of dictionaries, or
    frames.
    """

    def __init__(self, encoder: Encoder, n_features: int) -> None:
        super().__init__(n_features)
        self.encoder = encoder
        # The record that was encoded last, after how many, and its row: it is learned next.
        self._last: tuple[Any, int, Row] | None = None

    def _encoded(self, record: Any) -> Row:
        last = self._last
        if last is not None and last[1] == self.encoder.n and _are_same(last[0], record):
            return last[2]
        row = self.encoder.encode(record)
        self._last = dict(record), self.encoder.n, row
        return row

    def transform(self, X: Any) -> Any:
        """The rows of a table, of those numbers that the forecaster knows."""
        if _is_one(X):
            return self._encoded(X[0]).as_rows(self.n_features)
        rows = self.encoder.encode_table(X)
        rows.dense = rows.dense_at(self.n_features)
        return rows

    def stage(self, X: Any, weight: Array | None = None) -> tuple[Any, Pending]:
        """The rows of a table one after the other. They can be wider than those before."""
        if _is_one(X):
            row = self._encoded(X[0])
            later = row if weight is None or weight[0] > 0 else None
            return row.as_rows(max(self.n_features, len(row.dense))), Pending(X, weight, later)
        rows, pending = self.encoder.stage(X)
        rows.dense = rows.dense_at(max(self.n_features, rows.dense.shape[1]))
        if weight is None or (weight > 0).all():
            return rows, Pending(X, weight, pending)
        return rows, Pending(X, weight, None)

    def commit(self, pending: Pending, rows: int) -> None:
        if isinstance(pending.later, Row):
            if rows:
                self.encoder.commit(pending.later)
        elif pending.later is not None:
            self.encoder.commit(pending.later, rows)
        elif rows and pending.weight is not None:  # those that count, by themselves
            counts = np.flatnonzero(pending.weight[:rows] > 0)
            if not len(counts):
                return
            self.encoder.commit(self.encoder.stage(_some(pending.X, counts))[1])

    def with_features(self, n_features: int) -> RecordInputs:
        return RecordInputs(self.encoder, n_features)

    def parts(self, n: int) -> list[slice]:
        """The next n records in parts, each encoded by the kinds of columns at its begin.

        Guessed kinds are looked at again after some numbers of records. So forecasts do not depend
        on how records are spread over calls.
        """
        known = self.encoder.n
        cuts = [at - known for at in RECONSIDERED if 0 < at - known < n]
        return [slice(*pair) for pair in pairwise([0, *cuts, n])]

    def alike(self, X: list[Any] | Grid, learned: list[bool]) -> int:
        """How many of the first records `follow` may take together, 1 or more."""
        encoder = self.encoder
        if isinstance(X, Grid):
            if all(learned):
                return len(X)
            X = X.records()
        if any(kind == "time" for kind in encoder.kinds.values()):
            # The time since the latest record goes by those that were learned.
            other = not learned[0]
            end = learned.index(other) if other in learned else len(X)
            X = X[: end if learned[0] else 1]
        return alike(encoder.registry, X, learned)

    def follow(self, X: list[Any] | Grid, learned: list[bool]) -> tuple[Any, Pending]:
        """The rows of records that are alike, of which some are learned; stage and transform."""
        if isinstance(X, Grid) and len(X) > 1 and all(learned):
            return self.stage(X)
        records = X.records() if isinstance(X, Grid) else X
        if all(learned):
            return self.stage(records)
        known = [record for record, is_learned in zip(records, learned, strict=True) if is_learned]
        rows = self.transform(records)
        later = self.encoder.stage(known)[1] if known else None
        return rows, Pending(np.empty(0), None, later)

    def first_refused(self, X: list[Any] | Grid) -> int:
        """The place of the first record that the encoder refuses; 0 if it refuses none."""
        for row, record in enumerate(X.records() if isinstance(X, Grid) else X):
            try:
                self.encoder.encode(record)
            except (ValueError, TypeError):
                return row
        return 0

    def state(self) -> dict[str, Any]:
        return {"encoder": self.encoder}

    def restore(self, state: dict[str, Any]) -> None:
        encoder = state["encoder"]
        if not isinstance(encoder, Encoder) or encoder.n_dense > self.n_features:
            raise ValueError("the saved encoder does not go with the forecaster")
        self.encoder = encoder


def _are_same(one: Any, other: Any) -> bool:
    """Whether two records are equal, and of the same types (1 is not True, nor 1.0)."""
    try:
        return bool(one == other) and all(
            type(a) is type(b) for a, b in zip(one.values(), other.values(), strict=True)
        )
    except (TypeError, ValueError):  # of values that cannot be compared
        return False


def _is_one(X: Any) -> bool:
    return isinstance(X, list) and len(X) == 1


def records_encoder(columns: Any = None) -> Encoder:
    """The encoder of learners: values of categories have no places among the numbers."""
    return Encoder(columns, max_indicators=0, max_places=0)


def rows_of(X: Any, part: slice) -> Any:
    """Some rows of a list of dictionaries, of a frame, or of a table of numbers."""
    if hasattr(X, "iloc"):
        return X.iloc[part]
    if hasattr(X, "slice"):  # Polars, Arrow
        return X.slice(part.start, part.stop - part.start)
    return X[part]


def _some(X: Any, rows: Any) -> Any:
    """Some rows of a list of dictionaries, or of a frame."""
    if isinstance(X, list):
        return [X[row] for row in rows.tolist()]
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return X.take(rows) if hasattr(X, "take") else X[rows]
