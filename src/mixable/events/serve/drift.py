"""Drift of the inputs: how far the last records of each column are from the first
ones, or from those of a time that was named.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Hashable, Iterable
from typing import Any, NamedTuple

from mixable.events.model import Features

WINDOW = 300  # records of the reference, and of those that came last
LEAST = 100  # records that both need
BINS, VALUES, COLUMNS = 10, 20, 200
MISSING, OTHER = object(), object()


class Moved(NamedTuple):
    """What has become of a column."""

    drift: float  # population stability index: above 0.25 something has changed
    unknown: float  # the share of values that the reference does not have, of words


class Window:
    """The first records of a model, or others that have a `name`, and the last ones."""

    def __init__(
        self, first: Iterable[Features] = (), last: Iterable[Features] = (), name: str | None = None
    ) -> None:
        self.reference, self.name = list(first)[:WINDOW], name
        self.last: deque[Features] = deque(last, maxlen=WINDOW)

    def note(self, features: Features) -> None:
        """A record has come."""
        if self.name is None and len(self.reference) < WINDOW:
            self.reference.append(features)
        self.last.append(features)

    def moved(self) -> dict[str, Moved]:
        """How far each column has moved; nothing while there are few records."""
        least = WINDOW if self.name is None else LEAST
        if len(self.reference) < least or len(self.last) < LEAST:
            return {}
        names = dict.fromkeys(name for each in self.reference for name in each)
        return {str(name): self._column(name) for name in list(names)[:COLUMNS]}

    def _column(self, name: Hashable) -> Moved:
        before: list[Any] = [each.get(name) for each in self.reference]
        after: list[Any] = [each.get(name) for each in self.last]
        numbers: list[float] = sorted(v for v in before if _is_number(v))
        if 2 * len(numbers) >= sum(value is not None for value in before) > 0:
            edges = sorted({numbers[len(numbers) * i // BINS] for i in range(1, BINS)})
            known = [
                Counter(MISSING if not _is_number(v) else bisect_right(edges, v) for v in values)
                for values in (before, after)
            ]
            return Moved(index(*known), 0.0)
        words = Counter(_word(value) for value in before)
        common = {word for word, _ in words.most_common(VALUES)}
        known = [
            Counter(w if w in common else OTHER for w in map(_word, values))
            for values in (before, after)
        ]
        unknown = sum(_word(value) not in words for value in after if value is not None)
        return Moved(index(*known), unknown / len(after))


def index(before: Counter[Any], after: Counter[Any]) -> float:
    """Population stability index of two distributions: the sum of (p - q) log(p / q).

    >>> round(index(Counter(a=50, b=50), Counter(a=50, b=50)), 3)
    0.0
    >>> round(index(Counter(a=50, b=50), Counter(a=90, b=10)), 1)
    0.9
    """
    kinds = {*before, *after}
    total = 0.0
    for kind in kinds:  # half an event more of each: no share is 0
        p, q = (
            (counts[kind] + 0.5) / (counts.total() + len(kinds) / 2) for counts in (before, after)
        )
        total += (p - q) * math.log(p / q)
    return total


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value


def _word(value: Any) -> Hashable:
    if value is None:
        return MISSING
    return str(value)[:80] if isinstance(value, list) else value
