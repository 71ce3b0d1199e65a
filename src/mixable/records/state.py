"""What an encoder has learned."""

from __future__ import annotations

from collections.abc import Mapping

from mixable.records.category import Category
from mixable.records.column import Limits
from mixable.records.crosses import Cross
from mixable.records.declaration import Columns
from mixable.records.registry import Registry


class State:
    """Columns, names of keys, and how many records were learned."""

    def __init__(self, declared: Columns, limits: Limits) -> None:
        self.declared, self.limits = declared, limits
        self.n = 0
        self.registry = Registry(declared, limits)
        self.names: dict[int, str] = {}  # of keys of texts, crosses and counts
        self._index: tuple[int, dict[int, str]] = (-1, {})  # names of values, and when it was made
        self.crosses = [Cross(left, right) for left, right in declared.cross]

    @property
    def has_room(self) -> bool:
        """Whether more keys can be remembered by name."""
        return len(self.names) < self.limits.values

    def remember(self, names: Mapping[int, str]) -> None:
        """Keep names of keys while there is room for them."""
        for key, name in names.items():
            if not self.has_room:
                return
            self.names.setdefault(key, name)

    def name(self, key: int) -> str | None:
        """What a key stands for, such as "country=DE"; None if it is not remembered."""
        found = self.names.get(int(key))
        if found is not None:
            return found
        if self._index[0] != self.n:
            index: dict[int, str] = {}
            for column in self.registry.columns.values():
                index.update(column.key_names())
            self._index = (self.n, index)
        return self._index[1].get(int(key))

    @property
    def collisions(self) -> float:
        """About how many pairs of different values share a key, of 64 bits, by chance."""
        distinct = sum(
            column.distinct
            for column in self.registry.columns.values()
            if isinstance(column, Category)
        )
        return (distinct + len(self.names)) ** 2 / 2.0**65

    @property
    def bytes(self) -> int:
        """Memory, about."""
        named = sum(len(name) + 180 for name in self.names.values())
        return named + sum(column.bytes for column in self.registry.columns.values())
