"""From records to rows, causally: what an encoder knows comes from the records it has learned."""

from __future__ import annotations

import copy
import warnings
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from mixable import _validate
from mixable._spelling import did_you_mean
from mixable.records import staging
from mixable.records.category import Category
from mixable.records.cells import ABSENT
from mixable.records.column import RECONSIDERED, Draft, Keys, Limits
from mixable.records.crosses import crossed
from mixable.records.declaration import Columns, Name
from mixable.records.explaining import Piece, pieces
from mixable.records.loose import loose_keys
from mixable.records.registry import with_shown
from mixable.records.rows import Row, Rows
from mixable.records.saved import restore, saved
from mixable.records.staging import Pending
from mixable.records.state import State


class Encoder(State):
    """Makes rows of numbers from records: dictionaries, or tables of pandas, Polars or Arrow.

    Parameters
    ----------
    columns
        What is declared of the columns; the kinds of the others are guessed.
    max_values
        Values of each column that are remembered by name and counted. Beyond, values are only
        hashed, which changes no row.
    max_indicators
        A category with at most this many values has a place in the dense part for each of them.
    max_places
        Such places in all.
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
        max_indicators: int = 16,
        max_places: int = 64,
        max_numbers: int = 1000,
        max_columns: int = 2000,
    ) -> None:
        if columns is not None and not isinstance(columns, Columns):
            raise TypeError(f"columns must be records.Columns, got {type(columns).__name__}")
        limits = Limits(
            values=_validate.count(max_values, "max_values", least=64, most=2**31),
            indicators=_validate.count(max_indicators, "max_indicators", least=0, most=63),
            places=_validate.count(max_places, "max_places", least=0, most=10_000),
            numbers=_validate.count(max_numbers, "max_numbers", least=0, most=10_000),
            columns=_validate.count(max_columns, "max_columns", least=1, most=100_000),
        )
        super().__init__(Columns() if columns is None else columns, limits)
        self._crossed = {name for pair in self.declared.cross for name in pair}
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

    def encode(self, record: Mapping[Name, Any]) -> Row:
        """The row of a record, by what was learned of earlier ones. Changes nothing.

        Its dense part has `n_dense` numbers, and at its end those of columns that are new.
        """
        if not isinstance(record, Mapping):
            raise TypeError(f"a record must be a dictionary, got {type(record).__name__}")
        draft = Draft(self.registry.blank.copy())
        cells: dict[Name, Any] = {}
        parts: dict[Name, list[int]] = {}
        get, marked = record.get, self._crossed
        for name, column in self.registry.columns.items():
            cell = get(name, ABSENT)
            kind = type(cell)
            # The common cases, without a call: a number where numbers are, a value that is known.
            if kind is float and column.kind == "number" and cell - cell == 0.0:
                draft.dense[column.places[0]] = cells[name] = cell
                if name in marked:
                    parts[name] = crossed(column, draft, 0)
                continue
            if cell is ABSENT:
                column.put_absent(draft)
                continue
            begin = len(draft.keys)
            cells[name] = cell = column.plain(cell)
            column.put(cell, draft)
            if name in marked:
                parts[name] = crossed(column, draft, begin)
        learned: dict[str, Any] = {"cells": cells}
        shown = self.registry.shown
        if len(cells) < len(record):
            shown = self._encode_new(record, draft, parts, learned)
        keys = []
        for cross in self.crosses:
            if cross.left in parts and cross.right in parts:
                keys += cross.keys(parts[cross.left], parts[cross.right])
        return Row(
            dense=np.array(draft.dense),
            keys=_as_keys(draft.keys),
            values=np.array(draft.values, np.float32),
            cross_keys=_as_keys(keys),
            cross_values=np.ones(len(keys), np.float32) if keys else _NO_VALUES,
            shown=shown,
            learned=learned,
        )

    def _encode_new(
        self,
        record: Mapping[Name, Any],
        draft: Draft,
        parts: dict[Name, list[int]],
        learned: dict[str, Any],
    ) -> bytes:
        """Write the cells of a record whose names are not known yet; what is shown of them."""
        kinds, bag = self.registry.scan(record)
        shown = self.registry.shown
        cells, names = learned["cells"], {}
        for column in self.registry.make(kinds):
            draft.dense += [float("nan")] * len(column.places)
            shown = with_shown(shown, column)
            begin = len(draft.keys)
            cells[column.name] = column.plain(record[column.name])
            column.put(cells[column.name], draft)
            if column.name in self._crossed:
                parts[column.name] = crossed(column, draft, begin)
        for name in record:
            if name not in cells:
                for key, value in loose_keys(name, record[name]):
                    draft.keys.append(key)
                    draft.values.append(value)
                    names[key] = f"{name}"
        learned.update(new=kinds, bag=bag, names=names)
        return shown

    def commit(self, staged: Row | Pending, rows: int | None = None) -> None:
        """Learn a row of `encode`, or the first `rows` rows (all, if None) of `stage`.

        The row may be older than the latest that was learned, as rows are whose label comes late.
        """
        if isinstance(staged, Pending):
            count = len(staged) if rows is None else _validate.count(rows, "rows", least=0)
            if count > len(staged):
                raise ValueError(f"rows must be at most {len(staged)}, got {count}")
            staging.commit(self, staged, count)
            return
        self._learn(staged.learned)

    def _learn(self, learned: dict[str, Any]) -> None:
        registry, cells = self.registry, learned["cells"]
        if "new" in learned:
            if learned["bag"] and not registry.bag:
                registry.begin_bag(cells)
            kinds = {
                name: kind for name, kind in learned["new"].items() if name not in registry.columns
            }
            registry.add(registry.make(registry.admitted(kinds, bag=registry.bag)))
            self.remember(learned["names"])
        self.n += 1
        for name, column in list(registry.columns.items()):
            cell, before = cells.get(name, ABSENT), column.n
            if cell is ABSENT:
                column.learn_absent()
            elif isinstance(cell, column.plain_types):
                for value in column.learn(cell, self.limits):
                    if isinstance(column, Category) and registry.may_claim(column):
                        registry.claim(column, value)
                if isinstance(cell, str) and not isinstance(column, Category) and self.has_room:
                    self.remember(column.labels(cell))
            if column.may_change and column.n in RECONSIDERED:
                registry.reconsider(column, before)
        if self.crosses and self.has_room:
            self._remember_crosses(cells)

    def _remember_crosses(self, cells: dict[Name, Any]) -> None:
        columns = self.registry.columns
        for cross in self.crosses:
            if all(name in cells and name in columns for name in (cross.left, cross.right)):
                left, right = (
                    columns[name].cross_labels(cells[name]) for name in (cross.left, cross.right)
                )
                self.remember(cross.labels(left, right))

    def learn(self, record: Mapping[Name, Any]) -> None:
        """Learn a record: `commit(encode(record))`."""
        self.commit(self.encode(record))

    def guess(self, table: Any) -> None:
        """Decide on the kinds of columns that are not known, by the first rows of a table."""
        staging.register(self, table)

    def stage(self, table: Any) -> tuple[Rows, Pending]:
        """The rows of a table, each after those above it; nothing changes before `commit`.

        A table is a frame of pandas, Polars or Arrow, a list of dictionaries, or a dictionary of
        lists. The kind of a new column is guessed from its first value in the table.
        """
        return staging.stage(self, table)

    def encode_table(self, table: Any) -> Rows:
        """The rows of a table, each as if the rows above it were learned. Changes nothing."""
        return self.stage(table)[0]

    @property
    def taken_for(self) -> dict[Name, str]:
        """What each column that is known is taken for: its kind, and how its values are read."""
        return {name: column.taken_for for name, column in self.registry.columns.items()}

    def ask(self, least: int = RECONSIDERED[0]) -> None:
        """Warn, once, of columns that can be read in two ways, or are declared and never came.

        Columns are looked at when kinds are guessed again, and then only if they have had `least`
        records; if that is 0, now.
        """
        before, known = self._asked
        if least and not any(before < n <= self.n for n in RECONSIDERED):
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

    def explain(self, record: Mapping[Name, Any]) -> tuple[Row, list[Piece]]:
        """The row of a record, and which of its numbers come from which column.

        >>> encoder = Encoder(Columns(cross=[("country", "device")]))
        >>> row, pieces = encoder.explain({"country": "DE", "price": 3.0, "device": "phone"})
        >>> [(piece.column, piece.places, list(piece.keys)) for piece in pieces[:2]]
        [('country', [], [0]), ('price', [0], [])]
        >>> pieces[-1].column, list(pieces[-1].keys), pieces[-1].is_cross
        (('country', 'device'), [0], True)
        """
        row = self.encode(record)
        new = self.registry.make(row.learned.get("new", {}))
        columns = [*self.registry.columns.values(), *new]
        return row, pieces(columns, self.crosses, record, self.registry.blank)

    def _fresh(self) -> Encoder:
        limits = {f"max_{name}": value for name, value in asdict(self.limits).items()}
        return Encoder(self.declared, **limits)

    def combine(self, others: Sequence[Encoder], base: Encoder) -> Encoder:
        """self + the sum of (other - base): columns and dictionaries are united, counts add."""
        places = _same_places(others)
        old = list(self.registry.columns or base.registry.columns)
        new = {name for each in others for name in each.registry.columns} - set(old)
        names = {**self.names, **base.names}
        rest = {key: name for each in others for key, name in each.names.items()}
        names |= dict(sorted((key, name) for key, name in rest.items() if key not in names))
        every, most, state = [self, base, *others], self.limits.values, others[0].__getstate__()
        columns = [self._combined(name, others, base) for name in (*old, *sorted(new, key=repr))]
        state.update(
            n=self.n + sum(each.n - base.n for each in others),
            columns=[column for column in columns if column is not None],
            places=places,
            indicators=max(each.registry.indicators for each in every),
            bag=any(each.registry.bag for each in every),
            keys=np.array(list(names)[:most], dtype=np.uint64),
            names=list(names.values())[:most],
        )
        made = Encoder.__new__(Encoder)
        made.__setstate__(state)
        return made

    def _combined(self, name: Name, others: Sequence[Encoder], base: Encoder) -> Any:
        """The state of one column; None where all have found that it is none."""
        own = [each.registry.columns[name] for each in others if name in each.registry.columns]
        for column in own[1:]:
            if column.kind != own[0].kind or column.places != own[0].places:
                raise ValueError(
                    f"column {name!r:.80} is a {own[0].kind} in one model and a {column.kind} in "
                    "another: declare its kind, or let them start from a common model (base) that "
                    "knows it"
                )
        start, before = (each.registry.columns.get(name) for each in (self, base))
        return own[0].combined(own[1:], start, before, self.limits) if own else None

    def __getstate__(self) -> dict[str, Any]:
        return saved(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        limits = {f"max_{name}": value for name, value in state["limits"].items()}
        self.__init__(state["declared"], **limits)  # type: ignore[misc]
        restore(self, state)

    def __copy__(self) -> Encoder:
        return copy.deepcopy(self)


_NO_KEYS, _NO_VALUES = np.empty(0, np.uint64), np.empty(0, np.float32)


def _same_places(encoders: Sequence[Encoder]) -> list[str]:
    """What the places of the dense part hold: the same in all, as far as they go."""
    longest = max((each.registry.places for each in encoders), key=len)
    for each in encoders:
        for mine, theirs in zip(each.registry.places, longest, strict=False):
            if mine != theirs:
                raise ValueError(
                    f"models have columns of numbers in other orders ({mine!r:.80} where "
                    f"{theirs!r:.80} is): let them start from a common model (base) that has met "
                    "them all"
                )
    return list(longest)


def _as_keys(keys: list[int]) -> Keys:
    return np.frombuffer(array("Q", keys), np.uint64) if keys else _NO_KEYS
