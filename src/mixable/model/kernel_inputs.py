"""Kernel features beside linear ones, for several widths of the kernel at once."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from mixable import _validate
from mixable._types import Array
from mixable.kernels import Fourier, Nystroem
from mixable.model.inputs import Inputs, ScaledInputs


class FeatureMap(Protocol):
    """What a feature map can do."""

    n_components: int
    gamma: float

    def transform(self, Z: Array) -> Array:
        """Features (n, n_components) of rows (n, n_features), each as if it were the next one."""

    def compiled(self) -> Any:
        """The compiled map, which learns in place."""

    def add_features(self, k: int) -> Any:
        """Return the map for inputs that have `k` more features, at the end."""

    def state(self) -> dict[str, Array]:
        """All that it knows."""

    def restore(self, state: dict[str, Array]) -> None:
        """Go on from what `state` returned; ValueError if it does not fit."""


DILUTED = 2.0
"""A kernel whose rows have this many times the columns that its widths were made for is too
narrow."""

METHODS: dict[str, Any] = {"fourier": Fourier, "nystroem": Nystroem}


@dataclass(frozen=True, kw_only=True)
class KernelPlan:
    """The method, the number of features of each width, and the widths.

    A bandwidth b stands for gamma = b / n_features: standardised rows have a mean squared distance
    of 2 n_features. Where gamma is given there is one width. With `linear`, there is a view without
    kernel features before the others. Without `beside`, there are zeros in place of the scaled
    features beside them. The columns of a `weighted` one have weights (model/selection.py). Rows
    are logarithmic beyond `bend` deviations.
    """

    method: str
    n_components: int
    gamma: float | None
    bandwidths: tuple[float, ...] = (1.0,)
    linear: bool = False
    beside: bool = True
    weighted: bool = False
    bend: float = 1.0

    def __post_init__(self) -> None:
        if not (isinstance(self.method, str) and self.method in METHODS):
            raise ValueError(f"method must be 'fourier' or 'nystroem', got {self.method!r:.80}")
        _validate.count(self.n_components, "n_components")
        if self.gamma is not None:
            _validate.scale(self.gamma, "gamma")
        _validate.flag(self.linear, "linear")
        _validate.flag(self.beside, "beside")
        _validate.flag(self.weighted, "weighted")
        _validate.scale(self.bend, "bend")
        if not (isinstance(self.bandwidths, tuple) and self.bandwidths):
            raise TypeError(f"bandwidths must be a tuple of numbers, got {self.bandwidths!r:.80}")
        for bandwidth in self.bandwidths:
            _validate.scale(bandwidth, "bandwidths")

    @property
    def views(self) -> int:
        """How many views of an input there are."""
        return self.linear_views + (len(self.bandwidths) if self.gamma is None else 1)

    @property
    def linear_views(self) -> int:
        """How many views have no kernel features: 1 or 0."""
        return 1 if self.linear else 0

    @classmethod
    def of(cls, kernel: Any, n_components: Any, gamma: Any, method: Any) -> KernelPlan | None:
        """Check an estimator's parameters; None if it is to be linear."""
        if kernel is None:
            return None
        if not (isinstance(kernel, str) and kernel == "rbf"):
            raise ValueError(f"kernel must be None, 'rbf' or 'auto', got {kernel!r:.80}")
        gamma = None if gamma is None else _validate.scale(gamma, "gamma")
        n_components = _validate.count(n_components, "n_components")
        return cls(method=method, n_components=n_components, gamma=gamma)

    def mixed(self, bandwidths: tuple[float, ...]) -> KernelPlan:
        """Return the same with a view for each width, after a linear one."""
        return replace(self, bandwidths=bandwidths if self.gamma is None else (1.0,), linear=True)

    def only(self, bandwidth: float, by: float = 1.0, *, beside: bool = True) -> KernelPlan:
        """Return the plan of a nonlinear expert of kernel="auto": Nystroem features of one width.

        There are `by` times n_components, at least one.
        """
        n_components = max(int(by * self.n_components), 1)
        return replace(self.several((bandwidth,)), n_components=n_components, beside=beside)

    def several(self, bandwidths: tuple[float, ...]) -> KernelPlan:
        """Return the same with Nystroem features, and a view for each width."""
        return replace(self, method="nystroem", gamma=None, bandwidths=bandwidths)

    def maps(self, n_features: int) -> list[FeatureMap]:
        """Return new maps, one of each width."""
        gammas = [bandwidth / max(n_features, 1) for bandwidth in self.bandwidths]
        if self.gamma is not None:
            gammas = [self.gamma]
        make = METHODS[self.method]
        return [make(n_features, self.n_components, gamma=gamma) for gamma in gammas]


