"""Inputs that are records: dictionaries, or frames with text, categories, times."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mixable._types import Array
from mixable.model.inputs import Pending
from mixable.records import Encoder, Row, Rows
from mixable.records.kinds import values
from mixable.records.tables import Grid, frame_columns, frame_names
from mixable.records.time import Time

LARGEST_PART = 16_384
"""Rows of a table that are staged together."""


class RecordInputs:
    """An encoder between records and the rows of a blend; tables are lists of dictionaries, or
    frames.
    """

    def __init__(self, encoder: Encoder, n_features: int) -> None:
        self.n_features, self.encoder = n_features, encoder
        # The record that was encoded last, after how many, and its row: it is learned next.
        self._last: tuple[Any, int, Row] | None = None

    def encoded(self, record: Any) -> Row:
        """The row of a record, by what was learned of earlier ones."""
        last = self._last
        if last is not None and last[1] == self.encoder.n and _are_same(last[0], record):
            return last[2]
        row = self.encoder.encode(record)
        self._last = dict(record), self.encoder.n, row
        return row

    def transform(self, X: Any) -> Any:
        """The rows of a table, of those numbers that the forecaster knows."""
        if _is_one(X):
            return self.encoded(X[0]).as_rows(self.n_features)
        rows = self.encoder.encode_table(X)
        rows.dense = rows.dense_at(self.n_features)
        return rows

    def stage(self, X: Any, weight: Array | None = None) -> tuple[Any, Pending]:
        """The rows of a table one after the other. They can be wider than those before."""
        if _is_one(X):
            row = self.encoded(X[0])
            later = row if weight is None or weight[0] > 0 else None
            return row.as_rows(max(self.n_features, len(row.dense))), Pending(X, weight, later)
        if weight is None or (weight > 0).all():
            rows, pending = self.encoder.stage(X)
        else:  # those of weight 0 teach the encoder nothing
            known = np.flatnonzero(weight > 0)
            rows, pending = self._stage_some(X, _some(X, known) if len(known) else None, weight > 0)
        rows.dense = rows.dense_at(max(self.n_features, rows.dense.shape[1]))
        return rows, Pending(X, weight, pending)

    def _stage_some(self, X: Any, learned: Any, is_learned: Any) -> tuple[Rows, Any]:
        """The rows of records, where only some are learned, and what is to be learned of these."""
        later = None if learned is None else self.encoder.stage(learned)[1]
        rows, staged = self.encoder.stage(X)
        before = np.cumsum(np.concatenate([[0], is_learned]))[:-1].astype(np.int64)
        for name, column in staged.registry.columns.items():
            if isinstance(column, Time):
                taught = None if later is None else later.parts.get(name)
                column.correct(rows.dense, staged.parts[name], taught, before)
        return rows, later

    def commit(self, pending: Pending, rows: int) -> None:
        """Learn the first `rows` of the records that were staged."""
        if isinstance(pending.later, Row):
            if rows:
                self.encoder.commit(pending.later)
        elif pending.later is not None:
            counts = rows if pending.weight is None else np.count_nonzero(pending.weight[:rows] > 0)
            self.encoder.commit(pending.later, int(counts))

    def with_features(self, n_features: int) -> RecordInputs:
        """The same for a forecaster that knows more numbers."""
        return RecordInputs(self.encoder, n_features)

    def parts(self, X: Any, weight: Array | None) -> Iterator[slice]:
        """The rows of a table in parts, each encoded by the kinds of columns at its begin.

        A part begins where a column has its first value, which says its kind, and where guessed
        kinds are looked at again. So forecasts do not depend on how records are spread over calls.
        Each part is to be committed before the next is asked for.
        """
        at, n, is_list = 0, len(X), isinstance(X, list)
        counts = [True] * n if weight is None else (weight > 0).tolist()
        while at < n:
            some = slice(at, min(at + LARGEST_PART, n))
            records = X[some] if is_list else self._new_values(rows_of(X, some))
            pairs = zip(records, counts[some], strict=True)
            learned = [record if is_learned else None for record, is_learned in pairs]
            end = at + self.encoder.registry.alike(records, learned, in_frame=not is_list)
            yield slice(at, end)
            at = end

    def _new_values(self, X: Any) -> list[dict[Any, Any]]:
        """The records of a frame with the first value of each column that is not known yet."""
        records: list[dict[Any, Any]] = [{}] * len(X)
        known, declared = self.encoder.registry.columns, self.encoder.declared
        names = [name for name in frame_names(X) if name not in known]
        columns = frame_columns(X) if names else {}
        for name in names:
            found = values(name, columns[name].items)
            # Where a kind is declared, no value has to tell it.
            row, value = (0, 0) if declared.kind(name) else next(found, (-1, None))
            if row >= 0:
                records[row] = {**records[row], name: value}
        return records

    def alike(self, X: list[Any] | Grid, learned: list[Any]) -> int:
        """How many of the first steps `follow` may take together, 1 or more.

        Each step has a record, and one that is learned or None.
        """
        return len(X) if isinstance(X, Grid) else self.encoder.registry.alike(X, learned)

    def follow(
        self, X: list[Any] | Grid, learned: list[Any], *, prompt: bool
    ) -> tuple[Any, Pending]:
        """The rows of records that are alike, each by what is learned before its step.

        If outcomes are `prompt`, each record is learned in its own step.
        """
        if prompt:
            return self.stage(X.records() if isinstance(X, Grid) and len(X) == 1 else X)
        known = [record for record in learned if record is not None]
        is_learned = [record is not None for record in learned]
        if len(X) == 1:
            later = self.encoder.stage(known)[1] if known else None
            return self.transform([X[0]]), Pending(np.empty(0), None, later)
        rows, later = self._stage_some(X, known or None, is_learned)
        rows.dense = rows.dense_at(self.n_features)
        return rows, Pending(np.empty(0), None, later)

    def state(self) -> dict[str, Any]:
        """All that was learned."""
        return {"encoder": self.encoder}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from what `state` returned; ValueError if it does not fit."""
        encoder = state["encoder"]
        if not isinstance(encoder, Encoder) or encoder.n_dense > self.n_features:
            raise ValueError("the saved encoder does not go with the forecaster")
        self.encoder = encoder


def _are_same(one: Any, other: Any) -> bool:
    """Whether two records are equal, and of the same types (1 is not True, nor 1.0)."""
    try:
        return bool(one == other) and [*map(type, one.values())] == [*map(type, other.values())]
    except (TypeError, ValueError):  # of values that cannot be compared
        return False


def _is_one(X: Any) -> bool:
    return isinstance(X, list) and len(X) == 1


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
