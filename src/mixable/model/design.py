"""The design of a learner: which forecaster, with which parameters, on which inputs."""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any

from mixable import _validate
from mixable.experts import GAF, AutoGAF, AutoRidge
from mixable.experts.base import Forecaster, MulticlassForecaster
from mixable.experts.structure import checked_structure
from mixable.model import grids
from mixable.model.inputs import Inputs, ScaledInputs
from mixable.model.kernel_inputs import KernelInputs, KernelPlan
from mixable.model.made import FREQUENCIES, INDICATORS, NUMBERS
from mixable.model.shapes import StageDesign


class Design:
    """The forecaster that an estimator's parameters ask for, and how its inputs are made.

    Sizes are not known yet.
    """

    def __init__(
        self,
        kind: type,
        parameters: dict[str, Any],
        *,
        standardize: bool,
        intercept: bool,
        kernel: KernelPlan | None = None,
        sees: str = NUMBERS,
        anchored: bool = False,
    ) -> None:
        self.kind, self.parameters, self.kernel, self.sees = kind, parameters, kernel, sees
        self.anchored = _validate.flag(anchored, "anchored")
        if sees not in (NUMBERS, INDICATORS, FREQUENCIES):
            raise ValueError(f"an expert does not see {sees!r:.80}")
        self.standardize = _validate.flag(standardize, "standardize")
        self.intercept = _validate.flag(intercept, "fit_intercept")

    @classmethod
    def for_classes(
        cls,
        kind: type | None,
        fixed: dict[str, float | None],
        *,
        standardize: bool = True,
        intercept: bool = True,
        threads: int | None = None,
        kernel: KernelPlan | None = None,
        structure: str | None = None,
        effort: str = "auto",
        pooled: bool = False,
    ) -> Design:
        """Mix over whatever is None of lam, beta, alpha, drift and the kernel's gamma.

        With nothing left to mix over, or another kind, take that forecaster; it sees one view, of
        bandwidth 1 if gamma is None. The linear part of a pool (`pooled`) is a mixture all the
        same, of as many views as others.
        """
        given: dict[str, Any] = {name: value for name, value in fixed.items() if value is not None}
        grids.check_effort(effort)
        if structure is not None:
            checked_structure(structure)
        if kind is not None:
            _check_kind(kind, given if structure is None else {**given, "structure": structure})
        everything = len(given) == len(fixed) and (kernel is None or kernel.gamma is not None)
        flags: dict[str, Any] = {"standardize": standardize, "intercept": intercept}
        if kind is not None or (everything and not pooled):
            if structure is not None:
                given["structure"] = structure
            return cls(kind or GAF, given, kernel=kernel, **flags)
        names = ("lam", "beta", "drift")
        grid = grids.LOW_GRID if effort == "low" else AutoGAF.GRID
        kernel, parameters = _mixed(grid, names, given, standardize=standardize, kernel=kernel)
        if kernel is not None:
            parameters.update(fallback=None, structure="full")
        parameters.update(grids.EFFORTS[effort])
        if structure is not None:
            parameters["structure"] = structure
        if "alpha" in given:
            parameters["alphas"] = (given["alpha"],)
        return cls(AutoGAF, {**parameters, "threads": threads}, kernel=kernel, **flags)

    @classmethod
    def for_numbers(
        cls,
        fixed: dict[str, float | None],
        *,
        standardize: bool = True,
        intercept: bool = True,
        threads: int | None = None,
        kernel: KernelPlan | None = None,
        effort: str = "auto",
    ) -> Design:
        """Mix over whatever is None of lam, drift and the kernel's gamma."""
        given = {name: value for name, value in fixed.items() if value is not None}
        names = ("lam", "drift")
        grids.check_effort(effort)
        grid = grids.LOW_RIDGE_GRID if effort == "low" else AutoRidge.GRID
        kernel, parameters = _mixed(grid, names, given, standardize=standardize, kernel=kernel)
        parameters.update(threads=threads, sleep=effort != "high", robust=[])
        if kernel is None and effort != "low":
            rows = [dict(zip(names, row, strict=True)) for row in AutoRidge.ROBUST]
            fixed_rows = [tuple({**row, **given}[name] for name in names) for row in rows]
            parameters["robust"] = list(dict.fromkeys(fixed_rows))
            if "views" in parameters:
                parameters["views"] += [0] * len(parameters["robust"])
        flags: dict[str, Any] = {"standardize": standardize, "intercept": intercept}
        return cls(AutoRidge, parameters, kernel=kernel, **flags)

    def forecaster(self, n_features: int, n_classes: int | None) -> Any:
        """Return a new forecaster; of numbers, where there are no classes."""
        sizes = {"n_features": self.width(n_features)}
        if n_classes is not None and "n_classes" in _taken(self.kind):
            sizes["n_classes"] = n_classes
        return self.kind(**sizes, **self.parameters)

    def inputs(self, n_features: int, *, scaled: bool = False) -> Inputs:
        """Return new inputs; of columns that are scaled already, if that is said."""
        flags = {"intercept": self.intercept, "standardize": self.standardize and not scaled}
        if self.kernel is not None:
            return KernelInputs(self.kernel, n_features, **flags)
        return ScaledInputs(n_features, views=self._views, anchored=self.anchored, **flags)

    def seeing(self, sees: str) -> Design:
        """The same for an expert that sees other columns beside numbers."""
        flags = {"standardize": self.standardize, "intercept": self.intercept}
        return Design(self.kind, self.parameters, kernel=self.kernel, sees=sees, **flags)

    def width(self, n_features: int) -> int:
        """Numbers in each view of an input."""
        components = self.kernel.n_components if self.kernel else 0
        return n_features + components + (1 if self.intercept else 0)

    def is_like(self, other: Design) -> bool:
        """Whether the other asks for the same forecaster with the same parameters."""
        same_kind = type(self) is type(other) and self.kind is other.kind
        same_inputs = (self.sees, self.anchored) == (other.sees, other.anchored)
        return same_kind and same_inputs and _choices(self) == _choices(other)

    def fits(self, forecaster: Any, n_features: int) -> bool:
        """Whether a forecaster is of this kind, and takes the rows that the inputs make."""
        if not isinstance(forecaster, Forecaster) or type(forecaster) is not self.kind:
            return False
        width = self.width(n_features)
        return (forecaster.n_features, forecaster._row_length) == (width, self._views * width)

    # As a pool of one expert; see `plan.Plan`.

    @property
    def parts(self) -> list[Any]:
        """The design of each expert."""
        return [self]

    @property
    def names(self) -> list[str]:
        """What each expert is called."""
        return ["linear" if self.kernel is None else "kernel"]

    @property
    def stage(self) -> StageDesign | None:
        """The regressions on sparse features that experts on numbers begin with."""
        return None

    @property
    def is_pooled(self) -> bool:
        """Whether there is a judge, and for labels a fallback."""
        return False

    @property
    def threads(self) -> int | None:
        """Threads that share a table; None: as many as are usual."""
        threads: int | None = self.parameters.get("threads")
        return threads

    @property
    def least_gain(self) -> float:
        """Experts are inactive without which a pool loses less than this share of the loss."""
        return 0.005

    @property
    def first_weights(self) -> list[float]:
        """What the experts weigh at first in a pool; together 1."""
        return [1.0]

    @property
    def takes_features(self) -> bool:
        """Whether records may have sparse features."""
        return False

    @property
    def is_linear(self) -> bool:
        """Whether each column has one weight for each class."""
        return self.kernel is None

    @property
    def _views(self) -> int:
        """How many views of an input the forecaster sees."""
        if self.kernel is not None:
            return self.kernel.views
        return 2 if "views" in self.parameters else 1

    def __setstate__(self, state: dict[str, Any]) -> None:
        kind, parameters, kernel = state["kind"], state["parameters"], state.get("kernel")
        if not (_is_multiclass(kind) or kind is AutoRidge):
            raise TypeError(f"a design must be of a forecaster, got {kind!r:.80}")
        if isinstance(parameters, dict) and "guard" in parameters:  # up to version 0.2
            parameters = {**parameters, "fallback": parameters["guard"]}
            del parameters["guard"]
        if isinstance(parameters, dict) and kind is AutoRidge:  # version 0.1.0 had none
            parameters = {**parameters, "robust": parameters.get("robust", [])}
        if not (isinstance(parameters, dict) and parameters.keys() <= _taken(kind)):
            raise TypeError(f"{kind.__name__} does not have the parameters {parameters!r:.80}")
        if not (kernel is None or isinstance(kernel, KernelPlan)):
            raise TypeError(f"kernel must be None or a KernelPlan, got {kernel!r:.80}")
        if parameters.get("threads") is not None:
            _validate.count(parameters["threads"], "threads")
        flags = {"standardize": state["standardize"], "intercept": state["intercept"]}
        flags["anchored"] = state.get("anchored", False)  # files of version 0.2 do not have these
        sees = state.get("sees", NUMBERS)
        self.__init__(kind, parameters, kernel=kernel, sees=sees, **flags)  # type: ignore[misc]


