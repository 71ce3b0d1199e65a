"""The model of a service: what it answers, learns, remembers, and saves."""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from mixable import _validate
from mixable._types import Array
from mixable.learner import Design
from mixable.serving.events import Event, Features
from mixable.serving.limits import ModelLimits, RefusedError
from mixable.serving.progress import Progress
from mixable.streaming.kept import KeptModel, checked_record, stacked, stacked_texts, unstacked


class Learned(NamedTuple):
    """What became of an identifier whose label was learned."""

    code: int  # of the label
    step: int
    print: int  # of the features


class ServedModel(KeptModel):
    """What `mixable serve` saves and `mixable.load` returns: it predicts and learns dictionaries.

    `apply` is all that changes it while it serves. The same events in the same order make the same
    model, to the bit.

    Parameters
    ----------
    design
        The forecaster and the scaling.
    classes
        The labels, if no others may come; None adds them as they come.
    features
        The features, if all others are to be ignored; None adds them as they come.

    Attributes
    ----------
    counts
        Forecasts remembered, examples learned, late labels, forecasts forgotten before their label
        came.
    scores
        `mixable.metrics.Scores` of the forecasts whose label has come.
    progress
        Their losses over time, beside those of the class rates, and calibration by class.
    waiting
        Features (as JSON) and forecast of the records whose label may yet come, by identifier.
    done
        The identifiers whose label was learned not long ago: learning one again does nothing.
    journal, place
        Which journal its events are in, and the number of the last one that it has seen.

    Examples
    --------
    >>> model = ServedModel(Design.for_classes(None, {"lam": None, "beta": 1.0}))
    >>> model.apply(Event(id=None, features={"wind": 2.0}, label="rain"), ModelLimits())["step"]
    1
    >>> model.apply(Event(id="7", features={"wind": 1.0}, label=None), ModelLimits())
    {'id': '7', 'probabilities': {'rain': 1.0}}
    >>> model.apply(Event(id="7", features=None, label="dry"), ModelLimits())
    {'id': '7', 'learned': True, 'step': 2}
    """

    COUNTS = ("remembered", "learned", "late", "forgotten")

    def __init__(
        self,
        design: Design,
        *,
        classes: Iterable[str] | None = None,
        features: Iterable[str] | None = None,
    ) -> None:
        super().__init__(design, classes=classes, features=features)
        self.progress = Progress()
        self.waiting: OrderedDict[str, tuple[bytes, Array]] = OrderedDict()
        self.waiting_bytes = 0
        self.done: OrderedDict[str, Learned] = OrderedDict()
        self.journal, self.place = "", 0

    def predict(self, features: Features) -> dict[str, float]:
        """The probability of each class met so far; nothing changes."""
        try:
            return self._probabilities(features)
        except (ValueError, TypeError) as error:
            raise RefusedError(422, str(error)) from None

    def apply(self, event: Event, limits: ModelLimits) -> dict[str, Any]:
        """Predict, learn, or both; return the answer. What is refused changes nothing."""
        head = {} if event.id is None else {"id": event.id}
        if event.features is None:
            return {**head, **self._late_label(event, limits)}
        if event.label is None:
            forecast = self.predict(event.features)
            if event.id is not None:
                self._remember(event.id, event.features, forecast, limits)
            return {**head, "probabilities": forecast}
        text = b"" if event.id is None else _json(event.features)
        repeated = self._repeated(event, text)
        if repeated is not None:
            return {**head, **repeated}
        forecast = self.predict(event.features)
        self._learn(event.features, event.label, list(forecast.values()), limits)
        self._forget(event.id)
        return {**head, "probabilities": forecast, **self._finished(event, text, limits)}

    def _late_label(self, event: Event, limits: ModelLimits) -> dict[str, Any]:
        assert event.id is not None
        assert event.label is not None
        if event.id not in self.waiting:
            repeated = self._repeated(event, b"")
            if repeated is None:
                raise RefusedError(404, f"no forecast waits under the id {event.id!r:.80}")
            return repeated
        text, p = self.waiting[event.id]
        self._learn(json.loads(text), event.label, p.tolist(), limits)
        self._drop(event.id)
        self.counts["late"] += 1
        return self._finished(event, text, limits)

    def _repeated(self, event: Event, text: bytes) -> dict[str, Any] | None:
        """The answer if this event has been learned before; None if not."""
        known = None if event.id is None else self.done.get(event.id)
        if known is None:
            return None
        if self.learner.labels[known.code] != event.label:
            raise RefusedError(409, f"the id {event.id!r:.80} was learned with another label")
        if text and _print(text) != known.print:
            raise RefusedError(409, f"the id {event.id!r:.80} was learned with other features")
        return {"learned": False, "step": known.step}

    def _learn(self, features: Features, label: str, p: list[float], limits: ModelLimits) -> None:
        self._check_room(features, label, limits)
        try:
            self.learn_one(features, label)
        except (ValueError, TypeError) as error:
            raise RefusedError(422, str(error)) from None
        code = self.learner.codes[label]
        self.scores.update(np.array(p), code)
        self.progress.add(p, code)
        self.counts["learned"] += 1

    def _check_room(self, features: Features, label: str, limits: ModelLimits) -> None:
        labels = self.learner.codes
        if self.classes is None and label not in labels and len(labels) >= limits.classes:
            raise RefusedError(422, f"{label!r:.80} would be class number {len(labels) + 1}")
        if self.closed_features or self.encoder is not None:  # which has limits of its own
            return
        if len(self.columns) + len(features) > limits.features:
            new = len(self.columns.new(features))
            if new and len(self.columns) + new > limits.features:
                raise RefusedError(
                    422, f"the model would have more than {limits.features} features"
                )

    def _finished(self, event: Event, text: bytes, limits: ModelLimits) -> dict[str, Any]:
        """The answer to an event that was learned; remember that it was."""
        step = self.counts["learned"]
        if event.id is not None:
            assert event.label is not None
            code = self.learner.codes[event.label]
            self.done[event.id] = Learned(code, step, _print(text))
            while len(self.done) > limits.waiting:
                self.done.popitem(last=False)
        return {"learned": True, "step": step}

    def _remember(
        self, key: str, features: Features, forecast: dict[str, float], limits: ModelLimits
    ) -> None:
        """Keep a forecast until its label comes; forget one of its name, and the oldest."""
        self._forget(key)
        self.done.pop(key, None)
        text = _json(features)
        self.waiting[key] = text, np.array(list(forecast.values()), dtype=np.float64)
        self.waiting_bytes += len(text)
        self.counts["remembered"] += 1
        while len(self.waiting) > limits.waiting or self.waiting_bytes > limits.waiting_bytes:
            self._forget(next(iter(self.waiting)))

    def _forget(self, key: str | None) -> None:
        if key is not None and key in self.waiting:
            self._drop(key)
            self.counts["forgotten"] += 1

    def _drop(self, key: str) -> None:
        self.waiting_bytes -= len(self.waiting.pop(key)[0])

    def __getstate__(self) -> dict[str, Any]:
        waiting = {
            "ids": stacked_texts(key.encode() for key in self.waiting),
            "features": stacked_texts(text for text, _ in self.waiting.values()),
            "P": stacked([p for _, p in self.waiting.values()]),
        }
        done = {
            "ids": stacked_texts(key.encode() for key in self.done),
            "learned": np.array(list(self.done.values()), dtype=np.int64).reshape(-1, 3),
        }
        changed = {"waiting": waiting, "done": done, "progress": self.progress.state()}
        state = {**self.__dict__, **changed}
        del state["waiting_bytes"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        learner = self._check_parts(state)
        if not isinstance(state["journal"], str):
            raise TypeError("a served model must know its journal")
        _validate.count(state["place"], "place", least=0, most=_validate.MOST_STEPS)
        progress = Progress.restored(state["progress"], len(learner.labels))
        waiting, done, saved = OrderedDict(), OrderedDict(), state["waiting"]
        for key, text, p in zip(
            unstacked(saved["ids"], "u"),
            unstacked(saved["features"], "u"),
            unstacked(saved["P"], "f"),
            strict=True,
        ):
            if len(p) > len(learner.labels) or not ((p >= 0) & (p <= 1)).all():
                raise ValueError("what waits for its label does not go with the learner")
            waiting[bytes(key).decode()] = checked_record(text), p
        rows = state["done"]["learned"]
        keys = unstacked(state["done"]["ids"], "u")
        if rows.dtype != np.int64 or rows.shape != (len(keys), 3):
            raise ValueError("what was learned is not known by its identifiers")
        for key, (code, step, print_) in zip(keys, rows.tolist(), strict=True):
            if not (0 <= code < len(learner.labels) and step >= 1):
                raise ValueError("what was learned does not go with the learner")
            done[bytes(key).decode()] = Learned(code, step, print_)
        sizes = sum(len(text) for text, _ in waiting.values())
        kept = {"waiting": waiting, "waiting_bytes": sizes, "done": done, "progress": progress}
        self._restore({**state, **kept})


def _json(features: Features) -> bytes:
    return json.dumps(features, separators=(",", ":")).encode()


def _print(text: bytes) -> int:
    """A fingerprint: 63 bits."""
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little") >> 1
