"""What the kinds of columns have in common: one cell into a row, and one column into a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mixable import _core, _validate
from mixable._types import Array
from mixable.records.cells import ABSENT
from mixable.records.declaration import Name, name_text

Keys = NDArray[np.uint64]
Values = NDArray[np.float32]
Ends = NDArray[np.int64]

COUNTS = ("n", "missing", "words", "unclear", "cut")
"""What columns count: records and missing values, then what is counted of some kinds only."""

RECONSIDERED = (16, 128, 1024)
"""Records after which a kind that was guessed is guessed again."""

ALL, WITHOUT_BINS, NOTHING = 0, 1, 2
"""What experts on keys see of a place in the dense part: Shown of core/shapes.hpp."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How much an encoder may keep."""

    values: int  # of a column, by name
    indicators: int  # values of a column that have a place in the dense part
    places: int  # of indicators, in all columns
    numbers: int  # columns of numbers and times in the dense part
    columns: int


class Draft:
    """A row in the making."""

    __slots__ = ("dense", "keys", "values")

    def __init__(self, dense: list[float]) -> None:
        self.dense = dense  # 0 at the places of categories, else NaN
        self.keys: list[int] = []
        self.values: list[float] = []


@dataclass(slots=True, kw_only=True)
class Part:
    """One column of a table, staged: the keys of its rows, and what `commit` learns."""

    counts: Ends  # (n,) keys of each row
    keys: Keys  # of all rows, one after the other
    values: Values | None = None  # None: all are 1
    dense: Array | None = None  # (n, places of the column)
    cells: dict[str, Any] = field(default_factory=dict)


class Cells:
    """One column of a table: `items` as Python has them, and as arrays where there are some."""

    def __init__(
        self,
        items: Any,
        *,
        numbers: Any = None,
        times: Any = None,
        read: tuple[Array, NDArray[np.int8], dict[int, str]] | None = None,
        factors: tuple[NDArray[np.int64], list[str | None]] | None = None,
    ) -> None:
        self._items = items  # a list, or what makes one
        self.numbers: NDArray[Any] | None = numbers  # of integers or floats; NaN is missing
        self.times: tuple[Array, Array] | None = times  # seconds on the wall and in UTC
        # Text that was read as numbers: what each is (_core.read_numbers), those that are none.
        # It tells no formats: those are settled by then.
        self.read = read
        self.factors = factors  # text as codes, and the text of each code, by first appearance

    @property
    def items(self) -> list[Any]:
        if callable(self._items):
            self._items = self._items()
        items: list[Any] = self._items
        return items

    def sample(self) -> list[Any]:
        """The cells that are there, for guessing the kind."""
        return [cell for cell in self.items if cell is not ABSENT]


class Column:
    """A column of one kind: what it has learned of its values.

    `plain` checks a cell, `put` writes a plain cell into a draft, `learn` learns it. `stage` and
    `commit` do the same for a column of a table. Only `learn` and `commit` change anything.
    """

    kind: ClassVar[str]
    plain_types: ClassVar[tuple[type, ...]] = (type(None),)  # what `plain` returns
    dense_parts: ClassVar[tuple[str, ...]] = ()  # places that the column has from the beginning

    def __init__(self, name: Name, *, guessed: bool = False) -> None:
        self.name = name
        self.guessed = guessed
        self.was: tuple[str, int] | None = None  # another kind, until this many records
        self.n = 0  # records learned that had the column
        self.missing = 0  # of them, without a value
        self.places: list[int] = []
        self.shown = (ALL,) * len(self.dense_parts)  # of each of those
        self._seeds()

    def _seeds(self) -> None:
        """The keys that follow from the name."""
        self.key = _core.hash_string(name_text(self.name), 0)
        self.missing_key = _core.join_keys(self.key, 1)

    @property
    def may_change(self) -> bool:
        """Whether its kind, or how its values are read, is guessed again."""
        return self.guessed

    def plain(self, cell: Any) -> Any:
        """A cell of this kind, checked."""
        raise NotImplementedError

    def put(self, cell: Any, draft: Draft) -> None:
        """Write a plain cell into a row."""
        raise NotImplementedError

    def put_absent(self, draft: Draft) -> None:
        """What a record without this column has."""

    def learn(self, cell: Any, limits: Limits) -> list[Any]:
        """Learn a plain cell; returns values that should have a place in the dense part."""
        self.n += 1
        if cell is None:
            self.missing += 1
        return []

    def learn_absent(self) -> None:
        """Learn a record without this column."""

    def stage(self, cells: Cells) -> Part:
        """The column of a table, each row as `put` makes it after the rows above it."""
        raise NotImplementedError

    def commit(self, part: Part, rows: int, limits: Limits) -> None:
        """Learn the first rows of what was staged."""
        raise NotImplementedError

    def texts(self, part: Part, rows: int) -> Iterable[tuple[int, str]]:
        """The texts of the first rows whose keys no dictionary of values has, with their row."""
        return ()

    def cell_at(self, part: Part, row: int) -> Any:
        """The plain cell of one row of what was staged."""
        raise NotImplementedError

    @property
    def taken_for(self) -> str:
        """Its kind, and how its values are read."""
        return self.kind

    def describe(self) -> str:
        """What there is to say of the column beyond its kind and how values are read."""
        return ""

    def labels(self, cell: Any) -> dict[int, str]:
        """What stands for each key of a plain cell."""
        return {self.missing_key: f"{self.name} is missing"} if cell is None else {}

    def cross_labels(self, cell: Any) -> dict[int, str]:
        """What stands for each key that a plain cell has in crosses."""
        return self.labels(cell)

    def key_names(self) -> dict[int, str]:
        """What stands for the keys that the column can name."""
        return self.labels(None)

    @property
    def bytes(self) -> int:
        """Memory, about."""
        return 500

    def state(self) -> dict[str, Any]:
        """All that was learned."""
        names = ("name", "guessed", "was", "n", "missing", "places")
        return {"kind": self.kind, **{name: getattr(self, name) for name in names}}

    def combined(
        self, others: Sequence[Any], start: Column | None, base: Column | None, limits: Limits
    ) -> dict[str, Any]:
        """The state of start + the sum of (each - base), for this column and others of its kind.

        What was counted under another kind is forgotten, but for records. None has no records.
        """
        every, out = [self, *others], self.state()
        for name in [name for name in COUNTS if hasattr(self, name)]:
            first, last = (
                getattr(each, name)
                if each is not None and (each.kind == self.kind or name in COUNTS[:2])
                else 0
                for each in (start, base)
            )
            out[name] = first + sum(getattr(each, name) - last for each in every)
        out["guessed"] = all(each.guessed for each in every) if start is None else start.guessed
        out["was"] = next((each.was for each in every if each.was is not None), None)
        return out

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from what `state` returned; ValueError if that cannot be."""
        self.guessed = _validate.flag(state["guessed"], "guessed")
        self.n = _validate.count(state["n"], "n", least=0, most=_validate.MOST_STEPS)
        self.missing = _validate.count(state["missing"], "missing", least=0, most=self.n)
        was = state["was"]
        if was is not None:
            kind, until = was
            if not isinstance(kind, str):
                raise ValueError("a saved kind must be text")
            was = kind, _validate.count(until, "was", least=0, most=_validate.MOST_STEPS)
        self.was = was
        self.places = [_validate.count(place, "places", least=0) for place in state["places"]]


def ones(n: int) -> Ends:
    """One key in each of n rows."""
    return np.ones(n, np.int64)