def _choices(design: Design) -> dict[str, Any]:
    """The parameters that forecasts depend on."""
    return {name: value for name, value in design.parameters.items() if name != "threads"}


@cache
def _taken(kind: type) -> frozenset[str]:
    """The parameters that a constructor takes."""
    return frozenset(inspect.signature(kind).parameters)


def _mixed(
    grid: tuple[tuple[float, ...], ...],
    names: tuple[str, ...],
    given: dict[str, Any],
    *,
    standardize: bool,
    kernel: KernelPlan | None,
) -> tuple[KernelPlan | None, dict[str, Any]]:
    """The kernel's views, and the parameters of a mixture over what is not given."""
    if kernel is None:
        return None, grids.linear(grid, names, given, standardize=standardize)
    return grids.kernels(kernel, names, given)


def _is_multiclass(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, MulticlassForecaster)


def _check_kind(kind: type, given: dict[str, Any]) -> None:
    """Refuse what is not a class of multiclass forecasters, or does not have the parameters."""
    if not _is_multiclass(kind):
        raise TypeError(
            "forecaster must be a multiclass forecaster class of mixable, say mixable.ONS, got "
            f"{kind!r:.80}"
        )
    takes = _taken(kind)
    if "n_classes" not in takes:
        raise TypeError(f"forecaster must take any number of classes: {kind.__name__} does not")
    for name in given:
        if name not in takes:
            raise TypeError(f"{kind.__name__} has no parameter {name}; leave it at None")
