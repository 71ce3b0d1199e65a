"""How many records may be encoded together: to the bit as one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mixable import _core
from mixable.records.cells import is_missing
from mixable.records.column import RECONSIDERED
from mixable.records.declaration import Name
from mixable.records.number import Number
from mixable.records.registry import Registry


def alike(registry: Registry, records: list[Any], learned: Sequence[Any]) -> int:
    """How many of the first steps can be one table, 1 or more.

    Each has a record to encode, and one to learn or None. A record that brings a new column is
    alone: the kind of the column goes by its value, not by those of records that happen to come in
    the same table. A table ends where a kind that was guessed is guessed again.
    """
    known = registry.columns.keys()
    end = len(records)
    for some in (records, [{} if record is None else record for record in learned]):
        first = _core.first_other(some, registry.columns)
        for row, record in enumerate(some[first:end], first):
            if not record.keys() <= known and brings_columns(registry, record):
                end = max(row, 1)
                break
    for name, column in registry.columns.items():
        if column.may_change and column.n < RECONSIDERED[-1]:
            left = next(n for n in RECONSIDERED if n > column.n) - column.n
            is_number = isinstance(column, Number)  # which counts records that lack it
            for row in range(end if left <= end else 0):
                record = learned[row]
                if record is not None and (is_number or name in record):
                    left -= 1
                    if not left:
                        end = row + 1
                        break
    return end


def brings_columns(registry: Registry, record: Mapping[Name, Any]) -> bool:
    """Whether a record has values that make new columns, or is the first that is a bag."""
    new = {
        name: cell
        for name, cell in record.items()
        if name not in registry.columns and not is_missing(cell)
    }
    if not new:
        return False
    try:
        kinds = registry.guessed({name: [cell] for name, cell in new.items()})
    except (TypeError, ValueError):
        return True  # it will be refused
    return bool(registry.admitted(kinds, bag=registry.bag)) or (
        not registry.bag and registry.is_bag(record, kinds)
    )
