"""What a served model remembers of identifiers, as arrays: its file may have very many."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from mixable._types import Array
from mixable.learner import Learner
from mixable.learner.late import (
    Kept,
    checked_record,
    restored,
    saved,
    stacked,
    stacked_texts,
    unstacked,
)

NONE = Kept(record=None, x=np.empty(0), z=np.empty(0))


class Remembered(NamedTuple):
    """A forecast that waits for its label."""

    text: bytes  # the features as JSON
    p: Array
    rates: list[int]  # how often each class had come at that time
    inputs: Kept | None = None  # of the forecast, unless the model knew nothing of the record

    @property
    def bytes(self) -> int:
        """Memory, about."""
        return len(self.text) + (0 if self.inputs is None else self.inputs.bytes)


Waiting = OrderedDict[str, Remembered]


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
            "inputs": saved([_without_record(each.inputs) for each in waiting.values()]),
        },
        "done": {
            "ids": stacked_texts(key.encode() for key in done),
            "learned": np.array(list(done.values()), dtype=np.int64).reshape(-1, 3),
        },
    }


def _without_record(inputs: Kept | None) -> Kept:
    """Inputs as they are saved: the features have the record, if there is one."""
    kept = inputs or NONE
    return kept if kept.record is None else replace(kept, record={})


def waiting_of(state: dict[str, Any], learner: Learner, rates: list[int]) -> Waiting:
    """The forecasts that wait, once they are known to go with the learner.

    Version 0.2.0 kept neither the rates of the classes, which are then those of the model, nor the
    inputs.
    """
    waiting: Waiting = OrderedDict()
    ids, classes = unstacked(state["ids"], "u"), len(learner.labels)
    old = [np.array(rates, np.int64)] * len(ids)
    kept, were_records = [NONE] * len(ids), [False] * len(ids)
    if "inputs" in state:
        kept = restored(state["inputs"], learner.n_features, has_records=False)
        were_records = (state["inputs"]["records"]["lengths"] > 0).tolist()
    for key, text, p, then, inputs, was_record in zip(
        ids,
        unstacked(state["features"], "u"),
        unstacked(state["P"], "f"),
        unstacked(state["rates"], "i") if "rates" in state else old,
        kept,
        were_records,
        strict=True,
    ):
        is_sound = len(p) <= classes and ((p >= 0) & (p <= MOST)).all()
        if not is_sound or len(then) > classes or (then < 0).any():
            raise ValueError("what waits for its label does not go with the learner")
        record = checked_record(text)
        own = replace(inputs, record=record if was_record else None) if len(inputs.z) else None
        if own is not None:
            learner.check(own)
        waiting[bytes(key).decode()] = Remembered(
            text=bytes(text), p=p, rates=then.tolist(), inputs=own
        )
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


def fingerprint(text: bytes) -> int:
    """What tells features from others: 63 bits."""
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little") >> 1
