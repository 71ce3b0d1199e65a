"""The design of a learner of numbers that is linear and curved."""

from __future__ import annotations

from typing import Any

from mixable.forecasters import AutoRidge
from mixable.learner import grids
from mixable.learner.curved_ridge import CurvedRidge, kernel_inputs
from mixable.learner.design import Design
from mixable.learner.inputs import Inputs
from mixable.learner.kernel_inputs import KernelPlan


class CurvedDesign(Design):
    """A linear design and a curved one, and a CurvedRidge of their forecasters."""

    def __init__(self, linear: Design, curved: Design, *, rests: bool) -> None:
        super().__init__(
            CurvedRidge, {}, standardize=linear.standardize, intercept=linear.intercept
        )
        self.linear, self.curved, self.rests = linear, curved, rests

    def forecaster(self, n_features: int, n_classes: int | None) -> CurvedRidge:
        """Return a new forecaster."""
        linear, curved = (each.forecaster(n_features, None) for each in (self.linear, self.curved))
        inputs = kernel_inputs(self.curved.kernel, n_features, intercept=self.intercept)
        return CurvedRidge(linear, curved, inputs, rests=self.rests)

    def inputs(self, n_features: int) -> Inputs:
        """Return new inputs: kernel features are made by the forecaster, when it needs them."""
        return self.linear.inputs(n_features)

    def fits(self, forecaster: Any, n_features: int) -> bool:
        """Whether a forecaster is of this kind, and takes the rows that the inputs make."""
        return (
            type(forecaster) is CurvedRidge
            and forecaster.rests == self.rests
            and forecaster.inputs.plan == self.curved.kernel
            and forecaster.inputs.n_features == n_features
            and bool(forecaster.inputs.intercept) == self.intercept
            and self.linear.fits(forecaster.linear, n_features)
            and self.curved.fits(forecaster.curved, n_features)
        )

    @property
    def is_linear(self) -> bool:
        """Whether each column has one weight."""
        return False

    def __getstate__(self) -> dict[str, Any]:
        return {"linear": self.linear, "curved": self.curved, "rests": self.rests}

    def __setstate__(self, state: dict[str, Any]) -> None:
        linear, curved, rests = state["linear"], state["curved"], state["rests"]
        for each in (linear, curved):
            if type(each) is not Design or each.kind is not AutoRidge:
                raise TypeError(f"a curved design consists of two of AutoRidge, got {each!r:.80}")
        if linear.kernel is not None or curved.kernel is None or not isinstance(rests, bool):
            raise TypeError("a curved design has a linear part and a curved one, and may rest")
        self.__init__(linear, curved, rests=rests)  # type: ignore[misc]


def design_of_numbers(
    fixed: dict[str, float | None],
    *,
    kernel: str | None,
    features: tuple[Any, Any, Any],
    effort: str = "auto",
    threads: int | None = None,
    standardize: bool = True,
    intercept: bool = True,
) -> Design:
    """The design of a regressor; of kernel="auto", a linear and a curved AutoRidge, mixed.

    Parameters are those of the linear one. With a low effort there is no other. `features` are
    n_components, gamma and method.
    """
    flags: dict[str, Any] = {"standardize": standardize, "intercept": intercept}
    options = {"effort": effort, "threads": threads, **flags}
    if not (isinstance(kernel, str) and kernel == "auto"):
        plan = KernelPlan.of(kernel, *features)
        return Design.for_numbers(fixed, kernel=plan, **options)
    plan = KernelPlan.of("rbf", *features)
    assert plan is not None
    linear = Design.for_numbers(fixed, **options)
    if effort == "low":
        return linear
    widths, parameters = grids.curved_ridge()
    parameters.update(threads=threads, sleep=effort != "high")
    curved = Design(AutoRidge, parameters, kernel=plan.several(widths), **flags)
    return CurvedDesign(linear, curved, rests=effort != "high")
