"""Columns of numbers: a place in the dense part, and a key for what is missing or a word."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from mixable import _core
from mixable._types import Array
from mixable.records import cells as read
from mixable.records.cells import ABSENT
from mixable.records.column import Draft, Formatted, Keys, Part, Votes
from mixable.records.tables import Cells


class Number(Formatted):
    """A number is dense, NaN if it is missing, with a key that says so.

    A text that is not a number, such as "unknown", is missing in the dense part and has a key of
    its own. Currencies are left out, and 15% is 0.15. In a cross a number counts by its size, to
    half an octave.
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
        return _core.read_number(word, "")[1] == read.UNCLEAR

    def put(self, cell: float | str | None, draft: Draft) -> None:
        if isinstance(cell, float):
            draft.dense[self.places[0]] = cell
        else:
            draft.put(self.key_of(cell))

    def put_absent(self, draft: Draft) -> None:
        draft.put(self.missing_key)

    def learn(self, cell: Any, most: int) -> None:
        super().learn(cell, most)
        if isinstance(cell, str):
            self.learn_words([cell])
        elif type(cell) is read.Voted:
            self.vote_one(cell.vote)

    def learn_absent(self) -> None:
        super().learn(None, 0)

    def cross_key(self, value: float) -> int:
        """What a number counts as in a cross."""
        return _core.join_keys(self.key, 1000 + bucket(value))

    def crossed(self, draft: Draft, begin: int) -> list[int]:
        value = draft.dense[self.places[0]]
        return [self.cross_key(value)] if value == value else draft.keys[begin:]

    def labels(self, cell: float | str | None) -> dict[int, str]:
        return {} if isinstance(cell, float) else super().labels(cell)

    def cross_labels(self, cell: float | str | None) -> dict[int, str]:
        if isinstance(cell, float):
            return {self.cross_key(cell): f"{self.name}~{cell:g}"}
        return self.labels(cell)

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
        missing = np.isnan(values)
        keys = np.full(np.count_nonzero(missing), self.missing_key, np.uint64)
        if words:
            order = np.cumsum(missing) - 1
            for row, word in words.items():
                keys[order[row]] = self.key_of(word)
        learned = {"words": words, "votes": votes, "absent": cells.absent(len(values))}
        return Part(
            counts=missing.astype(np.int64), keys=keys, dense=values[:, None], cells=learned
        )

    def crossed_part(self, part: Part) -> Part:
        assert part.dense is not None
        values, there = part.dense[:, 0], ~part.cells["absent"]
        known = ~np.isnan(values)
        keys: Keys = np.empty(len(values), np.uint64)
        unique, place = np.unique(values[known], return_inverse=True)
        keys[known] = np.array([self.cross_key(each) for each in unique.tolist()], np.uint64)[place]
        keys[~known] = part.keys
        return Part(counts=there.astype(np.int64), keys=keys[there])

    def texts(self, part: Part, rows: int) -> list[tuple[int, str]]:
        return [(row, word) for row, word in part.cells["words"].items() if row < rows]

    def cell_at(self, part: Part, row: int) -> float | str | None:
        assert part.dense is not None
        value = float(part.dense[row, 0])
        word: str | None = part.cells["words"].get(row)
        return value if value == value else word

    def commit(self, part: Part, rows: int, most: int) -> None:
        words = [word for _, word in self.texts(part, rows)]
        self.vote(part.cells["votes"][:rows])
        self.n += rows
        self.missing += int(part.counts[:rows].sum()) - len(words)
        self.learn_words(words)

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
