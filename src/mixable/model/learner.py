"""The learner: a model is inputs, a pool of experts, and outcomes.

Estimators for scikit-learn and river, the stream and the race all go through here. Rows are
float64, NaN for what is missing; or records, if there is an encoder. The order in which things
happen to an example is the pool's business (core/pool/pool.hpp); an encoder learns what the
pool has learned.
"""

from __future__ import annotations

import copy
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixable._types import Array
from mixable.model.compiled import Records
from mixable.model.design import Design
from mixable.model.late import Followed, Kept, kept_row, with_kept
from mixable.model.outcomes import Labels, Outcomes, Targets
from mixable.model.parts import Advance, InOrder, cut_at, ends_of, parts_of, small
from mixable.model.pool import RecordPool
from mixable.model.pooled import warn_if_slow
from mixable.model.record_inputs import RecordInputs, rows_of
from mixable.model.saved import checked
from mixable.records import Encoder
from mixable.records.category import Category
from mixable.records.tables import Grid


class Learner:
    """Inputs, a pool and outcomes; labels None for a pool of numbers."""

    outcomes: Outcomes

    def __init__(
        self,
        design: Design,
        n_features: int,
        labels: Sequence[Hashable] | None,
        *,
        closed: bool = False,
        forecaster: Any = None,
        encoder: Encoder | None = None,
    ) -> None:
        self.design = design
        if labels is None:
            self.outcomes = Targets(centred=design.intercept)
        else:
            self.outcomes = Labels(labels, closed=closed)
        if isinstance(forecaster, RecordPool):
            self.pool = forecaster
        else:
            self.pool = RecordPool(design, n_features, self.outcomes.n_classes, forecaster)
            warn_if_slow(self.pool)
        self.records = None if encoder is None else RecordInputs(encoder, n_features)

    @property
    def forecaster(self) -> Any:
        """The pool, or its one expert where there is no judge."""
        return self.pool if self.design.is_pooled else self.pool.experts[0]

    @property
    def inputs(self) -> Any:
        """What makes rows of records; without an encoder, the inputs of the first expert."""
        return self.records or self.pool.inputs[0]

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.pool.n_features

    @property
    def has_labels(self) -> bool:
        """Whether it learns labels, not numbers."""
        return isinstance(self.outcomes, Labels)

    @property
    def labels(self) -> list[Hashable]:
        """The labels observed so far, in the order of the probabilities."""
        assert isinstance(self.outcomes, Labels)
        return self.outcomes.names

    @property
    def codes(self) -> dict[Hashable, int]:
        """The place of each label in the probabilities."""
        assert isinstance(self.outcomes, Labels)
        return self.outcomes.codes

    @property
    def taken_for(self) -> dict[Any, str]:
        """What each column of records is taken for, and how many of its values have indicators."""
        assert self.records is not None
        encoder, made = self.records.encoder, self.pool.made
        out = encoder.taken_for
        given = set() if made is None else {*made.core.indicators().tolist()}
        for name, column in encoder.registry.columns.items() if given else ():
            n = len(given.intersection(column.keys)) if isinstance(column, Category) else 0
            if n:
                out[name] += f", {n} indicator{'s' if n > 1 else ''}"
        return out

    def unknown(self, y: Sequence[Hashable]) -> list[Hashable]:
        """Labels among y that are not allowed: those not met, if no others may come."""
        assert isinstance(self.outcomes, Labels)
        return self.outcomes.new(y) if self.outcomes.closed else []

    def add_features(self, k: int) -> None:
        """Let rows have `k` more features, at the end."""
        self.pool.add_features(k)
        if self.records is not None:
            self.records = self.records.with_features(self.n_features)

    def add_label(self, label: Hashable) -> None:
        """Add a label that has not been met."""
        assert isinstance(self.outcomes, Labels)
        self.outcomes.add(self.pool, label)

    def predict(self, X: Any) -> Any:
        """Probabilities by label, or means, of one row or of each row of a table."""
        return self.outcomes.forecast(self.pool.predict(self._rows(X)))

    def interval(self, X: Any, level: float) -> tuple[Any, Any]:
        """The interval that holds the number of each row with probability `level`."""
        low, high = self.pool.interval(self._rows(X), level)
        return self.outcomes.forecast(low), self.outcomes.forecast(high)

    def numbers(self, X: Any, level: float) -> Array:
        """What `follow` would forecast: means, deviations, ends of intervals (n, 4)."""
        rows: Any = self._rows(X)
        rows = rows[None] if isinstance(rows, np.ndarray) and rows.ndim == 1 else rows
        n, pool = len(rows), self.pool
        none = np.full(n, np.nan)
        P, _, why = self.outcomes.follow(pool, rows, np.arange(n), none, None, level)
        if why is not None:
            raise ValueError(why)
        return P

    def deviation(self, X: Any) -> Any:
        """The standard deviation of the forecast of each row's number."""
        return self.pool.std(self._rows(X))

    def _rows(self, X: Any) -> Records:
        rows: Records = X if self.records is None else self.records.transform(X)
        return rows

    def learn(self, X: Any, y: Any, weight: Array | None = None, advance: Advance = None) -> None:
        """Learn the rows of a table."""
        if len(X) == 1 and isinstance(X, np.ndarray | list):
            self.learn_one(X[0], y[0], 1.0 if weight is None else float(weight[0]))
        else:
            self.run(X, y, weight, advance)

    def learn_one(self, x: Any, y: Any, weight: float = 1.0) -> None:
        """Learn one row; of one of weight 0, no more than that there is such a label."""
        if self.records is None:
            self.outcomes.learn(self.pool, x, y, weight)
            return
        steps = self.pool.steps
        Z, pending = self.records.stage([x], np.array([weight]))
        self._widen_to(Z.dense.shape[1])
        try:
            self.outcomes.learn(self.pool, Z, y, weight)
        finally:  # also Ctrl-C, which may come when the row has been learned
            self.records.commit(pending, self.pool.steps - steps)
        self.records.encoder.ask()

    def fit(self, X: Any, y: Any, weight: Array | None = None, advance: Advance = None) -> None:
        """Learn the rows of a table after which there may be no more.

        Trees are built to the end with the last row. They are so, too, whenever the rows have grown
        by `GROWTH`: the judge learns on the rows after that how good such trees are.
        """
        self.run(X, y, weight, advance, ends=ends_of(len(X)))

    def run(
        self,
        X: Any,
        y: Any,
        weight: Array | None,
        advance: Advance = None,
        ends: Sequence[int] = (),
    ) -> Any:
        """Learn the rows of a table; return the forecasts made before each.

        Those are probabilities, 0 for labels that had not been met yet; for numbers, means and
        standard deviations. After every few rows, `advance` is called with how many more. After as
        many rows as `ends` has, the pool finishes what it builds.
        """
        parts: Iterable[slice]
        if self.records is not None:
            parts = self.records.parts(X, weight)
        else:
            parts = parts_of(len(X), max(self.n_features, 1))
            # A row that is refused has its place in the caller's table.
            self.pool.check(X.rows if isinstance(X, InOrder) else X)
        pieces = []
        for part in cut_at(ends, parts if advance is None else small(parts)):
            part_weight = None if weight is None else weight[part]
            pieces.append(self._run_part(rows_of(X, part), y[part], part_weight))
            if part.stop in ends:
                self.pool.finish()
            if advance is not None:
                advance(part.stop - part.start)
        if self.records is not None:
            self.records.encoder.ask()
        return self.outcomes.stacked(pieces)

    def _run_part(self, X: Any, y: Any, weight: Array | None) -> Any:
        if self.records is None:
            return self.outcomes.run(self.pool, X, y, weight)
        steps = self.pool.steps
        Z, pending = self.records.stage(X, weight)
        self._widen_to(Z.dense.shape[1])
        self.pool.check(Z)
        try:
            return self.outcomes.run(self.pool, Z, y, weight)
        finally:  # also Ctrl-C, between two rows
            self.records.commit(pending, self.pool.steps - steps)

    def follow(
        self,
        X: Any,
        y: NDArray[Any],
        order: NDArray[np.int_] | None = None,
        kept: Sequence[Kept] = (),
        level: float | None = None,
    ) -> Followed:
        """Steps with rows, one after the other: predict, and learn where an outcome has come.

        y has codes of labels, or -1; or numbers, or NaN.

        Step t is with row order[t], or t. A negative one is an outcome that comes late, for row
        -1 - order[t]: it is learned with the inputs of its forecast. Rows beyond those of X are
        those that were kept. The bits do not depend on how steps are spread over calls.

        Forecasts of numbers are means and deviations; with a `level`, the ends of the interval of
        that probability, too.
        """
        order = np.arange(len(y)) if order is None else order
        if self.records is not None:
            return self._follow_records(self.records, X, y, order, kept, level)
        both = with_kept(X, kept, self.n_features)
        room = self._room(both, kept, y)
        P, done, reason = self.outcomes.follow(self.pool, both, order, y, room, level)
        return Followed(
            P=P,
            done=done,
            reason=reason,
            # There is room wherever a row was not learned.
            kept=lambda row: kept_row(both, row, room, None),  # type: ignore[arg-type]
        )

    def _room(self, X: Any, kept: Sequence[Kept], y: NDArray[Any]) -> Array | None:
        """What is kept of the forecasts of rows, if some outcomes are late; of some it is known."""
        if not kept and self.outcomes.come(y).all():
            return None
        room = np.zeros((len(X), self.pool.kept_length))
        for row, each in enumerate(kept, len(X) - len(kept)):
            room[row] = self.pool.kept_now(each.z, len(each.x))
        return room

    def check(self, kept: Kept) -> None:
        """Refuse what no forecast of this learner has left."""
        said = len(kept.z) - len(kept.x)  # of each class, once there was a judge
        each = (self.pool.kept_length - self.n_features) // (self.pool.n_classes or 1)
        if said < 0 or (said > 0) != (each > 0) or said % max(each, 1):
            raise ValueError("what waits for its label does not go with the learner")

    def _follow_records(
        self,
        inputs: RecordInputs,
        X: Any,
        y: NDArray[Any],
        order: NDArray[np.int_],
        kept: Sequence[Kept],
        level: float | None,
    ) -> Followed:
        """The same with records: the encoder learns those that are learned.

        Each step has a row of X, which is of no use if its outcome is late.
        """
        pieces: list[Array] = []
        made: list[tuple[int, Any, Any]] = []  # the rows of each piece, and what is kept of them

        def of_row(row: int) -> Kept:
            if row >= len(X):
                return kept[row - len(X)]
            first, rows, room = next(each for each in reversed(made) if each[0] <= row)
            return kept_row(rows, row - first, room, X[row])

        rows = np.where(order < 0, -1 - order, order).tolist()
        late, come = (order < 0).tolist(), self.outcomes.come(y)
        learned: list[Any] = [None] * len(rows)
        are_prompt = isinstance(X, Grid) and bool(come.all()) and not any(late)
        for step in [] if are_prompt else np.flatnonzero(come).tolist():
            row = rows[step]
            learned[step] = kept[row - len(X)].record if row >= len(X) else X[row]
        done, reason, most = 0, None, len(y)
        while done < len(y) and reason is None:
            n = inputs.alike(X[done : done + most], learned[done : done + most])
            part = slice(done, done + n)
            try:
                prompt = bool(come[part].all()) and not any(late[part])
                Z, pending = inputs.follow(X[part], learned[part], prompt=prompt)
            except (ValueError, TypeError) as error:
                if n == 1:
                    reason = str(error)
                most = max(n // 2, 1)
                continue
            self._widen_to(Z.dense.shape[1])
            others = [row for row, is_late in zip(rows[part], late[part], strict=True) if is_late]
            others = [row for row in others if not done <= row < done + n]
            place = {row: n + at for at, row in enumerate(others)}
            own = [place.get(row, row - done) for row in rows[part]]
            own_order = np.where(late[part], -1 - np.array(own), own)
            before = [of_row(row) for row in others]
            both = with_kept(Z, before, self.n_features)
            room = self._room(both, before, y[part])
            own_y = y[part]
            P, count, reason = self.outcomes.follow(self.pool, both, own_order, own_y, room, level)
            inputs = self.records or inputs  # it may have become wider
            inputs.commit(pending, int(np.count_nonzero(come[part][:count])))
            self.widen()
            inputs = self.records or inputs
            made.append((done, both, room))
            pieces.append(P)
            done, most = done + count, len(y)
        inputs.encoder.ask()
        numbers = 2 if level is None else 4
        none = self.outcomes.forecast(np.empty((0, self.pool.n_classes or numbers)))
        return Followed(P=np.concatenate([none, *pieces]), done=done, reason=reason, kept=of_row)

    def kept(self, x: Any) -> Kept:
        """The inputs of a forecast, to be kept until its outcome comes; x as in `predict`."""
        if self.records is None:
            return Kept(record=None, x=x.copy(), z=self.pool.kept(x))
        rows = self.records.encoded(x[0]).as_rows(self.n_features)
        return kept_row(rows, 0, self.pool.kept(rows)[None], dict(x[0]))

    def learn_kept(self, kept: Kept, y: Any, weight: float = 1.0) -> None:
        """Learn an outcome that comes late, with the inputs of its forecast."""
        steps, pending = self.pool.steps, None
        shown = b"" if self.records is None else self.records.encoder.registry.shown
        Z = kept.as_rows(self.n_features, shown)
        if self.records is not None:
            _, pending = self.records.stage([kept.record], np.array([weight]))
        Z.kept = self.pool.kept_now(kept.z, len(kept.x))[None]
        try:
            self.outcomes.learn(self.pool, Z, y, weight)
        finally:  # also Ctrl-C, which may come when the row has been learned
            if self.records is not None and pending is not None and weight > 0:
                self.records.commit(pending, self.pool.steps - steps)
            self.widen()

    def widen(self) -> None:
        """Let the pool have the numbers of columns that the encoder has added."""
        if self.records is not None:
            self._widen_to(self.records.encoder.n_dense)

    def _widen_to(self, n_dense: int) -> None:
        """Let the pool have so many numbers."""
        if n_dense > self.n_features:
            self.add_features(n_dense - self.n_features)

    def __copy__(self) -> Learner:
        return copy.deepcopy(self)

    def __getstate__(self) -> dict[str, Any]:
        own: dict[str, Any] = {}  # a pool keeps the statistics of its inputs itself
        if self.records is not None:
            own = self.records.state()
        elif not self.design.is_pooled:
            own = self.pool.inputs[0].state()
        return {
            "design": self.design,
            "n_features": self.n_features,
            "forecaster": self.forecaster,
            "scaler": own,
            **self.outcomes.state(),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        saved = checked(state)
        self.__init__(  # type: ignore[misc]  # as if it were new
            saved["design"],
            saved["n_features"],
            saved["labels"],
            closed=saved["closed"],
            forecaster=saved["forecaster"],
        )
        if "encoder" in saved["scaler"]:
            self.records = RecordInputs(saved["scaler"]["encoder"], saved["n_features"])
            self.records.restore(saved["scaler"])
        elif not self.design.is_pooled:
            self.pool.inputs[0].restore(saved["scaler"])
        self.outcomes.restore(saved)


def takes_features(learner: Learner) -> bool:
    """Whether its rows have sparse features: those of records, or columns of a sparse matrix."""
    return learner.design.takes_features
