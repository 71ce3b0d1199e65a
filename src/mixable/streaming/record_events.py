"""Lines to events whose features are records: text, categories, times, numbers as they stand."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from mixable import _core
from mixable.learner.columns import has_words
from mixable.records import Encoder
from mixable.records.cells import MISSING, WORD
from mixable.records.tables import Grid
from mixable.streaming.errors import StreamError
from mixable.streaming.events import LONGEST_NAME, Batch, CsvEvents, JsonEvents
from mixable.streaming.lines import Lines
from mixable.streaming.model import Identifier, StreamModel
from mixable.streaming.options import Options

Record = dict[Hashable, Any]


class CsvRecords(CsvEvents):
    """Events in CSV; an empty field is missing."""

    @staticmethod
    def has_words(record: Record) -> bool:
        """Whether a record has other things than numbers, or may: a missing cell says nothing."""
        kinds = [_core.read_number(cell, "plain")[1] for cell in record.values()]
        return WORD in kinds or MISSING in kinds

    def _used(self, features: list[str]) -> list[str]:
        return [str(name) for name in self._model.restricted(dict.fromkeys(features))]

    def _begin(self, names: list[str], used: list[str]) -> None:
        taken = set(used)
        places = [place for place, name in enumerate(names) if name in taken]
        self._names = [names[place] for place in places]
        self._pick = _picker(places)
        self._all, self._width = names, len(names)
        special = (self._options.target, self._options.identifier)
        self._label, self._key = (names.index(name) if name in names else None for name in special)

    def parse(self, block: bytes, begin: int, end: int, most: int) -> Batch:
        """At most `most` events of some whole lines; column by column once kinds are settled."""
        encoder = self._model.encoder
        known = {} if encoder is None else encoder.registry.columns
        if encoder is not None and known.keys() >= set(self._names) and encoder.registry.is_settled:
            return self._parse_grid(block, begin, end, most)
        records: list[Record] = []
        labels: list[str | None] = []
        ids: list[Identifier] = []
        begins: list[int] = []
        numbers: list[int] = []
        rejects: list[tuple[int, int, str]] = []
        passed = 0
        for line in block[begin:end].split(b"\n", most)[:most]:
            text = line[:-1] if line.endswith(b"\r") else line
            if text:
                try:
                    record, label, key = self._read(text)
                    is_new = label is None and self._options.learns
                    if is_new and self._model.knows_less(record):
                        if passed:
                            break
                        self._model.make_room(record)
                    records.append(record)
                    labels.append(label)
                    ids.append(key)
                    begins.append(begin)
                    numbers.append(passed)
                except ValueError as error:
                    rejects.append((passed, begin, str(error)))
            begin += len(line) + 1
            passed += 1
            if begin >= end:
                break
        return Batch(
            X=records,
            labels=labels,
            ids=ids,
            begins=np.array(begins, np.int64),
            lines=np.array(numbers, np.int64),
            rejects=rejects,
            end=min(begin, end),
            passed=passed,
            fieldless=[self._fieldless] * len(records),
        )

    def _parse_grid(self, block: bytes, begin: int, end: int, most: int) -> Batch:
        assert self._model.encoder is not None
        role_of, used = self._model.encoder.registry.role, set(self._names)
        roles = [role_of(name) if name in used else "-" for name in self._all]
        for place, role in ((self._label, "l"), (self._key, "i")):
            if place is not None:
                roles[place] = role
        columns, labels, ids, empty, begins, lines, rejects, stop, passed = _core.read_grid(
            block, begin, end, most, "".join(roles), LONGEST_NAME, self._fields
        )

        n = len(begins)
        none: list[str | None] = [None] * n
        return Batch(
            X=Grid.read(self._all, columns, empty.tolist()),
            labels=none if labels is None else labels,
            ids=none if ids is None else ids,
            begins=begins,
            lines=lines,
            rejects=rejects,
            end=stop,
            passed=passed,
            fieldless=[self._fieldless] * n,
        )

    def _read(self, line: bytes) -> tuple[Record, str | None, str | None]:
        fields = self._fields(line)
        label = None if self._label is None else fields[self._label] or None
        key = None if self._key is None else fields[self._key] or None
        if key is not None and len(key.encode()) > LONGEST_NAME:
            raise ValueError("an identifier that is too long")
        return dict(zip(self._names, self._pick(fields), strict=True)), label, key

    def _fields(self, line: bytes) -> list[str]:
        if b"\0" in line:
            raise ValueError("a NUL byte")
        try:
            text = line.decode()
        except UnicodeDecodeError:
            raise ValueError("not UTF-8") from None
        fields = text.split(",") if '"' not in text else _fields(text)
        if len(fields) != self._width:
            raise ValueError(f"{len(fields)} fields, and the header has {self._width}")
        return fields


def _picker(places: list[int]) -> Callable[[list[str]], Sequence[str]]:
    """What takes some fields of a line."""
    if len(places) > 1:
        return itemgetter(*places)
    return lambda fields: [fields[place] for place in places]


def _fields(text: str) -> list[str]:
    """The fields of a line that has quotes; what core/csv.hpp refuses is refused here."""
    fields, at = [], 0
    while True:
        if text[at : at + 1] != '"':
            end = text.find(",", at)
            field = text[at:] if end < 0 else text[at:end]
            if '"' in field:
                raise ValueError("a quote inside a field that does not begin with one")
        else:
            end = at + 1
            while True:
                end = text.find('"', end)
                if end < 0:
                    raise ValueError("a quote that is not closed on its line")
                if text[end + 1 : end + 2] != '"':
                    break
                end += 2
            field = text[at + 1 : end].replace('""', '"')
            end += 1
            if text[end : end + 1] not in ("", ","):
                raise ValueError("text after a closing quote")
            end = end if end < len(text) else -1
        fields.append(field)
        if end < 0:
            return fields
        at = end + 1


class JsonRecords(JsonEvents):
    """Events in JSON lines; values may be text, truth values, lists of texts."""

    @staticmethod
    def has_words(record: Record) -> bool:
        """Whether a record has other things than numbers, or may: null says nothing."""
        return None in record.values() or has_words(record)

    _names: frozenset[Hashable] = frozenset()  # of the latest event

    def _row(self, values: Record) -> Any:
        if values.keys() != self._names:
            if any(len(str(name)) > LONGEST_NAME for name in values):
                raise ValueError(f"a feature's name of more than {LONGEST_NAME:,} characters")
            self._names = frozenset(values)
        return self._model.restricted(values)

    def _is_new(self, values: Record, label: str | None) -> bool:
        # Of an event that is learned at once, the encoder adds the columns.
        return label is None and self._options.learns and self._model.knows_less(values)

    def _add_features(self, values: Record) -> None:
        self._model.make_room(values)

    def _table(self, rows: list[Any]) -> Any:
        return rows


def reader(
    header: bytes | None, model: StreamModel, options: Options, *, is_record: bool
) -> CsvEvents | JsonEvents:
    """What reads events; those without a header are JSON lines."""
    if header is None:
        return (JsonRecords if is_record else JsonEvents)(model, options)
    return (CsvRecords if is_record else CsvEvents)(header, model, options)


def begun_with(
    header: bytes | None, lines: Lines, model: StreamModel, options: Options
) -> str | None:
    """Let a new model take records, if the first line at hand is one; say what they are.

    No other line counts: the first forecast is made before the next line is known.
    """
    events = reader(header, model, options, is_record=True)
    assert isinstance(events, CsvRecords | JsonRecords)
    first = events.parse(lines.buffer, lines.at, lines.whole, 1).X
    is_other = any(map(events.has_words, first))
    if model.declared is None and not (model.takes_records and is_other):
        return None
    encoder = Encoder(model.declared)
    try:
        model.begin_records([record for record in first if _is_sound(record, encoder)])
    except TypeError as error:  # of another forecaster
        raise StreamError(str(error)) from None
    assert model.encoder is not None
    kinds = ", ".join(f"{name} ({kind})" for name, kind in model.encoder.kinds.items())
    return f"events are records: {kinds:.2000}"


def _is_sound(record: Record, encoder: Encoder) -> bool:
    try:
        encoder.encode(record)
    except (ValueError, TypeError):
        return False
    return True
