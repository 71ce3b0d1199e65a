"""What Mixture and Pool share: experts that learn side by side, each as it would by itself."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mixable._mergeable import Mergeable
from mixable._types import Array
from mixable.forecasters.compiled import CompiledForecaster
from mixable.forecasters.sparse import SparseGAF

if TYPE_CHECKING:
    from typing_extensions import Self


class Experts(Mergeable):
    """Forecasters with the same output."""

    def __init__(self, experts: Sequence[Any], what: str) -> None:
        self.experts = list(experts)
        if not self.experts:
            raise ValueError(f"a {what} needs at least one expert")
        if len({id(expert) for expert in self.experts}) < len(self.experts):
            raise ValueError("an expert appears twice: it would learn everything twice")

    def _check_same(self, *names: str) -> None:
        for name in names:
            sizes = [getattr(expert, name, None) for expert in self.experts]
            if len(set(sizes)) > 1:
                raise ValueError(f"experts must have the same {name}, got {sizes}")

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.experts[0].n_features)

    @property
    def n_classes(self) -> int | None:
        """Number of classes; None if the experts predict numbers."""
        return getattr(self.experts[0], "n_classes", None)

    def add_class(self) -> None:
        """Add a class to every expert; if one refuses, to none."""
        self._grow("add_class")

    def add_features(self, k: int) -> None:
        """Add features to every expert; if one refuses, to none."""
        self._grow("add_features", k)

    def _grow(self, how: str, *arguments: int) -> None:
        grown = [_before_growth(expert) for expert in self.experts]
        for expert in grown:
            if not hasattr(expert, how):
                raise TypeError(f"{type(expert).__name__} has no {how}")
            getattr(expert, how)(*arguments)
        self.experts = grown

    def _forecasts(self, x: Array) -> Array:
        return np.array([expert.predict(x) for expert in self.experts])

    def __copy__(self) -> Self:
        return copy.deepcopy(self)


def _before_growth(expert: Any) -> Any:
    """A copy that can grow without the expert: a compiled core is replaced, not changed."""
    if not isinstance(expert, CompiledForecaster | SparseGAF):
        return copy.deepcopy(expert)
    shallow = object.__new__(type(expert))
    vars(shallow).update(vars(expert))
    return shallow


def snapshot(expert: Any) -> Callable[[], Any]:
    """What makes an expert that knows what this one knows now."""
    if not isinstance(expert, CompiledForecaster):
        kept = copy.deepcopy(expert)
        return lambda: kept
    kind, state = type(expert), expert.__getstate__()

    def again() -> Any:
        made = object.__new__(kind)
        made.__setstate__(state)
        return made

    return again


def saved_experts(state: dict[str, Any], what: str) -> list[Any]:
    """The experts of a saved state, once they are known to be forecasters."""
    experts = list(state["experts"])
    verbs = [getattr(each, verb, None) for each in experts for verb in ("predict", "learn")]
    if not all(map(callable, verbs)):
        raise TypeError(f"an expert of the saved {what} is not a forecaster")
    return experts
