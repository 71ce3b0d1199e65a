"""The model of a stream: a forecaster of labels, and what else a checkpoint holds."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from mixable import _validate, records
from mixable._types import Array
from mixable.learner import Design, Learner
from mixable.learner.late import (
    Kept,
    checked_record,
    restored,
    saved,
    stacked,
    stacked_texts,
    unstacked,
)
from mixable.learner.pooled import design_of_records
from mixable.learner.record_inputs import RecordInputs
from mixable.records.rows import at_width
from mixable.streaming.kept import Identifier, KeptModel, as_text

__all__ = ["Identifier", "StreamModel", "as_text"]


class StreamModel(KeptModel):
    """What `mixable stream` saves and `mixable.load` returns: it predicts and learns dictionaries.

    Parameters
    ----------
    design
        The forecaster and the scaling.
    classes
        The labels, if no others may come; None adds them as they come.
    features
        The features, if all others are to be ignored; None adds them as they come.
    columns
        What is declared of the columns of records.

    Attributes
    ----------
    counts
        Events, of which predicted and rejected; examples learned; late labels; events forgotten
        before their label came.
    scores
        `mixable.metrics.Scores` of the forecasts whose label has come.
    waiting
        Inputs and forecast of the events whose label may yet come, by identifier.
    place
        Where the stream was (`mixable.streaming.lines`), and how long what it had written
        (`mixable.streaming.files`).

    Examples
    --------
    >>> model = StreamModel(Design.for_classes(None, {"lam": None, "beta": 1.0}))
    >>> for t in range(50):
    ...     model.learn_one({"wind": float(t % 3), "sun": float(t % 2)}, "rain" if t % 3 else "dry")
    >>> p = model.predict_proba_one({"wind": 2.0, "sun": 1.0})
    >>> round(p["dry"], 1), round(p["rain"], 1)
    (0.0, 1.0)
    """

    COUNTS = ("events", "predicted", "rejected", "learned", "late", "forgotten")

    def __init__(
        self,
        design: Design,
        *,
        classes: Iterable[str] | None = None,
        features: Iterable[str] | None = None,
        columns: records.Columns | None = None,
    ) -> None:
        super().__init__(design, classes=classes, features=features, columns=columns)
        self.waiting: OrderedDict[str, tuple[Kept, Array]] = OrderedDict()
        self.place: dict[str, Any] = {}

    def add_features(self, names: Iterable[Hashable]) -> None:
        """Make room for features that are new."""
        self._add_features(names)

    def _turn(self, x: dict[Hashable, Any]) -> None:
        super()._turn(x)
        self.counts["forgotten"] += len(self.waiting)  # numbers that no record will be
        self.waiting.clear()

    @property
    def is_undecided(self) -> bool:
        """Whether its features may yet become records."""
        is_fresh = not (self.counts["events"] or self.counts["late"])
        return is_fresh and self.encoder is None and not self.learner.forecaster.steps

    @property
    def takes_records(self) -> bool:
        """Whether its forecaster goes with records."""
        try:
            design_of_records(self.design)
        except TypeError:
            return False
        return True

    def _combine_rest(self, start: Any, others: Sequence[Any], base: Any) -> None:
        """Counts and scores add up. What waits is forgotten: it is of other streams."""
        self.counts = {
            name: start.counts[name] + sum(each.counts[name] - base.counts[name] for each in others)
            for name in self.COUNTS
        }
        self.counts["forgotten"] += sum(len(other.waiting) for other in others)
        scores = [other.scores for other in others]
        self.scores = start.scores._combine(scores, base.scores)
        self.waiting, self.place = OrderedDict(), {}

    def __getstate__(self) -> dict[str, Any]:
        ids = stacked_texts(key.encode() for key in self.waiting)
        kept = saved([kept for kept, _ in self.waiting.values()])
        forecasts = stacked([forecast for _, forecast in self.waiting.values()])
        return {**self.__dict__, "waiting": {"ids": ids, "kept": kept, "P": forecasts}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        learner, waiting = self._check_parts(state), state["waiting"]
        _check_place(state["place"])
        ids = [bytes(key).decode() for key in unstacked(waiting["ids"], "u")]
        has_records = isinstance(learner.inputs, RecordInputs)
        if "kept" in waiting:
            kept = restored(waiting["kept"], learner.n_features, has_records=has_records)
            for each in kept:
                learner.check(each)
        else:
            kept = _as_of_now(waiting["X"], learner, has_records=has_records)
        forecasts = unstacked(waiting["P"], "f")
        rows = list(zip(kept, forecasts, strict=True))
        for p in forecasts:  # since then there may be more classes
            if len(p) > len(learner.labels) or not ((p >= 0) & (p <= 1)).all():
                raise ValueError("what waits for its label does not go with the learner")
        self._restore({**state, "waiting": OrderedDict(zip(ids, rows, strict=True))})


def _as_of_now(stack: dict[str, Any], learner: Learner, *, has_records: bool) -> list[Kept]:
    """What waits in files before version 0.3.0, which had rows before they were scaled."""
    rows = unstacked(stack, "u" if has_records else "f")
    if has_records:
        return [learner.kept([checked_record(row)]) for row in rows]
    if any(len(row) > learner.n_features or np.isinf(row).any() for row in rows):
        raise ValueError("what waits for its label does not go with the learner")
    return [learner.kept(at_width(np.asarray(row), learner.n_features)) for row in rows]


def _check_place(place: Any) -> None:
    """Refuse a place where no stream can have been: files are read and cut there."""
    if not isinstance(place, dict):
        raise TypeError(f"place must be a dictionary, got {place!r:.80}")
    if not place:
        return
    there = place["input"]
    for name in ("position", "line"):
        _validate.count(there[name], name, least=0, most=_validate.MOST_STEPS)
    kinds = [type(each) for each in there["prints"]]
    if not (there["torn"] is None or isinstance(there["torn"], str)) or kinds != [str, str]:
        raise TypeError("the place in the input is not one")
    for name in ("out", "rejects"):
        if place.get(name) is not None:
            length, *prints = place[name]
            _validate.count(length, name, least=0, most=_validate.MOST_STEPS)
            if not all(isinstance(each, str) for each in prints):
                raise TypeError(f"the place in {name} is not one")
