"""Columns of text: words and pairs of words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from mixable import _core
from mixable.records.cells import ABSENT, as_text, plain
from mixable.records.column import Column, Draft, Part, saved_count
from mixable.records.tables import Cells

MOST_CHARACTERS = 10_000
"""What is read of a text; the rest is cut, and counted."""


class Text(Column):
    """Words in lower case and pairs of words that follow each other, hashed.

    A text with n different ones has a norm of n^(1/4): longer texts say more, but not as much more
    as they are longer. A word that comes c times counts 1 + log c.
    """

    kind = "text"
    plain_types = (str, type(None))
    saved = (*Column.saved, "cut")

    def __init__(self, name: Any, *, guessed: bool = False) -> None:
        super().__init__(name, guessed=guessed)
        self.cut = 0  # texts learned that were longer than what is read

    def plain(self, cell: Any) -> str | None:
        if type(cell) is not str:
            cell = plain(cell, self.name)
            cell = " ".join(cell) if isinstance(cell, list) else as_text(cell) or ""
        return cell[: MOST_CHARACTERS + 1] or None

    def put(self, cell: str | None, draft: Draft) -> None:
        if cell is None:
            return draft.put(self.missing_key)
        _, keys, values, _ = _core.hash_texts([cell], self.key, MOST_CHARACTERS)
        draft.keys += keys.tolist()
        draft.values += values.tolist()

    def learn(self, cell: Any, most: int) -> None:
        super().learn(cell, most)
        if cell is not None and len(cell) > MOST_CHARACTERS:
            self.cut += 1

    def labels(self, cell: str | None) -> dict[int, str]:
        if cell is None:
            return super().labels(cell)
        words = _core.text_names(cell, self.key, MOST_CHARACTERS)
        return {key: f"{self.name}: {word}" for key, word in words.items()}

    def stage(self, cells: Cells) -> Part:
        texts = [None if cell is ABSENT else self.plain(cell) for cell in cells.items]
        present = ~cells.absent(len(texts))
        missing = present & np.array([text is None for text in texts], bool)
        read = [text or "" for text in texts]
        ends, keys, values, cut = _core.hash_texts(read, self.key, MOST_CHARACTERS)
        counts = np.diff(ends, prepend=0)
        if missing.any():
            at = ends[missing]  # an empty text ends where it begins
            keys = np.insert(keys, at, np.uint64(self.missing_key))
            values = np.insert(values, at, np.float32(1))
            counts[missing] = 1
        learned = {"present": present, "missing": missing, "cut": cut, "texts": texts}
        return Part(counts=counts, keys=keys, values=values, cells=learned)

    def commit(self, part: Part, rows: int, most: int) -> None:
        counts = (int(part.cells[name][:rows].sum()) for name in ("present", "missing", "cut"))
        present, missing, cut = counts
        self.n, self.missing, self.cut = self.n + present, self.missing + missing, self.cut + cut

    def texts(self, part: Part, rows: int) -> Iterable[tuple[int, str]]:
        texts = enumerate(part.cells["texts"][:rows])
        return ((row, text) for row, text in texts if text is not None)

    def cell_at(self, part: Part, row: int) -> str | None:
        text: str | None = part.cells["texts"][row]
        return text

    def describe(self) -> str:
        return f"{self.cut:,} cut after {MOST_CHARACTERS:,} characters" if self.cut else ""

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        self.cut = saved_count(state["cut"], self.n)
