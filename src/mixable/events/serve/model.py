"""The model of a service: what it answers, learns, remembers, and saves."""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from mixable import _validate
from mixable._types import Array
from mixable.events.events import Event, Features, ModelLimits, RefusedError
from mixable.events.model import Identifier, KeptModel, forecasts_of
from mixable.events.serve.progress import Progress
from mixable.learner import Learner
from mixable.learner.columns import Columns, has_words
from mixable.learner.explaining import Contribution
from mixable.learner.late import (
    Kept,
    as_json,
    checked_record,
    restored,
    saved,
    stacked,
    stacked_texts,
    unstacked,
)
from mixable.learner.widening import widened
from mixable.metrics import Scores

MOST = 16  # events that are learned in one step
UNSCORED = 512  # forecasts that are scored in one step
NONE = Kept(record=None, x=np.empty(0), z=np.empty(0))

Answer = dict[str, Any] | RefusedError


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


class ServedModel(KeptModel):
    """What `mixable serve` saves and `mixable.load` returns: it predicts and learns dictionaries.

    `apply` is all that changes it while it serves. The same events in the same order make the same
    model, to the bit.

    Parameters are those of `mixable.events.StreamModel`.

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
    >>> from mixable.learner import Design
    >>> model = ServedModel(Design.for_classes(None, {"lam": None, "beta": 1.0}))
    >>> model.apply(Event(id=None, features={"wind": 2.0}, label="rain"), ModelLimits())["step"]
    1
    >>> model.apply(Event(id="7", features={"wind": 1.0}, label=None), ModelLimits())
    {'id': '7', 'probabilities': {'rain': 1.0}}
    >>> model.apply(Event(id="7", features=None, label="dry"), ModelLimits())
    {'id': '7', 'learned': True, 'step': 2}
    """

    COUNTS = ("remembered", "learned", "late", "forgotten")

    def _forget_all(self) -> None:
        self.waiting: Waiting = OrderedDict()
        self.waiting_bytes = 0
        self.done: OrderedDict[str, Learned] = OrderedDict()
        self.journal, self.place = "", 0

    def start_counting(self) -> None:
        """Set counts, scores and progress to nothing."""
        self._unscored: list[tuple[list[float], int, float]] = []
        self.__dict__["progress"] = Progress()
        super().start_counting()

    @property
    def scores(self) -> Scores:
        """Scores of the forecasts whose label has come.

        The last ones are added when somebody asks; the bits do not depend on when that is.
        """
        return self._scored()[0]

    @scores.setter
    def scores(self, scores: Scores) -> None:
        self.__dict__["scores"] = scores

    @property
    def progress(self) -> Progress:
        """Their losses over time, and calibration by class."""
        return self._scored()[1]

    @property
    def rates(self) -> list[int]:
        """How often each class has come so far."""
        progress: Progress = self.__dict__["progress"]  # which knows them at once
        return progress.rates

    def score(self, p: list[float], code: int, rates: list[int] | None = None) -> None:
        """Count an example that was learned, and its forecast.

        `rates` says how often each class had come when that was made; None: as often as by now.
        """
        last = self._unscored
        if last and (len(last) >= UNSCORED or len(last[0][0]) != len(p)):
            self._scored()
        last.append((p, code, self.__dict__["progress"].expect(len(p), code, rates)))
        self.counts["learned"] += 1

    def _scored(self) -> tuple[Scores, Progress]:
        scores, progress = self.__dict__["scores"], self.__dict__["progress"]
        if self._unscored:
            P, codes, baselines = zip(*self._unscored, strict=True)
            self._unscored.clear()
            scores.update_many(np.array(P, dtype=np.float64), np.array(codes))
            progress.add_many(list(P), list(codes), list(baselines))
        return scores, progress

    def _numbers_of(self, x: Features) -> Features:
        """What a model of numbers knows of a record: words are missing until it learns one."""
        if self.encoder is not None or self._is_new or not has_words(x):
            return x
        return {name: value for name, value in x.items() if not has_words({name: value})}

    def _probabilities(self, x: Features) -> dict[Any, float]:
        return super()._probabilities(self._numbers_of(x))

    def explain(self, x: Features) -> list[Contribution]:
        """What each column of a record does to the log-odds of each class, the most first."""
        return super().explain(self._numbers_of(x))

    def learn_one(self, x: Features, y: Identifier) -> None:
        """Learn one example. At its first word, a model of numbers becomes one of records."""
        own = self.restricted(x)
        if self.encoder is not None or self._is_new or not has_words(own):
            super().learn_one(x, y)
            return
        before = self._columns, self._learner
        made = widened(self.learner, self._columns)
        made.predict([own])  # refuses it before anything has changed
        self._columns, self._learner = Columns(), made
        try:
            super().learn_one(x, y)
        except BaseException:
            self._columns, self._learner = before
            raise

    def predict(self, features: Features) -> dict[str, float]:
        """The probability of each class met so far; nothing changes."""
        try:
            return self._probabilities(features)
        except (ValueError, TypeError) as error:
            raise RefusedError(422, str(error)) from None

    def apply(self, event: Event, limits: ModelLimits) -> dict[str, Any]:
        """Predict, learn, or both; return the answer. What is refused changes nothing."""
        (answer,) = self.apply_many([event], limits)
        if isinstance(answer, RefusedError):
            raise answer
        return answer

    def apply_many(self, events: list[Event], limits: ModelLimits) -> list[Answer]:
        """The same for events in their order; the bits do not depend on how many come together."""
        answers: list[Answer] = []
        while len(answers) < len(events):
            rest = events[len(answers) : len(answers) + MOST]
            rows = self._plain_rows(rest)
            if rows:
                answers += self._follow(rest[: len(rows)], rows, limits)
                continue
            try:
                answers.append(self._apply(rest[0], limits))
            except RefusedError as refused:
                answers.append(refused)
        return answers

    def _plain_rows(self, events: list[Event]) -> list[Any]:
        """Rows of the first events, as long as they only have to be predicted and learned.

        That is so if features and label are known, and the identifier is not.
        """
        codes, encoder, columns = self.learner.codes, self.encoder, self.columns
        rows: list[Any] = []
        ids: set[str] = set()
        for event in events:
            is_known = event.id is not None and (event.id in self.done or event.id in ids)
            if event.features is None or event.label not in codes or is_known:
                break
            if event.id is not None:
                ids.add(event.id)
            x = self.restricted(event.features)
            if encoder is None:
                if not x.keys() <= columns.keys():
                    break
                try:
                    rows.append(columns.row(x))
                except (ValueError, TypeError):
                    break
            else:
                rows.append(x)
        return rows

    def _follow(self, events: list[Event], rows: list[Any], limits: ModelLimits) -> list[Answer]:
        """Predict and learn rows, up to the first that is refused."""
        learner = self.learner
        codes = [learner.codes[event.label] for event in events]
        X: Any = rows if self.encoder is not None else np.array(rows, dtype=np.float64)
        P, done, reason, _ = learner.follow(X, np.array(codes))
        answers: list[Answer] = []
        labels = learner.labels
        for event, p, code in zip(events, P.tolist()[:done], codes, strict=False):
            self.score(p, code)
            answer: dict[str, Any] = {"probabilities": dict(zip(labels, p, strict=True))}
            if event.id is None:
                answers.append({**answer, "learned": True, "step": self.counts["learned"]})
                continue
            self._forget(event.id)
            finished = self._finished(event, as_json(event.features), limits)
            answers.append({"id": event.id, **answer, **finished})
        if done < len(events):
            answers.append(RefusedError(422, str(reason)))
        return answers

    def _apply(self, event: Event, limits: ModelLimits) -> dict[str, Any]:
        head = {} if event.id is None else {"id": event.id}
        if event.features is None:
            return {**head, **self._late_label(event, limits)}
        if event.label is None:
            forecast = self.predict(event.features)
            if event.id is not None:
                self._remember(event.id, event.features, forecast, limits)
            return {**head, "probabilities": forecast}
        text = b"" if event.id is None else as_json(event.features)
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
        waits = self.waiting[event.id]
        text, features = waits.text, json.loads(waits.text)
        # A model of numbers learns words as a record, as if it came now.
        inputs = waits.inputs
        if inputs is not None and (inputs.record is None) != (self.encoder is None):
            inputs = None
        if self.encoder is None and has_words(self.restricted(features)):
            inputs = None
        self._learn(features, event.label, waits.p.tolist(), limits, waits.rates, inputs)
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
        if text and fingerprint(text) != known.print:
            raise RefusedError(409, f"the id {event.id!r:.80} was learned with other features")
        return {"learned": False, "step": known.step}

    def _learn(
        self,
        features: Features,
        label: str,
        p: list[float],
        limits: ModelLimits,
        rates: list[int] | None = None,
        inputs: Kept | None = None,
    ) -> None:
        self._check_room(features, label, limits)
        try:
            if inputs is None:
                self.learn_one(features, label)
            else:
                self.learn_kept(inputs, label)
        except (ValueError, TypeError) as error:
            raise RefusedError(422, str(error)) from None
        self.score(p, self.learner.codes[label], rates)

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
            self.done[event.id] = Learned(code, step, fingerprint(text))
            while len(self.done) > limits.waiting:
                self.done.popitem(last=False)
        return {"learned": True, "step": step}

    def _remember(
        self, key: str, features: Features, forecast: dict[str, float], limits: ModelLimits
    ) -> None:
        """Keep a forecast until its label comes; forget one of its name, and the oldest."""
        self._forget(key)
        self.done.pop(key, None)
        text = as_json(features)
        p = np.array(list(forecast.values()), dtype=np.float64)
        inputs = self._inputs(features, limits)
        self.waiting[key] = Remembered(text=text, p=p, rates=self.rates, inputs=inputs)
        self.waiting_bytes += self.waiting[key].bytes
        self.counts["remembered"] += 1
        while len(self.waiting) > limits.waiting or self.waiting_bytes > limits.waiting_bytes:
            self._forget(next(iter(self.waiting)))

    def _inputs(self, features: Features, limits: ModelLimits) -> Kept | None:
        """The inputs of a forecast that waits, whose columns are known from now on."""
        own = self.restricted(features)
        try:
            self._check_room(own, "", ModelLimits(classes=2**31, features=limits.features))
            self.make_room(own)
        except (RefusedError, ValueError, TypeError):
            return None  # its label will say why
        return self._kept(self._numbers_of(own))

    def _forget(self, key: str | None) -> None:
        if key is not None and key in self.waiting:
            self._drop(key)
            self.counts["forgotten"] += 1

    def _drop(self, key: str) -> None:
        self.waiting_bytes -= self.waiting.pop(key).bytes

    def _combine_rest(self, start: Any, others: Sequence[Any], base: Any) -> None:
        """It counts, scores and remembers from now on."""
        self.start_counting()
        self._forget_all()

    def __getstate__(self) -> dict[str, Any]:
        kept = _state(self.waiting, self.done)
        state = {**self.__dict__, **kept, "progress": self.progress.state(), "scores": self.scores}
        del state["waiting_bytes"], state["_unscored"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        learner = self._check_parts(state)
        classes = len(learner.labels)
        if not isinstance(state["journal"], str):
            raise TypeError("a served model must know its journal")
        _validate.count(state["place"], "place", least=0, most=_validate.MOST_STEPS)
        progress = Progress.restored(state["progress"], classes)
        waiting = _waiting_of(state["waiting"], learner, progress.rates)
        done = _done_of(state["done"], classes)
        sizes = sum(each.bytes for each in waiting.values())
        kept = {"waiting": waiting, "waiting_bytes": sizes, "done": done, "progress": progress}
        self._restore({**state, **kept, "_unscored": []})


def _state(waiting: Waiting, done: OrderedDict[str, Learned]) -> dict[str, Any]:
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


def _waiting_of(state: dict[str, Any], learner: Learner, rates: list[int]) -> Waiting:
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
        forecasts_of(state["P"], learner),
        unstacked(state["rates"], "i") if "rates" in state else old,
        kept,
        were_records,
        strict=True,
    ):
        if len(then) > classes or (then < 0).any():
            raise ValueError("what waits for its label does not go with the learner")
        record = checked_record(text)
        own = replace(inputs, record=record if was_record else None) if len(inputs.z) else None
        if own is not None:
            learner.check(own)
        waiting[bytes(key).decode()] = Remembered(
            text=bytes(text), p=p, rates=then.tolist(), inputs=own
        )
    return waiting


def _done_of(saved: dict[str, Any], classes: int) -> OrderedDict[str, Learned]:
    """The identifiers that were learned."""
    rows, keys = saved["learned"], unstacked(saved["ids"], "u")
    if rows.dtype != np.int64 or rows.shape != (len(keys), 3):
        raise ValueError("what was learned is not known by its identifiers")
    done: OrderedDict[str, Learned] = OrderedDict()
    for key, (code, step, print_) in zip(keys, rows.tolist(), strict=True):
        if not (0 <= code < classes and step >= 1):
            raise ValueError("what was learned does not go with the learner")
        done[bytes(key).decode()] = Learned(code, step, print_)
    return done


def fingerprint(text: bytes) -> int:
    """What tells features from others: 63 bits."""
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little") >> 1
