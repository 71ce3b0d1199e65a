"""From records to rows, causally: what an encoder knows comes from the records it has learned."""

from __future__ import annotations

import copy
import math
import warnings
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from mixable import _validate
from mixable._spelling import did_you_mean
from mixable.records import combining
from mixable.records.category import Category
from mixable.records.cells import ABSENT
from mixable.records.column import RECONSIDERED, Column, Draft, Keys, Part
from mixable.records.declaration import Columns, Name
from mixable.records.kinds import SAMPLE
from mixable.records.registry import Limits, Registry, saved_names
from mixable.records.rows import Cross, Piece, Row, Rows, loose_keys, loose_part, side_by_side
from mixable.records.tables import Cells, Table


@dataclass(slots=True, kw_only=True)
class Pending:
    """A table that was staged: what `Encoder.commit` learns of it."""

    n: int
    after: int  # records that the encoder had learned
    registry: Registry  # with the columns that are new
    parts: dict[Name, Part]
    loose: Part
    crosses: list[tuple[Cross, Part]]

    def __len__(self) -> int:
        return self.n


class Encoder:
    """Makes rows of numbers from records: dictionaries, or tables of pandas, Polars or Arrow.

    Parameters
    ----------
    columns
        What is declared of the columns; the kinds of the others are guessed.
    max_values
        Values of each column that are remembered by name and counted. Beyond, values are only
        hashed, which changes no row.
    max_numbers
        Columns of numbers and times in the dense part. Further ones are counts: sparse.
    max_columns
        Columns that are kept. What comes under further names is hashed.

    Examples
    --------
    >>> encoder = Encoder(Columns(category=["user"]))
    >>> record = {"user": 17, "price": "9.50", "query": "red shoes for men"}
    >>> row = encoder.encode(record)
    >>> row.dense, len(row.keys)
    (array([9.5]), 8)
    >>> encoder.commit(row)
    >>> for line in encoder.describe(): print(line)
    user: category, 1 values so far
    price: number
    query: text
    """

    def __init__(
        self,
        columns: Columns | None = None,
        *,
        max_values: int = 20_000,
        max_numbers: int = 1000,
        max_columns: int = 2000,
    ) -> None:
        if columns is not None and not isinstance(columns, Columns):
            raise TypeError(f"columns must be records.Columns, got {type(columns).__name__}")
        self.limits = Limits(
            values=_validate.count(max_values, "max_values", least=64, most=2**31),
            numbers=_validate.count(max_numbers, "max_numbers", least=0, most=10_000),
            columns=_validate.count(max_columns, "max_columns", least=1, most=100_000),
        )
        self.declared = Columns() if columns is None else columns
        self.n = 0  # records learned
        self.registry = Registry(self.declared, self.limits)
        self.names: dict[int, str] = {}  # of keys of texts, crosses and counts
        self.crosses = [Cross(left, right) for left, right in self.declared.cross]
        self._crossed = {name for pair in self.declared.cross for name in pair}
        self._index: tuple[int, dict[int, str]] = (-1, {})  # names of values, and when it was made
        self._asked: tuple[int, set[Name]] = (0, set())  # after how many records, and of what

    @property
    def n_dense(self) -> int:
        """Numbers in the dense part of a row whose columns are all known."""
        return len(self.registry.places)

    @property
    def dense_names(self) -> list[str]:
        """What each place of the dense part holds."""
        return list(self.registry.places)

    @property
    def kinds(self) -> dict[Name, str]:
        """The kind of each column that is known."""
        return {name: column.kind for name, column in self.registry.columns.items()}

    @property
    def taken_for(self) -> dict[Name, str]:
        """What each column that is known is taken for: its kind, and how its values are read."""
        return {name: column.taken_for for name, column in self.registry.columns.items()}

    def encode(self, record: Mapping[Name, Any]) -> Row:
        """The row of a record, by what was learned of earlier ones. Changes nothing.

        Its dense part has `n_dense` numbers, and at its end those of columns that are new.
        """
        if not isinstance(record, Mapping):
            raise TypeError(f"a record must be a dictionary, got {type(record).__name__}")
        draft = Draft([math.nan] * self.n_dense, len(self.registry.orders))
        cells: dict[Name, Any] = {}
        parts: dict[Name, list[int]] = {}
        get, marked = record.get, self._crossed
        for name, column in self.registry.columns.items():
            cell = get(name, ABSENT)
            if cell is ABSENT:
                column.put_absent(draft)
                continue
            begin = 0
            if type(cell) is float and cell - cell == 0.0 and column.kind == "number":
                draft.dense[column.places[0]] = cells[name] = cell  # most cells, without a call
            else:
                begin = len(draft.keys)
                cells[name] = cell = column.plain(cell)
                column.put(cell, draft)
            if name in marked:
                parts[name] = column.crossed(draft, begin)
        names: dict[int, str] = {}
        if len(cells) < len(record):
            kinds, bag = self.registry.scan(record)
            if kinds or bag != self.registry.bag:
                return self._encode_new(record)
            for name in record:
                for key, value in () if name in cells else loose_keys(name, record[name]):
                    draft.keys.append(key)
                    draft.values.append(value)
                    names[key] = f"{name}"
        keys: list[int] = []
        for cross in self.crosses:
            left, right = (parts.get(name, ()) for name in cross.names)
            keys += cross.keys(left, right)
        return Row(
            dense=np.array(draft.dense),
            keys=_as_keys(draft.keys),
            values=np.array(draft.values, np.float32),
            cross_keys=_as_keys(keys),
            cross_values=np.ones(len(keys), np.float32) if keys else _NO_VALUES,
            shown=self.registry.shown,
            categories=_as_keys(draft.categories),
            learned={"cells": cells, "names": names},
        )

    def _encode_new(self, record: Mapping[Name, Any]) -> Row:
        """The row of a record that brings columns; `commit` makes them once more."""
        try:
            rows, _ = self.stage([record])
        except (TypeError, ValueError) as error:
            raise type(error)(str(error).removeprefix("row 0: ")) from None
        return Row(
            dense=rows.dense[0],
            keys=rows.keys,
            values=rows.values,
            cross_keys=rows.cross_keys,
            cross_values=rows.cross_values,
            shown=rows.shown,
            categories=rows.categories[0],
            learned={"record": dict(record)},
        )

    def commit(self, staged: Row | Pending, rows: int | None = None) -> None:
        """Learn a row of `encode`, or the first `rows` rows (all, if None) of `stage`.

        The row may be older than the latest that was learned, as rows are whose label comes late.
        """
        if isinstance(staged, Row) and "record" in staged.learned:
            staged = self.stage([staged.learned["record"]])[1]
        if isinstance(staged, Row):
            self._learn(**staged.learned)
            return
        count = len(staged) if rows is None else _validate.count(rows, "rows", least=0)
        if count > len(staged):
            raise ValueError(f"rows must be at most {len(staged)}, got {count}")
        if staged.after != self.n:
            raise ValueError("the encoder has learned other records since this table was staged")
        if count:
            self._learn_table(staged, count)

    def _learn(self, cells: dict[Name, Any], names: dict[int, str]) -> None:
        registry, most = self.registry, self.limits.values
        self._remember(names)
        self.n += 1
        for name, column in list(registry.columns.items()):
            cell, before = cells.get(name, ABSENT), column.n
            if type(cell) is float and column.kind == "number":
                column.n += 1  # most cells, without a call
            elif cell is ABSENT:
                column.learn_absent()
            elif isinstance(cell, column.plain_types):
                column.learn(cell, most)
                if isinstance(cell, str) and not isinstance(column, Category) and self.has_room:
                    self._remember(column.labels(cell))
            if column.n in RECONSIDERED and column.may_change:
                registry.reconsider(column, before)
        for cross in self.crosses if self.has_room else ():
            if all(name in cells and name in registry.columns for name in cross.names):
                self._remember_cross(cross, cells.__getitem__)

    def _learn_table(self, pending: Pending, rows: int) -> None:
        if pending.registry is not self.registry:
            self.registry.adopt(pending.registry)
        columns = self.registry.columns
        before = {name: columns[name].n for name in pending.parts}
        for name, part in pending.parts.items():
            columns[name].commit(part, rows, self.limits.values)
        if self.has_room:
            for _, _, remember in sorted(self._named(pending, rows), key=lambda each: each[:2]):
                remember()
        self.n += rows
        for name, n in before.items():
            if columns[name].may_change:
                self.registry.reconsider(columns[name], n)

    def _named(self, pending: Pending, rows: int) -> Iterator[tuple[int, int, Callable[[], None]]]:
        """What remembers the names of keys that no dictionary of values has.

        Each with its row and its place there, as one by one: loose cells first, crosses last.
        """
        columns, known = self.registry.columns, self.names
        for row, names in pending.loose.cells["names"].items():
            if row < rows:
                yield row, -1, partial(self._remember, names)
        for order, (name, column) in enumerate(columns.items()):
            part = pending.parts.get(name)
            texts = [] if part is None else list(column.texts(part, rows))
            if part is not None and texts:
                keys, code = np.unique(part.keys, return_inverse=True)
                is_new = np.array([key not in known for key in keys.tolist()], bool)
                new = set(part.rows[is_new[code]].tolist())
                for row, text in texts:
                    if row in new:
                        yield row, order, partial(self._remember_text, column, text)
        for order, (cross, part) in enumerate(pending.crosses, len(columns)):
            first = np.unique(part.keys, return_index=True)[1]
            for row in np.unique(part.rows[first]).tolist():
                if row < rows:
                    cell = partial(_cell_at, columns, pending.parts, row)
                    yield row, order, partial(self._remember_cross, cross, cell)

    @property
    def has_room(self) -> bool:
        """Whether more keys can be remembered by name."""
        return len(self.names) < self.limits.values

    def _remember(self, names: Mapping[int, str]) -> None:
        """Keep names of keys while there is room for them."""
        for key, name in names.items():
            if not self.has_room:
                return
            self.names.setdefault(key, name)

    def _remember_text(self, column: Column, text: str) -> None:
        if self.has_room:
            self._remember(column.labels(text))

    def _remember_cross(self, cross: Cross, cell: Callable[[Name], Any]) -> None:
        if self.has_room:
            columns = self.registry.columns
            left, right = (columns[name].cross_labels(cell(name)) for name in cross.names)
            self._remember(cross.labels(left, right))

    def learn(self, record: Mapping[Name, Any]) -> None:
        """Learn a record: `commit(encode(record))`."""
        self.commit(self.encode(record))

    def guess(self, table: Any) -> None:
        """Decide on the kinds of columns that are not known, by the first rows of a table."""
        self.registry.adopt(self.registry.with_new_columns(Table(table), SAMPLE))

    def stage(self, table: Any) -> tuple[Rows, Pending]:
        """The rows of a table, each after those above it; nothing changes before `commit`.

        A table is a frame of pandas, Polars or Arrow, a list of dictionaries, or a dictionary of
        lists. The kind of a new column is guessed from its first value in the table.
        """
        table = Table(table)
        registry = self.registry.with_new_columns(table)
        columns = {name: c for name, c in registry.columns.items() if c.kind != "ignore"}
        parts = {name: _staged(c, table.column(name)) for name, c in columns.items()}
        loose = loose_part(table, registry.columns)
        dense = np.full((table.n, len(registry.places)), np.nan)
        categories = np.zeros((table.n, len(registry.orders)), np.uint64)
        for name, part in parts.items():
            if part.dense is not None:
                dense[:, columns[name].places] = part.dense
            if part.categories is not None:
                categories[:, registry.orders[name]] = part.categories
        crosses = [
            (cross, cross.stage(*(columns[name].crossed_part(parts[name]) for name in cross.names)))
            for cross in self.crosses
            if all(name in parts for name in cross.names)
        ]
        indptr, keys, values = side_by_side([*parts.values(), loose], table.n)
        crossed = side_by_side([part for _, part in crosses], table.n)
        rows = Rows(
            dense=dense,
            indptr=indptr,
            keys=keys,
            values=values,
            cross_indptr=crossed[0],
            cross_keys=crossed[1],
            cross_values=crossed[2],
            shown=registry.shown,
            categories=categories,
        )
        pending = Pending(
            n=table.n, after=self.n, registry=registry, parts=parts, loose=loose, crosses=crosses
        )
        return rows, pending

    def encode_table(self, table: Any) -> Rows:
        """The rows of a table, each as if the rows above it were learned. Changes nothing."""
        return self.stage(table)[0]

    def ask(self, least: int = RECONSIDERED[0]) -> None:
        """Warn, once, of columns that can be read in two ways, or are declared and never came.

        Columns are looked at when kinds are guessed again, and then only if they have had `least`
        records; if that is 0, now.
        """
        before, known = self._asked
        if least and bisect_right(RECONSIDERED, before) >= bisect_right(RECONSIDERED, self.n):
            return
        doubts = self.registry.doubts(least)
        columns = self.registry.columns
        if self.n >= RECONSIDERED[1] and len(columns) < self.limits.columns:
            there = [name for name in columns if isinstance(name, str)]
            for name in self.declared.names:
                if name not in columns:
                    doubts[name] = (
                        f"column {name!r:.80} is declared, and none of {self.n:,} records had it"
                        f"{did_you_mean(name, there)}"
                    )
        self._asked = self.n, known | doubts.keys()
        for name, doubt in doubts.items():
            if name not in known:
                warnings.warn(doubt, stacklevel=2)

    def describe(self) -> list[str]:
        """A line for each column: its kind, and what was learned of it."""
        lines = []
        for column in self.registry.columns.values():
            parts = [f"{column.name}: {column.taken_for}", column.describe()]
            if column.was is not None:
                parts.append(f"{column.was[0]} until record {column.was[1]:,}")
            lines.append(", ".join(part for part in parts if part))
        if self.registry.bag:
            lines.append("numbers under other names: counts, 0 where they are absent")
        return lines

    def name(self, key: int) -> str | None:
        """What a key stands for, such as "country=DE"; None if it is not remembered."""
        found = self.names.get(int(key))
        if found is not None:
            return found
        if self._index[0] != self.n:
            columns = self.registry.columns.values()
            self._index = self.n, {k: v for c in columns for k, v in c.key_names().items()}
        return self._index[1].get(int(key))

    def explain(self, record: Mapping[Name, Any]) -> tuple[Row, list[Piece]]:
        """The row of a record, and which of its numbers come from which column.

        >>> encoder = Encoder(Columns(cross=[("country", "device")]))
        >>> row, pieces = encoder.explain({"country": "DE", "price": 3.0, "device": "phone"})
        >>> [(piece.column, piece.places, list(piece.keys)) for piece in pieces[:2]]
        [('country', [], [0]), ('price', [0], [])]
        >>> pieces[-1].column, list(pieces[-1].keys), pieces[-1].is_cross
        (('country', 'device'), [0], True)
        """
        row, (_, staged) = self.encode(record), self.stage([record])
        pieces, end = [], 0
        for name, column in staged.registry.columns.items():
            begin = end
            if name in staged.parts:
                end += int(staged.parts[name].counts[0])
            if name in record or end > begin:
                places, keys = list(column.places), range(begin, end)
                value = record.get(name)
                pieces.append(Piece(column=name, value=value, places=places, keys=keys))
        for name in (name for name in record if name not in staged.registry.columns):
            begin, end = end, end + len(loose_keys(name, record[name]))
            keys = range(begin, end)
            pieces.append(Piece(column=name, value=record[name], places=[], keys=keys))
        end = 0
        for cross, part in staged.crosses:
            if all(name in record for name in cross.names):
                begin, end = end, end + int(part.counts[0])
                keys, values = range(begin, end), tuple(record[name] for name in cross.names)
                piece = Piece(column=cross.names, value=values, places=[], keys=keys, is_cross=True)
                pieces.append(piece)
        return row, pieces

    @property
    def collisions(self) -> float:
        """About how many pairs of different values share a key, of 64 bits, by chance."""
        columns = self.registry.columns.values()
        distinct = sum(column.distinct for column in columns if isinstance(column, Category))
        return (distinct + len(self.names)) ** 2 / 2.0**65

    @property
    def bytes(self) -> int:
        """Memory, about."""
        named = sum(len(name) + 180 for name in self.names.values())
        return named + sum(column.bytes for column in self.registry.columns.values())

    def _fresh(self) -> Encoder:
        limits = {f"max_{name}": value for name, value in asdict(self.limits).items()}
        return Encoder(self.declared, **limits)

    def combine(self, others: Sequence[Encoder], base: Encoder) -> Encoder:
        """self + the sum of (other - base): columns and dictionaries are united, counts add."""
        made = Encoder.__new__(Encoder)
        made.__setstate__(combining.combined(self, others, base))
        return made

    def __getstate__(self) -> dict[str, Any]:
        return {
            "declared": self.declared,
            "limits": asdict(self.limits),
            "n": self.n,
            "columns": [column.state() for column in self.registry.columns.values()],
            "places": list(self.registry.places),
            "bag": self.registry.bag,
            "orders": list(self.registry.orders),
            "names": list(self.names.values()),
            "keys": np.array(list(self.names), np.uint64),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        limits = {f"max_{name}": state["limits"][name] for name in Limits.__dataclass_fields__}
        self.__init__(state["declared"], **limits)  # type: ignore[misc]
        self.n = _validate.count(state["n"], "n", least=0, most=_validate.MOST_STEPS)
        self.registry.restore(state)
        self.names = saved_names(state)
        if len(self.names) > self.limits.values:
            raise ValueError("the saved encoder has more names than its limit")

    def __copy__(self) -> Encoder:
        return copy.deepcopy(self)


_NO_KEYS, _NO_VALUES = np.empty(0, np.uint64), np.empty(0, np.float32)


def _as_keys(keys: list[int]) -> Keys:
    return np.frombuffer(array("Q", keys), np.uint64) if keys else _NO_KEYS


def _staged(column: Column, cells: Cells) -> Part:
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


def _cell_at(
    columns: Mapping[Name, Column], parts: Mapping[Name, Part], row: int, name: Name
) -> Any:
    return columns[name].cell_at(parts[name], row)
