"""Inputs: from a row of the caller's numbers to a row of the forecaster's, causally.

A row is scaled by what was learned before it and by itself.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from mixable import _core
from mixable._types import Array


class Pending(NamedTuple):
    """Records that were staged, and what is to be learned of them."""

    X: Any
    weight: Array | None
    later: Any


class Inputs(Protocol):
    """The inputs of one expert. Rows may have NaN for what is missing. The pool lets them learn."""

    n_features: int

    def transform(self, X: Array) -> Array:
        """Rows of the forecaster for a row or a table, each as if it were the next one learned."""

    def with_features(self, n_features: int) -> Any:
        """Return inputs for more features, at the end, that have learned the same."""

    def moments(self) -> tuple[Array, Array]:
        """The mean and the standard deviation of each feature."""

    def state(self) -> dict[str, Array]:
        """All that was learned."""

    def restore(self, state: dict[str, Array]) -> None:
        """Go on from what `state` returned; ValueError if it does not fit."""


class ScaledInputs(Inputs):
    """Each feature by its running mean and deviation, with an intercept; one or two views of it.

    The second is logarithmic beyond `bend` deviations; with `logarithms`, features with heavy tails
    are logarithms there. If `anchored` (not
    with `standardize`), a feature is its distance from its first entry, in a unit that stays. The
    compiled `Scaler` does the work; see core/inputs/scaler.hpp.
    """

    def __init__(
        self,
        n_features: int,
        *,
        intercept: bool,
        standardize: bool,
        views: int,
        logarithms: bool = True,
        anchored: bool = False,
        bend: float = 1.0,
    ) -> None:
        self.n_features = n_features
        self._options = (intercept, standardize, views, logarithms, anchored, bend)
        self.scaler = _core.Scaler(n_features, *self._options)

    @property
    def anchored(self) -> bool:
        """Whether the scale stays."""
        return self._options[4]

    def transform(self, X: Array) -> Array:
        return self.scaler.transform(X)

    def with_features(self, n_features: int) -> ScaledInputs:
        larger = object.__new__(ScaledInputs)
        larger.n_features, larger._options = n_features, self._options
        larger.scaler = _core.Scaler(n_features, *self._options)
        larger.scaler.adopt(self.scaler)
        return larger

    def moments(self) -> tuple[Array, Array]:
        mean, sd = self.scaler.moments()
        return mean, sd

    def state(self) -> dict[str, Array]:
        return self.scaler.state()

    def restore(self, state: dict[str, Array]) -> None:
        self.scaler.restore(state)
