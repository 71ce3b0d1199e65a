"""What a model of events saves of its identifiers, and what files of earlier versions had."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from mixable import _validate, records
from mixable._types import Array
from mixable.events.options import declared_options
from mixable.model import Learner
from mixable.model.late import (
    Kept,
    as_json,
    checked_record,
    restored,
    saved,
    stacked,
    stacked_texts,
    unstacked,
)
from mixable.model.record_inputs import RecordInputs
from mixable.records.rows import at_width

MISFIT = "what waits for its outcome does not go with the learner"


class Waiting(NamedTuple):
    """A forecast that waits for its outcome."""

    kept: Kept  # the inputs
    p: Array  # the forecast
    base: tuple[float, ...]  # what the baseline knew
    number: int = 0  # of the event
    print: int = 0  # of the features
    size: int = 0  # bytes of the record, about


class Learned(NamedTuple):
    """What became of an identifier whose outcome was learned."""

    outcome: float  # the number, or the code of the label
    step: int
    print: int  # of the features


def fingerprint(features: Any) -> int:
    """What tells features from others: 63 bits."""
    digest = hashlib.blake2b(as_json(features), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


def waiting_state(waiting: OrderedDict[str, Waiting]) -> dict[str, Any]:
    """Forecasts that wait, as arrays."""
    every = list(waiting.values())
    return {
        "ids": stacked_texts(key.encode() for key in waiting),
        "kept": saved([each.kept for each in every]),
        "P": stacked([each.p for each in every]),
        "base": stacked([np.array(each.base, np.float64) for each in every]),
        "about": np.array([each[3:] for each in every], np.int64).reshape(-1, 3),
    }


def waiting_of(
    state: dict[str, Any], learner: Learner, now: tuple[float, ...]
) -> OrderedDict[str, Waiting]:
    """Forecasts that wait, once they are known to go with the learner.

    Files before version 0.3.0 had no baselines: they are those of `now`.
    """
    has_records = isinstance(learner.inputs, RecordInputs)
    ids = [bytes(key).decode() for key in unstacked(state["ids"], "u")]
    kept = _kept_of(state, learner, has_records)
    forecasts = _forecasts_of(state["P"], learner)
    bases = [now] * len(ids)
    about = np.zeros((len(ids), 3), np.int64)
    if "base" in state:
        bases = [tuple(each.tolist()) for each in unstacked(state["base"], "f")]
        about = state["about"]
    for base in bases:
        if not all(np.isfinite(base)) or (not learner.has_labels and len(base) != 3):
            raise ValueError(MISFIT)
        if learner.has_labels and (min(base, default=0) < 0 or len(base) > len(learner.labels)):
            raise ValueError(MISFIT)
    if about.dtype != np.int64 or about.shape != (len(ids), 3) or (about < 0).any():
        raise ValueError(MISFIT)
    rows = zip(kept, forecasts, bases, about.tolist(), strict=True)
    waiting = [Waiting(each, p, base, *rest) for each, p, base, rest in rows]
    return OrderedDict(zip(ids, waiting, strict=True))


def _kept_of(state: dict[str, Any], learner: Learner, has_records: bool) -> list[Kept]:
    if "X" in state:  # before version 0.3.0: rows before they were scaled
        return _as_of_now(state["X"], learner, has_records=has_records)
    out = []
    texts = unstacked(state["kept"]["records"], "u")
    rows = restored(state["kept"], learner.n_features, has_records=False)
    for each, text in zip(rows, texts, strict=True):
        record = checked_record(text) if len(text) else None
        kept = replace(each, record=record)
        if (record is not None) == has_records:  # not of before it was a model of records
            learner.check(kept)
        elif not has_records:
            raise ValueError(MISFIT)
        out.append(kept)
    return out


def _as_of_now(stack: dict[str, Any], learner: Learner, *, has_records: bool) -> list[Kept]:
    rows = unstacked(stack, "u" if has_records else "f")
    if has_records:
        return [learner.kept([checked_record(row)]) for row in rows]
    if any(len(row) > learner.n_features or np.isinf(row).any() for row in rows):
        raise ValueError(MISFIT)
    return [learner.kept(at_width(np.asarray(row), learner.n_features)) for row in rows]


def _forecasts_of(stack: dict[str, Any], learner: Learner) -> list[Array]:
    """The forecasts; since then there may be more classes."""
    forecasts = unstacked(stack, "f")
    for p in forecasts:
        if not learner.has_labels:
            fits = len(p) == 4 and np.isfinite(p[0]) and p[1] >= 0 and p[2] <= p[3]
        else:  # they add up to 1, but for the last bits
            fits = len(p) <= len(learner.labels) and ((p >= 0) & (p <= 1 + 1e-9)).all()
        if not fits:
            raise ValueError(MISFIT)
    return forecasts


def done_state(done: OrderedDict[str, Learned]) -> dict[str, Any]:
    """The identifiers that were learned, as arrays."""
    return {
        "ids": stacked_texts(key.encode() for key in done),
        "outcomes": np.array([each.outcome for each in done.values()], np.float64),
        "learned": np.array([each[1:] for each in done.values()], np.int64).reshape(-1, 2),
    }


def done_of(state: dict[str, Any]) -> OrderedDict[str, Learned]:
    """The identifiers that were learned."""
    keys, outcomes, rows = unstacked(state["ids"], "u"), state["outcomes"], state["learned"]
    outcomes = _validate.saved(outcomes, (len(keys),), "outcomes", most=1e300)
    if rows.dtype != np.int64 or rows.shape != (len(keys), 2) or (rows < 0).any():
        raise ValueError("what was learned is not known by its identifiers")
    each = zip(keys, outcomes.tolist(), rows.tolist(), strict=True)
    return OrderedDict((bytes(key).decode(), Learned(y, *both)) for key, y, both in each)


def of_now(state: dict[str, Any]) -> dict[str, Any]:
    """A saved state as this version has it.

    Up to version 0.2 there were two classes, of streams and of services.
    """
    if "options" in state:
        return state
    state = dict(state)
    if "closed_features" in state:  # as versions before records had it
        closed = _validate.flag(state["closed_features"], "closed_features")
        state.update(features=tuple(state["_columns"]) if closed else None, declared=None)
    options = {name: state[name] for name in ("classes", "features") if state[name] is not None}
    declared = state["declared"]
    if declared is not None:
        if not isinstance(declared, records.Columns):
            raise TypeError("declared must be records.Columns")
        options |= declared_options(declared)
    state |= {"options": options, "_learner": state.get("_learner", state.get("_engine"))}
    if "journal" not in state:
        none = done_state(OrderedDict())
        return {**state, "progress": None, "done": none, "_before": []}
    counts, done = dict(state["counts"]), state["done"]
    remembered = _validate.count(counts.pop("remembered"), "remembered", least=0)
    counts["events"] = counts["predicted"] = counts["learned"] - counts["late"] + remembered
    counts["rejected"] = 0
    learned = done["learned"]
    if learned.dtype != np.int64 or learned.ndim != 2 or learned.shape[1] != 3:
        raise ValueError("what was learned is not known by its identifiers")
    done = {
        "ids": done["ids"],
        "outcomes": learned[:, 0].astype(np.float64),
        "learned": np.ascontiguousarray(learned[:, 1:]),
    }
    waiting = _served(state["waiting"], state["_learner"], state["_columns"])
    rest = {"counts": counts, "done": done, "place": {}, "waiting": waiting, "_before": []}
    return {**state, **rest}


def _served(waiting: dict[str, Any], learner: Any, columns: Any) -> dict[str, Any]:
    """The forecasts of a service of version 0.2: records as they came, whose inputs are of now."""
    every = [checked_record(text) for text in unstacked(waiting["features"], "u")]
    if isinstance(learner, Learner) and isinstance(learner.inputs, RecordInputs):
        return {"ids": waiting["ids"], "P": waiting["P"], "X": stacked_texts(map(as_json, every))}
    rows = np.full((len(every), len(columns)), np.nan)
    for row, record in zip(rows, every, strict=True):
        for name, value in record.items():
            if name in columns and isinstance(value, int | float):
                row[columns[name]] = value
    return {"ids": waiting["ids"], "P": waiting["P"], "X": stacked(list(rows))}
