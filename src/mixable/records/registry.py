"""Which columns there are, of which kind, and where they are in the dense part."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from mixable.records.category import Category, Tags
from mixable.records.column import ALL, RECONSIDERED, Cells, Column, Draft, Limits, Part
from mixable.records.declaration import Columns, Name, checked_name
from mixable.records.formats import Formatted, votes_of
from mixable.records.kinds import (
    MARKS,
    formats_of,
    guess,
    is_identifier,
    kind_of_text,
    looks_like_text,
)
from mixable.records.number import Number
from mixable.records.text import Text
from mixable.records.time import Time

FEW = 6  # names of numbers: with fewer, dictionaries of numbers are not taken for bags of counts

EARLY = 100  # records within which a number may turn out to be one count of many


class Ignored(Column):
    """A column that is left out."""

    kind = "ignore"

    @property
    def taken_for(self) -> str:
        return "ignored"

    def plain(self, cell: Any) -> None:
        return None

    def put(self, cell: None, draft: Draft) -> None:
        pass

    def learn(self, cell: Any, limits: Limits) -> list[Any]:
        return []

    def stage(self, cells: Cells) -> Part:
        raise NotImplementedError  # such columns are not staged

    def commit(self, part: Part, rows: int, limits: Limits) -> None:
        raise NotImplementedError


CLASSES: dict[str, type[Column]] = {
    kind.kind: kind for kind in (Number, Category, Text, Tags, Time, Ignored)
}


class Registry:
    """The columns by name, in the order in which they came, and the names of the dense part."""

    def __init__(self, declared: Columns, limits: Limits) -> None:
        self.declared, self.limits = declared, limits
        self.columns: dict[Name, Column] = {}
        self.places: list[str] = []  # what each place of the dense part holds
        self.blank: list[float] = []  # the dense part of a record that has nothing
        self.shown = b""  # what experts on keys see of each place; those at the end may lack
        self.indicators = 0  # places of categories
        self.bag = False  # numbers under new names are counts
        self.unclear: dict[Name, str] = {}  # questions about categories; not saved

    def copy(self) -> Registry:
        """The same columns, to which others can be added."""
        out = Registry(self.declared, self.limits)
        out.columns, out.places = dict(self.columns), list(self.places)
        out.blank, out.shown = list(self.blank), self.shown
        out.indicators, out.bag = self.indicators, self.bag
        return out

    def adopt(self, other: Registry) -> None:
        """Take over the columns of a copy."""
        self.columns, self.bag = other.columns, other.bag
        self.places, self.blank, self.shown = other.places, other.blank, other.shown

    def scan(self, record: Mapping[Name, Any]) -> tuple[dict[Name, str], bool]:
        """The kinds of names that are new, as far as their values tell; whether this is a bag.

        A record that brings numbers under new names, and lacks at least half of those it could
        have, is a bag: such numbers are counts, of which most are 0 in most records.
        """
        for name in record:
            checked_name(name)
        new = {name: [cell] for name, cell in record.items() if name not in self.columns}
        kinds = self.guessed(new)
        bag = self.bag or self.is_bag(record, kinds)
        return self.admitted(kinds, bag=bag), bag

    def is_bag(self, record: Mapping[Name, Any], new: Mapping[Name, str]) -> bool:
        if not any(kind == "number" and self.is_guessed(name) for name, kind in new.items()):
            return False
        numbers = [name for name, column in self.columns.items() if column.kind == "number"]
        absent = [name for name in numbers if name not in record]
        return bool(numbers) and 2 * len(absent) >= len(numbers)

    def is_guessed(self, name: Name) -> bool:
        """Whether nothing was declared of a column."""
        return self.declared.kind(name) is None

    def admitted(self, kinds: Mapping[Name, str], *, bag: bool) -> dict[Name, str]:
        """Those of some new columns that are kept; the others are loose."""
        room = self.limits.columns - len(self.columns)
        dense = self.limits.numbers - len([c for c in self.columns.values() if c.dense_parts])
        out: dict[Name, str] = {}
        for name, kind in kinds.items():
            is_dense = bool(CLASSES[kind].dense_parts)
            is_count = kind == "number" and bag and self.is_guessed(name)
            if len(out) < room and not is_count and (dense > 0 or not is_dense):
                out[name] = kind
                dense -= 1 if is_dense else 0
        return out

    def guessed(self, samples: Mapping[Name, Iterable[Any]]) -> dict[Name, str]:
        """The kinds of new columns by samples of their values."""
        kinds: dict[Name, str] = {}
        for name, sample in samples.items():
            kind = self.declared.kind(name) or guess(name, sample)
            if kind is not None:
                kinds[name] = kind
        return kinds

    def make(self, kinds: Mapping[Name, str]) -> list[Column]:
        """New columns, with the places in the dense part that they would have."""
        out, width = [], len(self.places)
        for name, kind in kinds.items():
            column = CLASSES[kind](name, guessed=self.is_guessed(name))
            if isinstance(column, Formatted):
                given = self.declared.format(name)
                column.is_given = given is not None
                # Who says that it is a number says that 1,234 is one.
                is_number = not column.guessed and kind == "number"
                column.format = given or ("." if is_number else "")
            column.places = list(range(width, width + len(column.dense_parts)))
            width += len(column.dense_parts)
            out.append(column)
        return out

    def add(self, columns: Iterable[Column]) -> None:
        """Keep columns that `make` has made, unless they came in the meantime."""
        for column in columns:
            if column.name not in self.columns:
                self._place(column)
                self.columns[column.name] = column

    def _place(self, column: Column) -> None:
        """Give a column the places that it has from the beginning."""
        column.places = [
            self._new_place(column, part and f": {part}") for part in column.dense_parts
        ]
        self.shown = with_shown(self.shown, column)

    def _new_place(self, column: Column, what: str) -> int:
        self.places.append(f"{column.name}{what}")
        self.blank.append(0.0 if column.kind == "category" else math.nan)
        return len(self.places) - 1

    def may_claim(self, column: Column, claimed: int = 0, in_all: int = 0) -> bool:
        """Whether a value of a category may have a place, after some that were claimed before."""
        return (
            len(column.places) + claimed < self.limits.indicators
            and self.indicators + in_all < self.limits.places
        )

    def claim(self, column: Category, value: str | None) -> None:
        """Give a value of a category a place in the dense part."""
        what = " is missing" if value is None else f"={value:.80}"
        column.claim(value, self._new_place(column, what))
        self.indicators += 1

    def begin_bag(self, record: Mapping[Name, Any]) -> None:
        """From now on, numbers under new names are counts; so are those that this record lacks."""
        self.bag = True
        for name, column in list(self.columns.items()):
            is_early = column.guessed and column.kind == "number" and column.n <= EARLY
            if is_early and name not in record:
                del self.columns[name]

    def reconsider(self, column: Column, before: int) -> None:
        """Guess a kind, or a format, that was guessed again, if it is time to."""
        if not any(before < n <= column.n for n in RECONSIDERED):
            return
        if isinstance(column, Formatted):
            column.settle()
        if not column.guessed:
            return
        kind = second_guess(column)
        if kind != column.kind and self._has_place(kind):
            new = CLASSES[kind](column.name, guessed=True)
            new.n, new.missing, new.was = column.n, column.missing, (column.kind, column.n)
            if isinstance(new, Formatted):
                new.votes = votes_of(*_seen(column))[kind]
                new.settle()
            self._place(new)
            self.columns[column.name] = new
            if isinstance(column, Formatted) and column.unclear:
                self.unclear[column.name] = _doubt(column.name, column.kind, column.example)
            for place in column.places:
                self.blank[place] = math.nan
        elif type(column) is Category:
            self.unclear[column.name] = _unclear(column)

    def doubts(self, least: int) -> dict[Name, str]:
        """What to ask the user of columns that have had `least` records, by name."""
        out = {}
        for name, column in self.columns.items():
            doubt = ""
            if isinstance(column, Formatted) and column.unclear and not column.format:
                doubt = _doubt(name, column.kind, column.example)
            elif type(column) is Category and column.guessed:
                is_new = column.n < RECONSIDERED[0]
                doubt = _unclear(column) if is_new else self.unclear.get(name, "")
            if doubt and column.n >= least:
                out[name] = doubt
        return out

    def _has_place(self, kind: str) -> bool:
        """Whether there is room for another column of a kind in the dense part."""
        dense = len([c for c in self.columns.values() if c.dense_parts])
        return not CLASSES[kind].dense_parts or dense < self.limits.numbers


def with_shown(shown: bytes, column: Column) -> bytes:
    """What experts on keys see of each place, with those of one more column."""
    if not any(column.shown):
        return shown
    out = bytearray(shown.ljust(max(column.places) + 1, bytes([ALL])))
    for place, what in zip(column.places, column.shown, strict=True):
        out[place] = what
    return bytes(out)


def second_guess(column: Column) -> str:
    """The kind of a column by what it has learned."""
    if isinstance(column, Formatted):
        return "category" if 2 * column.unreadable > column.n - column.missing else column.kind
    if type(column) is not Category:
        return column.kind
    values, counts = _seen(column)
    kind = _most(column)
    if kind in ("number", "time"):
        return kind
    return "text" if values and looks_like_text(values, counts) else "category"


def _seen(column: Column) -> tuple[list[str], list[int]]:
    """The values of a category, and how often each came; not what is missing."""
    assert isinstance(column, Category)
    found = {
        value: count
        for value, count in zip(column.known, column.counts, strict=True)
        if value is not None and value not in MARKS
    }
    return list(found), list(found.values())


def _most(column: Column) -> str:
    """What more than half of the values of a category look like; "" if nothing."""
    values, counts = _seen(column)
    formats = formats_of(values, counts)
    found: Counter[str] = Counter()
    for value, count in zip(values, counts, strict=True):
        found[kind_of_text(value, *formats)] += count
    kind, count = (found.most_common(1) or [("", 0)])[0]
    if 2 * count <= sum(counts) or (kind == "number" and is_identifier(column.name)):
        return ""
    return kind


def _unclear(column: Category) -> str:
    """The question about a category most of whose values can be read in two ways."""
    unclear, _, kind = _most(column).partition(" ")
    if unclear != "unclear":
        return ""
    return _doubt(column.name, kind, next(v for v in _seen(column)[0] if kind in kind_of_text(v)))


def _doubt(name: Name, kind: str, example: str) -> str:
    shown, cls = f"{name!r:.80}", CLASSES[kind]
    assert issubclass(cls, Formatted)
    return (
        f"column {shown} has values such as {example!r:.40}, which may be {cls.either}; they are "
        f"taken as words. Declare {cls.remedy.format(name=shown)} (records.Columns, or the options "
        "of mixable stream)"
    )
