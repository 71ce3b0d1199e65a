"""Lines to events: features as a row of numbers, a label, an identifier; or the reason why not."""

from __future__ import annotations

import csv
import json
import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixable import _core
from mixable._spelling import did_you_mean
from mixable.learner.columns import number
from mixable.streaming.errors import StreamError
from mixable.streaming.model import Identifier, StreamModel, as_text
from mixable.streaming.options import Options

Integers = NDArray[np.int64]
MOST_FEATURES = 2000  # that are added unasked
LONGEST_NAME = 1000  # of a feature or an identifier


@dataclass(frozen=True, kw_only=True, slots=True)
class Batch:
    """Some lines of a buffer, as events and rejects."""

    X: Any  # (n, features of the model), NaN is missing; or a list of n records
    labels: list[str | None]
    ids: Sequence[Identifier]
    begins: Integers  # where each event's line begins in the buffer
    lines: Integers  # which line it is, counted from the batch's first
    rejects: list[tuple[int, int, str]]  # line, where it begins, reason
    end: int  # of the batch in the buffer
    passed: int  # lines, blank ones included
    fieldless: Sequence[bool]  # of each event, whether its line has no field for any feature


class CsvEvents:
    """Events in CSV: one to a line, the first line has the names of the columns."""

    def __init__(self, header: bytes, model: StreamModel, options: Options) -> None:
        names, target, identifier = _header(header), options.target, options.identifier
        for wanted in (target, identifier):
            if wanted is not None and wanted not in names:
                found = f"{did_you_mean(wanted, names)} (it has {', '.join(names):.300})"
                raise StreamError(f"the header has no column {wanted!r}{found}")
        if model.declared is not None and (model.encoder is None or not model.encoder.n):
            try:
                model.declared.refuse_unknown(names, "the header")
            except ValueError as error:
                raise StreamError(str(error)) from None
        self._model, self._options = model, options
        features = [name for name in names if name not in (target, identifier)]
        is_open = options.learns and not model.closed_features
        if is_open and len({*model.feature_names, *features}) > MOST_FEATURES:
            hint = "name the features with --features if there are so many"
            raise StreamError(f"the header has {len(features):,} columns; {hint}")
        used = self._used(features)
        self._fieldless = not (used if model.closed_features else features)
        # features that the model has, and the header has not
        self.missing = [str(name) for name in model.feature_names if name not in used]
        self._begin(names, used)

    def _used(self, features: list[str]) -> list[str]:
        """Those of the header's features that are used; the model has them from now on."""
        if not self._model.closed_features and self._options.learns:
            self._model.add_features(features)
        return [name for name in features if name in self._model.columns]

    def _begin(self, names: list[str], used: list[str]) -> None:
        places = {name: place for place, name in enumerate(used)}
        special = {self._options.target: -2, self._options.identifier: -3}
        self._columns = [self._model.columns[name] for name in used]
        roles = [special.get(name, places.get(name, -1)) for name in names]
        self._parser = _core.CsvParser(roles, names)

    def parse(self, block: bytes, begin: int, end: int, most: int) -> Batch:
        """At most `most` events of some whole lines."""
        parsed = self._parser.parse(block, begin, end, most, LONGEST_NAME)
        known, labels, ids, begins, lines, rejects, stop, passed = parsed
        width, X = len(self._model.columns), known
        if self._columns != list(range(width)):
            X = np.full((len(known), width), math.nan)
            X[:, self._columns] = known
        return Batch(
            X=X,
            labels=labels,
            ids=ids,
            begins=begins,
            lines=lines,
            rejects=rejects,
            end=stop,
            passed=passed,
            fieldless=[self._fieldless] * len(X),
        )


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
    """Events in JSON lines: one object to a line."""

    def __init__(self, model: StreamModel, options: Options) -> None:
        self._model, self._options = model, options
        self._open = options.learns and not model.closed_features

    def parse(self, block: bytes, begin: int, end: int, most: int) -> Batch:
        """At most `most` events of some whole lines; only the first may have new features."""
        rows: list[Any] = []
        labels: list[str | None] = []
        ids: list[Identifier] = []
        begins: list[int] = []
        lines: list[int] = []
        rejects: list[tuple[int, int, str]] = []
        fieldless: list[bool] = []
        line = 0
        while begin < end and len(rows) + len(rejects) < most:
            stop = block.find(b"\n", begin, end) + 1 or end
            text = block[begin:stop].strip()
            if text:
                try:
                    values, label, key = self._read(text)
                    if self._is_new(values, label):
                        was_record = self._model.encoder is not None
                        if rows or rejects:
                            break
                        self._add_features(values)
                        if not was_record and self._model.encoder is not None:
                            break  # from now on, events are read as records
                    rows.append(self._row(values))
                    labels.append(label)
                    ids.append(key)
                    begins.append(begin)
                    lines.append(line)
                    fieldless.append(not self._has_features(values))
                except (ValueError, TypeError, OverflowError, MemoryError, RecursionError) as error:
                    rejects.append((line, begin, as_reason(error)))
            begin = stop
            line += 1
        return Batch(
            X=self._table(rows),
            labels=labels,
            ids=ids,
            begins=np.array(begins, np.int64),
            lines=np.array(lines, np.int64),
            rejects=rejects,
            end=begin,
            passed=line,
            fieldless=fieldless,
        )

    def _is_new(self, values: dict[Hashable, Any], label: str | None) -> bool:
        """Whether an object has features that have to be added before."""
        return self._open and not values.keys() <= self._model.columns.keys()

    def _row(self, values: dict[Hashable, Any]) -> Any:
        """What the model gets of an object."""
        return self._model.columns.row(values)

    def _table(self, rows: list[Any]) -> Any:
        return np.array(rows).reshape(len(rows), len(self._model.columns))

    def _has_features(self, values: dict[Hashable, Any]) -> bool:
        """Whether an object has the key of a feature, whatever its value."""
        if self._model.features is not None:
            return not values.keys().isdisjoint(self._model.features)
        return bool(values)

    def _add_features(self, values: dict[Hashable, Any]) -> None:
        if len(self._model.columns.keys() | values.keys()) > MOST_FEATURES:
            hint = "name those wanted with --features"
            raise ValueError(f"more than {MOST_FEATURES} features; {hint}")
        if any(len(str(name)) > LONGEST_NAME for name in values):
            raise ValueError(f"a feature's name of more than {LONGEST_NAME:,} characters")
        for name, value in values.items():
            number(name, value)  # refuse before anything is added
        self._model.make_room(values)

    def _read(self, text: bytes) -> tuple[dict[Hashable, Any], str | None, Identifier]:
        values = loaded(text.decode())
        if not isinstance(values, dict):
            raise ValueError("not a JSON object")
        label = text_or_none(values.pop(self._options.target, None), "label")
        if self._options.identifier is None:
            return values, label, None
        key = values.pop(self._options.identifier, None)
        if len(text_or_none(key, "identifier") or "") > LONGEST_NAME:
            raise ValueError("an identifier that is too long")
        return values, label, None if key == "" else key


def without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of some names and values; one that has a name twice is refused."""
    out = dict(pairs)
    if len(out) < len(pairs):
        raise ValueError("a name stands twice in the object")
    return out


_STRICT = json.JSONDecoder(object_pairs_hook=without_doubles)
_scanned: Callable[[str, int], tuple[Any, int]] = vars(_STRICT)["scan_once"]


def loaded(text: str) -> Any:
    """What a line of JSON says; without spaces around it."""
    try:
        values, end = _scanned(text, 0)
    except StopIteration:
        end = -1
    return values if end == len(text) else _STRICT.decode(text)  # which says why not


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


def as_reason(error: BaseException) -> str:
    """What the sender of an event is told."""
    if isinstance(error, UnicodeError):
        return "not UTF-8"
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON: {error.msg} at character {error.pos + 1}"
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return str(error) or type(error).__name__
