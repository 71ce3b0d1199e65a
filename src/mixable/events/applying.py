"""Events by themselves, as requests and logs have them: a model answers and learns them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from mixable._types import Array
from mixable.events.events import BAD, Batch, Event, Integers, RefusedError, Rows, as_reason
from mixable.events.following import Follower
from mixable.events.model import EventModel, Features

MOST = 64  # events that are learned in one step


class Applied(NamedTuple):
    """What became of an event."""

    answer: dict[str, Any] | RefusedError
    forecast: dict[str, Any] | None = None
    changed: bool = False  # whether the model is another one since
    late: int | None = None  # the number of the event whose outcome this was, if it came late


class Applier:
    """Applies events to a model in their order. What is refused teaches it nothing.

    The same events in the same order make the same model, to the bit, however many come together.

    >>> applier = Applier(EventModel(linear=True))
    >>> applier.one(Event(id=None, features={"wind": 2.0}, label="rain"))["step"]
    1
    >>> applier.one(Event(id="7", features={"wind": 1.0}, label=None))
    {'id': '7', 'probabilities': {'rain': 1.0}}
    >>> applier.one(Event(id="7", features=None, label="dry"))
    {'id': '7', 'learned': True, 'step': 2}
    """

    def __init__(self, model: EventModel) -> None:
        self.model = model
        remember = model.options.remember
        self._follower = Follower(model, self._answer, remember=remember, once=True)
        self._rows = Rows(model)
        self._forecasts: dict[int, list[float]] = {}

    def _answer(self, batch: Batch, rows: Integers, P: Array) -> None:
        self._forecasts.update(zip(rows.tolist(), P.tolist(), strict=True))

    def one(self, event: Event) -> dict[str, Any]:
        """Apply one event; return its answer."""
        (applied,) = self.apply([event])
        if isinstance(applied.answer, RefusedError):
            raise applied.answer
        return applied.answer

    def all(self, events: Iterable[Event]) -> int:
        """Apply the events of a log; return how many there were."""
        n, rest = 0, iter(events)
        while some := list(itertools.islice(rest, MOST)):
            n += len(self.apply(some))
        return n

    def apply(self, events: Sequence[Event]) -> list[Applied]:
        """Apply events; what became of each."""
        out: list[Applied] = []
        while len(out) < len(events):
            if events[len(out)].changes:
                out += self._some(events[len(out) : len(out) + MOST])
            else:
                out.append(self._forecast(events[len(out)].features or {}))
        return out

    def _forecast(self, features: Features) -> Applied:
        """A forecast that nobody remembers: nothing changes."""
        try:
            forecast = self.model.forecast(features)
        except BAD as error:
            return Applied(RefusedError(422, as_reason(error)))
        return Applied(forecast, forecast)

    def _some(self, events: Sequence[Event]) -> list[Applied]:
        """Apply the first events, at least one: up to one that needs another batch."""
        refused: RefusedError | None = None
        rows = self._rows
        rows.begin()
        for event in events:
            if not event.changes:
                break
            try:
                if refused := self._refusal(event):
                    break
                if self._is_repeated(event):
                    rows.add_again()
                elif not rows.add(event.features or {}, event.label):
                    break
            except BAD as error:
                refused = RefusedError(422, as_reason(error))
                break
        out = self._follow(events[: len(rows)]) if rows else []
        if refused is not None:
            out.append(Applied(refused, changed=rows.made and not out))
        return out

    def _refusal(self, event: Event) -> RefusedError | None:
        """Why the outcome of an event cannot be learned, before there is room for its columns."""
        model, label = self.model, event.label
        if label is None:
            return None
        if model.options.regression:
            try:
                model.outcome(label)
            except ValueError as error:
                return RefusedError(422, str(error))
            return None
        is_known = label in model.learner.codes
        return None if is_known else self._follower.why_not_a_class(label)

    def _is_repeated(self, event: Event) -> bool:
        """Whether its identifier was learned: only what came then is to be compared."""
        is_labelled = event.label is not None and event.features is not None
        return is_labelled and event.id in self.model.done

    def _follow(self, events: Sequence[Event]) -> list[Applied]:
        batch = self._rows.batch(
            labels=[event.label for event in events],
            ids=[event.id for event in events],
            fieldless=[event.features is None for event in events],
            numbers=[event.number for event in events],
            given=[event.features for event in events],
        )
        self._forecasts.clear()
        refused = dict(self._follower.follow(batch, len(events))[1])
        return [self._applied(event, row, refused) for row, event in enumerate(events)]

    def _applied(self, event: Event, row: int, refused: dict[int, RefusedError]) -> Applied:
        if row in refused:
            return Applied(refused[row], changed=self._rows.made and row == 0)
        answer: dict[str, Any] = {} if event.id is None else {"id": event.id}
        forecast = None
        if row in self._forecasts:
            forecast = self.model.as_answer(self._forecasts[row])
            answer |= forecast
        is_new = True
        if row in self._follower.steps:
            is_new, step = self._follower.steps[row]
            answer |= {"learned": is_new, "step": step}
        return Applied(answer, forecast, is_new, self._follower.late.get(row))
