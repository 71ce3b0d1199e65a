"""The design of a learner of numbers to predict, from records."""

from __future__ import annotations

from typing import Any

from mixable.forecasters import AutoRidge
from mixable.forecasters.sparse import checked_grid
from mixable.learner import grids
from mixable.learner.curved import CurvedDesign
from mixable.learner.curved_ridge import CurvedRidge, kernel_inputs
from mixable.learner.design import Design
from mixable.learner.inputs import RawInputs
from mixable.learner.record_ridge import Head, RecordRidge
from mixable.learner.shapes import ShapeDesign


class RecordRidgeDesign(Design):
    """The settings of the first stage and its features; the second stage, linear and curved.

    Numbers are always standardised, and there always is an intercept. Without `curved` the second
    stage is linear.
    """

    def __init__(
        self,
        grid: tuple[tuple[float, float], ...],
        shapes: ShapeDesign,
        *,
        linear: Design,
        curved: Design | None,
        rests: bool,
    ) -> None:
        super().__init__(RecordRidge, {}, standardize=True, intercept=True)
        self.grid, self.shapes, self.linear = grid, shapes, linear
        self.curved, self.rests = curved, rests

    @property
    def takes_features(self) -> bool:
        """Whether records may have sparse features."""
        return True

    def _columns(self, n_features: int) -> int:
        """How many columns of the second stage the kernels see: all but the intercept."""
        return 1 + len(self.grid) + n_features

    def head(self, n_features: int) -> Head:
        """A new second stage, for records with that many numbers."""
        linear = self.linear.forecaster(len(self.grid) + 1, None)
        if self.curved is None:
            return linear  # type: ignore[no-any-return]
        columns = self._columns(n_features)
        inputs = kernel_inputs(self.curved.kernel, columns, intercept=True)
        return CurvedRidge(linear, self.curved.forecaster(columns, None), inputs, rests=self.rests)

    def fits_head(self, head: Any, n_features: int) -> bool:
        """Whether a second stage is of this kind."""
        size = len(self.grid) + 1
        if self.curved is None:
            return self.linear.fits(head, size)
        return (
            type(head) is CurvedRidge
            and head.rests == self.rests
            and head.inputs.plan == self.curved.kernel
            and head.inputs.n_features == self._columns(n_features)
            and bool(head.inputs.intercept)
            and self.linear.fits(head.linear, size)
            and self.curved.fits(head.curved, head.inputs.n_features)
        )

    def forecaster(self, n_features: int, n_classes: int | None) -> RecordRidge:
        """Return a new forecaster."""
        return RecordRidge(self, n_features)

    def inputs(self, n_features: int) -> RawInputs:
        """Return new inputs: rows are made by the forecaster."""
        return RawInputs(n_features)

    def is_like(self, other: Design) -> bool:
        """Whether the other asks for the same."""
        return isinstance(other, RecordRidgeDesign) and (
            (self.grid, self.shapes, self.rests) == (other.grid, other.shapes, other.rests)
            and self.linear.is_like(other.linear)
            and (self.curved is None) == (other.curved is None)
            and (self.curved is None or self.curved.is_like(other.curved))  # type: ignore[arg-type]
        )

    def fits(self, forecaster: Any, n_features: int) -> bool:
        """Whether a forecaster is of this kind, and takes the rows that the inputs make."""
        return (
            type(forecaster) is RecordRidge
            and forecaster.n_features == n_features
            and self.is_like(forecaster.design)  # type: ignore[arg-type]
        )

    @property
    def is_linear(self) -> bool:
        """Whether each column has one weight."""
        return False

    def __getstate__(self) -> dict[str, Any]:
        parts = {"linear": self.linear, "curved": self.curved, "rests": self.rests}
        return {"grid": self.grid, "shapes": self.shapes, **parts}

    def __setstate__(self, state: dict[str, Any]) -> None:
        grid, shapes, rests = state["grid"], state["shapes"], state["rests"]
        linear, curved = state["linear"], state["curved"]
        if not isinstance(shapes, ShapeDesign) or not isinstance(rests, bool):
            raise TypeError("a regression on records needs features, and may rest")
        for each in (linear, *([] if curved is None else [curved])):
            if type(each) is not Design or each.kind is not AutoRidge:
                raise TypeError(f"a second stage must be of AutoRidge, got {each!r:.80}")
        if linear.kernel is not None or (curved is not None and curved.kernel is None):
            raise TypeError("the second stage has a linear part, and may have a curved one")
        if not (linear.intercept and (curved is None or curved.intercept)):
            raise TypeError("the second stage has an intercept")
        self.__init__(  # type: ignore[misc]
            checked_grid(grid, "grid"), shapes, linear=linear, curved=curved, rests=rests
        )


def takes_records(design: Design) -> bool:
    """Whether there is such a design for records, from the design for numbers."""
    plain = design.linear if isinstance(design, CurvedDesign) else design
    return plain.kind is AutoRidge and plain.kernel is None and "scale" not in plain.parameters


def ridge_of_records(design: Design, *, crosses: bool, numbers: bool) -> RecordRidgeDesign:
    """The same for records with sparse features, from the design for numbers.

    Without `numbers`, records have sparse features only, and the second stage is linear.
    """
    if not takes_records(design):
        raise TypeError(
            "text, categories and sparse rows need kernel='auto' or None, and neither lam nor drift"
        )
    curved, rests = None, False
    plain = design.linear if isinstance(design, CurvedDesign) else design
    if isinstance(design, CurvedDesign) and numbers:
        curved, rests = design.curved, design.rests
        if not curved.intercept:
            curved = Design(
                AutoRidge, curved.parameters, standardize=True, intercept=True, kernel=curved.kernel
            )
    is_low = len(plain.parameters["grid"]) == 1
    parameters: dict[str, Any] = {
        "grid": list(grids.LOW_RECORD_GRID if is_low else grids.RECORD_GRID),
        "robust": [] if is_low else list(grids.RECORD_ROBUST_GRID),
        "scale": 1.0,
        **{name: plain.parameters[name] for name in ("threads", "sleep")},
    }
    linear = Design(AutoRidge, parameters, standardize=True, intercept=True)
    shapes = grids.RIDGE_CROSSES if crosses else grids.SPARSE
    stages: dict[str, Any] = {"linear": linear, "curved": curved, "rests": rests}
    return RecordRidgeDesign(grids.SPARSE_RIDGE_GRID, shapes, **stages)
