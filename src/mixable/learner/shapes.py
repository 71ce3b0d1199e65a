"""Experts on sparse features: those of records, and bins and leaves of numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mixable import _core, _validate
from mixable._types import Array
from mixable.forecasters import SparseGAF
from mixable.learner.inputs import ScaledInputs


@dataclass(frozen=True, kw_only=True)
class ShapeDesign:
    """Which sparse features an expert sees; see core/shapes.hpp.

    Numbers are standardised, and logarithmic beyond one deviation. `bins` says how many bins there
    are to a deviation. Trees ask random questions of the numbers that were there at first. With
    `whole`, whole numbers below 100,000 are bins of their own in place of the last set of bins.
    """

    takes_features: bool = False
    takes_crosses: bool = False
    linear: bool = False
    bins: tuple[float, ...] = ()
    trees: int = 0
    depth: int = 0
    whole: bool = False

    def __post_init__(self) -> None:
        for name in ("takes_features", "takes_crosses", "linear", "whole"):
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
        super().__init__(n_features, intercept=False, standardize=True, views=2)
        self.design = design
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
        return larger

    def state(self) -> dict[str, Array]:
        return {**super().state(), "first": np.array([float(self.first)])}

    def restore(self, state: dict[str, Array]) -> None:
        rest = dict(state)
        first = _validate.count(int(rest.pop("first")[0]), "first", least=0, most=self.n_features)
        super().restore(rest)
        self._set_first(first)
