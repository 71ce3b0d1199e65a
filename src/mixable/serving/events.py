"""Requests to events: JSON in, checked, before anything is written or learned."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

from mixable.records import Columns
from mixable.records.cells import plain
from mixable.records.declaration import KINDS
from mixable.serving.limits import ModelLimits, RefusedError
from mixable.streaming.events import as_reason, text_or_none, without_doubles

KEYS = {"id", "features", "label"}
NUMBERS = {float, int}

Features = dict[Any, Any]

_PLAIN = json.JSONDecoder()
_STRICT = json.JSONDecoder(object_pairs_hook=without_doubles)


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


def read(text: bytes, limits: ModelLimits, allowed: set[str] = KEYS) -> Event:
    """Read an event; what is none is refused with a reason."""
    try:
        values = _loaded(text.decode())
        if not isinstance(values, dict):
            raise ValueError("not a JSON object")
        if not values.keys() <= allowed:
            unknown, names = min(values.keys() - allowed), ", ".join(sorted(allowed))
            raise ValueError(f"{unknown!r:.80} is not one of {names}")
        event = Event(
            id=_text(values, "id", limits),
            features=_features(values.get("features"), limits),
            label=_text(values, "label", limits),
            text=_one_line(text, values),
        )
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise RefusedError(422, as_reason(error)) from None
    if event.features is None and (event.id is None or event.label is None):
        raise RefusedError(422, "features are missing; without, there must be id and label")
    return event


def declared(text: bytes) -> Columns | None:
    """What the body of PUT says of the columns: {"kinds": {NAME: KIND}, "cross": [[A, B]]}."""
    if not text.strip():
        return None
    try:
        values = _STRICT.decode(text.decode())
        if not isinstance(values, dict) or not values.keys() <= {"kinds", "cross"}:
            raise ValueError('the body may have "kinds" and "cross", nothing else')
        kinds = values.get("kinds", {})
        if not isinstance(kinds, dict):
            raise ValueError(f"kinds must be an object of names and kinds, got {kinds!r:.80}")
        names: dict[str, list[str]] = {}
        for name, kind in kinds.items():
            if kind not in KINDS:
                raise ValueError(f"{name!r:.80} cannot be {kind!r:.80}: {', '.join(KINDS)} can be")
            names.setdefault(kind, []).append(name)
        return Columns(cross=values.get("cross", ()), **names) if values else None  # type: ignore[arg-type]
    except (ValueError, TypeError, RecursionError) as error:
        raise RefusedError(422, as_reason(error)) from None


def _loaded(text: str) -> Any:
    """What JSON says, as `mixable.streaming.events.loaded` reads it, with names in `features`."""
    if not any(space in text for space in (" :", "\t:", "\r:", "\n:")):
        try:
            values, end = _PLAIN.raw_decode(text)
        except ValueError:
            end = -1  # and the other says why
        if end == len(text) and type(values) is dict:
            inner = values.get("features")
            names = len(values) + (len(inner) if type(inner) is dict else 0)
            if names == text.count('":'):  # each name ends so: none stands twice
                return values
    return _STRICT.decode(text)


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
    if _are_plain(values, limits):
        return values
    for name, value in values.items():
        if len(name) > limits.text:
            raise ValueError(f"a feature's name has more than {limits.text:,} characters")
        if not name.isascii():
            name.encode()  # refuses halves of surrogate pairs, which no UTF-8 can hold
        kind = type(value)
        if kind is float or kind is int:
            if math.isinf(float(value)):
                raise ValueError(f"feature {name!r:.80} is {value}; features must be finite")
        elif kind is not str and value is not None:
            plain(value, name)  # refuses objects, and lists within lists
    return values


def _are_plain(values: Features, limits: ModelLimits) -> bool:
    """Whether all are finite numbers under short names of ASCII: seen at once, not one by one."""
    return (
        bool(values)
        and set(map(type, values.values())) <= NUMBERS
        and max(map(len, values)) <= limits.text
        and "".join(values).isascii()
        and not any(map(math.isinf, values.values()))
    )


def _one_line(text: bytes, values: dict[str, Any]) -> bytes:
    text = text.strip()
    if b"\n" in text or b"\r" in text:
        return json.dumps(values).encode()
    return text
