"""Events through the model: predict, score, learn, remember what waits for its label."""

from __future__ import annotations

import contextlib
import itertools
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixable._types import Array
from mixable.learner.late import Kept
from mixable.records.cells import is_missing
from mixable.records.tables import Grid
from mixable.streaming.events import Batch, Integers
from mixable.streaming.model import StreamModel, as_text
from mixable.streaming.options import Options

MOST_CLASSES, LONGEST_LABEL = 100, 1000  # that are added unasked

Refused = tuple[int, str]  # row of a batch, reason
UNUSED = Kept(record=None, x=np.empty(0), z=np.empty(0))


class Follower:
    """Runs a model over batches of events.

    `answer` gets a batch, some rows of it, and their forecasts.
    """

    def __init__(
        self, model: StreamModel, answer: Callable[[Batch, Integers, Array], None], options: Options
    ) -> None:
        self._model, self._answer = model, answer
        self._learns, self._strict = options.learns, options.strict
        self._names: list[Any] = []
        # How many events may wait for their label; None if events have no identifiers.
        self._remember = options.remember if options.identifier else None

    def follow(self, batch: Batch, rows: int) -> tuple[int, list[Refused]]:
        """Run the first rows of a batch; return how many were done, and which were refused."""
        refused: list[Refused] = []
        is_bare = self._bare(batch)
        self._names = []  # of each row, if events have identifiers
        if self._remember is not None:
            self._names = [None if key is None else as_text(key) for key in batch.ids]
        at = 0
        while at < rows:
            plan = self._planned(batch, at, rows, is_bare)
            if plan.codes:
                done, reason = self._run(batch, at, plan)
            else:
                is_late = is_bare[at] and (
                    batch.fieldless[at] or self._names[at] in self._model.waiting
                )
                reason = (self._late_label if is_late else self._new_label)(batch, at)
                done = 1 if reason is None else 0
            at += done
            if reason is not None:
                refused.append((at, reason))
                if self._strict:
                    return at, refused
                at += 1
        return at, refused

    def _bare(self, batch: Batch) -> list[bool]:
        """Whether each row has an identifier, a label and no values: a late label or an event."""
        if self._remember is None:
            return [False] * len(batch.labels)
        if isinstance(batch.X, Grid):
            is_empty = batch.X.empty
        elif isinstance(batch.X, list):
            is_empty = [all(map(is_missing, record.values())) for record in batch.X]
        else:
            is_empty = np.all(np.isnan(batch.X), axis=1).tolist()
        rows = zip(is_empty, batch.labels, batch.ids, strict=True)
        return [empty and label is not None and key is not None for empty, label, key in rows]

    def _planned(self, batch: Batch, begin: int, end: int, is_bare: list[bool]) -> Plan:
        """The next rows that can be run in one call: with labels that are known, or with none.

        Late labels are among them if their event waits by then.
        """
        known = {None: -1, **self._model.learner.codes}
        if self._remember is None:
            labels = itertools.takewhile(known.__contains__, batch.labels[begin:end])
            return Plan(codes=[known[label] for label in labels])
        waiting = _Waiting(self._model.waiting, self._remember)
        plan = Plan()
        behind: list[int] = []  # steps whose row was kept: those come behind the others
        for row, (label, name) in enumerate(
            zip(batch.labels[begin:end], self._names[begin:end], strict=True), begin
        ):
            if label not in known:
                break
            # A row without values is a late label if it has no fields for them, or if an event of
            # its name waits.
            if is_bare[row] and (batch.fieldless[row] or name in waiting):
                if not self._learns or name not in waiting:
                    break
                source = waiting.take(name)
                if isinstance(source, int):
                    plan.order.append(-1 - (source - begin))
                    plan.answered[source] = row
                else:
                    plan.kept.append(source[0])
                    behind.append(row - begin)
                    plan.order.append(0)
            else:
                plan.order.append(row - begin)
                if name is not None:
                    waiting.put(name, row if label is None else None)
            plan.codes.append(known[label])
        for place, step in enumerate(behind, len(plan.codes)):
            plan.order[step] = -1 - place
        return plan

    def _run(self, batch: Batch, at: int, plan: Plan) -> tuple[int, str | None]:
        """Run planned rows; how many were done, and why not all."""
        model, n = self._model, len(plan.codes)
        y = np.array(plan.codes, dtype=np.int_)
        order = np.array(plan.order, dtype=np.int_) if plan.order else np.arange(n)
        is_late = order < 0
        codes = y if self._learns else np.full(n, -1)
        followed = model.learner.follow(batch.X[at : at + n], codes, order, plan.kept)
        done, P = followed.done, followed.P
        forecast = np.flatnonzero(~is_late[:done])
        self._answer(batch, at + forecast, P[forecast])
        model.counts["predicted"] += len(forecast)
        scored: list[Array] = []  # forecasts of what has a label, in order
        late, counts = is_late.tolist(), model.counts
        for step in range(done) if self._remember is not None else ():
            name = self._names[at + step]
            if late[step]:
                scored.append(model.waiting.pop(name)[1])
                counts["late"] += 1
                continue
            if plan.codes[step] >= 0:
                scored.append(P[step])
            if name is not None:
                event: tuple[Kept, Array] | None = None
                if plan.codes[step] < 0:
                    # That of an event whose label has come by now is not used again.
                    is_used = plan.answered.get(at + step, at + done) >= at + done
                    event = (followed.kept(step), P[step].copy()) if is_used else (UNUSED, P[step])
                self._await(name, event)
        labelled = np.flatnonzero(y[:done] >= 0)
        if self._remember is None:
            scored = list(P[labelled])
        self._score(scored, y[labelled])
        if self._learns:
            model.counts["learned"] += len(labelled)
        return done, followed.reason

    def _score(self, forecasts: list[Array], y: NDArray[np.int_]) -> None:
        """Count forecasts and their labels; older ones may know fewer classes."""
        at = 0
        for _, some in itertools.groupby(forecasts, key=len):
            P = np.array(list(some))
            self._model.scores.update_many(P, y[at : at + len(P)])
            at += len(P)

    def _await(self, key: str, event: tuple[Kept, Array] | None) -> None:
        """Remember an event until its label comes; forget one of its name, and the oldest."""
        waiting, counts = self._model.waiting, self._model.counts
        if waiting.pop(key, None) is not None:
            counts["forgotten"] += 1
        if event is not None:
            waiting[key] = event
        while self._remember is not None and len(waiting) > self._remember:
            waiting.popitem(last=False)
            counts["forgotten"] += 1

    def _new_label(self, batch: Batch, at: int) -> str | None:
        """An event whose label has not been met before; why it is refused, if it is."""
        model, label, name = self._model, batch.labels[at], batch.ids[at]
        if reason := self._why_not_a_class(label):
            return reason
        X, known = batch.X[at : at + 1], len(model.learner.labels)
        P, done, reason, _ = model.learner.follow(X, np.array([-1]))
        if done:
            if reason := self._add_label(label):
                return reason
            self._answer(batch, np.array([at]), P)
            model.counts["predicted"] += 1
            if self._remember is not None and name is not None:
                self._await(as_text(name), None)
            model.scores.update(P[0], known)  # a label that the forecaster did not know
            if self._learns:
                code = np.array([model.learner.codes[label]])
                model.counts["learned"] += model.learner.follow(X, code).done
        return reason

    def _late_label(self, batch: Batch, at: int) -> str | None:
        """A label that comes after its event and cannot be planned; why it is refused, if it is."""
        model, label, key = self._model, batch.labels[at], as_text(batch.ids[at])
        if key not in model.waiting:
            return f"a label for {key!r:.80}, which is not remembered"
        if label not in model.learner.codes and (
            reason := self._why_not_a_class(label) or self._add_label(label)
        ):
            return reason
        kept, p = model.waiting.pop(key)
        model.scores.update(p, model.learner.codes.get(label, len(p)))
        model.counts["late"] += 1
        if self._learns:
            with contextlib.suppress(ValueError, OverflowError):  # beyond double precision
                model.learner.learn_kept(kept, label)
                model.counts["learned"] += 1
        return None

    def _why_not_a_class(self, label: str | None) -> str | None:
        if self._model.classes is not None:
            return f"no class is called {label!r:.80}"
        if not self._learns:
            return None
        if len(str(label)) > LONGEST_LABEL:
            return f"a new label of {len(str(label)):,} characters"
        if len(self._model.learner.labels) >= MOST_CLASSES:
            which = f"{label!r} would be class number {MOST_CLASSES + 1}"
            return f"{which}; name the classes with --classes if there are so many"
        return None

    def _add_label(self, label: str | None) -> str | None:
        """Add a class, if there is to be learning; return why there is no room, if so."""
        if self._learns:
            try:
                self._model.learner.add_label(label)
            except MemoryError as error:
                return str(error) or "no memory for another class"
        return None


