"""Columns that experts see beside numbers: made of the categories of records, and growing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mixable import _core, _validate

NUMBERS, INDICATORS, FREQUENCIES = "numbers", "indicators", "frequencies"
"""What an expert sees: numbers alone, or beside them indicators of values, or class frequencies."""

BLOCK = 16
"""Indicators that experts get room for at a time: each time all their posteriors are copied."""


class MadeColumns:
    """What makes columns of categories, and which of them each expert sees beside numbers.

    `picks` has for each expert the places of what it sees, in the order in which it came: number i,
    or column i of core/inputs/categories.hpp as -1 - i; None for one that sees the numbers
    alone. After a stage, numbers are what it says, then those of records.
    """

    def __init__(self, parts: Sequence[Any], n_numbers: int, n_classes: int | None) -> None:
        self.core = _core.Categories(n_classes or 0)
        self.room = 0  # indicators that experts see
        own = {INDICATORS: [], FREQUENCIES: frequencies(0, n_classes or 0)}
        self.picks = [
            None if seen(part) == NUMBERS else [*range(n_numbers), *own[seen(part)]]
            for part in parts
        ]

    @property
    def is_to_grow(self) -> bool:
        """Whether more indicators were given than experts see."""
        return bool(self.core.given > self.room)

    @property
    def next_room(self) -> int:
        """Indicators that experts see once they have grown."""
        blocks = -(-self.core.given // BLOCK)
        return int(min(blocks * BLOCK, _core.MOST_INDICATORS))

    def grown(self, parts: Sequence[Any], kind: str, more: Sequence[int]) -> MadeColumns:
        """The same where the experts that see columns of a kind see more; "numbers": all do."""
        out = object.__new__(MadeColumns)
        out.core, out.room = self.core, self.room + (len(more) if kind == INDICATORS else 0)
        out.picks = [
            [*own, *more] if own is not None and kind in (NUMBERS, seen(part)) else own
            for part, own in zip(parts, self.picks, strict=True)
        ]
        return out

    def with_class(self, parts: Sequence[Any], n_classes: int) -> MadeColumns:
        """The same of one class more than so many."""
        out = self.grown(parts, FREQUENCIES, frequencies(n_classes, n_classes + 1))
        out.core = _core.Categories(n_classes + 1)
        out.core.adopt(self.core)
        return out

    def report(self) -> str:
        """What was made of categories, in words."""
        given, known = self.core.given, self.core.values
        return f"Of {known} values of categories that are known, {given} have an indicator."

    def state(self) -> dict[str, Any]:
        """All that was learned."""
        return {"core": self.core.state(), "room": self.room, "picks": self.picks}

    def restore(
        self, state: dict[str, Any], parts: Sequence[Any], n_numbers: int, n_classes: int | None
    ) -> None:
        """Go on from what `state` returned; ValueError if it does not fit."""
        most = int(_core.MOST_INDICATORS)
        room = _validate.count(state["room"], "room", least=0, most=most)
        made = {INDICATORS: indicators(0, room), FREQUENCIES: frequencies(0, n_classes or 0)}
        picks = state["picks"]
        if not isinstance(picks, list) or len(picks) != len(parts):
            raise ValueError("saved columns do not go with the experts")
        for part, own in zip(parts, picks, strict=True):
            wanted = None if seen(part) == NUMBERS else [*made[seen(part)], *range(n_numbers)]
            is_sound = own is None or all(type(place) is int for place in own)
            if not is_sound or (own if own is None else sorted(own)) != (wanted and sorted(wanted)):
                raise ValueError("saved columns are not those that the experts see")
        self.core.restore(state["core"])
        if self.core.given > room:
            raise ValueError("there are more saved indicators than room for them")
        self.room, self.picks = room, [None if own is None else list(own) for own in picks]


def seen(part: Any) -> str:
    """What the expert of a design sees."""
    kind: str = getattr(part, "sees", NUMBERS)
    return kind


def indicators(first: int, end: int) -> list[int]:
    """The places of some indicators."""
    return [-1 - i for i in range(first, end)]


def frequencies(first: int, end: int) -> list[int]:
    """The places of the frequencies of some classes."""
    return [-1 - _core.MOST_INDICATORS - c for c in range(first, end)]
