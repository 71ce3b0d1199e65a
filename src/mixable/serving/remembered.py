"""What a served model remembers of identifiers, as arrays: its file may have very many."""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from typing import Any, NamedTuple

import numpy as np

from mixable._types import Array
from mixable.serving.events import Features
from mixable.streaming.kept import checked_record, stacked, stacked_texts, unstacked


class Kept(NamedTuple):
    """A forecast that waits for its label."""

    text: bytes  # the features as JSON
    p: Array
    rates: list[int]  # how often each class had come at that time


Waiting = OrderedDict[str, Kept]


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
            "features": stacked_texts(each.text for each in waiting.values()),
            "P": stacked([each.p for each in waiting.values()]),
            "rates": stacked(
                [np.array(each.rates, np.int64) for each in waiting.values()], np.int64
            ),
        },
        "done": {
            "ids": stacked_texts(key.encode() for key in done),
            "learned": np.array(list(done.values()), dtype=np.int64).reshape(-1, 3),
        },
    }


def waiting_of(saved: dict[str, Any], classes: int, rates: list[int]) -> Waiting:
    """The forecasts that wait, once they are known to go with a model of so many classes.

    Version 0.2.0 did not keep the rates of the classes: then they are those of the model.
    """
    waiting: Waiting = OrderedDict()
    ids = unstacked(saved["ids"], "u")
    old = [np.array(rates, np.int64)] * len(ids)
    for key, text, p, then in zip(
        ids,
        unstacked(saved["features"], "u"),
        unstacked(saved["P"], "f"),
        unstacked(saved["rates"], "i") if "rates" in saved else old,
        strict=True,
    ):
        is_sound = len(p) <= classes and ((p >= 0) & (p <= MOST)).all()
        if not is_sound or len(then) > classes or (then < 0).any():
            raise ValueError("what waits for its label does not go with the learner")
        waiting[bytes(key).decode()] = Kept(checked_record(text), p, then.tolist())
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
