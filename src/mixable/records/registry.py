"""Which columns there are, of which kind, and where they are in the dense part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from mixable import _core, _validate
from mixable.records.category import Category, Tags
from mixable.records.cells import is_missing, votes_of
from mixable.records.column import ALL, RECONSIDERED, Column, Formatted, Ignored
from mixable.records.declaration import Columns, Name, checked_name
from mixable.records.kinds import (
    MARKS,
    formats_of,
    guess,
    is_identifier,
    kind_of_text,
    looks_like_text,
    values,
)
from mixable.records.number import Number
from mixable.records.tables import Table
from mixable.records.text import Text
from mixable.records.time import Time

FEW = 6  # names of numbers: with fewer, dictionaries of numbers are not taken for bags of counts

EARLY = 100  # records within which a number may turn out to be one count of many

CLASSES: dict[str, type[Column]] = {
    kind.kind: kind for kind in (Number, Category, Text, Tags, Time, Ignored)
}

_ROLES = {"category": "c", "tags": "c", "text": "t", "time": "t", "ignore": "-"}


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How much an encoder may keep."""

    values: int  # of a column, by name
    numbers: int  # columns of numbers and times in the dense part
    columns: int


class Registry:
    """The columns by name, in the order in which they came, and the names of the dense part."""

    def __init__(self, declared: Columns, limits: Limits) -> None:
        self.declared, self.limits = declared, limits
        self.columns: dict[Name, Column] = {}
        self.places: list[str] = []  # what each place of the dense part holds
        self.shown = b""  # what experts on keys see of each place; those at the end may lack
        self.orders: dict[Name, int] = {}  # places of columns that are or were categories
        self.bag = False  # numbers under new names are counts
        self.unclear: dict[Name, str] = {}  # questions about categories; not saved

    def copy(self) -> Registry:
        """The same columns, to which others can be added."""
        out = Registry(self.declared, self.limits)
        out.columns, out.places = dict(self.columns), list(self.places)
        out.shown, out.bag, out.orders = self.shown, self.bag, dict(self.orders)
        return out

    def adopt(self, other: Registry) -> None:
        """Take over the columns of a copy."""
        self.columns, self.bag = other.columns, other.bag
        self.places, self.shown, self.orders = other.places, other.shown, other.orders

    def scan(
        self, record: Mapping[Name, Any], *, in_frame: bool = False
    ) -> tuple[dict[Name, str], bool]:
        """The kinds of names that are new, as far as their values tell; whether this is a bag.

        A record that brings numbers under new names, and lacks at least half of those it could
        have, is a bag: such numbers are counts, of which most are 0 in most records. One of a frame
        is none.
        """
        for name in record:
            checked_name(name)
        new = {name: [cell] for name, cell in record.items() if name not in self.columns}
        kinds = self.guessed(new)
        bag = not in_frame and (self.bag or self.is_bag(record, kinds))
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

    def add(self, kinds: Mapping[Name, str]) -> None:
        """Keep new columns."""
        for name, kind in kinds.items():
            column = CLASSES[kind](name, guessed=self.is_guessed(name))
            if isinstance(column, Formatted):
                given = self.declared.format(name)
                column.is_given = given is not None
                # Who says that it is a number says that 1,234 is one.
                is_number = not column.guessed and kind == "number"
                column.format = given or ("." if is_number else "")
            self._place(column)
            self.columns[name] = column

    def _place(self, column: Column) -> None:
        """Give a column the places that it has from the beginning."""
        begin, parts = len(self.places), column.dense_parts
        self.places += [f"{column.name}: {part}" if part else f"{column.name}" for part in parts]
        column.places = list(range(begin, len(self.places)))
        self._show(column)
        self._order(column)

    def _order(self, column: Column) -> None:
        """Give a column of categories its place among them, which never changes."""
        if type(column) is Category:
            column.order = self.orders.setdefault(column.name, len(self.orders))

    def _show(self, column: Column) -> None:
        """Note what experts on keys see of the places of one more column."""
        if any(column.shown):
            shown = bytearray(self.shown.ljust(max(column.places) + 1, bytes([ALL])))
            for place, what in zip(column.places, column.shown, strict=True):
                shown[place] = what
            self.shown = bytes(shown)

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

    def with_new_columns(self, table: Table, sample: int = 1) -> Registry:
        """A copy with the columns that are new in a table, or itself if there are none.

        Kinds are guessed from the first values of each column: from one, as one by one.
        """
        if not table.has_others(self.columns):
            return self
        trial, known = self.copy(), self.columns.keys()
        samples: dict[Name, list[Any]] = {
            name: [value for _, value in islice(values(name, cells.items), sample)]
            for name, cells in table.frame.items()
            if name not in known
        }
        first: dict[int, list[Name]] = {0: list(samples)}  # the names that are new in a row
        for row, record in enumerate(table.records):
            for name in () if record.keys() <= known else record:
                if name in known:
                    continue
                cells = samples.get(name)
                if cells is None:
                    samples[checked_name(name)] = cells = []
                    first.setdefault(row, []).append(name)
                if len(cells) < sample and not is_missing(record[name]):
                    cells.append(record[name])
        kinds = trial.guessed(samples)
        for row, names in first.items():
            found = {name: kinds[name] for name in names if name in kinds}
            if table.records and not trial.bag and trial.is_bag(table.records[row], found):
                trial.begin_bag(table.records[row])
            bag = trial.bag and bool(table.records)
            trial.add(trial.admitted(found, bag=bag))
        return trial

    def brings_columns(self, record: Mapping[Name, Any], *, in_frame: bool = False) -> bool:
        """Whether a record has values that make new columns, or is the first that is a bag."""
        there = {n: cell for n, cell in record.items() if n in self.columns or not is_missing(cell)}
        if there.keys() <= self.columns.keys():
            return False
        try:
            kinds, bag = self.scan(there, in_frame=in_frame)
        except (TypeError, ValueError):
            return True  # it will be refused
        return bool(kinds) or (bag and not self.bag)

    def alike(self, records: list[Any], learned: Sequence[Any], *, in_frame: bool = False) -> int:
        """How many of the first steps can be one table, 1 or more: to the bit as one by one.

        Each has a record to encode, and one to learn or None. A record that brings a new column is
        alone: the kind of the column goes by its value, not by those of records that happen to come
        in the same table. A table ends where a kind that was guessed is guessed again. Of records
        in a frame, which have all columns, only names that are new need be there.
        """
        known, end = self.columns.keys(), len(records)
        for some in (records, [{} if record is None else record for record in learned]):
            first = _core.first_other(some, self.columns)
            for row, record in enumerate(some[first:end], first):
                if not record.keys() <= known and self.brings_columns(record, in_frame=in_frame):
                    end = max(row, 1)
                    break
        for name, column in self.columns.items():
            if column.may_change and column.n < RECONSIDERED[-1]:
                left = next(n for n in RECONSIDERED if n > column.n) - column.n
                has_all = in_frame or column.kind == "number"  # which counts records that lack it
                for row in range(end if left <= end else 0):
                    record = learned[row]
                    if record is not None and (has_all or name in record):
                        left -= 1
                        if not left:
                            end = row + 1
                            break
        return end

    @property
    def is_settled(self) -> bool:
        """Whether no kind or format will be guessed again, so that columns can be read by them."""
        columns = self.columns.values()
        return all(not each.may_change or each.n >= RECONSIDERED[-1] for each in columns)

    def role(self, name: Name) -> str:
        """How `_core.read_grid` reads a column."""
        column = self.columns[name]
        if isinstance(column, Number):
            return {"": "n", ".": "p", ",": "d"}[column.format]
        return _ROLES[column.kind]

    def restore(self, saved: dict[str, Any]) -> None:
        """Go on from the columns and places of a file; ValueError or TypeError if it cannot be."""
        places = saved["places"]
        if not isinstance(places, list) or not all(isinstance(place, str) for place in places):
            raise TypeError("the saved places must be a list of texts")
        self.places, self.bag = places, _validate.flag(saved["bag"], "bag")
        used: list[int] = []
        for each in saved["columns"]:
            column = CLASSES[each["kind"]](checked_name(each["name"]))
            column.restore(each)
            if isinstance(column, Category):
                if len(column.known) > self.limits.values:
                    raise ValueError("a saved column has more values than the limit")
            elif len(column.places) != len(column.dense_parts):
                raise ValueError(f"a saved {column.kind} has other places than its kind")
            used += column.places
            self.columns[column.name] = column
        if len(self.columns) != len(saved["columns"]) or len(set(used)) != len(used):
            raise ValueError("two saved columns have the same name, or the same place")
        if used and max(used) >= len(places):
            raise ValueError("a saved place is beyond the dense part")
        if len(self.columns) > self.limits.columns:
            raise ValueError("the saved encoder has more columns than its limit")
        names = saved.get("orders", [])  # files of version 0.2 have none
        if not isinstance(names, list):
            raise TypeError("the saved categories must be a list of names")
        self.orders = {checked_name(name): order for order, name in enumerate(names)}
        if len(self.orders) != len(names):
            raise ValueError("two saved categories have the same name")
        for column in self.columns.values():
            self._show(column)
            self._order(column)

    def _has_place(self, kind: str) -> bool:
        """Whether there is room for another column of a kind in the dense part."""
        dense = len([c for c in self.columns.values() if c.dense_parts])
        return not CLASSES[kind].dense_parts or dense < self.limits.numbers


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


def saved_names(saved: dict[str, Any]) -> dict[int, str]:
    """Names by key; in older files they are pairs."""
    keys, names = saved.get("keys"), saved["names"]
    if keys is None:
        keys, names = [key for key, _ in names], [name for _, name in names]
    elif isinstance(keys, np.ndarray) and keys.dtype == np.uint64 and keys.ndim == 1:
        keys = keys.tolist()
    else:
        raise TypeError("the saved keys must be an array of uint64")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise TypeError("a saved name must be text")
    if len(set(keys)) < len(names) or len(keys) != len(names):
        raise ValueError("saved names and keys do not go together")
    checked = [_validate.count(key, "key", least=0, most=2**64 - 1) for key in keys]
    return dict(zip(checked, names, strict=True))
