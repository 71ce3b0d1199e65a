"""What a served model remembers of identifiers, as arrays: its file may have very many."""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from typing import Any, NamedTuple

import numpy as np

from mixable._types import Array
from mixable.learner.late import checked_record, stacked, stacked_texts, unstacked
from mixable.serving.events import Features

Waiting = OrderedDict[str, tuple[bytes, Array]]


class Learned(NamedTuple):
    """What became of an identifier whose label was learned."""

    code: int  # of the label
    step: int
    print: int  # of the features


Done = OrderedDict[str, Learned]
MOST = 1 + 1e-9  # probabilities add up to 1, but for the last bits


def state(waiting: Waiting, done: Done) -> dict[str, Any]:
    """Both, as arrays."""
    return {
        "waiting": {
            "ids": stacked_texts(key.encode() for key in waiting),
            "features": stacked_texts(text for text, _ in waiting.values()),
            "P": stacked([p for _, p in waiting.values()]),
        },
        "done": {
            "ids": stacked_texts(key.encode() for key in done),
            "learned": np.array(list(done.values()), dtype=np.int64).reshape(-1, 3),
        },
    }


def waiting_of(saved: dict[str, Any], classes: int) -> Waiting:
    """The forecasts that wait, once they are known to go with a model of so many classes."""
    waiting: Waiting = OrderedDict()
    for key, text, p in zip(
        unstacked(saved["ids"], "u"),
        unstacked(saved["features"], "u"),
        unstacked(saved["P"], "f"),
        strict=True,
    ):
        if len(p) > classes or not ((p >= 0) & (p <= MOST)).all():
            raise ValueError("what waits for its label does not go with the learner")
        waiting[bytes(key).decode()] = checked_record(text), p
    return waiting


def done_of(saved: dict[str, Any], classes: int) -> Done:
    """The identifiers that were learned."""
    rows, keys = saved["learned"], unstacked(saved["ids"], "u")
    if rows.dtype != np.int64 or rows.shape != (len(keys), 3):
        raise ValueError("what was learned is not known by its identifiers")
    done: Done = OrderedDict()
    for key, (code, step, print_) in zip(keys, rows.tolist(), strict=True):
        if not (0 <= code < classes and step >= 1):
            raise ValueError("what was learned does not go with the learner")
        done[bytes(key).decode()] = Learned(code, step, print_)
    return done


def as_json(features: Features | None) -> bytes:
    """Features as they are kept."""
    return json.dumps(features, separators=(",", ":")).encode()


def fingerprint(text: bytes) -> int:
    """What tells features from others: 63 bits."""
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little") >> 1
