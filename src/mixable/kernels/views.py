"""Kernel features beside linear ones, for several widths of the kernel at once: what the estimators put between rows and a forecaster."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mixable import _core, _validate
from mixable.kernels.fourier import Fourier
from mixable.kernels.nystroem import Nystroem

Array = NDArray[np.float64]


class FeatureMap(Protocol):
    """What a feature map can do. It never changes: learning returns another map."""

    n_components: int

    def look(self, Z: Array) -> Array:
        """Features (n, n_components) of the rows of Z (n, n_features), each as if it were the next to be learned."""

    def learn(self, Z: Array, counts: NDArray[np.bool_]) -> tuple[Array, Any]:
        """Features of the rows, one after the other, and the map after those of them that count."""

    def add_features(self, k: int) -> Any:
        """The map for inputs that have `k` more features, at the end."""

    def state(self) -> dict[str, Array]:
        """Everything that it knows, for `restore`."""

    def restore(self, state: dict[str, Array]) -> None:
        """Take over what `state` gave; ValueError if that cannot be."""


METHODS: dict[str, Any] = {"fourier": Fourier, "nystroem": Nystroem}


@dataclass(frozen=True)
class KernelPlan:
    """What an estimator's parameters ask for: the method, the number of features of each width, and the widths.

    A bandwidth b stands for gamma = b / n_features: standardised rows have a mean squared distance of 2 n_features. Where gamma is given
    there is one width. With `linear`, there is a view without kernel features before the others.
    """

    method: str
    n_components: int
    gamma: float | None
    bandwidths: tuple[float, ...] = (1.0,)
    linear: bool = False

    def __post_init__(self) -> None:
        if not (isinstance(self.method, str) and self.method in METHODS):
            raise ValueError(f"method must be 'fourier' or 'nystroem', got {self.method!r:.80}")
        _validate.count(self.n_components, "n_components")
        if self.gamma is not None:
            _validate.scale(self.gamma, "gamma")
        _validate.flag(self.linear, "linear")
        if not (isinstance(self.bandwidths, tuple) and self.bandwidths):
            raise TypeError(f"bandwidths must be a tuple of numbers, got {self.bandwidths!r:.80}")
        for bandwidth in self.bandwidths:
            _validate.scale(bandwidth, "bandwidths")

    @property
    def views(self) -> int:
        """How many descriptions of an input there are."""
        return (len(self.bandwidths) if self.gamma is None else 1) + int(self.linear)

    @classmethod
    def of(cls, kernel: Any, n_components: Any, gamma: Any, method: Any) -> KernelPlan | None:
        """Check an estimator's parameters; None if it is to be linear."""
        if kernel is None:
            return None
        if not (isinstance(kernel, str) and kernel == "rbf"):
            raise ValueError(f"kernel must be None or 'rbf', got {kernel!r:.80}")
        gamma = None if gamma is None else _validate.scale(gamma, "gamma")
        return cls(method, _validate.count(n_components, "n_components"), gamma)

    def mixed(self, bandwidths: tuple[float, ...]) -> KernelPlan:
        """The same with a view for each bandwidth (or for gamma, if that is given), after a linear one."""
        return replace(self, bandwidths=bandwidths if self.gamma is None else (1.0,), linear=True)

    def maps(self, n_features: int) -> list[FeatureMap]:
        """Return new maps, one of each width."""
        gammas = [bandwidth / max(n_features, 1) for bandwidth in self.bandwidths] if self.gamma is None else [self.gamma]
        return [METHODS[self.method](n_features, self.n_components, gamma=gamma) for gamma in gammas]


