"""The model of a service: what it answers, learns, remembers, and saves."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from mixable import _validate, records
from mixable.learner import Design
from mixable.learner.columns import Columns, has_words
from mixable.learner.explaining import Contribution
from mixable.learner.late import Kept, as_json
from mixable.learner.widening import widened
from mixable.serving import remembered
from mixable.serving.events import Event, Features
from mixable.serving.limits import ModelLimits, RefusedError
from mixable.serving.progress import Progress
from mixable.serving.remembered import Learned, Remembered, fingerprint
from mixable.serving.scored import ScoredModel
from mixable.streaming.kept import Identifier

MOST = 16  # events that are learned in one step

Answer = dict[str, Any] | RefusedError


class ServedModel(ScoredModel):
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
    columns
        What is declared of the columns of records.

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
        columns: records.Columns | None = None,
    ) -> None:
        super().__init__(design, classes=classes, features=features, columns=columns)
        self.waiting: remembered.Waiting = OrderedDict()
        self.waiting_bytes = 0
        self.done: OrderedDict[str, Learned] = OrderedDict()
        self.journal, self.place = "", 0

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
        is_closed = self.closed_features
        rows: list[Any] = []
        ids: set[str] = set()
        for event in events:
            is_known = event.id is not None and (event.id in self.done or event.id in ids)
            if event.features is None or event.label not in codes or is_known:
                break
            if event.id is not None:
                ids.add(event.id)
            x = self.restricted(event.features) if is_closed else event.features
            if encoder is not None:
                rows.append(x)
                continue
            values = columns.plain_values(x)
            if values is not None:
                rows.append(values)
                continue
            if not x.keys() <= columns.keys():
                break
            try:
                rows.append(columns.row(x))
            except (ValueError, TypeError):
                break
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
        self.waiting, self.waiting_bytes, self.done = OrderedDict(), 0, OrderedDict()
        self.journal, self.place = "", 0

    def __getstate__(self) -> dict[str, Any]:
        kept = remembered.state(self.waiting, self.done)
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
        waiting = remembered.waiting_of(state["waiting"], learner, progress.rates)
        done = remembered.done_of(state["done"], classes)
        sizes = sum(each.bytes for each in waiting.values())
        kept = {"waiting": waiting, "waiting_bytes": sizes, "done": done, "progress": progress}
        self._restore({**state, **kept, "_unscored": []})
