"""Forecasts to lines: CSV or JSON lines, each with the number of its event's line in the input, or
its identifier.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mixable import _core
from mixable.streaming.model import Identifier, as_text

Array = NDArray[np.float64]


class CsvAnswers:
    """A header, and again a header when there is a new class; then for each event the probabilities
    of the classes.
    """

    def __init__(self, key: str) -> None:
        self._key = _field(key)
        self.headed: int | None = None  # classes in the last header

    def lines(self, keys: Sequence[Identifier], P: Array, labels: list[str]) -> bytes:
        """The lines for some events."""
        header = b""
        if self.headed != len(labels):
            header = (",".join([self._key, *map(_field, labels)]) + "\n").encode()
            self.headed = len(labels)
        heads = [
            b"%d" % key
            if type(key) is int
            else _field("" if key is None else as_text(key)).encode()
            for key in keys
        ]
        return header + _core.format_rows(P, heads, [","] * len(labels), "\n")


def _field(text: str) -> str:
    """A field of CSV, quoted if it has to be."""
    if text.isalnum():
        return text
    return (
        '"' + text.replace('"', '""') + '"'
        if not text or text.strip() != text or any(c in text for c in ',"\r\n')
        else text
    )


class JsonAnswers:
    """An object for each event."""

    headed: int | None = None

    def __init__(self, key: str) -> None:
        self._key = "{" + json.dumps(key) + ":"

    def lines(self, keys: Sequence[Identifier], P: Array, labels: list[str]) -> bytes:
        """The lines for some events."""
        names = [json.dumps(label) + ":" for label in labels]
        heads = [f'{self._key}{json.dumps(key)},"p":{{'.encode() for key in keys]
        return _core.format_rows(P, heads, names[:1] + ["," + name for name in names[1:]], "}}\n")
