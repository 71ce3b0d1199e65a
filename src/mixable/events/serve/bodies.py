"""What requests hold: JSON, decoded and checked by msgspec; gzip, by zlib, within bounds."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import AsyncIterator, Collection
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta

from mixable.events.events import LONGEST, MOST_FEATURES, Event, RefusedError
from mixable.events.serve.series import MOST_HOURS

# No name can be a path.
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
PIECE = 2**16  # bytes that are unpacked at once

Plain = bool | int | float | str | None
Cell = Plain | list[Plain]
Name = Annotated[str, Meta(pattern=f"^{NAME.pattern}$", description="Of a model, or a version.")]
Time = Annotated[float, Meta(ge=0, le=1e11, description="Seconds since 1970.")]
NotNegative = Annotated[float, Meta(ge=0)]
Ends = Annotated[list[float | None], Meta(min_length=2, max_length=2)]
Kind = TypeVar("Kind")

ID = "By it, a label finds its forecast, and a request may be repeated."
RECORD = "The record: names and values; null and what is not there are missing."
LABEL = "The outcome: a class (1 and the text 1 are the same), or a number."
Identifier = Annotated[int | float | str | None, Meta(description=ID)]
Record = Annotated[dict[str, Cell], Meta(description=RECORD)]


class Forecast(msgspec.Struct, forbid_unknown_fields=True):
    """The body of /predict."""

    features: Record
    id: Identifier = None
    label = None  # of all of them


class Line(msgspec.Struct, forbid_unknown_fields=True):
    """A line of /events."""

    features: Record | None = None
    id: Identifier = None
    label: Plain = None


class Outcome(msgspec.Struct, forbid_unknown_fields=True):
    """The body of /learn."""

    label: Annotated[bool | int | float | str, Meta(description=LABEL)]
    features: Record | None = None
    id: Identifier = None


class Named(msgspec.Struct, forbid_unknown_fields=True):
    """The body of POST /versions."""

    name: Name


class Rollback(msgspec.Struct, forbid_unknown_fields=True):
    """The body of /rollback: the name or the number of a version."""

    version: str | int


class Reference(msgspec.Struct, forbid_unknown_fields=True):
    """The body of /reference; without a name, the first records count."""

    name: Name | None = None
    since: Time = 0.0
    until: Time = 1e11


class Explain(msgspec.Struct):
    """What may stand behind /predict?"""

    explain: bool = False


class Hours(msgspec.Struct):
    """What may stand behind /series?"""

    hours: Annotated[int, Meta(ge=1, le=MOST_HOURS)] = 24


class Which(msgspec.Struct):
    """What may stand behind /models?"""

    kind: Literal["agent", "model"] | None = None


FORECAST, OUTCOME, EVENT = map(msgspec.json.Decoder, (Forecast, Outcome, Line))
OPTIONS = msgspec.json.Decoder(dict[str, Any])


def decoded(text: bytes, decoder: msgspec.json.Decoder[Kind]) -> Kind:
    """What a body holds; refused with a reason if it is something else."""
    try:
        return decoder.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RefusedError(422, str(error)) from None
    except RecursionError:
        raise RefusedError(422, "nested too deeply") from None


def read(text: bytes, decoder: msgspec.json.Decoder[Any]) -> Event:
    """Read an event; what is none is refused with a reason."""
    body = decoded(text, decoder)
    features, label = body.features, text_of(body.label, "label")
    if len(text) > LONGEST and features is not None:
        check_names(features)
    event = Event(id=text_of(body.id, "id"), features=features, label=label)
    if features is None and (event.id is None or label is None):
        raise RefusedError(422, "features are missing; without, there must be id and label")
    if label is None and decoder is OUTCOME:
        raise RefusedError(422, "the label is missing")
    return event


def text_of(value: Plain, what: str) -> str | None:
    """A label or an identifier as text; null and the empty text are none."""
    if value is None or value == "":
        return None
    text = value if isinstance(value, str) else json.dumps(value)
    if len(text) > LONGEST:
        raise RefusedError(422, f"the {what} has more than {LONGEST:,} characters")
    return text


def check_names(features: Collection[str]) -> None:
    """Refuse too many features, and names that are too long."""
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
