"""Sparse features: those of records, and bins and leaves of numbers; and who sees them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mixable import _core, _validate
from mixable._types import Array
from mixable.experts import SparseGAF
from mixable.experts.sparse import checked_grid
from mixable.model.inputs import ScaledInputs
from mixable.model.trees import RawDesign


@dataclass(frozen=True, kw_only=True)
class ShapeDesign:
    """Which sparse features an expert sees; see core/inputs/shapes.hpp.

    Numbers are standardised, and logarithmic beyond one deviation. `bins` says how many bins there
    are to a deviation. Trees ask random questions of the numbers that were there at first. With
    `whole`, whole numbers below 100,000 are bins of their own in place of the last set of bins.
    With `memory`, the labels before a record are features, too (core/inputs/memory.hpp).
    """

    takes_features: bool = False
    takes_crosses: bool = False
    linear: bool = False
    bins: tuple[float, ...] = ()
    trees: int = 0
    depth: int = 0
    whole: bool = False
    memory: bool = False

    def __post_init__(self) -> None:
        for name in ("takes_features", "takes_crosses", "linear", "whole", "memory"):
            _validate.flag(getattr(self, name), name)
        if not isinstance(self.bins, tuple) or len(self.bins) > 8:
            raise TypeError(f"bins must be a tuple of at most 8 numbers, got {self.bins!r:.80}")
        for each in self.bins:
            _validate.real(each, "bins", least=0.01, most=1000)
        _validate.count(self.trees, "trees", least=0, most=1000)
        _validate.count(self.depth, "depth", least=0, most=32)

    def inputs(self, n_features: int) -> ShapedInputs:
        """Return new inputs."""
        return ShapedInputs(self, n_features)

    def forecaster(self, n_features: int, n_classes: int | None) -> SparseGAF:
        """Return a new forecaster."""
        assert n_classes is not None
        return SparseGAF(n_classes)

    def fits(self, forecaster: Any, n_features: int) -> bool:
        """Whether a forecaster is of this kind."""
        return type(forecaster) is SparseGAF


class ShapedInputs(ScaledInputs):
    """The scale of numbers, and the shapes that are made of them."""

    def __init__(self, design: ShapeDesign, n_features: int, first: int | None = None) -> None:
        super().__init__(n_features, intercept=False, standardize=True, views=2, logarithms=False)
        self.design = design
        self.memory = _core.Memory() if design.memory else None
        self._set_first(n_features if first is None else first)

    def _set_first(self, first: int) -> None:
        """Say how many numbers there were at first: trees ask about those."""
        design, self.first = self.design, first
        self.shapes = _core.Shapes(
            design.takes_features,
            design.takes_crosses,
            design.linear,
            list(design.bins),
            design.trees,
            design.depth,
            first,
            design.whole,
        )

    def with_features(self, n_features: int) -> ShapedInputs:
        larger = ShapedInputs(self.design, n_features, self.first)
        larger.scaler.adopt(self.scaler)
        larger.memory = self.memory
        return larger

    def state(self) -> dict[str, Array]:
        state = {**super().state(), "first": np.array([float(self.first)])}
        return state if self.memory is None else {**state, "memory": self.memory.numbers}

    def restore(self, state: dict[str, Array]) -> None:
        rest = dict(state)
        first = _validate.count(int(rest.pop("first")[0]), "first", least=0, most=self.n_features)
        numbers = np.array(rest.pop("memory")) if self.memory is not None else None
        super().restore(rest)
        if self.memory is not None and numbers is not None:
            self.memory.restore(numbers)
        self._set_first(first)


@dataclass(frozen=True, kw_only=True)
class StageDesign:
    """The regressions on sparse features that experts on numbers of records begin with.

    `grid` has their settings (lam, b); see core/sparse/sparse_ridge.hpp.
    """

    grid: tuple[tuple[float, float], ...]
    shapes: ShapeDesign

    def __post_init__(self) -> None:
        if not isinstance(self.shapes, ShapeDesign):
            raise TypeError(f"a stage needs features, got {self.shapes!r:.80}")
        object.__setattr__(self, "grid", checked_grid(self.grid, "grid"))

    def columns(self, part: Any, n_features: int) -> int:
        """Columns that an expert sees: what the regressions say; a kernel also sees numbers.

        Trees see the numbers alone, and so does what is linear in fixed units.
        """
        if isinstance(part, RawDesign) or part.anchored:
            return n_features
        return self.said + (0 if part.kernel is None else n_features)

    @property
    def said(self) -> int:
        """Columns of what the regressions say."""
        return len(self.grid) + 1


class Stage:
    """Such regressions: a row of records goes through them, then to the experts.

    There is one weight for each word, value of a category, tag, number and bin of a number, in
    several settings.
    """

    def __init__(self, design: StageDesign, n_features: int) -> None:
        self.design = design
        self.inputs = design.shapes.inputs(n_features)
        self.sparse = _core.SparseRidge(list(design.grid), 0)

    def compiled(self) -> Any:
        """Its compiled parts."""
        return self.inputs.scaler, self.sparse, self.inputs.shapes

    def with_features(self, n_features: int) -> Stage:
        """The same for records with more numbers."""
        larger = object.__new__(Stage)
        larger.design, larger.sparse = self.design, self.sparse
        larger.inputs = self.inputs.with_features(n_features)
        return larger

    def report(self) -> str:
        """What it has learned, in words."""
        sparse = self.sparse
        return (
            f"They begin with regressions on {sparse.features} sparse features, "
            f"{sparse.bytes / 1e6:.1f} MB; features shared the weights of others "
            f"{sparse.collisions} times."
        )

    def state(self) -> dict[str, Any]:
        """All that was learned."""
        return {"inputs": self.inputs.state(), "sparse": self.sparse.state()}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from what `state` returned; ValueError if it does not fit."""
        plain = {
            part: {
                name: np.array(value) if isinstance(value, np.ndarray) else value
                for name, value in state[part].items()
            }
            for part in ("inputs", "sparse")
        }
        self.inputs.restore(plain["inputs"])
        self.sparse.restore(plain["sparse"])
