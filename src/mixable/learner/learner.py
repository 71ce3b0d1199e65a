"""The learner: it knows in which order things happen to an example.

Transform its input by what was learned before; predict; learn; let the inputs learn it. Estimators
for scikit-learn and river, the stream and the race all go through here. Rows are float64, NaN for
what is missing.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixable import _validate
from mixable.forecasters.compiled import is_all_compiled
from mixable.learner.design import Design
from mixable.learner.inputs import Array, Inputs, ScaledInputs
from mixable.learner.outcomes import Labels, Outcomes, Targets
from mixable.learner.saved import checked

MOST_NUMBERS = 2**21
"""Tables are staged in parts of at most this many numbers: a kernel makes rows many times wider."""


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
    ) -> None:
        self.design = design
        if labels is None:
            self.outcomes = Targets(centred=design.intercept)
        else:
            self.outcomes = Labels(labels, closed=closed)
        self.forecaster = forecaster or design.forecaster(n_features, self.outcomes.n_classes)
        self.inputs: Inputs = design.inputs(n_features)  # after it, for it refuses large sizes
        # Single rows of labels met go through the compiled protocol where Python adds nothing.
        self._compiled = isinstance(self.inputs, ScaledInputs) and is_all_compiled(self.forecaster)
        self._codes: dict[Hashable, int] = {}
        if self._compiled and isinstance(self.outcomes, Labels):
            self._codes = self.outcomes.codes

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
        self.inputs = inputs

    def add_label(self, label: Hashable) -> None:
        """Add a label that has not been met."""
        assert isinstance(self.outcomes, Labels)
        self.outcomes.add(self.forecaster, label)

    def predict(self, X: Array) -> Any:
        """Probabilities by label, or means, of one row or of each row of a table."""
        if self._compiled and X.ndim == 1:
            scaler = self.inputs.scaler  # type: ignore[attr-defined]  # then it has one
            p = self.forecaster._core.predict_raw(scaler, X)
            return self.outcomes.forecast(p)
        return self.outcomes.forecast(self._in_parts(self.forecaster.predict, X))

    def interval(self, X: Array, level: float) -> tuple[Any, Any]:
        """The interval that holds the number of each row with probability `level`."""
        ends = self._in_parts(lambda Z: np.array(self.forecaster.interval(Z, level)).T, X)
        low, high = ends.T
        return self.outcomes.forecast(low), self.outcomes.forecast(high)

    def deviation(self, X: Array) -> Any:
        """The standard deviation of the forecast of each row's number."""
        return self._in_parts(self.forecaster.std, X)

    def learn(self, X: Array, y: Any, weight: Array | None = None) -> None:
        """Learn the rows of a table."""
        if len(X) == 1:
            self.learn_one(X[0], y[0], 1.0 if weight is None else float(weight[0]))
        else:
            self.run(X, y, weight)

    def learn_one(self, x: Array, y: Any, weight: float = 1.0) -> None:
        """Learn one row; of one of weight 0, no more than that there is such a label."""
        code = self._codes.get(y)
        if code is not None:
            scaler = self.inputs.scaler  # type: ignore[attr-defined]  # then it has one
            self.forecaster._core.learn_raw(scaler, x, code, weight)
            return
        steps = self.forecaster.steps
        z, pending = self.inputs.stage(x)
        try:
            self.outcomes.learn(self.forecaster, z, y, weight)
        finally:  # also Ctrl-C, which may come when the row has been learned
            if weight > 0:
                self.inputs.commit(pending, self.forecaster.steps - steps)

    def run(self, X: Array, y: Any, weight: Array | None) -> Any:
        """Learn the rows of a table; return the forecasts made before each.

        Those are probabilities, 0 for labels that had not been met yet; for numbers, means and
        standard deviations.
        """
        parts = self._parts(X)
        if len(parts) > 1:
            self._refuse_too_large(X)
        pieces = []
        for part in parts:
            part_weight = None if weight is None else weight[part]
            steps = self.forecaster.steps
            Z, pending = self.inputs.stage(X[part], part_weight)
            try:
                piece = self.outcomes.run(self.forecaster, Z, y[part], part_weight)
            finally:  # also Ctrl-C, between two rows
                self.inputs.commit(pending, self.forecaster.steps - steps)
            pieces.append(piece)
        return self.outcomes.stacked(pieces)

    def follow(self, X: Array, codes: NDArray[np.int_]) -> tuple[Array, int, str | None]:
        """Predict rows one after the other, learning those with a code of 0 or more.

        Returns the forecasts, how many rows were done, and why not all. The bits do not depend on
        how the rows are spread over calls. The loop is compiled (core/follow.hpp), for inputs that
        are scaled and no more.
        """
        if not isinstance(self.inputs, ScaledInputs):
            raise TypeError("a stream is followed with linear inputs only")
        P, done, reason = self.forecaster._core.follow(self.inputs.scaler, X, codes)
        return self.outcomes.forecast(P[:done]), done, reason

    def _refuse_too_large(self, X: Array) -> None:
        """Refuse raw rows that are too large before the first part of a table is learned.

        Scaled rows are within 10 deviations.
        """
        if not self.design.standardize:
            with np.errstate(over="ignore"):
                largest = int(np.nansum(X * X, axis=1).argmax())
            row = self.inputs.transform(X[largest])
            _validate.size(row, self.forecaster._largest_square(), f"X[{largest}]")

    def _parts(self, X: Array) -> list[slice]:
        most = max(MOST_NUMBERS // int(self.forecaster._row_length), 1)
        return [slice(at, at + most) for at in range(0, len(X), most)]

    def _in_parts(self, forecast: Callable[[Array], Any], X: Array) -> Any:
        """What a forecaster says of one row, or of the rows of a table."""
        parts = self._parts(X) if X.ndim == 2 else []
        if len(parts) <= 1:
            return forecast(self.inputs.transform(X))
        rows = [forecast(self.inputs.transform(X[part])) for part in parts]
        return np.concatenate(rows, axis=0)

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
            saved.design,
            saved.n_features,
            saved.labels,
            closed=saved.closed,
            forecaster=saved.forecaster,
        )
        self.inputs.restore(saved.statistics)
        if isinstance(self.outcomes, Targets):
            self.outcomes.origin = saved.origin