@dataclass(slots=True, kw_only=True)
class Plan:
    """Rows that are run in one call."""

    codes: list[int] = field(default_factory=list)  # of labels, -1 for none
    # As `Learner.follow` has it; empty if no row has an identifier.
    order: list[int] = field(default_factory=list)
    kept: list[Kept] = field(default_factory=list)
    answered: dict[int, int] = field(default_factory=dict)  # events labelled among them, and where


class _Waiting:
    """What waits for its label, as it will be after the rows planned so far."""

    def __init__(self, now: Mapping[str, tuple[Kept, Array]], most: int) -> None:
        self._now, self._most = now, most
        self._gone: set[str] = set()  # of those that wait now
        self._new: OrderedDict[str, int] = OrderedDict()  # rows that begin to wait
        self._oldest = iter(now)

    def __contains__(self, key: object) -> bool:
        return key in self._new or (key in self._now and key not in self._gone)

    def take(self, key: str) -> int | tuple[Kept, Array]:
        """What waits no longer: a row, or what was kept."""
        if key in self._new:
            return self._new.pop(key)
        self._gone.add(key)
        return self._now[key]

    def put(self, key: str, row: int | None) -> None:
        """A row begins to wait, or takes the place of one that did; the oldest are forgotten."""
        if key in self:
            self.take(key)
        if row is not None:
            self._new[key] = row
        while len(self._now) - len(self._gone) + len(self._new) > self._most:
            oldest = next((name for name in self._oldest if name not in self._gone), None)
            if oldest is None:
                self._new.popitem(last=False)
            else:
                self._gone.add(oldest)
