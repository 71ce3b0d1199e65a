"""Which numbers of a row come from which column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mixable.records.category import Category
from mixable.records.cells import ABSENT
from mixable.records.column import Column, Draft
from mixable.records.crosses import Cross, crossed
from mixable.records.declaration import Name
from mixable.records.loose import loose_keys

if TYPE_CHECKING:
    from mixable.records.state import State


@dataclass(slots=True, kw_only=True)
class Piece:
    """What one column, or one cross, has put into a row.

    `keys` are the places begin to end in `row.keys` (of a cross, in `row.cross_keys`), `places`
    those in `row.dense`.
    """

    column: Name  # of a cross, both names
    value: Any  # as the record has it
    places: list[int]
    keys: range
    is_cross: bool = False


def pieces(
    columns: Iterable[Column],
    crosses: Iterable[Cross],
    record: Mapping[Name, Any],
    blank: list[float],
) -> list[Piece]:
    """The pieces of a row, in the order of its keys."""
    draft, out = Draft(blank.copy()), []
    known: dict[Name, list[int]] = {}
    for column in columns:
        cell, begin = record.get(column.name, ABSENT), len(draft.keys)
        draft.dense += [float("nan")] * (max(column.places, default=-1) + 1 - len(draft.dense))
        if cell is ABSENT:
            column.put_absent(draft)
        else:
            column.put(column.plain(cell), draft)
            known[column.name] = crossed(column, draft, begin)
        places = [
            place
            for place in column.places
            if not isinstance(column, Category) or draft.dense[place] == 1.0
        ]
        keys = range(begin, len(draft.keys))
        if cell is not ABSENT or keys:
            value = None if cell is ABSENT else cell
            out.append(Piece(column=column.name, value=value, places=places, keys=keys))
    end = len(draft.keys)
    for name, cell in record.items():
        if name not in known:
            begin, end = end, end + len(loose_keys(name, cell))
            out.append(Piece(column=name, value=cell, places=[], keys=range(begin, end)))
    end = 0
    for cross in crosses:
        if cross.left in known and cross.right in known:
            pairs = cross.keys(known[cross.left], known[cross.right])
            begin, end = end, end + len(pairs)
            names = (cross.left, cross.right)
            values = tuple(record[name] for name in names)
            keys = range(begin, end)
            out.append(Piece(column=names, value=values, places=[], keys=keys, is_cross=True))
    return out


def owners(state: State) -> dict[int, Name]:
    """The column of each key that is remembered; keys of values and words, not of crosses."""
    columns = state.registry.columns
    by_text = {str(name): name for name in columns}
    out: dict[int, Name] = {}
    for key, label in state.names.items():
        # A word of a text or a number's column is remembered with its column, a count as it is.
        heads = (label.partition(mark)[0] for mark in (": ", "="))
        out[key] = next((by_text[head] for head in heads if head in by_text), label)
    for column in columns.values():
        out.update(dict.fromkeys(column.key_names(), column.name))
    return out
