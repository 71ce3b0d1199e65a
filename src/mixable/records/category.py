"""Columns of categories, and of lists of them: a key for each value, a place for few of them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixable import _core, _validate
from mixable.records.cells import ABSENT, LONGEST_LIST, as_text, plain, tags
from mixable.records.column import Cells, Column, Draft, Keys, Limits, Part, ones
from mixable.records.sketch import Sketch

Value = str | None  # None is missing, a value like any other

OPENS_AT = 64
"""Records after which a column that has few values gets places in the dense part."""

LONGEST_VALUE = 256  # characters; longer values are hashed, and not remembered


class Category(Column):
    """A key for each value. A value that was never met before has one, too.

    Values are remembered, with their counts, up to a limit; then they are only counted. If there
    are few after 64 records, each of them, and each that is new later, gets a place in the dense
    part: 1 where a record has it, else 0. A place is there from the next record on.
    """

    kind = "category"
    plain_types = (str, list, type(None))
    indicators = True

    def __init__(self, name: Any, *, guessed: bool = False) -> None:
        super().__init__(name, guessed=guessed)
        self.known: dict[Value, int] = {}
        self.keys: list[int] = []
        self.counts: list[int] = []
        self.place_of: list[int] = []  # -1: none
        self.is_open = False
        self.sketch: Sketch | None = None  # of all values, once not all are known

    def plain(self, cell: Any) -> Value | list[str]:
        if type(cell) is str:
            return cell or None
        if type(cell) is list:
            return tags(cell, self.name)
        cell = plain(cell, self.name)
        return cell if isinstance(cell, list) else as_text(cell)

    def key_of(self, value: Value) -> int:
        """The key of a value, known or not."""
        return self.missing_key if value is None else _core.hash_string(value, self.key)

    def put(self, cell: Value | list[str], draft: Draft) -> None:
        for value in cell if isinstance(cell, list) else (cell,):
            at = self.known.get(value)
            if at is None:
                draft.keys.append(self.key_of(value))
            else:
                draft.keys.append(self.keys[at])
                place = self.place_of[at]
                if place >= 0:
                    draft.dense[place] = 1.0
            draft.values.append(1.0)

    def learn(self, cell: Any, limits: Limits) -> list[Any]:
        super().learn(cell, limits)
        new = [
            value
            for value in (cell if isinstance(cell, list) else (cell,))
            if self._count(value, 1, limits)
        ]
        if not self.indicators or (self.n != OPENS_AT and not self.is_open):
            return []
        if self.n == OPENS_AT:
            self.is_open = len(self.known) <= limits.indicators
            return list(self.known) if self.is_open else []
        return new

    def _count(self, value: Value, times: int, limits: Limits, key: int | None = None) -> bool:
        """Count a value; says whether it is new, and now known."""
        at = self.known.get(value)
        if at is not None:
            self.counts[at] += times
            return False
        key = self.key_of(value) if key is None else key
        if is_kept(value) and len(self.known) < limits.values:
            self.known[value] = len(self.known)
            self.keys.append(key)
            self.counts.append(times)
            self.place_of.append(-1)
            if self.sketch is not None:
                self.sketch.add_one(key)
            return True
        if self.sketch is None:
            self.sketch = Sketch()
            self.sketch.add(np.array(self.keys, np.uint64))
        self.sketch.add_one(key)
        return False

    def claim(self, value: Value, place: int) -> None:
        """Give a value that is known a place in the dense part."""
        self.place_of[self.known[value]] = place
        self.places.append(place)

    def _factors(self, cells: Cells) -> tuple[NDArray[np.int64], NDArray[np.int64], list[Value]]:
        """Values of each row, as counts and numbers, and the values, by first appearance."""
        n = 0 if cells.numbers is None else len(cells.numbers)
        if cells.numbers is not None and n:
            raw, first, codes = np.unique(cells.numbers, return_index=True, return_inverse=True)
            order = np.argsort(first)
            rank = np.empty_like(order)
            rank[order] = np.arange(len(order))
            values = [as_text(plain(value, self.name)) for value in raw[order]]
            return ones(n), rank[codes], values
        if cells.factors is not None:
            codes, texts = cells.factors
            return ones(len(codes)), codes, list(texts)
        found = _core.factors(cells.items, ABSENT, LONGEST_LIST)
        if found is not None:
            return found
        items: list[Any] = [
            cell if (type(cell) is str and cell) or cell is ABSENT else self.plain(cell)
            for cell in cells.items
        ]
        counts = ones(len(items))
        if not {list, type(ABSENT)}.isdisjoint(map(type, items)):
            lists = [_as_list(cell) for cell in items]
            counts = np.array([len(each) for each in lists], np.int64)
            items = [value for each in lists for value in each]
        numbers = {value: number for number, value in enumerate(dict.fromkeys(items))}
        codes = np.fromiter(map(numbers.__getitem__, items), np.int64, len(items))
        return counts, codes, list(numbers)

    def stage(self, cells: Cells) -> Part:
        counts, codes, values = self._factors(cells)
        keys = self._keys(values)
        present = counts > 0
        if not present.all():  # an empty list is there, and has nothing
            there = [cells.items[row] is not ABSENT for row in np.flatnonzero(~present)]
            present[~present] = there
        learned = {"codes": codes, "values": values, "keys": keys, "present": present}
        return Part(counts=counts, keys=keys[codes], cells=learned)

    def _keys(self, values: Sequence[Value]) -> Keys:
        keys = np.empty(len(values), np.uint64)
        at = [self.known.get(value) for value in values]
        new = [i for i, place in enumerate(at) if place is None and values[i] is not None]
        for i, place in enumerate(at):
            keys[i] = self.missing_key if place is None else self.keys[place]
        keys[new] = _core.hash_strings([values[i] or "" for i in new], self.key)
        return keys

    def claims(self, part: Part, limits: Limits) -> list[tuple[int, Value]]:
        """Which values of a table ask for a place in the dense part, and after which row."""
        n = self.n + np.cumsum(part.cells["present"])
        if not self.indicators or not len(n) or (self.n >= OPENS_AT and not self.is_open):
            return []
        values, codes = part.cells["values"], part.cells["codes"]
        rows = np.repeat(np.arange(len(n)), part.counts)
        first = rows[np.unique(codes, return_index=True)[1]].tolist() if len(codes) else []
        new = [
            (row, value)
            for row, value in zip(first, values, strict=True)
            if value not in self.known and is_kept(value)
        ]
        if self.n >= OPENS_AT:
            return new
        if n[-1] < OPENS_AT:
            return []
        opening = int(np.flatnonzero(n == OPENS_AT)[0])
        early = [*self.known, *(value for row, value in new if row <= opening)]
        if len(early) > limits.indicators:
            return []
        later = [(row, value) for row, value in new if row > opening]
        return [*((opening, value) for value in early), *later]

    def commit(self, part: Part, rows: int, limits: Limits) -> None:
        present = part.cells["present"][:rows]
        before, self.n = self.n, self.n + int(np.count_nonzero(present))
        end = int(part.counts[:rows].sum())
        values, keys = part.cells["values"], part.cells["keys"].tolist()
        codes = part.cells["codes"]
        if self.indicators and before < OPENS_AT <= self.n:
            opening = int(np.flatnonzero(before + np.cumsum(present) == OPENS_AT)[0])
            there = codes[: int(part.counts[: opening + 1].sum())]
            early = {values[code] for code in np.unique(there).tolist()}
            kept = self.known.keys() | {value for value in early if is_kept(value)}
            self.is_open = len(kept) <= limits.indicators
        counts = np.bincount(codes[:end], minlength=len(values)).tolist()
        for value, key, times in zip(values, keys, counts, strict=True):
            if times:
                self._count(value, times, limits, key)
                if value is None:
                    self.missing += times

    def cell_at(self, part: Part, row: int) -> list[Any]:
        end = int(part.counts[: row + 1].sum())
        codes = part.cells["codes"][end - int(part.counts[row]) : end]
        return [part.cells["values"][code] for code in codes]

    @property
    def distinct(self) -> int:
        """How many values there were; about, if not all are known."""
        return len(self.known) if self.sketch is None else self.sketch.count()

    def describe(self) -> str:
        if self.sketch is None:
            return f"{self.distinct:,} values so far"
        return f"about {self.distinct:,} values so far, {len(self.known):,} of them by name"

    def labels(self, cell: Value | list[str]) -> dict[int, str]:
        if cell is None:
            return super().labels(cell)
        values = cell if isinstance(cell, list) else [cell]
        return {self.key_of(value): self.label(value) for value in values}

    def label(self, value: Value) -> str:
        """What a value is called."""
        return f"{self.name} is missing" if value is None else f"{self.name}={value:.80}"

    def key_names(self) -> dict[int, str]:
        names = super().key_names()
        for value, key in zip(self.known, self.keys, strict=True):
            names[key] = self.label(value)
        return names

    @property
    def bytes(self) -> int:
        entries = sum(sys.getsizeof(value) + 150 for value in self.known)
        return super().bytes + entries + (0 if self.sketch is None else 2048)

    def combined(
        self, others: Sequence[Any], start: Column | None, base: Column | None, limits: Limits
    ) -> dict[str, Any]:
        """The dictionaries united, counts added; values beyond the limit are only sketched."""
        every = [self, *others]
        begin, old, *counts = (
            dict(zip(each.known, each.counts, strict=True))
            if isinstance(each, Category) and each.kind == self.kind
            else {}
            for each in (start, base, *every)
        )
        total = dict(begin)
        for own in counts:
            for value, n in own.items():
                total[value] = total.get(value, 0) + n - old.get(value, 0)
        new = [value for value in total if value not in begin]
        new.sort(key=lambda value: (-total[value], value is None, value or ""))
        kept = [*begin, *new][: limits.values]
        sketches = [each.sketch.registers for each in every if each.sketch is not None]
        registers = None
        if sketches or len(kept) < len(total):
            sketch = Sketch()
            for each in every:
                sketch.add(np.array(each.keys, np.uint64))
            registers = np.max([sketch.registers, *sketches], axis=0)
        return super().combined(others, start, base, limits) | {
            "values": kept,
            "counts": np.array([max(total[value], 1) for value in kept], np.int64),
            "place_of": np.full(len(kept), -1, np.int64),
            "places": [],  # encoders of learners give values none
            "is_open": any(each.is_open for each in every),
            "registers": registers,
        }

    def state(self) -> dict[str, Any]:
        registers = None if self.sketch is None else self.sketch.registers.copy()
        return {
            **super().state(),
            "values": list(self.known),
            "counts": np.array(self.counts, np.int64),
            "place_of": np.array(self.place_of, np.int64),
            "is_open": self.is_open,
            "registers": registers,
        }

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        values, counts, place_of = state["values"], state["counts"], state["place_of"]
        if not isinstance(values, list) or not all(
            value is None or (isinstance(value, str) and value and is_kept(value))
            for value in values
        ):
            raise ValueError("saved values must be a list of short texts")
        self.known = {value: at for at, value in enumerate(values)}
        for array in (counts, place_of):
            if not isinstance(array, np.ndarray) or array.dtype != np.int64:
                raise TypeError("saved counts and places must be arrays of int64")
        fits = len(self.known) == len(values) == len(counts) == len(place_of)
        if not fits or (counts < 1).any() or (counts > _validate.MOST_STEPS).any():
            raise ValueError("saved values, counts and places do not go together")
        if sorted(self.places) != sorted(place_of[place_of >= 0].tolist()):
            raise ValueError("saved places are not those of the values")
        self.keys = [self.key_of(value) for value in values]
        self.counts, self.place_of = counts.tolist(), place_of.tolist()
        self.is_open = _validate.flag(state["is_open"], "is_open")
        registers = state["registers"]
        self.sketch = None if registers is None else Sketch(registers)


class Tags(Category):
    """A list of categories in each record; sparse only."""

    kind = "tags"
    indicators = False


def is_kept(value: Value) -> bool:
    """Whether a value is short enough to be remembered."""
    return value is None or len(value) <= LONGEST_VALUE


def _as_list(cell: Any) -> list[Value]:
    if isinstance(cell, list):
        return cell
    return [] if cell is ABSENT else [cell]
