"""The loop of a stream: read, predict, answer, learn, and now and then a checkpoint."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mixable import persistence
from mixable._config import one_blas_thread
from mixable._types import Array
from mixable.streaming.errors import BadEventError, StreamError
from mixable.streaming.events import Batch, CsvEvents, Integers
from mixable.streaming.follower import Follower
from mixable.streaming.lines import Complaint, Lines, Recognised, Source
from mixable.streaming.model import Identifier, StreamModel
from mixable.streaming.options import Options
from mixable.streaming.outputs import Outputs
from mixable.streaming.record_events import CsvRecords, JsonRecords, begun_with, reader
from mixable.streaming.stops import Stops

LARGEST_BATCH = 1024
QUICK, SLOW = 0.02, 0.08  # seconds of a batch: signals are heeded after each


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
        self._outputs = Outputs(options, place)
        self._open.callback(self._outputs.close)
        self._follower = Follower(model, self._answer, options)
        self._before = dict(model.counts)
        self.first_reject: str | None = None  # of this run: its line, and why
        self._began = self._saved = time.monotonic()
        self._unsaved = 0  # events and late labels since the last checkpoint
        self._noted: dict[str, int] | None = None  # counts in the last line of the metrics
        self._stopped_at: dict[str, Any] | None = None  # the place before a line not to be passed
        self._most = 64

    def _opened_lines(self) -> Lines:
        source = Source(self.options.source)
        self._open.callback(source.close)
        return Lines(source)

    def close(self) -> None:
        """Close all files."""
        self._open.close()

    @one_blas_thread()
    def run(self, stops: Stops, tick: Callable[[], None]) -> None:
        """Run to the end of the input or until a stop is requested; `tick` after each batch."""
        first = self._first_line(stops)
        if first is None:
            return  # and the checkpoint keeps its place
        self._begin(first, stops)
        self._outputs.out.wait = stops.wait_to_write
        self._outputs.cut()
        if self._resumes and (self.options.from_start or not self._outputs.continue_all):
            self._save()  # or after a crash nobody would know from where on the files are ours
        try:
            while not stops.requested:
                descriptor = self._lines.source.descriptor
                if self._is_at_hand() or stops.wait(descriptor, self._seconds_left()):
                    if not self._step():
                        break
                    tick()
                if self._unsaved >= self.options.every or self._seconds_left() == 0:
                    self.checkpoint()
        except BadEventError:
            self.checkpoint()
            raise
        self.checkpoint()

    def _is_at_hand(self) -> bool:
        return self._lines.at < self._lines.whole or self._lines.source.has_more_at_hand

    def _seconds_left(self) -> float | None:
        """Until the next checkpoint; None if there is nothing to save."""
        left = self._saved + self.options.seconds - time.monotonic()
        return max(0.0, left) if self._unsaved else None

    def _first_line(self, stops: Stops) -> bytes | None:
        """Return the first line, and leave it where it is; None if there is none."""
        while (first := self._lines.first()) is None:
            for complaint in self._lines.complaints():
                raise StreamError(f"the first line cannot be read: {complaint.reason}")
            if self._lines.source.ended:
                return None
            stops.wait(self._lines.source.descriptor, None)  # a file is always ready
            if stops.requested:
                return None
            self._lines.fill()
        return first

    def _begin(self, first: bytes, stops: Stops) -> None:
        """Find out the formats, what the features are, and where to go on."""
        reads_json = self.options.reads_json(first)
        header = None if reads_json else first
        if header is not None:
            self._lines.use_first()
        self._outputs.begin(reads_json)
        if self._resumes:
            self._say(f"the checkpoint has seen {self._before['events']:,} events; {self._go_on()}")
        if self.options.learns and self.model.is_undecided:
            self._decide(header, stops)
        is_record = self.model.encoder is not None
        self._events = reader(header, self.model, self.options, is_record=is_record)
        if isinstance(self._events, CsvEvents) and self._events.missing:
            names = f"{', '.join(self._events.missing):.300}"
            self._say(f"the header has no {names}; what is missing counts as its mean")

    def _decide(self, header: bytes | None, stops: Stops) -> None:
        """Look at the first events: whether they are records, and of which kinds the columns."""
        lines = self._lines
        while lines.first() is None and not lines.source.ended and not stops.requested:
            stops.wait(lines.source.descriptor, None)
            lines.fill()
        if said := begun_with(header, lines, self.model, self.options):
            self._say(said)

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
        if self.model.encoder is not None and not isinstance(
            self._events, CsvRecords | JsonRecords
        ):
            self._events = reader(None, self.model, self.options, is_record=True)
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
        self._text.append(self._outputs.answers.lines(keys, P, names))

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
        """Counts over the life of the model, scores, and this run's rate in events per second."""
        model, seconds = self.model, time.monotonic() - self._began
        figures: dict[str, Any] = {
            **model.counts,
            "waiting": len(model.waiting),
            "classes": len(model.learner.labels),
            "features": len(model.feature_names),
        }
        for name in ("log_loss", "brier", "accuracy", "calibration_error", "classwise_error"):
            value = getattr(model.scores, name)
            figures[name] = None if math.isnan(value) else value
        figures["by_class"] = {
            self.class_name(each.label): {
                "n": each.n,
                "forecast": each.forecast,
                "rate": each.rate,
                "error": each.error,
            }
            for each in model.scores.by_class()
        }
        figures["rate"] = self._since("events") / seconds if seconds > 0 else None
        return figures

    def class_name(self, code: int) -> str:
        """The label of a code; there is none for those that came without being learned."""
        labels = self.model.learner.labels
        return str(labels[code]) if code < len(labels) else "others"
