"""Cells that no column is kept for: counts under many names, such as a bag of words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from mixable import _core
from mixable.records.cells import as_text, number, plain
from mixable.records.column import Part
from mixable.records.declaration import Name, name_text
from mixable.records.kinds import kind_of_text


def is_number(cell: Any) -> bool:
    """Whether a plain cell, which is not missing, is a number, or a text that is one."""
    if isinstance(cell, str):
        return kind_of_text(cell) == "number"
    return isinstance(cell, (int, float)) and not isinstance(cell, bool)


def loose_keys(name: Name, cell: Any) -> list[tuple[int, float]]:
    """Keys and values of a cell by itself: absent, missing and 0 are nothing.

    A number x counts as log2(1 + |x|) with its sign, which is 1 for 1: it has no scale of its own.
    """
    cell = plain(cell, name)
    seed = _core.hash_string(name_text(name), 0)
    if isinstance(cell, list):
        return [(_core.hash_string(tag, seed), 1.0) for tag in cell]
    text = as_text(cell)
    if text is None:
        return []
    if not is_number(cell):
        return [(_core.hash_string(text, seed), 1.0)]
    value = number(cell, name)
    if not isinstance(value, float) or not value:
        return []
    return [(_core.join_keys(seed, 3), math.copysign(math.log2(1 + abs(value)), value))]


def loose_part(records: list[Mapping[Name, Any]], known: dict[Name, Any]) -> Part:
    """The cells of some records under names that are not known."""
    counts = np.zeros(len(records), np.int64)
    keys: list[int] = []
    values: list[float] = []
    names: dict[int, list[tuple[int, str]]] = {}  # by row
    first = _core.first_other(records, known)
    for row, record in enumerate(records[first:], first):
        if record.keys() <= known.keys():
            continue
        called = []
        for name, cell in record.items():
            if name not in known:
                try:
                    pairs = loose_keys(name, cell)
                except (TypeError, ValueError) as error:
                    raise type(error)(f"row {row}: {error}") from None
                for key, value in pairs:
                    keys.append(key)
                    values.append(value)
                    called.append((key, str(name)))
        counts[row], names[row] = len(called), called
    return Part(
        counts=counts,
        keys=np.array(keys, np.uint64),
        values=np.array(values, np.float32),
        cells={"names": names},
    )
