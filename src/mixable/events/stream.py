"""`mixable stream` without its terminal: read, predict, answer, learn, checkpoint."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixable import persistence
from mixable._config import one_blas_thread
from mixable._types import Array
from mixable.events.events import LIMITS, Batch, CsvEvents, Integers, JsonEvents, begin_records
from mixable.events.files import Options, Outputs, StreamError
from mixable.events.lines import Complaint, Lines, Recognised, Source, Stops
from mixable.events.model import Identifier, StreamModel, as_text
from mixable.learner.late import Kept

LARGEST_BATCH = 1024
QUICK, SLOW = 0.02, 0.08  # seconds of a batch: signals are heeded after each
Refused = tuple[int, str]  # row of a batch, reason
Answering = Callable[[Batch, Integers, Array], None]  # some rows of a batch, their forecasts
UNUSED = Kept(record=None, x=np.empty(0), z=np.empty(0))


class BadEventError(StreamError):
    """A bad event, where none may be; all before it has been answered and learned."""


class Stream:
    """A stream that is under way; `say` gets what the user should know."""

    def __init__(self, options: Options, model: StreamModel, say: Callable[[str], None]) -> None:
        self.options, self.model, self._say = options, model, say
        place = model.place if options.learns else {}
        if not options.learns:
            model.start_counting()  # the model's own history is not ours to continue
        self._resumes = bool(place)
        for name, now in (("--target", options.target), ("--id", options.identifier)):
            before = place.get(name, now)
            if before != now:
                how = f"with {name} {before}" if before else f"without {name}"
                raise StreamError(f"{options.model} was made {how}")
        if model.features is not None and options.target in model.features:
            raise StreamError(f"{options.target!r} is the target, and cannot be among --features")
        self._open = contextlib.ExitStack()
        self._lines = self._opened_lines()
        self._outputs = self._open.enter_context(contextlib.closing(Outputs(options, place)))
        self._follower = Follower(model, self._answer, options)
        self._before = dict(model.counts)
        self.first_reject: str | None = None  # of this run: its line, and why
        self._began = self._saved = time.monotonic()
        self._unsaved = 0  # events and late labels since the last checkpoint
        self._noted: dict[str, int] | None = None  # counts in the last line of the metrics
        self._stopped_at: dict[str, Any] | None = None  # the place before a line not to be passed
        self._most = 64

    def _opened_lines(self) -> Lines:
        return Lines(self._open.enter_context(contextlib.closing(Source(self.options.source))))

    def close(self) -> None:
        """Close all files."""
        self._open.close()

    @one_blas_thread()
    def run(self, stops: Stops, tick: Callable[[], None]) -> None:
        """Run to the end of the input or until a stop is requested; `tick` after each batch."""
        first = self._next_line(stops)
        for complaint in self._lines.complaints():
            raise StreamError(f"the first line cannot be read: {complaint.reason}")
        if first is None:
            return  # and the checkpoint keeps its place
        self._begin(first, stops)
        self._outputs.out.wait = stops.wait_to_write
        self._outputs.cut()
        if self._resumes and (self.options.from_start or not self._outputs.continue_all):
            self._save()  # or after a crash nobody would know from where on the files are ours
        try:
            while not stops.requested:
                seconds, descriptor = self._seconds_left(), self._lines.source.descriptor
                if self._lines.has_more_at_hand or stops.wait(descriptor, seconds):
                    if not self._step():
                        break
                    tick()
                if self._unsaved >= self.options.every or self._seconds_left() == 0:
                    self.checkpoint()
        except BadEventError:
            self.checkpoint()
            raise
        self.checkpoint()

    def _seconds_left(self) -> float | None:
        """Until the next checkpoint; None if there is nothing to save."""
        left = self._saved + self.options.seconds - time.monotonic()
        return max(0.0, left) if self._unsaved else None

    def _next_line(self, stops: Stops) -> bytes | None:
        """The first line at hand, which stays there; None if there is none."""
        lines = self._lines
        while (line := lines.first()) is None and not (lines.source.ended or stops.requested):
            if stops.wait(lines.source.descriptor, None):  # a file is always ready
                lines.fill()
        return line

    def _begin(self, first: bytes, stops: Stops) -> None:
        """Find out the formats, what the features are, and where to go on."""
        options, model = self.options, self.model
        reads_json = options.reads_json(first)
        if not reads_json:
            self._lines.use_first()
        self._outputs.begin(reads_json)
        if self._resumes:
            self._say(f"the checkpoint has seen {self._before['events']:,} events; {self._go_on()}")
        self._events: CsvEvents | JsonEvents = (
            JsonEvents(model, options) if reads_json else CsvEvents(first, model, options)
        )
        if options.learns and model.is_undecided:
            # Its first event says whether they are records, and of which kinds the columns.
            line = self._next_line(stops) or b""
            if said := begin_records(self._events, line, model):
                self._say(said)
        if missing := self._events.begin():
            names = f"{', '.join(missing):.300}"
            self._say(f"the header has no {names}; what is missing counts as its mean")

    def _go_on(self) -> str:
        """Go to where the checkpoint was, if this is the input that it saw; return what is done."""
        place, path, out = self.model.place["input"], self.options.source, self._outputs.out
        if path is None or not self._lines.source.is_file:
            brings = f"what {path or 'standard input'} brings"
            return f"going on with {brings}, of which {place['line']:,} lines were read"
        if self.options.from_start or place["position"] <= self._lines.position:
            return f"reading {path} from the beginning"
        there = self._opened_lines()
        found = there.go_to(place)
        if found is Recognised.same:
            self._lines = there
            done = f"going on after line {there.line:,} of {path}"
            if out.has_length and not out.continues:
                done += f"; {self.options.out} does not have what was answered"
            return done
        if found is Recognised.changed:
            raise StreamError(
                f"{path} is not as the checkpoint saw it: it is shorter, or differs before byte "
                f"{place['position']:,}; --from-start reads it from the beginning"
            )
        return f"{path} is another input: reading it from the beginning"

    def _step(self) -> bool:
        """Read if there are no lines left, and use a batch of them; False at the end."""
        lines = self._lines
        if lines.at == lines.whole:
            if lines.source.ended and not lines.source.has_more_at_hand:
                self._heed_complaints()
                return False
            lines.fill()
        self._heed_complaints()
        if lines.at < lines.whole:
            # By the processor's clock: on a busy machine batches would become tiny, and slow.
            began = time.thread_time()
            self._batch(min(self._most, max(1, self.options.every - self._unsaved)))
            took = time.thread_time() - began
            if took < QUICK:
                self._most = min(2 * self._most, LARGEST_BATCH)
            elif took > SLOW:
                self._most = max(self._most // 2, 1)
            self._heed_complaints()  # about a damaged end
        return True

    def _heed_complaints(self) -> None:
        for complaint in self._lines.complaints():
            if self.options.strict:
                self._stopped_at = complaint.place
                raise BadEventError(f"line {complaint.line}: {complaint.reason}")
            self._count(1, 1)
            self._refuse(complaint)

    def _batch(self, most: int) -> None:
        """Predict, answer and learn some events, in the order of their lines."""
        lines, first, late = self._lines, self._lines.line + 1, self.model.counts["late"]
        buffer = lines.buffer
        batch = self._events.parse(buffer, lines.at, lines.whole, most)
        wanted = len(batch.labels)
        if self.options.strict and batch.rejects:
            wanted = int(np.searchsorted(batch.lines, batch.rejects[0][0]))
        self._text: list[bytes] = []
        rows, refused = self._follower.follow(batch, wanted)
        self._outputs.out.write(b"".join(self._text))
        late = self.model.counts["late"] - late
        places = [(int(batch.lines[row]), int(batch.begins[row]), why) for row, why in refused]
        bad = sorted([*batch.rejects, *places])
        if self.options.strict and bad:
            line, begin, reason = bad[0]
            self._count(rows - late, rows)
            lines.use(begin, line)
            raise BadEventError(f"line {first + line}: {reason}")
        for line, begin, reason in bad:
            text = buffer[begin : buffer.find(b"\n", begin) + 1 or len(buffer)]
            self._refuse(Complaint(line=first + line, text=text, reason=reason, place={}))
        self._count(rows + len(batch.rejects) - late, rows + len(batch.rejects))
        lines.use(batch.end, batch.passed)

    def _count(self, events: int, used: int) -> None:
        self.model.counts["events"] += events
        self._unsaved += used

    def _answer(self, batch: Batch, rows: Integers, P: Array) -> None:
        keys: Sequence[Identifier] = [batch.ids[row] for row in rows.tolist()]
        if not self.options.identifier:
            keys = (batch.lines[rows] + self._lines.line + 1).tolist()
        names = [str(name) for name in self.model.learner.labels[: P.shape[1]]]  # there may be more
        self._text.append(self._outputs.answers(keys, P, names))

    def _refuse(self, complaint: Complaint) -> None:
        self.model.counts["rejected"] += 1
        if self.first_reject is None:
            self.first_reject = f"line {complaint.line}: {complaint.reason}"
        self._outputs.refuse(complaint)

    def checkpoint(self) -> None:
        """Save, and add a line to the metrics if there is something new to say."""
        self._save()
        if self._noted != self.model.counts:
            self._outputs.note(self.figures())
            self._noted = dict(self.model.counts)
        self._unsaved, self._saved = 0, time.monotonic()

    def _save(self) -> None:
        """Bring to the disk what was written, then the model with the place where that ends."""
        options = self.options
        if not options.learns:
            return
        self.model.place = {
            "--target": options.target,
            "--id": options.identifier,
            "input": self._stopped_at or self._lines.place(),
            **self._outputs.marks(),
        }
        try:
            persistence.save(self.model, options.model)
        except OSError as error:
            raise StreamError(
                f"cannot write {options.model}: {error.strerror}; the last good checkpoint is kept"
            ) from None

    @property
    def was_in_vain(self) -> bool:
        """Whether all events of this run were rejected, and no late label was of use."""
        return 0 < self._since("events") == self._since("rejected") and not self._since("late")

    def _since(self, name: str) -> int:
        """How many of a kind this run has counted."""
        return self.model.counts[name] - self._before[name]

    def figures(self) -> dict[str, Any]:
        """Figures over the life of the model, and this run's rate in events per second."""
        seconds = time.monotonic() - self._began
        rate = self._since("events") / seconds if seconds > 0 else None
        return {**self.model.figures(), "rate": rate}


