"""Designs of several experts of different kinds, and which ones a model has by default."""

from __future__ import annotations

import math
import warnings
from typing import Any, TypeAlias

from mixable import _validate
from mixable.experts import AutoGAF, AutoRidge
from mixable.experts.ensemble import SLOW
from mixable.model import grids
from mixable.model.design import Design
from mixable.model.kernel_inputs import KernelPlan
from mixable.model.made import FREQUENCIES, INDICATORS, NUMBERS
from mixable.model.pool import RecordPool
from mixable.model.shapes import ShapeDesign, StageDesign
from mixable.model.trees import BayesDesign, RawDesign, TreeDesign

OVERHEAD = 2.0  # the time of a row over that of the posteriors: features, copies, the pool

MORE, LESS = 3.0, 0.25
"""What some experts of labels weigh at first, beside 1 of the others. More: trees, and the kernel
that sees categories. Less: leaves, naive Bayes, labels before; of records also kernels of numbers.
With a QUICK pool, loss over that of equal weights: .996 on 16 groups of streams, 1.007 at worst."""

Part: TypeAlias = Design | ShapeDesign | RawDesign


class PooledDesign(Design):
    """The designs of several experts, and a pool over them. The first is always active.

    They are all of labels, or all of numbers. For numbers of records there is a stage before them.
    Unless it `rests`, all are always active.
    """

    def __init__(
        self,
        parts: list[Part],
        *,
        standardize: bool = True,
        stage: StageDesign | None = None,
        rests: bool = True,
    ) -> None:
        dense = [part for part in parts if isinstance(part, Design)]
        super().__init__(
            dense[0].kind if dense else AutoGAF,
            {},
            standardize=standardize,
            intercept=all(part.intercept for part in dense),
        )
        self._parts, self._stage, self.rests = parts, stage, _validate.flag(rests, "rests")

    @property
    def parts(self) -> list[Part]:
        """The design of each expert."""
        return self._parts

    @property
    def stage(self) -> StageDesign | None:
        """The regressions on sparse features that experts on numbers begin with."""
        return self._stage

    @property
    def is_pooled(self) -> bool:
        """Whether there is a judge, and for labels a fallback."""
        return True

    @property
    def names(self) -> list[str]:
        """What each expert is called."""
        return [_name(part) for part in self.parts]

    @property
    def least_gain(self) -> float:
        """Experts are inactive without which the pool loses less than this share of the loss.

        Of numbers: less than so many nats.
        """
        if not self.rests:
            return -math.inf
        return 0.005 if self.kind is AutoRidge else 0.002

    @property
    def first_weights(self) -> list[float]:
        """What the experts of labels weigh at first in the pool; together 1."""
        each = [_first_weight(part, of_records=self.takes_features) for part in self.parts]
        return [weight / sum(each) for weight in each]

    @property
    def threads(self) -> int | None:
        """Threads that share a table; None: as many as are usual."""
        of_mixtures = [part.parameters for part in self.parts if isinstance(part, Design)]
        return next((each["threads"] for each in of_mixtures if "threads" in each), None)

    @property
    def takes_features(self) -> bool:
        """Whether records may have sparse features."""
        shapes = [part for part in self.parts if isinstance(part, ShapeDesign)]
        return self.stage is not None or any(part.takes_features for part in shapes)

    def is_like(self, other: Design) -> bool:
        """Whether the other asks for the same experts."""
        return isinstance(other, PooledDesign) and (
            (self.stage, self.rests) == (other.stage, other.rests)
            and len(self.parts) == len(other.parts)
            and all(are_alike(*pair) for pair in zip(self.parts, other.parts, strict=True))
        )

    def fits(self, forecaster: Any, n_features: int) -> bool:
        """Whether a forecaster is of this kind, and takes the rows that the inputs make."""
        is_blend = isinstance(forecaster, RecordPool) and forecaster.n_features == n_features
        return is_blend and self.is_like(forecaster.design)

    @property
    def is_linear(self) -> bool:
        """Whether each column has one weight for each class."""
        return False

    def __getstate__(self) -> dict[str, Any]:
        state = {"parts": self.parts, "standardize": self.standardize}
        if self.kind is AutoRidge:
            state |= {"stage": self.stage, "rests": self.rests}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        parts, stage = state["parts"], state.get("stage")
        if not (isinstance(parts, list) and 0 < len(parts) <= 64):
            raise TypeError(f"a pool must have designs, got {parts!r:.80}")
        kinds = set()
        for each in parts:
            if type(each) not in (Design, ShapeDesign, TreeDesign, BayesDesign):
                raise TypeError(f"a pool must have designs, got {each!r:.80}")
            if not isinstance(each, TreeDesign):
                of_labels = isinstance(each, ShapeDesign | BayesDesign)
                kinds.add(AutoGAF if of_labels else each.kind)
        if kinds not in ({AutoGAF}, {AutoRidge}):
            raise TypeError(
                f"the experts of a pool must be AutoGAF or AutoRidge, got {kinds!r:.80}"
            )
        if stage is not None and (not isinstance(stage, StageDesign) or kinds != {AutoRidge}):
            raise TypeError(f"a stage is one of regressions on numbers, got {stage!r:.80}")
        if kinds == {AutoRidge} and parts[0].kernel is not None:
            raise TypeError("the first expert of numbers must be linear")
        self.__init__(  # type: ignore[misc]
            parts, standardize=state["standardize"], stage=stage, rests=state.get("rests", True)
        )


