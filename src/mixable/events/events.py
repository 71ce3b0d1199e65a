"""What an event is: features, a label, an identifier; from CSV, JSON lines and bodies of HTTP."""

from __future__ import annotations

import contextlib
import csv
import json
import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixable import _core, _validate
from mixable._spelling import did_you_mean
from mixable.events.files import Options, StreamError
from mixable.events.model import Identifier, StreamModel, as_text
from mixable.learner.columns import has_words, number
from mixable.records import Encoder
from mixable.records.cells import MISSING, WORD, is_missing, plain
from mixable.records.tables import Grid

Integers = NDArray[np.int64]
Features = dict[Any, Any]


class RefusedError(Exception):
    """A request that is answered with a status of HTTP and a reason, and changes nothing."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


@dataclass(frozen=True, kw_only=True)
class ModelLimits:
    """What one model takes unasked. The journal of a service keeps these: its entries are to be
    learned once more under the limits under which they were learned at first.
    """

    features: int = 2000
    classes: int = 100
    waiting: int = 10_000
    waiting_bytes: int = 2**26
    text: int = 1000  # characters of a name, a label or an identifier

    def __post_init__(self) -> None:
        """Refuse what is no number of things."""
        for name, value in asdict(self).items():
            _validate.count(value, name, least=0)

    @classmethod
    def from_json(cls, values: Any) -> ModelLimits:
        """The limits that a journal has kept."""
        if not isinstance(values, dict) or values.keys() != {each.name for each in fields(cls)}:
            raise ValueError(f"limits must have their names, got {values!r:.80}")
        return cls(**values)


LIMITS = ModelLimits()  # of streams


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) < len(pairs):
        raise ValueError("a name stands twice in the object")
    return out


_STRICT = json.JSONDecoder(object_pairs_hook=_without_doubles)
_scanned: Callable[[str, int], tuple[Any, int]] = vars(_STRICT)["scan_once"]


def loaded(text: str) -> Any:
    """What JSON says; an object that has a name twice is refused."""
    try:
        values, end = _scanned(text, 0)
    except StopIteration:
        end = -1
    return values if end == len(text) else _STRICT.decode(text)  # which says why not


def _object(text: bytes) -> dict[str, Any]:
    values = loaded(text.decode())
    if not isinstance(values, dict):
        raise ValueError("not a JSON object")
    return values


def text_or_none(value: Any, what: str) -> str | None:
    """A label or an identifier as text; None and the empty text are none."""
    if type(value) is str and value and value.isascii():
        return value
    if value is None or value == "":
        return None
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"the {what} is {value}")
    if not isinstance(value, (str, int, float)):
        raise ValueError(f"the {what} must be text or a number, got {value!r:.80}")
    text = as_text(value)
    text.encode()  # refuses halves of surrogate pairs, which no UTF-8 can hold
    return text


BAD = (ValueError, TypeError, OverflowError, MemoryError, RecursionError)  # what bad events raise


def as_reason(error: BaseException) -> str:
    """What the sender of an event is told."""
    if isinstance(error, UnicodeError):
        return "not UTF-8"
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON: {error.msg} at character {error.pos + 1}"
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return str(error) or type(error).__name__


@dataclass(slots=True, kw_only=True)
class Event:
    """A record, its label, or both; by its identifier the label finds a record that came before.

    `text` is the event as it came, on one line: what the journal keeps.
    """

    id: str | None
    features: Features | None
    label: str | None
    text: bytes = b""

    @property
    def changes(self) -> bool:
        """Whether a model is another one after this event."""
        return self.label is not None or self.id is not None


KEYS = {"id", "features", "label"}


def read(text: bytes, limits: ModelLimits, allowed: set[str] = KEYS) -> Event:
    """Read an event of a request; what is none is refused with a reason."""
    try:
        values, text = _object(text), text.strip()
        if not values.keys() <= allowed:
            unknown, names = min(values.keys() - allowed), ", ".join(sorted(allowed))
            raise ValueError(f"{unknown!r:.80} is not one of {names}")
        is_one_line = b"\n" not in text and b"\r" not in text
        event = Event(
            id=_text(values, "id", limits),
            features=_features(values.get("features"), limits),
            label=_text(values, "label", limits),
            text=text if is_one_line else json.dumps(values).encode(),
        )
    except BAD as error:
        raise RefusedError(422, as_reason(error)) from None
    if event.features is None and (event.id is None or event.label is None):
        raise RefusedError(422, "features are missing; without, there must be id and label")
    return event


def _text(values: dict[str, Any], name: str, limits: ModelLimits) -> str | None:
    text = text_or_none(values.get(name), name)
    if text is not None and len(text) > limits.text:
        raise ValueError(f"the {name} has more than {limits.text:,} characters")
    return text


def _features(values: Any, limits: ModelLimits) -> Features | None:
    if values is None:
        return None
    if not isinstance(values, dict):
        raise ValueError(f"features must be an object of names and values, got {values!r:.80}")
    if len(values) > limits.features:
        raise ValueError(f"more than {limits.features:,} features")
    for name, value in values.items():
        if len(name) > limits.text:
            raise ValueError(f"a feature's name has more than {limits.text:,} characters")
        if not name.isascii():
            name.encode()  # refuses halves of surrogate pairs, which no UTF-8 can hold
        kind = type(value)
        if kind is float or kind is int:
            if math.isinf(value):
                raise ValueError(f"feature {name!r:.80} is {value}; features must be finite")
        elif kind is not str and value is not None:
            plain(value, name)  # refuses objects, and lists within lists
    return values


@dataclass(frozen=True, kw_only=True, slots=True)
class Batch:
    """Some lines of a buffer, as events and rejects."""

    X: Any  # (n, features of the model), NaN is missing; or n records
    labels: Sequence[str | None]
    ids: Sequence[Identifier]
    empty: Sequence[bool]  # whether all features of an event are missing
    fieldless: Sequence[bool]  # whether its line has no field for any feature
    begins: Integers  # where its line begins in the buffer
    lines: Integers  # which line it is, counted from the batch's first
    rejects: list[tuple[int, int, str]]  # line, where it begins, reason
    end: int  # of the batch in the buffer
    passed: int  # lines, blank ones included

    def before(self, row: int) -> Batch:
        """The lines before that of an event."""
        names = ("X", "labels", "ids", "empty", "fieldless", "begins", "lines")
        end, passed = int(self.begins[row]), int(self.lines[row])
        rejects = [each for each in self.rejects if each[0] < passed]
        some = {name: getattr(self, name)[:row] for name in names}
        return replace(self, **some, rejects=rejects, end=end, passed=passed)


class CsvEvents:
    """Events in CSV: one to a line, the first line has the names of the columns.

    A model of numbers gets a table; a model of records gets texts, column by column once no kind of
    a column will be guessed again.
    """

    def __init__(self, header: bytes, model: StreamModel, options: Options) -> None:
        self._model, self._options = model, options
        self._names, self._special = _header(header), {}
        for wanted, role in ((options.target, "l"), (options.identifier, "i")):
            if wanted is not None and wanted not in self._names:
                found = (
                    f"{did_you_mean(wanted, self._names)} (it has {', '.join(self._names):.300})"
                )
                raise StreamError(f"the header has no column {wanted!r}{found}")
            self._special[wanted] = role
        if model.declared is not None and (model.encoder is None or not model.encoder.n):
            try:
                model.declared.refuse_unknown(self._names, "the header")
            except ValueError as error:
                raise StreamError(str(error)) from None
        features = [name for name in self._names if name not in self._special]
        self._adds = options.learns and not model.closed_features
        if self._adds and len({*model.feature_names, *features}) > LIMITS.features:
            hint = "name the features with --features if there are so many"
            raise StreamError(f"the header has {len(features):,} columns; {hint}")
        self._features = features
        self._use(features)

    def _use(self, features: list[str]) -> None:
        self._used = {*self._model.restricted(dict.fromkeys(features))}
        self._fieldless = not (self._used if self._model.closed_features else self._features)

    def begin(self) -> list[str]:
        """Let the model know the features; those that it has, and the header has not."""
        model = self._model
        if model.encoder is None:
            if self._adds:
                model.add_features(self._features)
            self._use([name for name in self._features if name in model.columns])
        return [str(name) for name in model.feature_names if name not in self._used]

    def first_record(self, line: bytes) -> list[Features]:
        """The record of a line; nothing if that is refused."""
        records: list[Features] = self._read(line, 0, len(line), 1, _as_text).X.records()
        return records

    @staticmethod
    def has_words(record: Features) -> bool:
        """Whether a record has other things than numbers, or may: a missing cell says nothing."""
        kinds = [_core.read_number(cell, "plain")[1] for cell in record.values()]
        return WORD in kinds or MISSING in kinds

    def parse(self, block: bytes, begin: int, end: int, most: int) -> Batch:
        """At most `most` events of some whole lines."""
        model, encoder = self._model, self._model.encoder
        if encoder is None:
            return self._read(block, begin, end, most, None)
        columns = encoder.registry.columns
        if columns.keys() >= self._used and encoder.registry.is_settled:
            return self._read(block, begin, end, most, encoder.registry.role)
        batch = self._read(block, begin, end, most, _as_text)
        batch = replace(batch, X=batch.X.records())
        if self._options.learns:
            for row, label in enumerate(batch.labels):
                if label is None and model.knows_less(batch.X[row]):
                    if batch.lines[row]:
                        return batch.before(row)
                    with contextlib.suppress(ValueError):  # which the model will say again
                        model.make_room(batch.X[row])
        return batch

    def _read(
        self, block: bytes, begin: int, end: int, most: int, role: Callable[[str], str] | None
    ) -> Batch:
        """Lines whose features are read by a role each; None: as plain numbers."""
        roles = [
            (role(name) if role else "x") if name in self._used else self._special.get(name, "-")
            for name in self._names
        ]
        X, columns, labels, ids, empty, begins, lines, rejects, stop, passed = _core.read_grid(
            block, begin, end, most, "".join(roles), self._names, LIMITS.text
        )
        n = len(begins)
        none: list[str | None] = [None] * n
        return Batch(
            X=Grid.read(self._names, columns, empty.tolist()) if role else self._placed(X),
            labels=none if labels is None else labels,
            ids=none if ids is None else ids,
            empty=empty.tolist(),
            fieldless=[self._fieldless] * n,
            begins=begins,
            lines=lines,
            rejects=rejects,
            end=stop,
            passed=passed,
        )

    def _placed(self, known: NDArray[Any]) -> NDArray[Any]:
        """Rows of the model's features, of which the header may have some, in another order."""
        columns = self._model.columns
        places = [columns[name] for name in self._names if name in self._used]
        if places == list(range(len(columns))):
            return known
        X = np.full((len(known), len(columns)), math.nan)
        X[:, places] = known
        return X


