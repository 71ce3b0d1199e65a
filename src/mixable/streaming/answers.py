"""Forecasts to lines of CSV or JSON, each with the identifier or the line number of its event."""

from __future__ import annotations

import json
from collections.abc import Sequence

from mixable import _core
from mixable._types import Array
from mixable.streaming.model import Identifier, as_text


class CsvAnswers:
    """Probabilities, one event a line, after a header; a new class brings a new header."""

    def __init__(self, key: str) -> None:
        self._key = _field(key)
        self.headed: int | None = None  # classes in the last header

    def lines(self, keys: Sequence[Identifier], P: Array, labels: list[str]) -> bytes:
        """The lines for some events."""
        header = b""
        if self.headed != len(labels):
            header = (",".join([self._key, *map(_field, labels)]) + "\n").encode()
            self.headed = len(labels)
        heads = [_head(key) for key in keys]
        return header + _core.format_rows(P, heads, [","] * len(labels), "\n")


def _head(key: Identifier) -> bytes:
    if type(key) is int:
        return b"%d" % key
    return _field("" if key is None else as_text(key)).encode()


def _field(text: str) -> str:
    """A field of CSV, quoted if it has to be."""
    if text.isalnum():
        return text
    is_plain = text and text.strip() == text and not any(c in text for c in ',"\r\n')
    return text if is_plain else '"' + text.replace('"', '""') + '"'


class JsonAnswers:
    """An object for each event."""

    headed: int | None = None

    def __init__(self, key: str) -> None:
        self._key = "{" + json.dumps(key) + ":"

    def lines(self, keys: Sequence[Identifier], P: Array, labels: list[str]) -> bytes:
        """The lines for some events."""
        names = [json.dumps(label) + ":" for label in labels]
        heads = [f'{self._key}{_json(key)},"p":{{'.encode() for key in keys]
        return _core.format_rows(P, heads, names[:1] + ["," + name for name in names[1:]], "}}\n")


def _json(key: Identifier) -> str:
    return str(key) if type(key) is int else json.dumps(key)
