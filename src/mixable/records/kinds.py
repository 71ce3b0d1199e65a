"""Guessing what a column is from its first values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from itertools import islice
from typing import Any

from mixable import _core
from mixable.records.cells import INFINITE, NUMBER, UNCLEAR, as_text, elected, plain, votes_of
from mixable.records.declaration import Name

SAMPLE = 100
"""Values that a kind is guessed from."""

MARKS = ("?", "NA")
"""What stands for a number that is missing (core/text/csv.hpp); among words, a word."""

LONG_TEXT = 100  # characters; names of categories are shorter


def guess(name: Name, cells: Iterable[Any]) -> str | None:
    """The kind of a column by its values; None if all are missing.

    >>> guess("price", ["9.5", "", "12"]), guess("colour", ["red", "blue"])
    ('number', 'category')
    >>> guess("size", ["?", "?", "4"]), guess("answer", ["?", "yes", "no"])
    ('number', 'category')
    >>> guess("query", ["red shoes for men"]), guess("at", ["2024-02-29T13:05"])
    ('text', 'time')
    >>> guess("cost", ["$9.99", "$1,200"]), guess("born", ["1/2/1990", "31/12/1988"])
    ('number', 'time')
    """
    sample = [value for _, value in islice(values(name, cells), SAMPLE)]
    if not sample:
        return None
    sample = [cell for cell in sample if cell not in MARKS] or sample
    formats = formats_of([cell for cell in sample if isinstance(cell, str)])
    found = [_kind(cell, *formats) for cell in sample]
    kind = max(dict.fromkeys(found), key=found.count)  # the first of those that are most frequent
    if (
        kind == "number"
        and is_identifier(name)
        and all(_is_whole(cell, formats[0]) for cell in sample)
    ):
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


def formats_of(texts: Sequence[str], counts: Sequence[int] | None = None) -> tuple[str, str]:
    """The decimal mark and the order of dates that some texts tell; "" for what they do not."""
    votes = votes_of(texts, counts)
    return elected(votes["number"], (".", ",")), elected(votes["time"], ("day", "month"))


def _kind(cell: Any, mark: str, order: str) -> str:
    if isinstance(cell, list):
        return "tags"
    if isinstance(cell, bool):
        return "category"
    if isinstance(cell, date):
        return "time"
    if not isinstance(cell, str):
        return "number"
    kind = kind_of_text(cell, mark, order)
    return "word" if kind.startswith("unclear") else kind


def kind_of_text(text: str, mark: str = "", order: str = "") -> str:
    """What a text looks like: "number", "time" or "word"; if only its column's format can tell
    which number or time it is, "unclear number" or "unclear time".

    >>> [kind_of_text(text) for text in ("15%", "31.12.2024", "1,234", "01/02/2024")]
    ['number', 'time', 'unclear number', 'unclear time']
    """
    if len(text) <= LONG_TEXT:
        what = _core.read_number(text, mark)[1]
        if what in (NUMBER, INFINITE) and not is_code(text):
            return "number"
        if what == UNCLEAR:
            return "unclear number"
        moment = _core.read_time(text, order)
        if moment is not None:
            return "time" if moment[0] == moment[0] else "unclear time"
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


def _is_whole(cell: Any, mark: str) -> bool:
    if isinstance(cell, str):
        value, what, _ = _core.read_number(cell, mark)
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
