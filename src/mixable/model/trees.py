"""Experts of a pool on raw numbers: trees, which also see categories, naive Bayes, labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mixable._types import Array
from mixable.experts import NaiveBayes, RecentLabels, Trees
from mixable.model.inputs import Inputs


@dataclass(frozen=True)
class RawDesign:
    """A forecaster of raw numbers, without settings."""

    kernel: ClassVar[None] = None
    kind: ClassVar[type]
    name: ClassVar[str]

    def inputs(self, n_features: int, *, scaled: bool = False) -> RawInputs:
        """Return new inputs."""
        return RawInputs(n_features)

    def forecaster(self, n_features: int, n_classes: int | None) -> Any:
        """Return a new forecaster."""
        return self.kind(n_features, n_classes)

    def fits(self, forecaster: Any, n_features: int) -> bool:
        """Whether a forecaster is of this kind, and takes rows of so many numbers."""
        is_ours = type(forecaster) is self.kind and not getattr(forecaster, "categories", ())
        return is_ours and forecaster.n_features == n_features


class TreeDesign(RawDesign):
    """Boosted trees that grow; see `mixable.Trees`."""

    kind, name = Trees, "trees"


class BayesDesign(RawDesign):
    """The mean and the variance of each number in each class; of labels only."""

    kind, name = NaiveBayes, "naive Bayes"


class RecentDesign(RawDesign):
    """How often each class has come of late; of labels only. It sees no number."""

    kind, name = RecentLabels, "recent labels"


class RawInputs(Inputs):
    """Numbers as they are: nothing is learned of them."""

    def __init__(self, n_features: int) -> None:
        self.n_features = n_features

    def transform(self, X: Array) -> Array:
        return X

    def with_features(self, n_features: int) -> RawInputs:
        return RawInputs(n_features)

    def moments(self) -> tuple[Array, Array]:
        return np.zeros(self.n_features), np.ones(self.n_features)

    def state(self) -> dict[str, Array]:
        return {}

    def restore(self, state: dict[str, Array]) -> None:
        if state:
            raise ValueError(f"raw inputs have learned nothing, got {list(state)!r:.80}")
