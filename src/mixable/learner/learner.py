"""The learner: it knows in which order things happen to an example.

Transform its input by what was learned before; predict; learn; let the inputs learn it. Estimators
for scikit-learn and river, the stream and the race all go through here. Rows are float64, NaN for
what is missing; or records, if there is an encoder.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixable import _validate
from mixable._types import Array
from mixable.forecasters.compiled import is_all_compiled
from mixable.learner.blend import Blend
from mixable.learner.design import Design
from mixable.learner.inputs import Inputs, Pending, ScaledInputs, ScaledRows
from mixable.learner.late import Followed, Kept, kept_row, with_kept
from mixable.learner.outcomes import Labels, Outcomes, Targets
from mixable.learner.parts import Advance, InOrder, largest_row, parts_of, small
from mixable.learner.record_inputs import RecordInputs, rows_of
from mixable.learner.saved import checked
from mixable.records import Encoder, Rows
from mixable.records.rows import at_width
from mixable.records.tables import Grid


class Learner:
    """Inputs, a forecaster and outcomes; labels None for a forecaster of numbers."""

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
        self.forecaster = forecaster or design.forecaster(n_features, self.outcomes.n_classes)
        # The inputs are made after the forecaster, for it refuses large sizes.
        if encoder is None:
            self.inputs: Inputs = design.inputs(n_features)
        else:
            self.inputs = RecordInputs(encoder, n_features)
        self._is_compiled = is_all_compiled(self.forecaster)
        self._staged: tuple[Array, Array, Pending] | None = None

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.inputs.n_features

    @property
    def has_labels(self) -> bool:
        """Whether it learns labels, not numbers."""
        return isinstance(self.outcomes, Labels)

    @property
    def labels(self) -> list[Hashable]:
        """The labels met so far, in the order of the probabilities."""
        assert isinstance(self.outcomes, Labels)
        return self.outcomes.names

    @property
    def codes(self) -> dict[Hashable, int]:
        """The place of each label in the probabilities."""
        assert isinstance(self.outcomes, Labels)
        return self.outcomes.codes

    def unknown(self, y: Sequence[Hashable]) -> list[Hashable]:
        """Labels among y that are not allowed: those not met, if no others may come."""
        assert isinstance(self.outcomes, Labels)
        return self.outcomes.new(y) if self.outcomes.closed else []

    def add_features(self, k: int) -> None:
        """Let rows have `k` more features, at the end."""
        inputs = self.inputs.with_features(self.n_features + k)
        self.forecaster.add_features(k)
        self.inputs, self._staged = inputs, None

    def add_label(self, label: Hashable) -> None:
        """Add a label that has not been met."""
        assert isinstance(self.outcomes, Labels)
        self.outcomes.add(self.forecaster, label)

    def predict(self, X: Any) -> Any:
        """Probabilities by label, or means, of one row or of each row of a table."""
        is_row = isinstance(X, np.ndarray) and X.ndim == 1
        rows = self._rows() if is_row else None
        if rows is not None:
            return self.outcomes.forecast(rows.predict(X))
        if is_row:
            Z, pending = self._stage(X)
            self._staged = X.copy(), Z, pending
            return self.outcomes.forecast(self.forecaster.predict(Z))
        return self.outcomes.forecast(self._in_parts(self.forecaster.predict, X))

    def interval(self, X: Any, level: float) -> tuple[Any, Any]:
        """The interval that holds the number of each row with probability `level`."""
        ends = self._in_parts(lambda Z: np.array(self.forecaster.interval(Z, level)).T, X)
        low, high = ends.T
        return self.outcomes.forecast(low), self.outcomes.forecast(high)

    def deviation(self, X: Any) -> Any:
        """The standard deviation of the forecast of each row's number."""
        return self._in_parts(self.forecaster.std, X)

    def learn(self, X: Any, y: Any, weight: Array | None = None, advance: Advance = None) -> None:
        """Learn the rows of a table."""
        if len(X) == 1 and isinstance(X, np.ndarray | list):
            self.learn_one(X[0], y[0], 1.0 if weight is None else float(weight[0]))
        else:
            self.run(X, y, weight, advance)

    def learn_one(self, x: Any, y: Any, weight: float = 1.0) -> None:
        """Learn one row; of one of weight 0, no more than that there is such a label."""
        inputs = self.inputs
        if type(inputs) is RecordInputs:  # to ask a protocol costs as much as a step
            self._learn_record(inputs, x, y, weight)
            return
        code = self.codes.get(y) if self.has_labels else None
        rows = None if code is None else self._rows()
        if rows is not None and code is not None:
            rows.learn(x, code, weight)
            return
        steps = self.forecaster.steps
        z, pending = self._stage(x)
        try:
            self.outcomes.learn(self.forecaster, z, y, weight)
        finally:  # also Ctrl-C, which may come when the row has been learned
            self._staged = None
            if weight > 0:
                self.inputs.commit(pending, self.forecaster.steps - steps)

    def _learn_record(self, inputs: RecordInputs, x: Any, y: Any, weight: float) -> None:
        steps = self.forecaster.steps
        Z, pending = inputs.stage([x], np.array([weight]))
        self._widen(Z)
        try:
            self.outcomes.learn(self.forecaster, Z, y, weight)
        finally:  # also Ctrl-C, which may come when the row has been learned
            self.inputs.commit(pending, self.forecaster.steps - steps)
        inputs.encoder.ask()

    def _rows(self) -> ScaledRows | Blend | None:
        """What predicts and learns single raw rows, compiled; None where it takes Python."""
        if isinstance(self.forecaster, Blend):
            return self.forecaster
        inputs = self.inputs
        if self._is_compiled and type(inputs) is ScaledInputs:
            return ScaledRows(inputs.scaler, self.forecaster._core)
        return None

    def _stage(self, x: Array) -> tuple[Array, Pending]:
        """A row staged; the one that was predicted last need not be staged again."""
        staged = self._staged
        if staged is not None and np.array_equal(staged[0], x):
            return staged[1], staged[2]
        return self.inputs.stage(x)

    def run(self, X: Any, y: Any, weight: Array | None, advance: Advance = None) -> Any:
        """Learn the rows of a table; return the forecasts made before each.

        Those are probabilities, 0 for labels that had not been met yet; for numbers, means and
        standard deviations. After every few rows, `advance` is called with how many more.
        """
        parts: Iterable[slice]
        if isinstance(self.inputs, RecordInputs):
            parts = self.inputs.parts(X, weight)
        else:
            parts = parts_of(len(X), int(self.forecaster._row_length))
            if isinstance(X, InOrder):  # a row that is refused has its place in the caller's table
                self._refuse_too_large(X.rows)
            elif len(parts) > 1 or advance is not None:
                self._refuse_too_large(X)
        self._staged = None
        pieces = []
        for part in parts if advance is None else small(parts):
            part_weight = None if weight is None else weight[part]
            steps = self.forecaster.steps
            Z, pending = self.inputs.stage(rows_of(X, part), part_weight)
            self._widen(Z)
            if isinstance(self.forecaster, Blend):
                self.forecaster.check(Z)
            try:
                piece = self.outcomes.run(self.forecaster, Z, y[part], part_weight)
            finally:  # also Ctrl-C, between two rows
                self.inputs.commit(pending, self.forecaster.steps - steps)
            pieces.append(piece)
            if advance is not None:
                advance(part.stop - part.start)
        if isinstance(self.inputs, RecordInputs):
            self.inputs.encoder.ask()
        return self.outcomes.stacked(pieces)

    def follow(
        self,
        X: Any,
        codes: NDArray[np.int_],
        order: NDArray[np.int_] | None = None,
        kept: Sequence[Kept] = (),
    ) -> Followed:
        """Steps with rows, one after the other: predict, and learn where the code is 0 or more.

        Step t is with row order[t], or t. A negative one is an outcome that comes late, for row
        -1 - order[t]: it is learned with the inputs of its forecast. Rows beyond those of X are
        those that were kept. The bits do not depend on how steps are spread over calls. The loop is
        compiled: core/follow.hpp, core/pooled.hpp.
        """
        order = np.arange(len(codes)) if order is None else order
        if isinstance(self.inputs, RecordInputs):
            return self._follow_records(X, codes, order, kept)
        both = with_kept(X, kept, self.n_features)
        room = self._room(both, kept, codes)
        if isinstance(self.forecaster, Blend):
            P, done, reason = self.forecaster.follow(both, order, codes, room)
        elif isinstance(self.inputs, ScaledInputs):
            scaler = self.inputs.scaler
            P, done, reason = self.forecaster._core.follow(scaler, both, order, codes, room)
        else:
            raise TypeError('a stream is followed with kernel="auto" or None only')
        return Followed(
            P=self.outcomes.forecast(P[:done]),
            done=done,
            reason=reason,
            # There is room wherever a row was not learned.
            kept=lambda row: kept_row(both, row, room, None),  # type: ignore[arg-type]
        )

    def _room(self, X: Any, kept: Sequence[Kept], codes: NDArray[np.int_]) -> Array | None:
        """What is kept of the forecasts of rows, if some outcomes are late; of some it is known."""
        if not kept and (codes >= 0).all():
            return None
        is_blend = isinstance(self.forecaster, Blend)
        length = self.forecaster.kept_length if is_blend else self.inputs.row_length
        room = np.zeros((len(X), length))
        for row, each in enumerate(kept, len(X) - len(kept)):
            room[row] = self._known(each)
        return room

    def _known(self, kept: Kept) -> Array:
        """What was kept of a forecast, for the forecaster as it is by now."""
        if isinstance(self.forecaster, Blend):
            return self.forecaster.kept_now(kept.z, len(kept.x))
        if len(kept.z) == self.inputs.row_length:
            return kept.z
        # Features came since then: they were missing, and count as their mean.
        first, now = int(self.design.intercept), self.n_features + int(self.design.intercept)
        views = len(kept.z) // max(len(kept.x) + first, 1)
        return at_width(kept.z.reshape(views, -1), now, fill=0.0).ravel()

    def check(self, kept: Kept) -> None:
        """Refuse what no forecast of this learner has left."""
        is_blend = isinstance(self.forecaster, Blend)
        length = self.forecaster.kept_length if is_blend else self.inputs.row_length
        width = 1 if is_blend else max(len(kept.x) + int(self.design.intercept), 1)
        has_parts = len(kept.z) >= len(kept.x) and len(kept.z) % width == 0
        if not has_parts or len(self._known(kept)) != length:
            raise ValueError("what waits for its label does not go with the learner")

    def _follow_records(
        self, X: Any, codes: NDArray[np.int_], order: NDArray[np.int_], kept: Sequence[Kept]
    ) -> Followed:
        """The same with records: the encoder learns those that are learned.

        Each step has a row of X, which is of no use if its outcome is late.
        """
        assert isinstance(self.inputs, RecordInputs)
        pieces: list[Array] = []
        made: list[tuple[int, Any, Any]] = []  # the rows of each piece, and what is kept of them

        def of_row(row: int) -> Kept:
            if row >= len(X):
                return kept[row - len(X)]
            first, rows, room = next(each for each in reversed(made) if each[0] <= row)
            return kept_row(rows, row - first, room, X[row])

        rows = np.where(order < 0, -1 - order, order).tolist()
        late = (order < 0).tolist()
        learned: list[Any] = [None] * len(rows)
        are_prompt = isinstance(X, Grid) and bool((codes >= 0).all()) and not any(late)
        for step in [] if are_prompt else np.flatnonzero(codes >= 0).tolist():
            row = rows[step]
            learned[step] = kept[row - len(X)].record if row >= len(X) else X[row]
        done, reason, most = 0, None, len(codes)
        while done < len(codes) and reason is None:
            n = self.inputs.alike(X[done : done + most], learned[done : done + most])
            part = slice(done, done + n)
            try:
                prompt = bool((codes[part] >= 0).all()) and not any(late[part])
                Z, pending = self.inputs.follow(X[part], learned[part], prompt=prompt)
            except (ValueError, TypeError) as error:
                if n == 1:
                    reason = str(error)
                most = max(n // 2, 1)
                continue
            self._widen(Z)
            others = [row for row, is_late in zip(rows[part], late[part], strict=True) if is_late]
            others = [row for row in others if not done <= row < done + n]
            place = {row: n + at for at, row in enumerate(others)}
            own = [place.get(row, row - done) for row in rows[part]]
            own_order = np.where(late[part], -1 - np.array(own), own)
            before = [of_row(row) for row in others]
            both = with_kept(Z, before, self.n_features)
            room = self._room(both, before, codes[part])
            P, count, reason = self.forecaster.follow(both, own_order, codes[part], room)
            self.inputs.commit(pending, int(np.count_nonzero(codes[part][:count] >= 0)))
            self.widen()
            made.append((done, both, room))
            pieces.append(P[:count])
            done, most = done + count, len(codes)
        self.inputs.encoder.ask()
        none = np.empty((0, self.forecaster.n_classes))
        P = np.concatenate([none, *pieces])
        return Followed(P=self.outcomes.forecast(P), done=done, reason=reason, kept=of_row)

    def kept(self, x: Any) -> Kept:
        """The inputs of a forecast, to be kept until its outcome comes; x as in `predict`."""
        is_blend = isinstance(self.forecaster, Blend)
        if isinstance(self.inputs, RecordInputs):
            row = self.inputs.encoded(x[0])
            rows = row.as_rows(self.n_features)
            z = self.forecaster.kept(rows) if is_blend else rows.dense[0]
            return kept_row(rows, 0, z[None], dict(x[0]))
        z = self.forecaster.kept(x) if is_blend else self.inputs.transform(x)
        return Kept(record=None, x=x.copy(), z=z)

    def learn_kept(self, kept: Kept, y: Any, weight: float = 1.0) -> None:
        """Learn an outcome that comes late, with the inputs of its forecast."""
        inputs, steps, pending = self.inputs, self.forecaster.steps, None
        Z: Any = None
        if isinstance(inputs, RecordInputs):
            Z = kept.as_rows(self.n_features, inputs.encoder.registry.shown)
            _, pending = inputs.stage([kept.record], np.array([weight]))
        elif isinstance(self.forecaster, Blend):
            Z = kept.as_rows(self.n_features, b"")
        else:
            Z, pending = self._known(kept), Pending(at_width(kept.x, self.n_features), None, None)
        if isinstance(self.forecaster, Blend):
            Z.kept = self._known(kept)[None]
        self._staged = None
        try:
            self.outcomes.learn(self.forecaster, Z, y, weight)
        finally:  # also Ctrl-C, which may come when the row has been learned
            if pending is not None and weight > 0:
                inputs.commit(pending, self.forecaster.steps - steps)
            self.widen()

    def widen(self) -> None:
        """Let the forecaster have the numbers of columns that the encoder has added."""
        if isinstance(self.inputs, RecordInputs):
            self._widen_to(self.inputs.encoder.n_dense)

    def _widen_to(self, n_dense: int) -> None:
        """Let the forecaster have so many numbers."""
        if n_dense > self.n_features:
            self.add_features(n_dense - self.n_features)

    def _widen(self, Z: Any) -> None:
        """Let the forecaster have as many numbers as records have."""
        if isinstance(Z, Rows):
            self._widen_to(Z.dense.shape[1])

    def _refuse_too_large(self, X: Array) -> None:
        """Refuse raw rows that are too large before the first part of a table is learned."""
        if self.design.standardize or isinstance(self.inputs, RecordInputs):
            return  # scaled rows are within 10 deviations; records are known once encoded
        if isinstance(self.forecaster, Blend):
            self.forecaster.check(X)
        else:
            largest = largest_row(X)
            row = self.inputs.transform(X[largest])
            _validate.size(row, self.forecaster._largest_square(), f"X[{largest}]")

    def _in_parts(self, forecast: Callable[[Any], Any], X: Any) -> Any:
        """What a forecaster says of one row, or of the rows of a table."""
        has_parts = not isinstance(self.inputs, RecordInputs) and X.ndim == 2
        parts = parts_of(len(X), int(self.forecaster._row_length)) if has_parts else []
        if len(parts) <= 1:
            return forecast(self.inputs.transform(X))
        return np.concatenate([forecast(self.inputs.transform(X[part])) for part in parts])

    def __copy__(self) -> Learner:
        return copy.deepcopy(self)

    def __getstate__(self) -> dict[str, Any]:
        return {
            "design": self.design,
            "n_features": self.n_features,
            "forecaster": self.forecaster,
            "scaler": self.inputs.state(),
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
            self.inputs = RecordInputs(saved["scaler"]["encoder"], saved["n_features"])
        self.inputs.restore(saved["scaler"])
        self.outcomes.restore(saved)


def takes_features(learner: Learner) -> bool:
    """Whether its rows have sparse features: those of records, or columns of a sparse matrix."""
    return learner.design.takes_features
