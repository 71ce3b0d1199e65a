"""Designs of several experts of different kinds, and which ones a classifier has by default."""

from __future__ import annotations

import warnings
from typing import Any, TypeAlias

from mixable.forecasters import AutoGAF, AutoRidge
from mixable.forecasters.ensemble import SLOW
from mixable.learner import grids, record_design
from mixable.learner.blend import Blend
from mixable.learner.curved_ridge import CurvedRidge
from mixable.learner.design import Design
from mixable.learner.inputs import RawInputs
from mixable.learner.kernel_inputs import KernelPlan
from mixable.learner.record_design import ridge_of_records
from mixable.learner.shapes import ShapeDesign

OVERHEAD = 2.0  # the time of a row over that of the posteriors: features, copies, the pool

Part: TypeAlias = Design | ShapeDesign


class PooledDesign(Design):
    """The designs of several experts, and a pool over them. The first is always awake."""

    def __init__(self, parts: list[Part], *, standardize: bool = True) -> None:
        intercepts = [part.intercept for part in parts if isinstance(part, Design)]
        super().__init__(Blend, {}, standardize=standardize, intercept=all(intercepts))
        self._parts = parts

    @property
    def parts(self) -> list[Part]:
        """The design of each expert."""
        return self._parts

    @property
    def names(self) -> list[str]:
        """What each expert is called."""
        return [_name(part) for part in self.parts]

    @property
    def least_gain(self) -> float:
        """Experts rest that gain less than this share of the first one's loss.

        Beside sparse features the others take ten times as long or more.
        """
        return 0.05 if isinstance(self.parts[0], ShapeDesign) else 0.005

    @property
    def threads(self) -> int | None:
        """Threads that share a table; None: as many as are usual."""
        of_mixtures = [part.parameters for part in self.parts if isinstance(part, Design)]
        return next((each["threads"] for each in of_mixtures if "threads" in each), None)

    @property
    def takes_features(self) -> bool:
        """Whether records may have sparse features."""
        return any(isinstance(part, ShapeDesign) and part.takes_features for part in self.parts)

    def forecaster(self, n_features: int, n_classes: int | None) -> Blend:
        """Return a new pool."""
        assert n_classes is not None
        made = Blend(self, n_features, n_classes)
        mixtures = [expert for expert in made.experts if isinstance(expert, AutoGAF)]
        seconds = OVERHEAD * sum(expert._core.seconds for expert in mixtures)
        if seconds > SLOW:
            warnings.warn(
                f"a row of {n_features} features and {n_classes} classes will take about "
                f"{1e3 * seconds:.0f} ms: kernel=None is linear and faster",
                stacklevel=4,
            )
        return made

    def inputs(self, n_features: int) -> RawInputs:
        """Return new inputs."""
        return RawInputs(n_features)

    def is_like(self, other: Design) -> bool:
        """Whether the other asks for the same experts."""
        return isinstance(other, PooledDesign) and (
            len(self.parts) == len(other.parts)
            and all(are_alike(*pair) for pair in zip(self.parts, other.parts, strict=True))
        )

    def fits(self, forecaster: Any, n_features: int) -> bool:
        """Whether a forecaster is of this kind, and takes the rows that the inputs make."""
        is_blend = isinstance(forecaster, Blend) and forecaster.n_features == n_features
        return is_blend and self.is_like(forecaster.design)

    @property
    def is_linear(self) -> bool:
        """Whether each column has one weight for each class."""
        return False

    def __getstate__(self) -> dict[str, Any]:
        return {"parts": self.parts, "standardize": self.standardize}

    def __setstate__(self, state: dict[str, Any]) -> None:
        parts = state["parts"]
        if not (isinstance(parts, list) and 0 < len(parts) <= 64):
            raise TypeError(f"a pool must have designs, got {parts!r:.80}")
        for each in parts:
            if type(each) not in (Design, ShapeDesign):
                raise TypeError(f"a pool must have designs, got {each!r:.80}")
            if type(each) is Design and each.kind is not AutoGAF:
                raise TypeError(f"an expert of a pool must be AutoGAF, got {each.kind!r:.80}")
        self.__init__(parts, standardize=state["standardize"])  # type: ignore[misc]


def are_alike(one: Part, other: Part) -> bool:
    """Whether two designs of experts ask for the same."""
    if isinstance(one, ShapeDesign) or isinstance(other, ShapeDesign):
        return one == other
    return one.is_like(other) and one.kernel == other.kernel


def _name(part: Part) -> str:
    if isinstance(part, Design):
        return "linear" if part.kernel is None else f"kernel {part.kernel.bandwidths[0]:g}"
    if part.takes_crosses:
        return "crosses"
    if part.takes_features:
        return "sparse"
    return "leaves" if part.trees else "bins"


def design_of_classes(
    kind: type | None,
    fixed: dict[str, float | None],
    *,
    kernel: str | None = "auto",
    features: tuple[Any, Any, Any] = (200, None, "nystroem"),
    structure: str | None = None,
    effort: str = "auto",
    threads: int | None = None,
    standardize: bool = True,
    intercept: bool = True,
) -> Design:
    """The design of a classifier of numbers; of kernel="auto", experts of several kinds, pooled.

    Parameters and structure are those of its linear expert. Where a forecaster or a low effort is
    asked for, "auto" is linear. `features` are n_components, gamma and method.
    """
    flags: dict[str, Any] = {"standardize": standardize, "intercept": intercept}
    options = {"structure": structure, "effort": effort, "threads": threads, **flags}
    if not (isinstance(kernel, str) and kernel == "auto"):
        plan = KernelPlan.of(kernel, *features)
        return Design.for_classes(kind, fixed, kernel=plan, **options)
    is_pooled = kind is None and effort != "low"
    linear = Design.for_classes(kind, fixed, pooled=is_pooled, **options)
    curves = _curves(features, effort, flags)
    if not is_pooled:
        return linear
    linear.parameters["guard"] = None  # the fallback stands guard, on the raw inputs
    return PooledDesign([linear, *curves, grids.BINS, grids.LEAVES], standardize=standardize)


def design_of_records(design: Design, *, crosses: bool = False, numbers: bool = True) -> Design:
    """The same for records with sparse features, from the design for numbers.

    Without `numbers`, records have sparse features only.
    """
    if design.kind in (AutoRidge, CurvedRidge):
        return ridge_of_records(design, crosses=crosses, numbers=numbers)
    sparse: list[Part] = [grids.SPARSE]
    if crosses:
        sparse.append(grids.CROSSES)
    if isinstance(design, PooledDesign):
        dense = [part for part in design.parts if part != grids.BINS]
    elif takes_records(design):
        dense = [design]
    else:
        raise TypeError(
            "text, categories and sparse rows need kernel='auto', or kernel=None without lam, "
            "beta, alpha and drift all given; in both cases without another forecaster"
        )
    return PooledDesign([*sparse, *(dense if numbers else [])], standardize=design.standardize)


def takes_records(design: Design) -> bool:
    """Whether there is such a design."""
    is_linear = design.kind is AutoGAF and design.kernel is None
    return isinstance(design, PooledDesign) or is_linear or record_design.takes_records(design)


def _curves(features: tuple[Any, Any, Any], effort: str, flags: dict[str, Any]) -> list[Design]:
    plan = KernelPlan.of("rbf", *features)
    assert plan is not None
    plans = [
        plan.only(width, by, beside=width not in grids.CURVED_ALONE)
        for width, by in grids.CURVED_WIDTHS.items()
    ]
    return [Design(AutoGAF, grids.curved(effort), kernel=each, **flags) for each in plans]
