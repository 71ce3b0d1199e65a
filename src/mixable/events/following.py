"""Events one after the other: what stream, serve and replay do with them.

An event is forecast, and learned if it has an outcome. By its identifier, an outcome that comes
late finds the inputs of its forecast. The bits do not depend on how many events come together.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mixable._types import Array
from mixable.events.events import LONGEST, Batch, Integers, RefusedError
from mixable.events.model import EventModel, as_text
from mixable.events.saving import Learned, Waiting
from mixable.model.late import Kept

LARGEST = 2**26  # bytes of records that wait, about
UNUSED = Kept(record=None, x=np.empty(0), z=np.empty(0))
Refused = tuple[int, RefusedError]  # row of a batch, reason
Answering = Callable[[Batch, Integers, Array], None]  # some rows of a batch, their forecasts


@dataclass(slots=True, kw_only=True)
class Plan:
    """Rows that are run in one call."""

    y: list[float] = field(default_factory=list)  # codes of labels, or numbers; -1 or NaN for none
    # As `Learner.follow` has it; empty if no row has an identifier.
    order: list[int] = field(default_factory=list)
    kept: list[Kept] = field(default_factory=list)
    answered: dict[int, int] = field(default_factory=dict)  # events labelled among them, and where


class Follower:
    """Runs a model over batches of events; `answer` gets the forecasts.

    Parameters
    ----------
    learns
        Whether the model learns.
    strict
        Whether to stop at the first event that is refused.
    remember
        How many forecasts may wait for their outcome; None if events have no identifiers.
    once
        Whether an identifier is of one event: then it is not learned twice.
    """

    def __init__(
        self,
        model: EventModel,
        answer: Answering,
        *,
        learns: bool = True,
        strict: bool = False,
        remember: int | None = None,
        once: bool = False,
    ) -> None:
        self._model, self._answer = model, answer
        self._learns, self._strict, self._remember, self._once = learns, strict, remember, once
        self._none = math.nan if model.options.regression else -1
        # Of the last batch, by row: whether its outcome was learned now, and the step at which.
        self.steps: dict[int, tuple[bool, int]] = {}
        self.late: dict[int, int] = {}  # rows whose outcome came late, and the number of the event

    def follow(self, batch: Batch, rows: int) -> tuple[int, list[Refused]]:
        """Run the first rows of a batch; return how many were done, and which were refused."""
        refused: list[Refused] = []
        self.steps, self.late = {}, {}
        self._names: list[Any] = []  # of each row, if events have identifiers
        self._bare = [False] * len(batch.labels)  # an identifier, an outcome and no values
        if self._remember is not None:
            self._names = [None if key is None else as_text(key) for key in batch.ids]
            given = zip(batch.empty, batch.labels, batch.ids, strict=True)
            self._bare = [e and label is not None and key is not None for e, label, key in given]
        at = 0
        while at < rows:
            plan = self._planned(batch, at, rows)
            reason: RefusedError | None
            if plan.y:
                done, reason = self._run(batch, at, plan)
            else:
                reason = self._single(batch, at)
                done = 1 if reason is None else 0
            at += done
            if reason is not None:
                refused.append((at, reason))
                if self._strict:
                    return at, refused
                at += 1
        return at, refused

    def _coder(self) -> Callable[[Any], float | None]:
        """The code of a label that is known, or the number that an outcome is; None of others."""
        if not self._model.options.regression:
            return {None: -1, **self._model.learner.codes}.get

        def number(outcome: Any) -> float | None:
            with contextlib.suppress(ValueError):
                return math.nan if outcome is None else float(self._model.outcome(outcome))
            return None

        return number

    def _planned(self, batch: Batch, begin: int, end: int) -> Plan:
        """The next rows that can be run in one call: with outcomes that are known, or with none.

        Late ones are among them if their event waits by then.
        """
        coded, plan, ids = self._coder(), Plan(), set[str]()
        if self._remember is None:
            codes = itertools.takewhile(_is_given, map(coded, batch.labels[begin:end]))
            return Plan(y=list(codes))  # type: ignore[arg-type]
        waiting = _Planned(self._model, self._remember)
        behind: list[int] = []  # steps whose row was kept: those come behind the others
        for row, (label, name) in enumerate(
            zip(batch.labels[begin:end], self._names[begin:end], strict=True), begin
        ):
            code = coded(label)
            if code is None:
                break
            # A row without values is a late outcome if it has no fields for them, or if an event of
            # its name waits.
            if self._bare[row] and (batch.fieldless[row] or name in waiting):
                if not self._learns or name not in waiting:
                    break
                source = waiting.take(name)
                if isinstance(source, int):
                    plan.order.append(-1 - (source - begin))
                    plan.answered[source] = row
                else:
                    plan.kept.append(self._model.kept_of(source))
                    behind.append(row - begin)
                    plan.order.append(0)
            else:
                if self._once and label is not None and (name in self._model.done or name in ids):
                    break
                plan.order.append(row - begin)
                if name is not None:
                    waiting.put(name, row if label is None else None, batch.size(row))
            if name is not None and label is not None:
                ids.add(name)
            plan.y.append(code)
        for place, step in enumerate(behind, len(plan.y)):
            plan.order[step] = -1 - place
        return plan

    def _run(self, batch: Batch, at: int, plan: Plan) -> tuple[int, RefusedError | None]:
        """Run planned rows; how many were done, and why not all."""
        model, n = self._model, len(plan.y)
        kind: Any = np.float64 if model.options.regression else np.int_
        y = np.array(plan.y, dtype=kind)
        order = np.array(plan.order, dtype=np.int_) if plan.order else np.arange(n)
        is_late = order < 0
        shown = y if self._learns else np.full(n, self._none, dtype=kind)
        level = model.options.level
        followed = model.learner.follow(batch.X[at : at + n], shown, order, plan.kept, level)
        done, P = followed.done, followed.P
        forecast = np.flatnonzero(~is_late[:done])
        self._answer(batch, at + forecast, P[forecast])
        model.counts["predicted"] += len(forecast)
        model.counts["events"] += len(forecast)
        late, rows, has_come = is_late.tolist(), P.tolist(), model.learner.outcomes.come(y).tolist()
        for step in range(done):
            row = at + step
            name: Any = self._names[row] if self._remember is not None else None
            if late[step]:
                self._finish_late(row, name, plan.y[step])
                continue
            if has_come[step]:
                model.score(rows[step], plan.y[step])
                self._finish(row, plan.y[step], self._print(batch, row))
            if name is not None:
                event: Waiting | None = None
                if not has_come[step]:
                    # That of an event whose outcome has come by now is not used again.
                    is_used = plan.answered.get(row, at + done) >= at + done
                    kept = followed.kept(step) if is_used else UNUSED
                    event = self._waiting(batch, row, kept, P[step].copy())
                self._await(name, event)
        reason = followed.reason
        return done, None if reason is None else RefusedError(422, reason)

    def _waiting(self, batch: Batch, row: int, kept: Kept, p: Array) -> Waiting:
        base = self._model.baseline_now()
        print_ = self._print(batch, row)
        number = batch.numbers[row] if batch.numbers else 0
        return Waiting(kept, p, base, number, print_, batch.size(row))

    def _print(self, batch: Batch, row: int) -> int:
        """What tells the features of an event from others, where it may be repeated."""
        return batch.print(row) if self._once and batch.ids[row] is not None else 0

    def _finish(self, row: int, y: float, print_: int) -> None:
        """An outcome was learned, or would have been."""
        model = self._model
        if not self._learns:
            return
        model.counts["learned"] += 1
        if not self._once:
            return
        step = model.counts["learned"]
        self.steps[row] = True, step
        name = self._names[row]
        if name is not None:
            model.done[name] = Learned(float(y), step, print_)
            while len(model.done) > (self._remember or 0):
                model.done.popitem(last=False)

    def _finish_late(self, row: int, name: str, y: float) -> None:
        """The outcome of a forecast that waited was learned."""
        model = self._model
        waited = self._pop(name)
        model.score(waited.p.tolist(), y, waited.base)
        model.counts["late"] += 1
        self.late[row] = waited.number
        self._finish(row, y, waited.print)

    def _pop(self, name: str) -> Waiting:
        waited = self._model.waiting.pop(name)
        self._model.waiting_size -= waited.size
        return waited

    def _await(self, name: str, event: Waiting | None) -> None:
        """Remember an event until its outcome comes; forget one of its name, and the oldest."""
        model = self._model
        if name in model.waiting:
            self._pop(name)
            model.counts["forgotten"] += 1
        if event is not None:
            model.done.pop(name, None)
            model.waiting[name] = event
            model.waiting_size += event.size
        most = self._remember or 0
        while len(model.waiting) > most or model.waiting_size > LARGEST:
            self._pop(next(iter(model.waiting)))
            model.counts["forgotten"] += 1

    # Events that go by themselves.

    def _single(self, batch: Batch, at: int) -> RefusedError | None:
        """An event that cannot be planned; why it is refused, if it is."""
        model, label = self._model, batch.labels[at]
        name: Any = self._names[at] if self._remember is not None else None
        is_late = self._bare[at] and (batch.fieldless[at] or name in model.waiting)
        if self._once and name in model.done and not (is_late and name in model.waiting):
            return self._repeated(batch, at, name, is_late)
        if model.options.regression and self._coder()(label) is None:
            return RefusedError(422, f"the outcome must be a number, got {label!r:.80}")
        return (self._late_label if is_late else self._new_label)(batch, at)

    def _repeated(self, batch: Batch, at: int, name: str, is_late: bool) -> RefusedError | None:
        """An event whose identifier was learned before."""
        known = self._model.done[name]
        if self._coder()(batch.labels[at]) != known.outcome:
            return RefusedError(409, f"the id {name!r:.80} was learned with another outcome")
        if not is_late and batch.print(at) != known.print:
            return RefusedError(409, f"the id {name!r:.80} was learned with other features")
        self.steps[at] = False, known.step
        return None

    def _new_label(self, batch: Batch, at: int) -> RefusedError | None:
        """An event whose label has not been met before."""
        model, label = self._model, batch.labels[at]
        if reason := self.why_not_a_class(label):
            return reason
        X, known = batch.X[at : at + 1], len(model.learner.labels)
        P, done, why, _ = model.learner.follow(X, np.array([-1]))
        if not done:
            return RefusedError(422, str(why))
        if reason := self._add_label(label):
            return reason
        self._answer(batch, np.array([at]), P)
        model.counts["predicted"] += 1
        model.counts["events"] += 1
        model.score(P[0].tolist(), known)  # a label that the forecaster did not know
        if self._learns:
            model.learner.follow(X, np.array([model.learner.codes[label]]))
        self._finish(at, known, self._print(batch, at))
        if self._remember is not None and batch.ids[at] is not None:
            self._await(self._names[at], None)
        return None

    def _late_label(self, batch: Batch, at: int) -> RefusedError | None:
        """An outcome that comes after its event and cannot be planned."""
        model, label, name = self._model, batch.labels[at], self._names[at]
        if name not in model.waiting:
            how = "no forecast waits under the id {!r:.80}"
            how = how if self._once else "a label for {!r:.80}, which is not remembered"
            return RefusedError(404, how.format(name))
        waited = model.waiting[name]
        if model.options.regression:
            y: Any = model.outcome(label)
            code = y
        else:
            known = model.learner.codes
            if label not in known and (reason := self.why_not_a_class(label)):
                return reason
            if label not in known and (reason := self._add_label(label)):
                return reason
            y, code = label, model.learner.codes.get(label, len(waited.p))
        try:
            if self._learns:
                model.learner.learn_kept(model.kept_of(waited), y)
        except (ValueError, OverflowError) as error:  # beyond double precision
            return RefusedError(422, str(error))
        self._finish_late(at, name, code)
        return None

    def why_not_a_class(self, label: str | None) -> RefusedError | None:
        """Why a label cannot be added."""
        model, text = self._model, str(label)
        if model.classes is not None:
            return RefusedError(422, f"no class is called {label!r:.80}")
        if self._learns and len(text) > LONGEST:
            return RefusedError(422, f"a new label of {len(text):,} characters")
        most = model.options.most_classes
        if self._learns and len(model.learner.labels) >= most:
            which = f"{text!r:.80} would be class number {most + 1}"
            how = "name the classes with --classes if there are so many"
            if are_numbers([*model.learner.labels, text]):
                how = "outcomes that are numbers need --regression"
            return RefusedError(422, f"{which}; {how}")
        return None

    def _add_label(self, label: str | None) -> RefusedError | None:
        """Add a class, if there is to be learning; return why there is no room, if so."""
        try:
            if self._learns:
                self._model.learner.add_label(label)
        except MemoryError as error:
            return RefusedError(503, str(error) or "no memory for another class")
        return None


def are_numbers(labels: Iterable[Any]) -> bool:
    """Whether all labels are finite numbers."""
    with contextlib.suppress(ValueError):
        return all(math.isfinite(float(label)) for label in labels)
    return False


def _is_given(code: float | None) -> bool:
    return code is not None


class _Planned:
    """What waits for its outcome, as it will be after the rows planned so far."""

    def __init__(self, model: EventModel, most: int) -> None:
        self._now, self._most, self._size = model.waiting, most, model.waiting_size
        self._gone: set[str] = set()  # of those that wait now
        # Rows that begin to wait, and their sizes.
        self._new: OrderedDict[str, tuple[int, int]] = OrderedDict()
        self._oldest = iter(self._now)

    def __contains__(self, key: object) -> bool:
        return key in self._new or (key in self._now and key not in self._gone)

    def take(self, key: str) -> int | Waiting:
        """What waits no longer: a row, or what was kept."""
        if key in self._new:
            row, size = self._new.pop(key)
            self._size -= size
            return row
        self._gone.add(key)
        self._size -= self._now[key].size
        return self._now[key]

    def put(self, key: str, row: int | None, size: int) -> None:
        """A row begins to wait, or takes the place of one that did; the oldest are forgotten."""
        if key in self:
            self.take(key)
        if row is not None:
            self._new[key] = row, size
            self._size += size
        while self._is_full:
            oldest = next((name for name in self._oldest if name not in self._gone), None)
            self.take(oldest or next(iter(self._new)))

    @property
    def _is_full(self) -> bool:
        n = len(self._now) - len(self._gone) + len(self._new)
        return n > self._most or self._size > LARGEST
