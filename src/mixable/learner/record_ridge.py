"""Regression on records: what GAFRegressor is for text, categories, times and sparse matrices."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from mixable import _core, _validate
from mixable._types import Array
from mixable.forecasters import AutoRidge
from mixable.learner.blend import arrays, numbers_of, sparse_of
from mixable.learner.curved_ridge import CurvedRidge
from mixable.learner.shapes import ShapeDesign
from mixable.records.rows import Rows

Head: TypeAlias = AutoRidge | CurvedRidge

PIECE = 256  # records that go through both stages together


@runtime_checkable
class RidgePlan(Protocol):
    """What a `RecordRidge` asks of its design."""

    grid: tuple[tuple[float, float], ...]
    shapes: ShapeDesign

    def head(self, n_features: int) -> Head:
        """A new second stage, for records with that many numbers."""

    def fits_head(self, head: Any, n_features: int) -> bool:
        """Whether a second stage is of this kind."""


class RecordRidge:
    """Two stages. Regressions on sparse features, then a mixture that corrects them.

    The first stage (core/sparse_ridge.hpp) has one weight for each word, value of a category, tag,
    number and bin of a number, in several settings. It costs as much as a record has features. The
    mean of what the settings say of a record is where the second stage begins: an AutoRidge learns
    what is left, from what each setting says; a second one also from kernel features of these and
    of the numbers, as long as that helps. The second stage knows the noise, follows changes, and
    gives intervals.

    The forecasts of the first stage are made before a target is learned, as all others. So the
    second stage learns how good they are on records that are new.
    """

    def __init__(self, design: RidgePlan, n_features: int) -> None:
        self.design = design
        self.inputs = design.shapes.inputs(n_features)
        self.sparse = _core.SparseRidge(list(design.grid), 0)
        self.head = design.head(n_features)

    @property
    def n_features(self) -> int:
        """Number of numbers in a record."""
        return self.inputs.n_features

    @property
    def steps(self) -> int:
        """Number of examples learned."""
        return self.head.steps

    @property
    def _row_length(self) -> int:
        return max(self.n_features, 1)

    @staticmethod
    def _largest_square() -> float:
        return np.inf  # all that the second stage sees is bounded

    def predict(self, x: Rows) -> Array:
        """The mean of the forecast of each record."""
        return self._each(x, lambda rows, middle: middle + self.head.predict(rows))

    def std(self, x: Rows) -> Array:
        """The standard deviation of the forecast of each record, as `AutoRidge.std`."""
        return self._each(x, lambda rows, _: np.asarray(self.head.std(rows)))

    def interval(self, x: Rows, level: float = 0.9) -> tuple[Array, Array]:
        """The ends of the central interval that has the target with probability `level`."""

        def ends(rows: Array, middle: Array) -> Array:
            return np.array(self.head.interval(rows, level)).T + middle[:, None]

        low, high = self._each(x, ends).T
        return low, high

    def log_density(self, x: Rows, y: Array) -> Array:
        """The log of the forecast's density at y, of each record."""
        left, out = np.asarray(y, dtype=np.float64), []
        for rows, middle in self._pieces(x):
            own, left = left[: len(rows)], left[len(rows) :]
            out.append(np.atleast_1d(self.head.log_density(rows, own - middle)))
        return np.concatenate(out)

    def learn(self, x: Rows, y: float, weight: float = 1.0) -> None:
        """Learn one record, its loss multiplied by `weight`."""
        self._learn(x, np.array([y], dtype=np.float64), np.array([weight], dtype=np.float64))

    def run_with_std(self, X: Rows, y: Array, weight: Array | None = None) -> tuple[Array, Array]:
        """Means and standard deviations (n,) of each record, made before its target is learned."""
        targets, weights = _validate.targets(y, len(X)), _validate.weights(weight, len(X))
        out = np.empty((2, len(X)))
        for at in range(0, len(X), PIECE):
            part = slice(at, at + PIECE)
            weight_of_part = None if weights is None else weights[part]
            out[:, part] = self._learn(X[part], targets[part], weight_of_part)
        return out[0], out[1]

    def _learn(self, X: Rows, y: Array, weight: Array | None) -> Array:
        """Let both stages learn some records; moments (2, n) made before each."""
        features = sparse_of(X)
        said = self.sparse.run(
            self.inputs.scaler, self.inputs.shapes, numbers_of(X), features, y, weight
        )
        rows, middle = self._rows(said)
        before, left = self.steps, y - middle
        try:
            if len(rows) == 1:
                own = 1.0 if weight is None else float(weight[0])
                self.head.learn(rows[0], float(left[0]), own)
                return np.full((2, 1), np.nan)  # nobody asked
            mean, std = self.head.run_with_std(rows, left, weight)
        except BaseException as error:  # the first stage has learned them all
            rest = slice(self.steps - before, len(rows))
            weights = np.ones(len(rows)) if weight is None else weight
            if isinstance(error, ValueError):  # what is refused does not count, but for a step
                weights = np.zeros(len(rows))
            if rest.start < len(rows):
                self.head.run_with_std(rows[rest], left[rest], weights[rest])
            raise
        return np.stack([middle + mean, std])

    def _rows(self, said: Array) -> tuple[Array, Array]:
        """Rows of the second stage, and what it adds to, from what the first one says."""
        middle = said[:, 0].copy()
        said[:, 0] = 1.0
        length = self.head._row_length
        return (said if said.shape[1] == length else said[:, :length].copy()), middle

    def _pieces(self, x: Rows) -> Any:
        """Some rows after the other, and what is added to what is said of each."""
        for at in range(0, len(x), PIECE):
            part = x[at : at + PIECE]
            scaler, shapes = self.inputs.scaler, self.inputs.shapes
            yield self._rows(self.sparse.predict(scaler, shapes, numbers_of(part), sparse_of(part)))

    def _each(self, x: Rows, forecast: Callable[[Array, Array], Array]) -> Array:
        """What is said of each record."""
        out = [forecast(rows, middle) for rows, middle in self._pieces(x)]
        return np.concatenate(out) if out else np.empty(0)

    def add_features(self, k: int) -> None:
        """Let records have `k` more numbers from now on, at the end."""
        inputs = self.inputs.with_features(self.n_features + k)
        if isinstance(self.head, CurvedRidge):
            self.head.add_features(k, to_linear=False)
        self.inputs = inputs

    def report(self) -> str:
        """What it has settled on, in words and numbers."""
        sparse = self.sparse
        return (
            f"Regressions on {sparse.features} sparse features after {self.steps} examples, "
            f"{sparse.bytes / 1e6:.1f} MB; features shared the weights of others "
            f"{sparse.collisions} times.\nWhat they say, corrected: {self.head.report()}"
        )

    def __getstate__(self) -> dict[str, Any]:
        return {
            "design": self.design,
            "n_features": self.n_features,
            "inputs": self.inputs.state(),
            "sparse": self.sparse.state(),
            "head": self.head,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        design, head = state["design"], state["head"]
        n_features = _validate.count(state["n_features"], "n_features", least=0, most=10**6)
        if not isinstance(design, RidgePlan):
            raise TypeError(f"a regression on records needs a design, got {design!r:.80}")
        if not design.fits_head(head, n_features):
            raise ValueError("the stages of the saved regression do not go together")
        self.design, self.head = design, head
        self.inputs = design.shapes.inputs(n_features)
        self.inputs.restore(arrays(state["inputs"]))
        self.sparse = _core.SparseRidge(list(design.grid), 0)
        self.sparse.restore(arrays(state["sparse"]))
        if self.sparse.steps != head.steps:
            raise ValueError("the stages of the saved regression have learned different examples")

    def __deepcopy__(self, memo: dict[int, Any]) -> RecordRidge:
        made = object.__new__(type(self))
        made.__setstate__(copy.deepcopy(self.__getstate__(), memo))
        return made