class KernelInputs(Inputs):
    """In each view the intercept, kernel features of one width, and the scaled features.

    Kernel features are multiplied by sqrt(n_features), so that they are as large as the linear ones
    all together. They see the last scaling of a row (the one that is logarithmic in the tails,
    where there is one), as do the linear features beside them. The view without kernel features, if
    wanted, sees the first.
    """

    def __init__(
        self, plan: KernelPlan, n_features: int, *, intercept: bool, standardize: bool
    ) -> None:
        self.plan, self.n_features, self.intercept = plan, n_features, 1 if intercept else 0
        # Logarithms for some experts: the judge finds out what is better.
        self.scaled = ScaledInputs(
            n_features,
            intercept=intercept,
            standardize=standardize,
            views=2 if standardize else 1,
            logarithms=not plan.beside,
            bend=plan.bend,
        )
        self.maps = plan.maps(n_features)
        self.amplitude = math.sqrt(max(n_features, 1))

    def would_dilute(self, columns: int) -> bool:
        """Whether its widths are not made for rows of so many columns: it had better begin anew."""
        at_first = self.plan.bandwidths[0] / self.maps[0].gamma
        return columns >= DILUTED * at_first

    @property
    def weights(self) -> Array | None:
        """What the kernel multiplies each column by; None if there are no such weights."""
        first = self.maps[0]
        return first.weights if isinstance(first, Nystroem) else None

    def weigh(self, weights: Array) -> None:
        """Let each column have a weight, before the first row."""
        for each in self.maps:
            assert isinstance(each, Nystroem)
            each.weigh(weights)

    @property
    def row_length(self) -> int:
        return self.plan.views * (self.intercept + self.plan.n_components + self.n_features)

    def transform(self, X: Array) -> Array:
        Z = self.scaled.transform(X)
        last = self._last(Z)
        return self._rows(Z, [each.transform(last) for each in self.maps])

    def with_features(self, n_features: int) -> KernelInputs:
        """Return inputs for more features, at the end; the widths stay as they are."""
        larger = copy.copy(self)
        larger.n_features, larger.scaled = n_features, self.scaled.with_features(n_features)
        larger.maps = [each.add_features(n_features - self.n_features) for each in self.maps]
        return larger

    def moments(self) -> tuple[Array, Array]:
        return self.scaled.moments()

    def state(self) -> dict[str, Array]:
        maps = {
            f"map{i}.{name}": value
            for i, each in enumerate(self.maps)
            for name, value in each.state().items()
        }
        return {**self.scaled.state(), **maps, "amplitude": np.array([self.amplitude])}

    def restore(self, state: dict[str, Array]) -> None:
        rest = dict(state)
        amplitude = _validate.scale(float(rest.pop("amplitude")[0]), "amplitude")
        maps = self.plan.maps(self.n_features)
        for i, each in enumerate(maps):
            names = [*each.state(), *(["weights"] if f"map{i}.weights" in rest else [])]
            each.restore({name: _saved(rest.pop(f"map{i}.{name}"), name) for name in names})
        wanted = {*self.scaled.state(), "held", "units", "heavy"}
        if not rest.keys() <= wanted:
            raise ValueError(f"kernel inputs have nothing called {sorted(rest.keys() - wanted)}")
        self.scaled.restore(rest)
        self.maps, self.amplitude = maps, amplitude

    def _last(self, Z: Array) -> Array:
        """The features (n, n_features) in their last scaling."""
        rows = np.atleast_2d(Z)
        return rows[:, rows.shape[1] - self.n_features :]

    def _rows(self, Z: Array, features: list[Array]) -> Array:
        """Put views together. The linear features come last in each, since more may be added."""
        first, m = self.intercept, self.plan.n_components
        last, width, linear = self._last(Z), first + self.n_features, self.plan.linear_views
        out = np.zeros((len(last), len(features) + linear, width + m))
        out[:, :, :first] = 1.0
        if linear:
            out[:, 0, first + m :] = np.atleast_2d(Z)[:, first:width]
        for view, values in enumerate(features, start=linear):
            out[:, view, first : first + m] = self.amplitude * values
            if self.plan.beside:
                out[:, view, first + m :] = last
        return out.reshape(*Z.shape[:-1], -1)


def _saved(values: Array, name: str) -> Array:
    """Refuse what cannot be part of a map's state."""
    if values.dtype != np.float64:
        raise ValueError(f"{name} must be float64, got {values.dtype}")
    return values
