"""What requests hold: JSON, decoded and checked by msgspec; gzip, by zlib, within bounds."""

from __future__ import annotations

import json
import zlib
from collections.abc import AsyncIterator
from typing import Any

import msgspec

from mixable.events.events import LONGEST, MOST_FEATURES, Event, RefusedError

Plain = bool | int | float | str | None
Cell = Plain | list[Plain]
PIECE = 2**16  # bytes that are unpacked at once


class Forecast(msgspec.Struct, forbid_unknown_fields=True):
    """The body of /predict."""

    features: dict[str, Cell]
    id: int | float | str | None = None
    label = None  # of all of them


class Body(msgspec.Struct, forbid_unknown_fields=True):
    """The body of /learn, and a line of /events."""

    features: dict[str, Cell] | None = None
    id: int | float | str | None = None
    label: bool | int | float | str | None = None


FORECAST, EVENT = msgspec.json.Decoder(Forecast), msgspec.json.Decoder(Body)
_OBJECT = msgspec.json.Decoder(dict[str, Any])


def decoded(text: bytes, decoder: msgspec.json.Decoder[Any]) -> Any:
    """What a body holds; refused with a reason if it is something else."""
    try:
        return decoder.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RefusedError(422, str(error)) from None
    except RecursionError:
        raise RefusedError(422, "nested too deeply") from None


def as_object(text: bytes, allowed: set[str] | None = None) -> dict[str, Any]:
    """An object of JSON, of known names."""
    values: dict[str, Any] = decoded(text, _OBJECT)
    if allowed is not None and not values.keys() <= allowed:
        raise RefusedError(422, f"{min(values.keys() - allowed)!r:.80} is not one of {allowed}")
    return values


def read(text: bytes, decoder: msgspec.json.Decoder[Any]) -> Event:
    """Read an event; what is none is refused with a reason."""
    body = decoded(text, decoder)
    if len(text) > LONGEST and body.features is not None:
        _check_names(body.features)
    event = Event(id=_text(body.id, "id"), features=body.features, label=_text(body.label, "label"))
    if event.features is None and (event.id is None or event.label is None):
        raise RefusedError(422, "features are missing; without, there must be id and label")
    return event


def _text(value: Plain, what: str) -> str | None:
    """A label or an identifier as text; null and the empty text are none."""
    if value is None or value == "":
        return None
    text = value if isinstance(value, str) else json.dumps(value)
    if len(text) > LONGEST:
        raise RefusedError(422, f"the {what} has more than {LONGEST:,} characters")
    return text


def _check_names(features: dict[str, Any]) -> None:
    if len(features) > MOST_FEATURES:
        raise RefusedError(422, f"more than {MOST_FEATURES:,} features")
    if any(len(name) > LONGEST for name in features):
        raise RefusedError(422, f"a feature's name has more than {LONGEST:,} characters")


async def unpacked(pieces: AsyncIterator[bytes], encoding: str) -> AsyncIterator[bytes]:
    """The pieces of a body that may be compressed; never much more at once than came."""
    if encoding.lower() in ("", "identity"):
        async for piece in pieces:
            yield piece
        return
    if encoding.lower() not in ("gzip", "x-gzip"):
        raise RefusedError(415, f"the encoding {encoding!r:.80} is not known; gzip is")
    unpacker = zlib.decompressobj(wbits=31)
    try:
        async for piece in pieces:
            rest = piece
            while rest and not unpacker.eof:
                yield unpacker.decompress(rest, PIECE)
                rest = unpacker.unconsumed_tail
    except zlib.error as error:
        raise RefusedError(422, f"the gzip data are damaged: {error}") from None
    if not unpacker.eof:
        raise RefusedError(422, "the gzip data end too early")