def are_alike(one: Part, other: Part) -> bool:
    """Whether two designs of experts ask for the same."""
    if isinstance(one, Design) and isinstance(other, Design):
        return one.is_like(other) and one.kernel == other.kernel
    return one == other


def _first_weight(part: Part, *, of_records: bool) -> float:
    if isinstance(part, Design):
        if part.kernel is None or (part.sees == NUMBERS and not of_records):
            return 1.0
        return MORE if part.sees == INDICATORS else LESS
    if isinstance(part, ShapeDesign):
        return LESS if part.memory or part.trees else 1.0
    return MORE if isinstance(part, TreeDesign) else LESS


def _name(part: Part) -> str:
    if isinstance(part, Design):
        if part.kernel is None and part.anchored:
            return "linear in fixed units"
        if part.kernel is None:
            return part.sees if part.sees == FREQUENCIES else "linear"
        if part.kernel.weighted:
            return "selected columns"
        widths = part.kernel.bandwidths
        if len(widths) > 1:
            return "kernels"
        return "kernel of indicators" if part.sees == INDICATORS else f"kernel {widths[0]:g}"
    if isinstance(part, RawDesign):
        return part.name
    if part.memory:
        return "memory"
    if part.takes_crosses:
        return "crosses"
    if part.takes_features:
        return "sparse"
    return "leaves" if part.trees else "bins"


def warn_if_slow(blend: RecordPool) -> None:
    """Say so if a record will take long."""
    mixtures = [expert for expert in blend.experts if isinstance(expert, AutoGAF | AutoRidge)]
    seconds = OVERHEAD * sum(expert._core.seconds for expert in mixtures)
    if blend.design.is_pooled and seconds > SLOW:
        warnings.warn(
            f"a row of {blend.n_features} features and {blend.n_classes} classes will take about "
            f"{1e3 * seconds:.0f} ms: kernel=None is linear and faster",
            stacklevel=4,
        )


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
    memory: bool = False,
) -> Design:
    """The design of a classifier of numbers; of kernel="auto", experts of several kinds, pooled.

    Parameters and structure are those of its linear expert. Where a forecaster or a low effort is
    asked for, "auto" is linear. `features` are n_components, gamma and method. With `memory`, one
    expert of the pool also sees the labels before.
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
    linear.parameters["fallback"] = None  # the pool has one, on the raw inputs
    shapes: list[Part] = [grids.LEAVES, TreeDesign(), BayesDesign()]
    shapes += [grids.MEMORY] if memory else []
    return PooledDesign([linear, *curves, *shapes], standardize=standardize)


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
    """The design of a regressor; of kernel="auto", linear and kernel regressions, pooled.

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
    widths, parameters = grids.nonlinear_ridge()
    parameters.update(threads=threads, sleep=effort != "high")
    kernels = Design(AutoRidge, parameters, kernel=plan.several(widths), **flags)
    widths, own = grids.nonlinear_ridge(grids.SELECTED_RIDGE, ())
    weighted = grids.selected(plan).several(widths)
    selected = Design(AutoRidge, {**parameters, **own}, kernel=weighted, **flags)
    parts: list[Part] = [linear, kernels, selected, TreeDesign()]
    if standardize:
        options = {**grids.ANCHORED, "threads": threads, "sleep": effort != "high"}
        flags = {"standardize": False, "intercept": intercept, "anchored": True}
        parts.append(Design(AutoRidge, options, **flags))
    return PooledDesign(parts, standardize=standardize, rests=effort != "high")