def _as_text(name: str) -> str:
    """The role of a column that is read as it stands."""
    return "t"


def _header(line: bytes) -> list[str]:
    try:
        text = line.decode()
        (names,) = csv.reader([text], strict=True)
    except UnicodeDecodeError:
        raise StreamError("the header is not UTF-8") from None
    except (csv.Error, ValueError) as error:
        raise StreamError(f"the header cannot be read: {error}") from None
    if "\0" in text:
        raise StreamError("the header has a NUL byte")
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise StreamError(f"two columns of the header are called {twice[0]!r:.80}")
    return names


class JsonEvents:
    """Events in JSON lines, one object to a line; in records, values may be of any kind."""

    def __init__(self, model: StreamModel, options: Options) -> None:
        self._model, self._options = model, options
        self._names: frozenset[Hashable] = frozenset()  # of the latest record

    def begin(self) -> list[str]:
        """Let the model know the features: each event brings its own."""
        return []

    def first_record(self, line: bytes) -> list[Features]:
        """The record of a line; nothing if that is refused."""
        with contextlib.suppress(*BAD):
            return [self._record(self._split(line)[0])]
        return []

    @staticmethod
    def has_words(record: Features) -> bool:
        """Whether a record has other things than numbers, or may: null says nothing."""
        return None in record.values() or has_words(record)

    def parse(self, block: bytes, begin: int, end: int, most: int) -> Batch:
        """At most `most` events of some whole lines; only the first may have new features."""
        model, line = self._model, 0
        rows: list[tuple[Any, ...]] = []
        rejects: list[tuple[int, int, str]] = []
        while begin < end and len(rows) + len(rejects) < most:
            stop = block.find(b"\n", begin, end) + 1 or end
            if text := block[begin:stop].strip():
                try:
                    values, label, key = self._split(text)
                    if self._is_new(values, label):
                        if rows or rejects:
                            break
                        had_numbers = model.encoder is None
                        self._add_features(values)
                        if had_numbers and model.encoder is not None:
                            continue  # from this one on, events are records
                    rows.append((*self._row(values), label, key, begin, line))
                except BAD as error:
                    rejects.append((line, begin, as_reason(error)))
            begin, line = stop, line + 1
        columns = zip(*rows, strict=True) if rows else [()] * 7
        X, empty, fieldless, labels, ids, begins, lines = map(list, columns)
        is_table = model.encoder is None
        return Batch(
            X=np.array(X).reshape(len(X), len(model.columns)) if is_table else X,
            labels=labels,
            ids=ids,
            empty=empty,
            fieldless=fieldless,
            begins=np.array(begins, np.int64),
            lines=np.array(lines, np.int64),
            rejects=rejects,
            end=begin,
            passed=line,
        )

    def _split(self, text: bytes) -> tuple[Features, str | None, Identifier]:
        """The features of an object, its label and its identifier."""
        values: Features = _object(text)
        label = text_or_none(values.pop(self._options.target, None), "label")
        if self._options.identifier is None:
            return values, label, None
        key = values.pop(self._options.identifier, None)
        if len(text_or_none(key, "identifier") or "") > LIMITS.text:
            raise ValueError("an identifier that is too long")
        return values, label, None if key == "" else key

    def _is_new(self, values: Features, label: str | None) -> bool:
        """Whether an object has features that have to be added before."""
        if not self._options.learns:
            return False
        if self._model.encoder is not None:
            # Of an event that is learned at once, the encoder adds the columns.
            return label is None and self._model.knows_less(values)
        known = self._model.columns
        return not self._model.closed_features and not values.keys() <= known.keys()

    def _add_features(self, values: Features) -> None:
        if self._model.encoder is None:
            if len(self._model.columns.keys() | values.keys()) > LIMITS.features:
                hint = "name those wanted with --features"
                raise ValueError(f"more than {LIMITS.features} features; {hint}")
            _check_names(values)
            for name, value in values.items():
                number(name, value)  # refuse before anything is added
        self._model.make_room(values)

    def _row(self, values: Features) -> tuple[Any, bool, bool]:
        """What the model gets of an object, whether that is empty, whether it has no field."""
        model = self._model
        is_fieldless = not values
        if model.features is not None:
            is_fieldless = values.keys().isdisjoint(model.features)
        if model.encoder is None:
            row = model.columns.row(values)
            return row, bool(np.isnan(row).all()), is_fieldless
        record = self._record(values)
        return record, all(map(is_missing, record.values())), is_fieldless

    def _record(self, values: Features) -> Features:
        if values.keys() != self._names:
            _check_names(values)
            self._names = frozenset(values)
        return self._model.restricted(values)


def _check_names(values: Features) -> None:
    if any(len(str(name)) > LIMITS.text for name in values):
        raise ValueError(f"a feature's name of more than {LIMITS.text:,} characters")


def begin_records(events: CsvEvents | JsonEvents, line: bytes, model: StreamModel) -> str | None:
    """Let a new model take records, if the first line is one; say what they are.

    No other line counts: the first forecast is made before the next line is known.
    """
    first = events.first_record(line)
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


def _is_sound(record: Features, encoder: Encoder) -> bool:
    try:
        encoder.encode(record)
    except (ValueError, TypeError):
        return False
    return True
