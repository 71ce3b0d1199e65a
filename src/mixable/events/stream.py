"""`mixable stream` without its terminal: read, predict, answer, learn, checkpoint."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mixable import persistence
from mixable._config import one_blas_thread
from mixable._spelling import did_you_mean
from mixable._types import Array
from mixable.events.events import SEPARATORS, Batch, CsvEvents, Integers, JsonEvents, begin_records
from mixable.events.files import Options, Outputs, StreamError
from mixable.events.following import Follower
from mixable.events.lines import Complaint, Lines, Recognised, Stops
from mixable.events.model import EventModel, Identifier
from mixable.events.sources import Source

LARGEST_BATCH = 1024
QUICK, SLOW = 0.02, 0.08  # seconds of a batch: signals are heeded after each


class BadEventError(StreamError):
    """A bad event, where none may be; all before it has been answered and learned."""


class Stream:
    """A stream that is under way; `say` gets what the user should know."""

    def __init__(self, options: Options, model: EventModel, say: Callable[[str], None]) -> None:
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
        most = model.options.remember if options.remember is None else options.remember
        self._follower = Follower(
            model,
            self._answer,
            learns=options.learns,
            strict=options.strict,
            remember=most if options.identifier else None,
        )
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
        self._outputs.finish()
        self._warn_of_no_label()

    def _warn_of_no_label(self) -> None:
        """Events of JSON have no header that would tell a target that is misspelt."""
        target = self.options.target
        if target is None or not isinstance(self._events, JsonEvents):
            return
        has_labels = self._since("learned") or self._since("late") or self.model.scores.n
        if self._since("predicted") and not has_labels:
            names = map(str, self.model.feature_names)
            self._say(f"no event had a label under {target!r:.80}{did_you_mean(target, names)}")

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
        if first.lstrip().startswith(b"[") and not first.lstrip().startswith(b'["'):
            how = "write one object a line, say by jq -c '.[]'"
            raise StreamError(f"the input is an array of JSON: {how}")
        if not reads_json:
            self._lines.use_first()
        self._outputs.begin(reads_json)
        if self._resumes:
            self._say(f"the checkpoint has seen {self._before['events']:,} events; {self._go_on()}")
        self._events: CsvEvents | JsonEvents = (
            JsonEvents(model, options) if reads_json else CsvEvents(first, model, options)
        )
        if isinstance(self._events, CsvEvents) and self._events.separator != ",":
            self._say(f"the separator is {SEPARATORS[self._events.separator]}")
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
            self._unsaved += 1
            self._refuse(complaint)

    def _batch(self, most: int) -> None:
        """Predict, answer and learn some events, in the order of their lines."""
        lines, first = self._lines, self._lines.line + 1
        buffer = lines.buffer
        batch = self._events.parse(buffer, lines.at, lines.whole, most)
        wanted = len(batch.labels)
        if self.options.strict and batch.rejects:
            wanted = int(np.searchsorted(batch.lines, batch.rejects[0][0]))
        self._text: list[bytes] = []
        rows, refused = self._follower.follow(batch, wanted)
        self._outputs.out.write(b"".join(self._text))
        places = [
            (int(batch.lines[row]), int(batch.begins[row]), why.reason) for row, why in refused
        ]
        bad = sorted([*batch.rejects, *places])
        if self.options.strict and bad:
            line, begin, reason = bad[0]
            self._unsaved += rows
            lines.use(begin, line)
            raise BadEventError(f"line {first + line}: {reason}")
        for line, begin, reason in bad:
            text = buffer[begin : buffer.find(b"\n", begin) + 1 or len(buffer)]
            self._refuse(Complaint(line=first + line, text=text, reason=reason, place={}))
        self._unsaved += rows + len(batch.rejects)
        lines.use(batch.end, batch.passed)

    def _answer(self, batch: Batch, rows: Integers, P: Array) -> None:
        keys: Sequence[Identifier] = [batch.ids[row] for row in rows.tolist()]
        if not self.options.identifier:
            keys = (batch.lines[rows] + self._lines.line + 1).tolist()
        self._text.append(self._outputs.answers(keys, *self.model.answer_table(P)))

    def _refuse(self, complaint: Complaint) -> None:
        self.model.counts["rejected"] += 1
        self.model.counts["events"] += 1
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