def design_of_records(
    design: Design, *, crosses: bool = False, numbers: bool = True, few: bool = True
) -> Design:
    """The same for records with sparse features, from the design for numbers.

    Without `numbers`, records have sparse features only. Linear experts may have `few` settings.
    """
    if design.kind is AutoRidge:
        return _ridge_of_records(design, crosses=crosses, numbers=numbers)
    sparse: list[Part] = [grids.SPARSE]
    if crosses:
        sparse.append(grids.CROSSES)
    dense: list[Part]
    memory: list[Part] = []
    if isinstance(design, PooledDesign):
        dense = [part for part in design.parts if not _is_for_numbers_alone(part)]
        memory = [grids.SPARSE_MEMORY] if grids.MEMORY in design.parts else []
    elif takes_records(design):
        dense = [design]
    else:
        raise TypeError(
            "text, categories and sparse rows need kernel='auto', or kernel=None without lam, "
            "beta, alpha and drift all given; in both cases without another forecaster"
        )
    dense = _with_categories(dense, few=few) if numbers else []
    return PooledDesign([*sparse, *dense, *memory], standardize=design.standardize)


def _is_for_numbers_alone(part: Part) -> bool:
    """Whether it is left out of a pool of records: sparse experts see bins, too."""
    if isinstance(part, ShapeDesign):
        return part.linear
    kernel = part.kernel
    return kernel is not None and not kernel.weighted and kernel.bandwidths == grids.NUMBERS_ALONE


def _with_categories(dense: list[Part], *, few: bool) -> list[Part]:
    """The linear expert sees indicators, too; so does a kernel more. One sees frequencies.

    Experts that see the same are side by side: they share scaled rows.
    """
    linear, *others = dense
    assert isinstance(linear, Design)
    kernels = [part for part in others if isinstance(part, Design) and part.kernel is not None]
    parameters = grids.few(linear.parameters) if few else linear.parameters
    flags: dict[str, Any] = {"standardize": linear.standardize, "intercept": linear.intercept}
    least = Design(AutoGAF, parameters, **flags)
    out = [*others, least.seeing(INDICATORS)]
    if kernels:
        plan, own = grids.of_categories(kernels[0].kernel), kernels[0].parameters
        out.append(Design(AutoGAF, own, kernel=plan, sees=INDICATORS, **flags))
    if len(parameters["grid"]) > 1:  # not with a low effort
        out.append(least.seeing(FREQUENCIES))
    return out


def takes_records(design: Design) -> bool:
    """Whether there is such a design."""
    first = design.parts[0]
    if design.kind is AutoRidge:
        return first.kernel is None and "scale" not in first.parameters
    return design.is_pooled or (design.kind is AutoGAF and design.kernel is None)


def _ridge_of_records(design: Design, *, crosses: bool, numbers: bool) -> PooledDesign:
    if not takes_records(design):
        raise TypeError(
            "text, categories and sparse rows need kernel='auto' or None, and neither lam nor drift"
        )
    plain, *others = design.parts
    is_low = len(plain.parameters["grid"]) == 1
    flags: dict[str, Any] = {"standardize": True, "intercept": True}
    parameters: dict[str, Any] = {
        "grid": list(grids.LOW_RECORD_GRID if is_low else grids.RECORD_GRID),
        "robust": [] if is_low else list(grids.RECORD_ROBUST_GRID),
        "scale": 1.0,
        **{name: plain.parameters[name] for name in ("threads", "sleep")},
    }
    parts: list[Part] = [Design(AutoRidge, parameters, **flags)]
    if numbers:
        parts += [
            Design(AutoRidge, each.parameters, kernel=each.kernel, sees=INDICATORS, **flags)
            if isinstance(each, Design) and not each.anchored
            else each
            for each in others
            if not _is_weighted(each)
        ]
    shapes = grids.RIDGE_CROSSES if crosses else grids.SPARSE
    stage = StageDesign(grid=grids.SPARSE_RIDGE_GRID, shapes=shapes)
    rests = isinstance(design, PooledDesign) and design.rests
    return PooledDesign(parts, stage=stage, rests=rests)


def _is_weighted(part: Part) -> bool:
    """Whether trees weigh its columns: not those of a stage, which they do not know."""
    return isinstance(part, Design) and part.kernel is not None and part.kernel.weighted


def _curves(features: tuple[Any, Any, Any], effort: str, flags: dict[str, Any]) -> list[Design]:
    plan = KernelPlan.of("rbf", *features)
    assert plan is not None
    plans = [
        plan.only(width, by, beside=width not in grids.NONLINEAR_ALONE)
        for width, by in grids.NONLINEAR_WIDTHS.items()
    ]
    plans.append(grids.selected(plan))
    return [Design(AutoGAF, grids.nonlinear(effort), kernel=each, **flags) for each in plans]
