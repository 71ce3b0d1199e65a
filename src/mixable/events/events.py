"""What an event is: features, a label, an identifier; from CSV, JSON lines and bodies of HTTP."""

from __future__ import annotations

import contextlib
import csv
import json
import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixable import _core
from mixable._spelling import did_you_mean
from mixable.events.files import Options, StreamError
from mixable.events.model import EventModel, Features, Identifier, as_text
from mixable.events.saving import fingerprint
from mixable.model.columns import has_words, number
from mixable.records import Encoder
from mixable.records.cells import MISSING, WORD, is_missing
from mixable.records.tables import Grid

Integers = NDArray[np.int64]


class RefusedError(Exception):
    """A request that is answered with a status of HTTP and a reason, and changes nothing."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


SEPARATORS = {",": "a comma", ";": "a semicolon", "\t": "a tab"}
LONGEST = 1000  # characters of a name, a label or an identifier
MOST_FEATURES = 10_000  # of one event


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
    """A record, its outcome, or both; by its identifier an outcome finds its record."""

    id: str | None
    features: Features | None
    label: str | None  # the outcome as text: a label, or a number
    number: int = 0  # in a log

    @property
    def changes(self) -> bool:
        """Whether a model is another one after this event."""
        return self.label is not None or self.id is not None


def _none() -> Integers:
    return np.empty(0, np.int64)


@dataclass(frozen=True, kw_only=True, slots=True)
class Batch:
    """Some events; of a stream, also where their lines are, and lines that are rejected."""

    X: Any  # (n, features of the model), NaN is missing; or n records
    labels: Sequence[str | None]
    ids: Sequence[Identifier]
    empty: Sequence[bool]  # whether all features of an event are missing
    fieldless: Sequence[bool]  # whether it has no field for any feature
    numbers: Sequence[int] = ()  # of the events in a log, if there is one
    given: Sequence[Any] = ()  # the features as they came, where events may be repeated
    begins: Integers = field(default_factory=_none)  # where its line begins in the buffer
    lines: Integers = field(
        default_factory=_none
    )  # which line it is, counted from the batch's first
    rejects: list[tuple[int, int, str]] = field(default_factory=list)  # line, its begin, reason
    end: int = 0  # of the batch in the buffer
    passed: int = 0  # lines, blank ones included

    def size(self, row: int) -> int:
        """Bytes of a record, about; they depend on nothing but the event."""
        if isinstance(self.X, np.ndarray):
            return 24 * int(self.X.shape[1])
        values = self.X[row].values()
        return sum(32 + (len(value) if isinstance(value, str | list) else 0) for value in values)

    def print(self, row: int) -> int:
        """What tells the features of an event from others."""
        return fingerprint(self.given[row])

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

    def __init__(self, header: bytes, model: EventModel, options: Options) -> None:
        self._model, self._options = model, options
        self.separator = _separator(header, options)
        self._names, self._special = _header(header, self.separator), {}
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
        if self._adds and len({*model.feature_names, *features}) > model.options.most_features:
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
            block, begin, end, most, "".join(roles), self._names, LONGEST, self.separator
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


def _separator(header: bytes, options: Options) -> str:
    """What stands between the names: a comma, unless others find the columns that are named."""
    wanted = {options.target, options.identifier} - {None}
    found: dict[str, set[str]] = {}
    for mark in SEPARATORS:
        with contextlib.suppress(StreamError):
            found[mark] = set(_header(header, mark))
    fitting = [mark for mark, names in found.items() if wanted <= names] if wanted else [*found]
    return max(fitting, key=lambda mark: len(found[mark]), default=",")


def _header(line: bytes, separator: str = ",") -> list[str]:
    try:
        text = line.decode()
        (names,) = csv.reader([text], strict=True, delimiter=separator)
    except UnicodeDecodeError:
        how = "write it as UTF-8, say by iconv -f LATIN1 -t UTF-8"
        raise StreamError(f"the header is not UTF-8; {how}") from None
    except (csv.Error, ValueError) as error:
        raise StreamError(f"the header cannot be read: {error}") from None
    if "\0" in text:
        raise StreamError("the header has a NUL byte")
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise StreamError(f"two columns of the header are called {twice[0]!r:.80}")
    return names


class Rows:
    """Rows of a batch from dictionaries. Only the first may bring new columns."""

    def __init__(self, model: EventModel, *, learns: bool = True) -> None:
        self._model, self._learns = model, learns
        self._names: frozenset[Hashable] = frozenset()  # of the latest record
        self.begin()

    def begin(self) -> None:
        """Begin a new batch."""
        self._every: list[tuple[Any, bool, bool]] = []  # row, is it empty, has it no field
        self.made = False  # room for the columns of the first

    def __len__(self) -> int:
        return len(self._every)

    def add(self, values: Features, label: str | None, *, is_first: bool = True) -> bool:
        """Add a record; False if it brings columns and is not the first, as it says or as it is."""
        model = self._model
        if model.encoder is None:
            row = model.columns.plain_row(values)
            if row is not None:  # as most are: that is quick
                self._every.append((row, not values, not values))
                return True
        # Of an event that is learned at once, the encoder adds the columns.
        is_left = model.encoder is not None and label is not None
        if self._learns and not is_left and model.knows_less(values):
            if self._every or not is_first:
                return False
            self.made = True
            self._make(values)
        self._every.append(self._row(values))
        return True

    def add_again(self) -> None:
        """Add a record that was learned before: nobody will look at its values."""
        self._every.append((self._row({})[0], False, False))

    def batch(self, **more: Any) -> Batch:
        """All that were added."""
        model, rows = self._model, zip(*self._every, strict=True) if self._every else [()] * 3
        X: Any
        X, empty, fieldless = map(list, rows)
        if model.encoder is None:
            X = np.array(X).reshape(len(X), len(model.columns))
        return Batch(**{"X": X, "empty": empty, "fieldless": fieldless, **more})

    def _make(self, values: Features) -> None:
        """Add the columns of an event."""
        model = self._model
        is_number = not (has_words(values) and (model.widens or model.begins_records(values)))
        if model.encoder is None and is_number:
            most = model.options.most_features
            if len(model.columns.keys() | values.keys()) > most:
                hint = "name those wanted with --features"
                raise ValueError(f"more than {most} features; {hint}")
            for name, value in values.items():
                number(name, value)  # refuse before anything is added
        self._check_names(values)
        model.make_room(values)

    def _row(self, values: Features) -> tuple[Any, bool, bool]:
        """What the model gets of an object, whether that is empty, whether it has no field."""
        model = self._model
        is_fieldless = not values
        if model.features is not None:
            is_fieldless = values.keys().isdisjoint(model.features)
        if model.encoder is None:
            row = model.columns.row(values)
            return row, bool(np.isnan(row).all()), is_fieldless
        record = self.record(values)
        return record, all(map(is_missing, record.values())), is_fieldless

    def record(self, values: Features) -> Features:
        """What the model uses of an object."""
        if values.keys() != self._names:
            self._check_names(values)
            self._names = frozenset(values)
        return self._model.restricted(values)

    @staticmethod
    def _check_names(values: Features) -> None:
        if any(len(str(name)) > LONGEST for name in values):
            raise ValueError(f"a feature's name of more than {LONGEST:,} characters")


class JsonEvents:
    """Events in JSON lines, one object to a line; in records, values may be of any kind."""

    def __init__(self, model: EventModel, options: Options) -> None:
        self._options = options
        self._rows = Rows(model, learns=options.learns)

    def begin(self) -> list[str]:
        """Let the model know the features: each event brings its own."""
        return []

    def first_record(self, line: bytes) -> list[Features]:
        """The record of a line; nothing if that is refused."""
        with contextlib.suppress(*BAD):
            return [self._rows.record(self._split(line)[0])]
        return []

    @staticmethod
    def has_words(record: Features) -> bool:
        """Whether a record has other things than numbers, or may: null says nothing."""
        return None in record.values() or has_words(record)

    def parse(self, block: bytes, begin: int, end: int, most: int) -> Batch:
        """At most `most` events of some whole lines; only the first may have new features."""
        rows, line = self._rows, 0
        given: list[tuple[Any, ...]] = []  # label, identifier, where its line is and which it is
        rejects: list[tuple[int, int, str]] = []
        rows.begin()
        while begin < end and len(rows) + len(rejects) < most:
            stop = block.find(b"\n", begin, end) + 1 or end
            if text := block[begin:stop].strip():
                try:
                    values, label, key = self._split(text)
                    if not rows.add(values, label, is_first=not rejects):
                        break
                    given.append((label, key, begin, line))
                except BAD as error:
                    rejects.append((line, begin, as_reason(error)))
            begin, line = stop, line + 1
        columns = zip(*given, strict=True) if given else [()] * 4
        labels, ids, begins, lines = map(list, columns)
        return rows.batch(
            labels=labels,
            ids=ids,
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
        if len(text_or_none(key, "identifier") or "") > LONGEST:
            raise ValueError("an identifier that is too long")
        return values, label, None if key == "" else key


def begin_records(events: CsvEvents | JsonEvents, line: bytes, model: EventModel) -> str | None:
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
