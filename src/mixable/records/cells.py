"""Cells of records as Python has them: what is missing, what a number, text or list is."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timezone
from enum import Enum
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mixable import _core
from mixable.records.declaration import Name


class Nothing(Enum):
    """What a record has under a name that it does not have."""

    ABSENT = "absent"


ABSENT: Final = Nothing.ABSENT

NUMBER, MISSING, WORD, INFINITE, UNCLEAR = 0, 1, 2, 3, 5  # as _core.read_number has them
LONGEST_LIST = 1000


def refusal(name: Name, cell: Any, why: str) -> TypeError:
    """The error for a cell that no column can have."""
    return TypeError(f"column {name!r:.80} has {type(cell).__name__} {cell!r:.80}: {why}")


def plain(cell: Any, name: Name) -> Any:
    """A cell as None, bool, int, float, str, datetime, date or a list; TypeError for the rest."""
    kind = type(cell)
    if kind is str or kind is float or kind is int or kind is bool or cell is None:
        return cell
    if isinstance(cell, np.datetime64):
        return None if np.isnat(cell) else _moment(cell)
    if isinstance(cell, np.generic):
        return plain(cell.item(), name) if kind is not np.longdouble else float(cell)
    if isinstance(cell, (str, bool, int, float)):  # a class of the user's own
        base = next(each for each in (str, bool, int, float) if isinstance(cell, each))
        return base.__str__(cell) if base is str else base(cell)
    if isinstance(cell, (list, tuple, set, frozenset, np.ndarray)):
        return tags(cell, name)
    if isinstance(cell, Mapping):
        raise refusal(name, cell, "a record within a record; flatten it first")
    if isinstance(cell, (bytes, bytearray, memoryview)):
        raise refusal(name, cell, "decode bytes first")
    if type(cell).__name__ in ("NAType", "NaTType"):  # of pandas, which is not imported for it
        return None
    if isinstance(cell, (datetime, date)):
        return cell
    if isinstance(cell, numbers.Real) or type(cell).__name__ == "Decimal":
        try:
            return float(cell)
        except (ValueError, OverflowError):
            raise refusal(name, cell, "it has no value in double precision") from None
    raise refusal(name, cell, "a cell must be a number, text, a time, a list of texts, or None")


def _moment(cell: np.datetime64) -> datetime | float:
    """A datetime, or seconds since 1970 where the calendar of Python ends."""
    moment = cell.astype("datetime64[us]").item()
    return moment if isinstance(moment, datetime) else float(moment) / 1e6


def tags(cell: Any, name: Name) -> list[str]:
    """A list of tags, each as text; a set is sorted, since its order is random."""
    if type(cell) is list and len(cell) <= LONGEST_LIST and all(type(tag) is str for tag in cell):
        return [tag for tag in dict.fromkeys(cell) if tag]
    items = cell.tolist() if isinstance(cell, np.ndarray) else list(cell)
    if not isinstance(items, list):
        raise refusal(name, cell, "an array without a length")
    if len(items) > LONGEST_LIST:
        raise refusal(name, cell, f"a list of more than {LONGEST_LIST:,} tags")
    found = []
    for item in items:
        if isinstance(item, (list, tuple, set, frozenset, np.ndarray, Mapping)):
            raise refusal(name, cell, "a list within a list; flatten it first")
        tag = as_text(plain(item, name))
        if tag is not None:
            found.append(tag)
    found = list(dict.fromkeys(found))
    return sorted(found) if isinstance(cell, (set, frozenset)) else found


def is_missing(cell: Any) -> bool:
    """Whether a cell has no value: None, an empty text, NaN."""
    return cell is None or (isinstance(cell, (str, float)) and (cell == "" or cell != cell))


def as_text(cell: Any) -> str | None:
    """A plain cell as the name of a category: 7, 7.0 and "7" are the same; None if it is missing.

    >>> [as_text(cell) for cell in (7.0, "7", True, "True", 0.5, "", float("nan"))]
    ['7', '7', 'True', 'True', '0.5', None, None]
    """
    if type(cell) is str:
        return cell or None
    if cell is None or cell != cell:
        return None
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        return str(int(cell))
    if isinstance(cell, (datetime, date)):
        return cell.isoformat()
    if isinstance(cell, int) and not isinstance(cell, bool) and cell.bit_length() > 1000:
        return hex(cell)  # Python refuses to write integers of many digits in tens
    return str(cell)


class Voted(float):
    """A number whose text shows which decimal mark it has: +1 the point, -1 the comma."""

    __slots__ = ("vote",)
    vote: int


def number(cell: Any, name: Name, mark: str = "") -> float | str | None:
    """A number; None if it is missing; a text that is not a number, as it is.

    The mark, "." or ",", says what 1,234 is; "" if it is unknown.
    """
    kind = type(cell)
    if kind is float and cell - cell == 0.0:
        return float(cell)
    value, what, vote = _core.read_number(cell, mark)
    if what == NUMBER and vote:
        voted = Voted(value)
        voted.vote = vote
        return voted
    if what == NUMBER:
        return value
    if what == MISSING:
        return None
    if what in (WORD, UNCLEAR):
        return str(cell)
    if what == INFINITE:
        raise ValueError(f"column {name!r:.80} is {cell!r:.80}; numbers must be finite")
    cell = plain(cell, name)
    if isinstance(cell, list):
        raise refusal(name, cell, "the column has numbers; declare it as tags if it has lists")
    if isinstance(cell, (datetime, date)):
        moment = instant(cell, name)
        return None if moment is None or isinstance(moment, str) else moment[1]
    return number(cell, name, mark)


# Seconds, milliseconds, microseconds, nanoseconds since 1970: up to the year 5138 in each.
_UNITS = ((1e11, 1.0), (1e14, 1e-3), (1e17, 1e-6), (math.inf, 1e-9))


def instant(cell: Any, name: Name, order: str = "") -> tuple[float, float, int] | str | None:
    """Seconds since 1970, on the wall and in UTC; None if missing; text that is no time, as it is.

    The third number is +1 (-1) if a text shows that the day (the month) comes first. The order,
    "day" or "month", says what 01/02/2024 is; "" if it is unknown.

    A number is seconds since 1970, or milli-, micro- or nanoseconds if it is beyond 1e11, 1e14 or
    1e17. A time without a zone counts as UTC.
    """
    if type(cell) is str:
        moment = _core.read_time(cell, order)
        if moment is not None:
            return moment if moment[0] == moment[0] else cell
        value = number(cell, name)
        if not isinstance(value, float):
            return value
        cell = value
    cell = plain(cell, name)
    if cell is None or cell != cell:
        return None
    if isinstance(cell, list):
        raise refusal(name, cell, "the column has times")
    if isinstance(cell, datetime):
        wall = cell.replace(tzinfo=timezone.utc).timestamp()
        offset = cell.utcoffset()
        return wall, wall if offset is None else wall - offset.total_seconds(), 0
    if isinstance(cell, date):
        wall = 86400.0 * (cell.toordinal() - 719163)
        return wall, wall, 0
    if isinstance(cell, str):
        return cell
    value = number(cell, name)
    if not isinstance(value, float):
        return value
    value *= next(unit for most, unit in _UNITS if abs(value) < most)
    return value, value, 0


def elected(votes: Sequence[int], formats: tuple[str, str]) -> str:
    """The format that has more votes; "" if there is none."""
    if votes[0] == votes[1]:
        return ""
    return formats[0] if votes[0] > votes[1] else formats[1]


def votes_of(texts: Sequence[str], counts: Sequence[int] | None = None) -> dict[str, list[int]]:
    """What some texts tell: votes by kind, of numbers for "." and of times for "day"."""
    weight = np.ones(len(texts)) if counts is None else np.array(counts, np.float64)
    found: dict[str, NDArray[Any]] = {
        "number": _core.read_numbers(list(texts), "")[2],
        "time": _core.read_times(list(texts), "")[:, 2],
    }
    return {
        kind: [int(weight[votes > 0].sum()), int(weight[votes < 0].sum())]
        for kind, votes in found.items()
    }
