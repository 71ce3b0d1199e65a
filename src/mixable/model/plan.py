"""What a pool asks of its design."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from mixable.model.shapes import StageDesign


@runtime_checkable
class Plan(Protocol):
    """What a pool asks of its design."""

    standardize: bool

    @property
    def parts(self) -> list[Any]:
        """The design of each expert."""

    @property
    def names(self) -> list[str]:
        """What each expert is called."""

    @property
    def stage(self) -> StageDesign | None:
        """The regressions on sparse features that experts on numbers begin with."""

    @property
    def is_pooled(self) -> bool:
        """Whether there is a judge, and for labels a fallback."""

    @property
    def threads(self) -> int | None:
        """Threads that share a table; None: as many as are usual."""

    @property
    def least_gain(self) -> float:
        """Experts are inactive that gain less than this share of the first one's loss."""

    @property
    def first_weights(self) -> list[float]:
        """What the experts of labels weigh at first in the pool; together 1."""

    @property
    def takes_features(self) -> bool:
        """Whether records may have sparse features."""
