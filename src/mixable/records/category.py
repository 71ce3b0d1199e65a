"""Columns of categories, and of lists of them: a key for each value."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixable import _core, _validate
from mixable.records.cells import ABSENT, LONGEST_LIST, as_text, plain, tags
from mixable.records.column import Column, Draft, Ends, Keys, Part
from mixable.records.tables import Cells, by_appearance

Value = str | None  # None is missing, a value like any other

LONGEST_VALUE = 256  # characters; longer values are hashed, and not remembered


class Category(Column):
    """A key for each value. A value that was never observed before has one, too.

    Values are remembered, with their counts, up to a limit; then they are only counted.
    """

    kind = "category"
    plain_types = (str, list, type(None))

    def __init__(self, name: Any, *, guessed: bool = False) -> None:
        super().__init__(name, guessed=guessed)
        self.known: dict[Value, int] = {}
        self.keys: list[int] = []
        self.counts: list[int] = []
        self.sketch: Sketch | None = None  # of all values, once not all are known
        # In files of version 0.2 few values had places in the dense part: 1 where a record has
        # one, else 0.
        self.place_of: dict[Value, int] = {}
        self.order = -1  # the place of the column among those of categories; -1: none

    def plain(self, cell: Any) -> Value | list[str]:
        if type(cell) is str:
            return cell or None
        if type(cell) is list:
            return tags(cell, self.name)
        cell = plain(cell, self.name)
        return cell if isinstance(cell, list) else as_text(cell)

    def put(self, cell: Value | list[str], draft: Draft) -> None:
        values = cell if isinstance(cell, list) else (cell,)
        for value in values:
            at = self.known.get(value)
            draft.keys.append(self.key_of(value) if at is None else self.keys[at])
            draft.values.append(1.0)
        if self.order >= 0 and len(values) == 1 and values[0] is not None:
            draft.categories[self.order] = draft.keys[-1]
        for value, place in self.place_of.items():
            draft.dense[place] = float(value in values)

    def put_absent(self, draft: Draft) -> None:
        for place in self.places:
            draft.dense[place] = 0.0

    def learn(self, cell: Any, most: int) -> None:
        super().learn(cell, most)
        for value in cell if isinstance(cell, list) else (cell,):
            self._count(value, 1, most)

    def _count(self, value: Value, times: int, most: int) -> None:
        """Count a value, which may be new."""
        at = self.known.get(value)
        if at is not None:
            self.counts[at] += times
            return
        key = self.key_of(value)
        if is_kept(value) and len(self.known) < most:
            self.known[value] = len(self.known)
            self.keys.append(key)
            self.counts.append(times)
        elif self.sketch is None:
            self.sketch = Sketch()
            self.sketch.add(np.array(self.keys, np.uint64))
        if self.sketch is not None:
            self.sketch.add_one(key)

    def _factors(self, cells: Cells) -> tuple[Ends, NDArray[np.int64], list[Value]]:
        """Values of each row, as counts and numbers, and the values, by first appearance."""
        if cells.factors is not None or (cells.numbers is not None and len(cells.numbers)):
            if cells.factors is not None:
                codes, values = cells.factors
            else:
                codes, raw = by_appearance(cells.numbers)
                values = [as_text(plain(value, self.name)) for value in raw]
            return np.ones(len(codes), np.int64), codes, list(values)
        found = _core.factors(cells.items, ABSENT, LONGEST_LIST)
        if found is None:  # of other cells than texts and lists of them
            items = [cell if cell is ABSENT else self.plain(cell) for cell in cells.items]
            found = _core.factors(items, ABSENT, LONGEST_LIST)
            assert found is not None
        return found

    def stage(self, cells: Cells) -> Part:
        counts, codes, values = self._factors(cells)
        own, at = self.keys, [self.known.get(value, -1) for value in values]
        found = zip(values, at, strict=True)
        keys: Keys = np.array([own[i] if i >= 0 else self.key_of(v) for v, i in found], np.uint64)
        present = counts > 0
        if not present.all():  # an empty list is there, and has nothing
            there = [cells.items[row] is not ABSENT for row in np.flatnonzero(~present)]
            present[~present] = there
        learned = {"codes": codes, "values": values, "present": present}
        part = Part(counts=counts, keys=keys[codes], cells=learned)
        if self.order >= 0:
            is_missing = np.array([value is None for value in values], bool)
            is_one = counts == 1
            part.categories = np.zeros(len(counts), np.uint64)
            of_one = np.where(is_missing, np.uint64(0), keys)[codes]
            part.categories[is_one] = of_one[np.repeat(is_one, counts)]
        if self.places:
            part.dense = np.zeros((len(counts), len(self.places)))
            for place, value in enumerate(self.place_of):
                if value in values:
                    part.dense[part.rows[codes == values.index(value)], place] = 1.0
        return part

    def commit(self, part: Part, rows: int, most: int) -> None:
        self.n += int(np.count_nonzero(part.cells["present"][:rows]))
        end, values = int(part.counts[:rows].sum()), part.cells["values"]
        counts = np.bincount(part.cells["codes"][:end], minlength=len(values)).tolist()
        for value, times in zip(values, counts, strict=True):
            if times:
                self._count(value, times, most)
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
        values = cell if isinstance(cell, list) else [cell]
        return {self.key_of(value): self.label(value) for value in values}

    def key_names(self) -> dict[int, str]:
        known = zip(self.keys, map(self.label, self.known), strict=True)
        return {**super().key_names(), **dict(known)}

    @property
    def bytes(self) -> int:
        entries = sum(sys.getsizeof(value) + 150 for value in self.known)
        return super().bytes + entries + (0 if self.sketch is None else REGISTERS)

    def combined(
        self, others: Sequence[Any], start: Column | None, base: Column | None, most: int
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
        kept = [*begin, *new][:most]
        sketches = [each.sketch.registers for each in every if each.sketch is not None]
        registers = None
        if sketches or len(kept) < len(total):
            sketch = Sketch()
            for each in every:
                sketch.add(np.array(each.keys, np.uint64))
            registers = np.max([sketch.registers, *sketches], axis=0)
        return super().combined(others, start, base, most) | {
            "values": kept,
            "counts": np.array([max(total[value], 1) for value in kept], np.int64),
            "place_of": np.full(len(kept), -1, np.int64),
            "places": [],  # encoders of learners give values none
            "registers": registers,
        }

    def state(self) -> dict[str, Any]:
        return {
            **super().state(),
            "values": list(self.known),
            "counts": np.array(self.counts, np.int64),
            "place_of": np.array([self.place_of.get(v, -1) for v in self.known], np.int64),
            "registers": None if self.sketch is None else self.sketch.registers.copy(),
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
        pairs = zip(values, place_of.tolist(), strict=True)
        self.place_of = {value: place for value, place in pairs if place >= 0}
        if sorted(self.places) != sorted(self.place_of.values()):
            raise ValueError("saved places are not those of the values")
        self.places = list(self.place_of.values())
        self.keys, self.counts = [self.key_of(value) for value in values], counts.tolist()
        registers = state["registers"]
        self.sketch = None if registers is None else Sketch(registers)


class Tags(Category):
    """A list of categories in each record."""

    kind = "tags"


def is_kept(value: Value) -> bool:
    """Whether a value is short enough to be remembered."""
    return value is None or len(value) <= LONGEST_VALUE


BITS = 11
REGISTERS = 1 << BITS  # a standard error of 1.04 / sqrt(2048) = 2.3%


class Sketch:
    """Estimates the number of different keys (HyperLogLog; Flajolet and others, 2007).

    >>> from mixable import _core
    >>> sketch = Sketch()
    >>> sketch.add(np.array([_core.hash_string(str(i), 0) for i in range(100_000)], np.uint64))
    >>> abs(sketch.count() / 100_000 - 1) < 0.1
    True
    """

    def __init__(self, registers: Any = None) -> None:
        if registers is None:
            registers = np.zeros(REGISTERS, np.uint8)
        is_registers = isinstance(registers, np.ndarray) and registers.dtype == np.uint8
        if not is_registers or registers.shape != (REGISTERS,) or (registers > 64 - BITS + 1).any():
            raise ValueError(f"a saved sketch must have {REGISTERS} registers")
        self.registers: NDArray[np.uint8] = registers

    def add(self, keys: Keys) -> None:
        """Count some keys."""
        place = (keys >> np.uint64(64 - BITS)).astype(np.int64)
        rest = keys << np.uint64(BITS)
        # frexp gives the place of the highest bit, exactly, once the lower ones are gone.
        high = (rest >> np.uint64(32)).astype(np.float64)
        low = (rest & np.uint64(0xFFFFFFFF)).astype(np.float64)
        lead = np.where(high > 0, 32 - np.frexp(high)[1], 64 - np.frexp(low)[1])
        rank = np.minimum(lead + 1, 64 - BITS + 1).astype(np.uint8)
        np.maximum.at(self.registers, place, rank)

    def add_one(self, key: int) -> None:
        """Count one key."""
        place = key >> (64 - BITS)
        rest = (key << BITS) & 0xFFFFFFFFFFFFFFFF
        rank = min(64 - rest.bit_length() + 1, 64 - BITS + 1)
        if rank > self.registers[place]:
            self.registers[place] = rank

    def count(self) -> int:
        """About how many different keys were counted."""
        m = float(REGISTERS)
        estimate = 0.7213 / (1 + 1.079 / m) * m * m / float((0.5**self.registers).sum())
        empty = int(np.count_nonzero(self.registers == 0))
        if estimate <= 2.5 * m and empty:
            estimate = m * math.log(m / empty)
        return round(estimate)
