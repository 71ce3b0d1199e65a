"""What every model that can be merged has."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Self


class Mergeable:
    """A model whose knowledge can be added to that of others; see `mixable.merge`."""

    def delta(self, base: Self | None = None) -> Self:
        """What was learned since this was `base`, as a model by itself; see `mixable.merge`.

        `merge([base, a.delta(base), b.delta(base)])` is `merge([a, b], base=base)` for forecasters
        without drift. (With drift, or where inputs are scaled, the two are near each other.)
        """
        made: Self = import_module("mixable.merging").delta(self, base)
        return made