class Follower:
    """Runs a model over batches of events; `answer` gets the forecasts."""

    def __init__(self, model: StreamModel, answer: Answering, options: Options) -> None:
        self._model, self._answer = model, answer
        self._learns, self._strict = options.learns, options.strict
        # How many events may wait for their label; None if events have no identifiers.
        self._remember = options.remember if options.identifier else None

    def follow(self, batch: Batch, rows: int) -> tuple[int, list[Refused]]:
        """Run the first rows of a batch; return how many were done, and which were refused."""
        refused: list[Refused] = []
        self._names: list[Any] = []  # of each row, if events have identifiers
        is_bare = [False] * len(batch.labels)  # an identifier, a label and no values
        if self._remember is not None:
            self._names = [None if key is None else as_text(key) for key in batch.ids]
            given = zip(batch.empty, batch.labels, batch.ids, strict=True)
            is_bare = [e and label is not None and key is not None for e, label, key in given]
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
        if not done:
            return reason
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
        return None

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
        if self._learns and len(str(label)) > LIMITS.text:
            return f"a new label of {len(str(label)):,} characters"
        if self._learns and len(self._model.learner.labels) >= LIMITS.classes:
            which = f"{label!r} would be class number {LIMITS.classes + 1}"
            return f"{which}; name the classes with --classes if there are so many"
        return None

    def _add_label(self, label: str | None) -> str | None:
        """Add a class, if there is to be learning; return why there is no room, if so."""
        try:
            if self._learns:
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
