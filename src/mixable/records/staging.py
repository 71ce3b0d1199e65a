"""Tables through an encoder: staged column by column, committed row by row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from mixable import _core
from mixable._types import Array
from mixable.records.category import Category
from mixable.records.cells import ABSENT, is_missing
from mixable.records.column import Cells, Column, Part
from mixable.records.crosses import Cross, crossed_part
from mixable.records.declaration import Name, checked_name
from mixable.records.kinds import SAMPLE, values
from mixable.records.loose import loose_part
from mixable.records.registry import Registry
from mixable.records.rows import Rows, side_by_side
from mixable.records.state import State
from mixable.records.tables import column_of, frame_columns, is_records, records_of

Records = list[Mapping[Name, Any]]


@dataclass(slots=True, kw_only=True)
class Claim:
    """A value of a category that has a place in the dense part after a row of the table."""

    row: int
    column: Category
    part: Part
    value: str | None
    place: int


@dataclass(slots=True, kw_only=True)
class Pending:
    """A table that was staged: what `Encoder.commit` learns of it."""

    n: int
    after: int  # records that the encoder had learned
    registry: Registry  # with the columns that are new
    parts: dict[Name, Part]
    loose: Part
    crosses: list[tuple[Cross, Part]]
    claims: list[Claim]

    def __len__(self) -> int:
        return self.n


class Table:
    """A frame by columns, or a list of records."""

    def __init__(self, table: Any) -> None:
        self.records: Records = records_of(table) if is_records(table) else []
        self.frame = {} if is_records(table) else frame_columns(table)
        self.n = len(table)
        if isinstance(table, Mapping):
            self.n = len(next(iter(self.frame.values())).items) if table else 0

    def column(self, name: Name) -> Cells:
        """A column by name, whose cells are absent if the table does not have it."""
        if self.records:
            return column_of(self.records, name)
        return self.frame.get(name) or Cells([ABSENT] * self.n)

    def loose(self, registry: Registry) -> Part:
        """The cells under names for which no column is kept."""
        records = self.records
        if not records:
            others = {
                name: cells.items
                for name, cells in self.frame.items()
                if name not in registry.columns
            }
            rows = zip(*others.values(), strict=True)
            records = [dict(zip(others, row, strict=True)) for row in rows] or [{}] * self.n
        return loose_part(records, registry.columns)


def with_new_columns(registry: Registry, table: Table, sample: int = 1) -> Registry:
    """A copy of the registry with the columns that are new in a table.

    Kinds are guessed from the first values of each column: from one, as one by one.
    """
    trial = registry.copy()
    if not table.records:
        new = {
            name: [value for _, value in islice(values(name, cells.items), sample)]
            for name, cells in table.frame.items()
            if name not in registry.columns
        }
        kinds = trial.guessed(new)
        trial.add(trial.make(trial.admitted(kinds, bag=False)))
        return trial
    if _core.first_other(table.records, registry.columns) == len(table.records):
        return trial
    samples: dict[Name, list[Any]] = {}
    first: dict[int, list[Name]] = {}  # the names that are new in a row
    known = registry.columns.keys()
    for row, record in enumerate(table.records):
        for name in () if record.keys() <= known else record:
            if name in known:
                continue
            cells = samples.get(name)
            if cells is None:
                samples[checked_name(name)] = cells = []
                first.setdefault(row, []).append(name)
            if len(cells) < sample and not is_missing(record[name]):
                cells.append(record[name])
    kinds = trial.guessed(samples)
    for row, names in first.items():
        found = {name: kinds[name] for name in names if name in kinds}
        if not trial.bag and trial.is_bag(table.records[row], found):
            trial.begin_bag(table.records[row])
        trial.add(trial.make(trial.admitted(found, bag=trial.bag)))
    return trial


def register(state: State, table: Any) -> None:
    """Keep the columns that are new in a table, of the kinds that its first rows tell."""
    registry = state.registry
    registry.adopt(with_new_columns(registry, Table(table), SAMPLE))


def stage(state: State, source: Any) -> tuple[Rows, Pending]:
    """The rows of a table, and what is to be learned of them."""
    table = Table(source)
    registry = with_new_columns(state.registry, table)
    columns = [column for column in registry.columns.values() if column.kind != "ignore"]
    parts = {column.name: _part(column, table.column(column.name)) for column in columns}
    loose = table.loose(registry)
    claims = _claims(registry, parts)
    dense = np.full((table.n, len(registry.places) + len(claims)), np.nan)
    for column in columns:
        _fill(dense, column, parts[column.name])
    for claim in claims:
        _fill_claim(dense, claim)
    crosses = []
    for cross in state.crosses:
        if cross.left in parts and cross.right in parts:
            sides = [
                crossed_part(registry.columns[name], parts[name])
                for name in (cross.left, cross.right)
            ]
            crosses.append((cross, cross.stage(*sides)))
    indptr, keys, values = side_by_side([*parts.values(), loose], table.n)
    cross_indptr, cross_keys, cross_values = side_by_side([part for _, part in crosses], table.n)
    rows = Rows(
        dense=dense,
        indptr=indptr,
        keys=keys,
        values=values,
        cross_indptr=cross_indptr,
        cross_keys=cross_keys,
        cross_values=cross_values,
        shown=registry.shown,
    )
    pending = Pending(
        n=table.n,
        after=state.n,
        registry=registry,
        parts=parts,
        loose=loose,
        crosses=crosses,
        claims=claims,
    )
    return rows, pending


def _part(column: Column, cells: Cells) -> Part:
    """A column, staged; an error says in which row the first bad cell is."""
    try:
        return column.stage(cells)
    except (TypeError, ValueError):
        for row, cell in enumerate(cells.items):
            if cell is not ABSENT:
                try:
                    column.plain(cell)
                except (TypeError, ValueError) as error:
                    raise type(error)(f"row {row}: {error}") from None
        raise


def _claims(registry: Registry, parts: dict[Name, Part]) -> list[Claim]:
    """The values that get a place, in the order in which they would one by one."""
    wanted = []
    for order, (name, part) in enumerate(parts.items()):
        column = registry.columns[name]
        if isinstance(column, Category):
            for row, value in column.claims(part, registry.limits):
                wanted.append((row, order, column, part, value))
    wanted.sort(key=lambda each: each[:2])
    claims: list[Claim] = []
    own: dict[Name, int] = {}
    for row, _, column, part, value in wanted:
        claimed = own.get(column.name, 0)
        if registry.may_claim(column, claimed, len(claims)):
            own[column.name] = claimed + 1
            place = len(registry.places) + len(claims)
            claims.append(Claim(row=row, column=column, part=part, value=value, place=place))
    return claims


def _fill(dense: Array, column: Column, part: Part) -> None:
    """The places that a column has before the table."""
    if part.dense is not None:
        dense[:, column.places] = part.dense
    elif isinstance(column, Category) and column.places:
        dense[:, column.places] = 0.0
        at = [column.known.get(value, -1) for value in part.cells["values"]]
        places = np.array([*column.place_of, -1])[at]  # of the values of the table
        place = places[part.cells["codes"]]
        row = np.repeat(np.arange(len(dense)), part.counts)
        dense[row[place >= 0], place[place >= 0]] = 1.0


def _fill_claim(dense: Array, claim: Claim) -> None:
    """A place that is claimed within the table is there from the next row on."""
    dense[claim.row + 1 :, claim.place] = 0.0
    values, codes = claim.part.cells["values"], claim.part.cells["codes"]
    if claim.value in values:
        row = np.repeat(np.arange(len(dense)), claim.part.counts)
        has = row[(codes == values.index(claim.value)) & (row > claim.row)]
        dense[has, claim.place] = 1.0


def commit(state: State, pending: Pending, rows: int) -> None:
    """Learn the first rows of a table that was staged."""
    if pending.after != state.n:
        raise ValueError("the encoder has learned other records since this table was staged")
    if not rows:
        return
    registry = state.registry
    registry.adopt(pending.registry)
    before = {name: registry.columns[name].n for name in pending.parts}
    for name, part in pending.parts.items():
        registry.columns[name].commit(part, rows, state.limits)
    for claim in pending.claims:
        if claim.row < rows:
            registry.claim(claim.column, claim.value)
    _remember(state, pending, rows)
    state.n += rows
    for name, n in before.items():
        if registry.columns[name].may_change:
            registry.reconsider(registry.columns[name], n)


def _remember(state: State, pending: Pending, rows: int) -> None:
    """Keep the names of keys that no dictionary of values has, in the order of one by one."""
    if not state.has_room:
        return
    columns, last = state.registry.columns, len(state.registry.columns)
    # Row, place of the column within it, and who says the names: loose cells first, crosses last.
    said: list[tuple[int, int, Callable[[], Mapping[int, str]]]] = [
        (row, -1, partial(dict, names))
        for row, names in pending.loose.cells["names"].items()
        if row < rows
    ]
    for order, (name, column) in enumerate(columns.items()):
        if name in pending.parts and column.kind != "category":
            part = pending.parts[name]
            texts = list(column.texts(part, rows))
            new = _with_new_keys(part, state.names) if texts else set()
            for row, text in texts:
                if row in new:
                    said.append((row, order, partial(column.labels, text)))
    for order, (cross, part) in enumerate(pending.crosses, last):
        row_of = np.repeat(np.arange(len(part.counts)), part.counts)
        first = np.unique(part.keys, return_index=True)[1]
        for row in np.unique(row_of[first]).tolist():
            if row < rows:
                said.append((row, order, partial(_cross_names, pending, columns, cross, row)))
    for _, _, names in sorted(said, key=lambda each: each[:2]):
        if not state.has_room:
            return
        state.remember(names())


def _with_new_keys(part: Part, known: Mapping[int, str]) -> set[int]:
    """The rows that have a key which has no name yet."""
    keys, code = np.unique(part.keys, return_inverse=True)
    is_new = np.array([key not in known for key in keys.tolist()], bool)
    return set(np.repeat(np.arange(len(part.counts)), part.counts)[is_new[code]].tolist())


def _cross_names(
    pending: Pending, columns: Mapping[Name, Column], cross: Cross, row: int
) -> Mapping[int, str]:
    left, right = (
        columns[name].cross_labels(columns[name].cell_at(pending.parts[name], row))
        for name in (cross.left, cross.right)
    )
    return cross.labels(left, right)
