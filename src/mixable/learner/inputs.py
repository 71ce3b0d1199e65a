"""Inputs: from a row of the caller's numbers to a row of the forecaster's, causally.

A row is scaled by what was learned before it and by itself. Staging computes rows without changing
anything; committing learns those of them that the forecaster has learned. So inputs and forecaster
have learned the same rows whatever happens between the two.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from mixable import _core
from mixable._types import Array


class Pending(NamedTuple):
    """Rows that were staged: what they were, and the state of the inputs after all of them."""

    X: Array  # (n, n_features), or (n_features,) for one row
    weight: Array | None
    later: Any  # None where it is cheaper to learn the row again than to keep the state


class Inputs(Protocol):
    """What a learner asks of its inputs. Rows may have NaN for what is missing."""

    n_features: int

    @property
    def row_length(self) -> int:
        """Numbers in a row of the forecaster."""

    def transform(self, X: Array) -> Array:
        """Rows of the forecaster for a row or a table, each as if it were the next one learned."""

    def stage(self, X: Array, weight: Array | None = None) -> tuple[Array, Pending]:
        """Rows for a row or a table, one after the other; nothing changes before `commit`."""

    def commit(self, pending: Pending, rows: int) -> None:
        """Learn the first `rows` of the rows that were staged. Rows of weight 0 do not count."""

    def with_features(self, n_features: int) -> Any:
        """Return inputs for more features, at the end, that have learned the same."""

    def moments(self) -> tuple[Array, Array]:
        """The mean and the standard deviation of each feature."""

    def state(self) -> dict[str, Array]:
        """All that was learned."""

    def restore(self, state: dict[str, Array]) -> None:
        """Go on from what `state` returned; ValueError if it does not fit."""


class ScaledRows(NamedTuple):
    """Single raw rows through a scaler and a compiled forecaster."""

    scaler: _core.Scaler
    core: Any

    def predict(self, x: Array) -> Array:
        """The forecast of a raw row."""
        p: Array = self.core.predict_raw(self.scaler, x)
        return p

    def learn(self, x: Array, code: int, weight: float) -> None:
        """Learn a raw row."""
        self.core.learn_raw(self.scaler, x, code, weight)


class ScaledInputs(Inputs):
    """Each feature by its running mean and deviation, with an intercept; one or two views of it.

    The compiled `Scaler` does the work; see core/scaler.hpp.
    """

    def __init__(self, n_features: int, *, intercept: bool, standardize: bool, views: int) -> None:
        self.n_features = n_features
        self._options = (intercept, standardize, views)
        self.scaler = _core.Scaler(n_features, *self._options)

    @property
    def row_length(self) -> int:
        intercept, _, views = self._options
        return views * (self.n_features + (1 if intercept else 0))

    def transform(self, X: Array) -> Array:
        return self.scaler.transform(X)

    def stage(self, X: Array, weight: Array | None = None) -> tuple[Array, Pending]:
        if X.ndim == 1:
            return self.scaler.transform(X), Pending(X, weight, None)
        later = self._copy(self.n_features)
        return later.learn(X, weight), Pending(X, weight, later)

    def commit(self, pending: Pending, rows: int) -> None:
        if not rows:
            return
        if pending.X.ndim == 1:
            self.scaler.learn(pending.X)
        elif rows == len(pending.X):
            self.scaler = pending.later
        else:
            weight = None if pending.weight is None else pending.weight[:rows]
            self.scaler.learn(pending.X[:rows], weight)

    def with_features(self, n_features: int) -> ScaledInputs:
        intercept, standardize, views = self._options
        larger = ScaledInputs(n_features, intercept=intercept, standardize=standardize, views=views)
        larger.scaler.adopt(self.scaler)
        return larger

    def moments(self) -> tuple[Array, Array]:
        mean, sd = self.scaler.moments()
        return mean, sd

    def state(self) -> dict[str, Array]:
        return self.scaler.state()

    def restore(self, state: dict[str, Array]) -> None:
        self.scaler.restore(state)

    def _copy(self, n_features: int) -> _core.Scaler:
        copy = _core.Scaler(n_features, *self._options)
        copy.adopt(self.scaler)
        return copy


class RawInputs(Inputs):
    """Inputs of a blend, whose experts make their own: rows stay as they are."""

    def __init__(self, n_features: int) -> None:
        self.n_features = n_features

    @property
    def row_length(self) -> int:
        return self.n_features

    def transform(self, X: Array) -> Array:
        return X

    def stage(self, X: Array, weight: Array | None = None) -> tuple[Array, Pending]:
        return X, Pending(X, weight, None)

    def commit(self, pending: Pending, rows: int) -> None:
        """Do nothing: the experts' inputs have learned the rows."""

    def with_features(self, n_features: int) -> RawInputs:
        return RawInputs(n_features)

    def moments(self) -> tuple[Array, Array]:
        raise AttributeError("the inputs of each expert have moments of their own")

    def state(self) -> dict[str, Array]:
        return {}

    def restore(self, state: dict[str, Array]) -> None:
        if state:
            raise ValueError("a blend keeps the inputs of its experts itself")
