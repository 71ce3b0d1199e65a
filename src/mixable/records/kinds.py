"""Guessing what a column is from its first values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from itertools import islice
from typing import Any

from mixable import _core
from mixable.records.cells import INFINITE, NUMBER, as_text, plain
from mixable.records.declaration import Name

SAMPLE = 100
"""Values that a kind is guessed from."""

MARKS = ("?", "NA")
"""What stands for a number that is missing (core/csv.hpp); among words, a word."""

LONG_TEXT = 100  # characters; names of categories are shorter


def guess(name: Name, cells: Iterable[Any]) -> str | None:
    """The kind of a column by its values; None if all are missing.

    >>> guess("price", ["9.5", "", "12"]), guess("colour", ["red", "blue"])
    ('number', 'category')
    >>> guess("size", ["?", "?", "4"]), guess("answer", ["?", "yes", "no"])
    ('number', 'category')
    >>> guess("query", ["red shoes for men"]), guess("at", ["2024-02-29T13:05"])
    ('text', 'time')
    """
    sample = [value for _, value in islice(values(name, cells), SAMPLE)]
    if not sample:
        return None
    sample = [cell for cell in sample if cell not in MARKS] or sample
    found = [_kind(cell) for cell in sample]
    kind = max(dict.fromkeys(found), key=found.count)  # the first of those that are most frequent
    if kind == "number" and is_identifier(name) and all(map(_is_whole, sample)):
        return "category"
    if kind != "word":
        return kind
    texts = [cell for cell in sample if isinstance(cell, str)]
    return "text" if looks_like_text(texts, [1] * len(texts)) else "category"


def values(name: Name, cells: Iterable[Any]) -> Iterator[tuple[int, Any]]:
    """The cells that have a value, each with its row, from which a kind can be guessed."""
    for row, cell in enumerate(cells):
        try:
            value = plain(cell, name)
        except TypeError:  # whoever reads the cell says why, and in which row
            continue
        if isinstance(value, list) or as_text(value) is not None:
            yield row, value


def _kind(cell: Any) -> str:
    if isinstance(cell, list):
        return "tags"
    if isinstance(cell, bool):
        return "category"
    if isinstance(cell, date):
        return "time"
    return kind_of_text(cell) if isinstance(cell, str) else "number"


def kind_of_text(text: str) -> str:
    """What a text looks like: "number", "time" or "word"."""
    if len(text) <= LONG_TEXT:
        if _core.read_number(text)[1] in (NUMBER, INFINITE) and not is_code(text):
            return "number"
        if _core.read_time(text) is not None:
            return "time"
    return "word"


def is_code(text: str) -> bool:
    """Whether a text of digits begins with a 0 that a number would not have: 01234."""
    return len(text) > 1 and text[0] == "0" and text[1].isdigit()


def is_identifier(name: Name) -> bool:
    """Whether a column is called "id" or ends so: its integers are names.

    >>> [is_identifier(name) for name in ("user_id", "userId", "ID", "paid")]
    [True, True, True, False]
    """
    if not isinstance(name, str):
        return False
    return name.lower() == "id" or name.endswith(("_id", "-id", " id", "Id", "_ID", ".id"))


def _is_whole(cell: Any) -> bool:
    if isinstance(cell, str):
        value, what = _core.read_number(cell)
        return what == NUMBER and value.is_integer()
    return isinstance(cell, int) or (isinstance(cell, float) and cell.is_integer())


def looks_like_text(values: Sequence[str], counts: Sequence[int]) -> bool:
    """Whether values, each with how often it came, are sentences and not names of categories."""
    if any(len(value) > LONG_TEXT for value in values):
        return True
    n = sum(counts)
    words = sum(count * len(value.split()) for value, count in zip(values, counts, strict=True))
    distinct = len(set(values))
    if n < 10:
        return distinct > n / 2 and words >= 3 * n
    return distinct > n / 2 and words >= 1.75 * n
