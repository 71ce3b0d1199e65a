"""Columns of numbers: a place in the dense part, and a key for what is missing or a word."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from mixable import _core
from mixable._types import Array, Truths
from mixable.records import cells as read
from mixable.records.cells import ABSENT
from mixable.records.column import Cells, Draft, Keys, Limits, Part
from mixable.records.formats import Formatted, Votes, is_unclear_number


class Number(Formatted):
    """A number is dense, NaN if it is missing, with a key that says so.

    A text that is not a number, such as "unknown", is missing in the dense part and has a key of
    its own. Currencies are left out, and 15% is 0.15.
    """

    kind = "number"
    plain_types = (float, str, type(None))
    dense_parts = ("",)
    formats = (".", ",")
    in_words: ClassVar[dict[str, str]] = {",": "decimal comma"}
    either = "thousands in groups or a decimal mark"
    remedy = "number=[{name}] for groups, decimal_comma=[{name}], or category=[{name}]"

    def plain(self, cell: Any) -> float | str | None:
        return read.number(cell, self.name, self.format)

    def is_unclear(self, word: str) -> bool:
        return not self.format and is_unclear_number(word)

    def put(self, cell: float | str | None, draft: Draft) -> None:
        if isinstance(cell, float):
            draft.dense[self.places[0]] = cell
            return
        key = self.missing_key
        if isinstance(cell, str):
            key = _core.hash_string(cell, self.key)
        draft.keys.append(key)
        draft.values.append(1.0)

    def put_absent(self, draft: Draft) -> None:
        self.put(None, draft)

    def learn(self, cell: Any, limits: Limits) -> list[Any]:
        super().learn(cell, limits)
        if isinstance(cell, str):
            self.learn_word(cell)
        elif type(cell) is read.Voted:
            self.vote_one(cell.vote)
        return []

    def learn_absent(self) -> None:
        self.n += 1
        self.missing += 1

    def cross_key(self, value: float) -> int:
        """What a number counts as in a cross: its size, to half an octave."""
        return _core.join_keys(self.key, 1000 + bucket(value))

    def labels(self, cell: float | str | None) -> dict[int, str]:
        if isinstance(cell, str):
            return {_core.hash_string(cell, self.key): f"{self.name}={cell:.80}"}
        return super().labels(cell) if cell is None else {}

    def cross_labels(self, cell: float | str | None) -> dict[int, str]:
        if isinstance(cell, float):
            return {self.cross_key(cell): f"{self.name}~{cell:g}"}
        return self.labels(cell)

    def cross_keys(self, values: Array) -> Keys:
        """The same for a column of finite numbers."""
        unique, place = np.unique(values, return_inverse=True)
        found = {float(value): self.cross_key(float(value)) for value in unique}
        return np.array(list(found.values()), np.uint64)[place]

    def _read(self, cells: Cells) -> tuple[Array, dict[int, str], Votes]:
        """Numbers with NaN, the words among them by row, and the votes for a decimal mark."""
        votes: Votes = np.empty(0)
        if cells.numbers is not None:
            values = cells.numbers.astype(np.float64)
            kinds = np.where(np.isinf(values), read.INFINITE, read.NUMBER)
        elif cells.times is not None:
            return cells.times[1], {}, votes
        elif cells.read is not None:
            values, kinds, _ = cells.read
        else:
            values, kinds, votes = _core.read_numbers(cells.items, self.format)
        words = {}
        for row in np.flatnonzero(kinds > read.MISSING).tolist():
            cell = cells.items[row] if cells.read is None else cells.read[2][row]
            value = None if cell is ABSENT else self.plain(cell)  # refuses what is infinite
            if isinstance(value, str):
                words[row] = value
            values[row] = value if isinstance(value, float) else math.nan
        return values, words, votes

    def stage(self, cells: Cells) -> Part:
        values, words, votes = self._read(cells)
        absent = np.isnan(values)
        keys = np.full(np.count_nonzero(absent), self.missing_key, np.uint64)
        if words:
            order = np.cumsum(absent) - 1
            for row, word in words.items():
                keys[order[row]] = _core.hash_string(word, self.key)
        return Part(
            counts=absent.astype(np.int64),
            keys=keys,
            dense=values[:, None],
            cells={
                "words": words,
                "votes": votes,
                "missing": absent,
                "absent": self._absent(cells, len(values)),
            },
        )

    def _absent(self, cells: Cells, n: int) -> Truths:
        """Rows whose record does not have the column."""
        if not (cells.numbers is None and cells.times is None and cells.read is None):
            return np.zeros(n, bool)
        return np.array([cell is ABSENT for cell in cells.items], bool)

    def texts(self, part: Part, rows: int) -> list[tuple[int, str]]:
        return [(row, word) for row, word in part.cells["words"].items() if row < rows]

    def cell_at(self, part: Part, row: int) -> float | str | None:
        if row in part.cells["words"]:
            return str(part.cells["words"][row])
        value = math.nan if part.dense is None else float(part.dense[row, 0])
        return None if math.isnan(value) else value

    def commit(self, part: Part, rows: int, limits: Limits) -> None:
        missing: Truths = part.cells["missing"]
        words = [word for row, word in part.cells["words"].items() if row < rows]
        self.vote(part.cells["votes"][:rows])
        self.n += rows
        self.missing += int(np.count_nonzero(missing[:rows])) - len(words)
        for word in words:
            self.learn_word(word)

    def describe(self) -> str:
        parts = []
        if self.missing:
            parts.append(f"missing in {self.missing / self.n:.1%}")
        if self.words:
            parts.append(f"no number in {self.words:,}")
        return ", ".join(parts)


def bucket(value: float) -> int:
    """The size of a number, to half an octave, with its sign; whole numbers up to 8 as they are."""
    if abs(value) <= 8 and value == int(value):
        return 100 + int(value)
    size = 10_000 + math.floor(2 * math.log2(abs(value)))
    return size if value > 0 else 10_000 + size
