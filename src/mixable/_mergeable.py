"""What every model that can be merged has."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Self


REFUSED = {
    "FTRL": "it keeps all its examples: let one model learn them all",
    "SMP": "it keeps all its examples: let one model learn them all",
    "Foster": "its particles have nothing that could be added",
    "ScaleFree": "its experts are born at times of its own stream",
    "FreshStarts": "its copies are born at times of its own stream",
    "KernelGAF": "it keeps all its examples: let one model learn them all",
}


class Mergeable:
    """A model whose knowledge can be added to that of others; see `mixable.merge`."""

    def combine(self, others: Sequence[Self], base: Self | None = None) -> Self:
        """Return one model of this one and others: `mixable.merge([self, *others], base)`."""
        made: Self = import_module("mixable.merging").merge([self, *others], base)
        return made

    def delta(self, base: Self | None = None) -> Self:
        """What was learned since this was `base`, as a model by itself; see `mixable.merge`.

        `merge([base, a.delta(base), b.delta(base)])` is `merge([a, b], base=base)` for forecasters
        without drift. (With drift, or where inputs are scaled, the two are near each other.)
        """
        made: Self = import_module("mixable.merging").delta(self, base)
        return made

    def _combine(self, others: Sequence[Any], base: Any, changes: Sequence[Any]) -> Any:
        """self + the sum of (other - base), a new model: each class combines the state it owns.

        All have the same parameters, and at least one other has learned something since the base.
        `base`, or this model, may have learned nothing. `changes` (`_natural.Change`) are from the
        coordinates of each other to those of this model and the base.

        Sums over examples add: steps, counts, losses, precision and shift of posteriors. So
        ``base._combine(models, base)`` has the sum of their precisions - (n - 1) that of the base,
        and ``new._combine([model], base)`` is what the model has learned since.
        """
        raise NotImplementedError

    def _fresh(self) -> Any:
        """A model with the same parameters that has learned nothing."""
        raise NotImplementedError

    def _shared(self) -> dict[str, Any]:
        """What models must have in common to be combined."""
        raise NotImplementedError


def refuse_if_unmergeable(model: Any) -> None:
    """Refuse what has nothing to add, with the reason."""
    name, other = type(model).__name__, "it is no model of this library"
    if name in REFUSED or not isinstance(model, Mergeable):
        raise TypeError(f"{name} cannot be merged: {REFUSED.get(name, other)}")
