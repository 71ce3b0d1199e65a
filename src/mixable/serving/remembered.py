"""What a served model remembers of identifiers, as arrays: its file may have very many."""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from mixable._types import Array
from mixable.learner import Learner
from mixable.learner.late import Kept as Inputs
from mixable.learner.late import checked_record, restored, saved, stacked, stacked_texts, unstacked
from mixable.learner.record_inputs import RecordInputs
from mixable.serving.events import Features

NONE = Inputs(record=None, x=np.empty(0), z=np.empty(0))


class Kept(NamedTuple):
    """A forecast that waits for its label."""

    text: bytes  # the features as JSON
    p: Array
    rates: list[int]  # how often each class had come at that time
    inputs: Inputs | None = None  # of the forecast, unless the model knew nothing of the record

    @property
    def bytes(self) -> int:
        """Memory, about."""
        return len(self.text) + (0 if self.inputs is None else self.inputs.bytes)


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
            # The record is in the features.
            "inputs": saved(
                [replace(each.inputs or NONE, record=None) for each in waiting.values()]
            ),
        },
        "done": {
            "ids": stacked_texts(key.encode() for key in done),
            "learned": np.array(list(done.values()), dtype=np.int64).reshape(-1, 3),
        },
    }


def waiting_of(state: dict[str, Any], learner: Learner, rates: list[int]) -> Waiting:
    """The forecasts that wait, once they are known to go with the learner.

    Version 0.2.0 kept neither the rates of the classes, which are then those of the model, nor the
    inputs.
    """
    waiting: Waiting = OrderedDict()
    ids, classes = unstacked(state["ids"], "u"), len(learner.labels)
    old = [np.array(rates, np.int64)] * len(ids)
    kept = [NONE] * len(ids)
    if "inputs" in state:
        kept = restored(state["inputs"], learner.n_features, has_records=False)
    has_records = isinstance(learner.inputs, RecordInputs)
    for key, text, p, then, inputs in zip(
        ids,
        unstacked(state["features"], "u"),
        unstacked(state["P"], "f"),
        unstacked(state["rates"], "i") if "rates" in state else old,
        kept,
        strict=True,
    ):
        is_sound = len(p) <= classes and ((p >= 0) & (p <= MOST)).all()
        if not is_sound or len(then) > classes or (then < 0).any():
            raise ValueError("what waits for its label does not go with the learner")
        record = checked_record(text)
        own = replace(inputs, record=record if has_records else None) if len(inputs.z) else None
        waiting[bytes(key).decode()] = Kept(text=bytes(text), p=p, rates=then.tolist(), inputs=own)
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