class KernelScaler:
    """Turns a raw row into the views of a forecaster: in each the intercept, kernel features of one width, the scaled features.

    It has the verbs of `_core.Scaler`, which does the scaling. Kernel features are multiplied by sqrt(n_features), so that they are as
    large as the linear ones all together. They see the last scaling of a row (the one that is logarithmic in the tails, where there is
    one), as do the linear features beside them; the view without kernel features, if wanted, sees the first.
    """

    def __init__(self, plan: KernelPlan, n_features: int, intercept: bool, standardize: bool) -> None:
        self.n_features, self.intercept, self.standardize, self.plan = n_features, int(intercept), standardize, plan
        self.scaler = self._plain(n_features)
        self.maps = plan.maps(n_features)
        self.amplitude = math.sqrt(max(n_features, 1))

    def look(self, X: Array) -> Array:
        """Views of a row, or of each row of a table, each as if it were the next to be learned."""
        Z = self.scaler.look(X)
        return self._rows(Z, [each.look(self._last(Z)) for each in self.maps])

    def learn(self, X: Array, weight: Array | None = None) -> Array:
        """Views of the rows of a table, which are learned one after the other; those of weight 0 are not."""
        out, self.maps = self._learned(self.scaler.learn(X, weight), np.ones(len(X), dtype=bool) if weight is None else weight > 0)
        return out

    def ahead(self, x: Array) -> tuple[Array, Callable[[], None]]:
        """Views of a row, and a function that lets it be learned: the work is done before, so that this takes no time."""
        out, later = self._learned(self.scaler.look(x), np.ones(1, dtype=bool))

        def take_in() -> None:
            self.maps = later
            self.scaler.learn(x)

        return out, take_in

    def with_features(self, n_features: int) -> KernelScaler:
        """One for more features, the new ones at the end, that has learned the same; the widths stay as they are."""
        larger = copy.copy(self)
        larger.n_features, larger.scaler = n_features, self._plain(n_features)
        larger.scaler.adopt(self.scaler)
        larger.maps = [each.add_features(n_features - self.n_features) for each in self.maps]
        return larger

    @property
    def row_length(self) -> int:
        """Numbers in all the views of a row."""
        return self.plan.views * (self.intercept + self.plan.n_components + self.n_features)

    def moments(self) -> Any:
        """The mean and the standard deviation of each feature."""
        return self.scaler.moments()

    def state(self) -> dict[str, Array]:
        """Everything that it knows, for `restore`."""
        maps = {f"map{i}.{name}": value for i, each in enumerate(self.maps) for name, value in each.state().items()}
        return {**self.scaler.state(), **maps, "amplitude": np.array([self.amplitude])}

    def restore(self, state: dict[str, Array]) -> None:
        """Take over what `state` gave."""
        rest = dict(state)
        amplitude = _validate.scale(float(rest.pop("amplitude")[0]), "amplitude")
        maps = self.plan.maps(self.n_features)
        for i, each in enumerate(maps):
            each.restore({name: _as_saved(rest.pop(f"map{i}.{name}"), name) for name in each.state()})
        wanted = self.scaler.state().keys()
        if not rest.keys() <= wanted:
            raise ValueError(f"a kernel's state has nothing called {sorted(rest.keys() - wanted)}")
        self.scaler.restore(rest)
        self.maps, self.amplitude = maps, amplitude

    def _plain(self, n_features: int) -> _core.Scaler:
        return _core.Scaler(n_features, bool(self.intercept), self.standardize, 2 if self.standardize else 1)

    def _learned(self, Z: Array, counts: NDArray[np.bool_]) -> tuple[Array, list[FeatureMap]]:
        """Views of scaled rows one after the other, and the maps after those that count."""
        learned = [each.learn(self._last(Z), counts) for each in self.maps]
        return self._rows(Z, [features for features, _ in learned]), [later for _, later in learned]

    def _last(self, Z: Array) -> Array:
        """The features (n, n_features) in their last scaling."""
        rows = np.atleast_2d(Z)
        return rows[:, rows.shape[1] - self.n_features :]

    def _rows(self, Z: Array, features: list[Array]) -> Array:
        """Put views together. The linear features come last in each, since more may be added."""
        first, m = self.intercept, self.plan.n_components
        last, width, linear = self._last(Z), first + self.n_features, int(self.plan.linear)
        out = np.zeros((len(last), len(features) + linear, width + m))
        out[:, :, :first] = 1.0
        if linear:
            out[:, 0, first + m :] = np.atleast_2d(Z)[:, first:width]
        for view, values in enumerate(features, start=linear):
            out[:, view, first : first + m] = self.amplitude * values
            out[:, view, first + m :] = last
        return out.reshape(*Z.shape[:-1], -1)


def _as_saved(values: Array, name: str) -> Array:
    """An array that can be part of a map's state: float64, as `state` gave it."""
    if values.dtype != np.float64:
        raise ValueError(f"{name} must be float64, got {values.dtype}")
    return values
