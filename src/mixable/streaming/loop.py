"""The loop of a stream: read, predict, answer, learn, and now and then a checkpoint."""

from __future__ import annotations

import contextlib
import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixable import persistence
from mixable.streaming.answers import CsvAnswers, JsonAnswers
from mixable.streaming.errors import BadEventError, StreamError
from mixable.streaming.events import Batch, CsvEvents, JsonEvents
from mixable.streaming.files import Sink, open_log, refuse_same_files
from mixable.streaming.follower import Follower
from mixable.streaming.lines import Complaint, Lines, Recognised, Source
from mixable.streaming.model import Identifier, StreamModel
from mixable.streaming.stops import Stops

Array = NDArray[np.float64]
LARGEST_BATCH = 1024
QUICK, SLOW = 0.005, 0.02  # seconds that a batch should take: signals are heeded after each
SHOWN = 1000  # bytes of a rejected line
JSON_SUFFIXES = (".json", ".jsonl", ".ndjson")


@dataclass(frozen=True)
class Options:
    """What the user has asked for, the forecaster aside. Without `source` and `out`, standard input
    and output are meant.

    `is_json` says whether events are JSON lines; None looks at the name of the file, then at its
    first line.
    """

    model: Path
    target: str | None
    source: Path | None = None
    out: Path | None = None
    rejects: Path | None = None
    metrics: Path | None = None
    identifier: str | None = None
    remember: int = 10_000
    learns: bool = True
    strict: bool = False
    from_start: bool = False
    every: int = 100_000
    seconds: float = 10.0
    is_json: bool | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be meant."""
        refuse_same_files(
            {
                "--model": self.model,
                "IN": self.source,
                "--out": self.out,
                "--rejects": self.rejects,
                "--metrics": self.metrics,
            }
        )
        if self.target is not None and self.target == self.identifier:
            raise StreamError(f"--target and --id are both {self.target!r}")


class Stream:
    """A stream that is under way. `say` is told what the user should know."""

    def __init__(self, options: Options, model: StreamModel, say: Callable[[str], None]) -> None:
        self.options, self.model, self._say = options, model, say
        place = model.place if options.learns else {}
        if not options.learns:
            model.start_counting()  # the model's own history is not ours to continue
        self._resumes = bool(place)
        for name, now in (("--target", options.target), ("--id", options.identifier)):
            before = place.get(name, now)
            if before != now:
                raise StreamError(
                    f"{options.model} was made with {name} {before}"
                    if before
                    else f"{options.model} was made without {name}"
                )
        if options.target in model.columns and model.closed_features:
            raise StreamError(f"{options.target!r} is the target, and cannot be among --features")
        self._open = contextlib.ExitStack()
        self._lines = self._opened_lines()
        fresh = options.learns and not place
        self._out = Sink(options.out, place.get("out"), fresh=fresh)
        self._rejects = (
            Sink(options.rejects, place.get("rejects"), fresh=fresh) if options.rejects else None
        )
        self._metrics = open_log(options.metrics) if options.metrics else None
        for sink in (self._out, self._rejects, self._metrics):
            if sink is not None:
                self._open.callback(sink.close)
        self._follower = Follower(
            model,
            self._answer,
            learns=options.learns,
            remember=options.remember if options.identifier else None,
            strict=options.strict,
        )
        self._answers: CsvAnswers | JsonAnswers = CsvAnswers("line")
        self._before = dict(model.counts)
        self.first_reject: str | None = None  # of this run: its line, and why
        self._began = self._saved = time.monotonic()
        self._unsaved = 0  # events and late labels since the last checkpoint
        self._noted: dict[str, int] | None = None  # counts in the last line of the metrics
        self._stopped_at: dict[str, Any] | None = (
            None  # the place before a line that is not to be passed
        )
        self._most = 64

    def _opened_lines(self) -> Lines:
        source = Source(self.options.source)
        self._open.callback(source.close)
        return Lines(source)

    def close(self) -> None:
        """Close all files."""
        self._open.close()

    def run(self, stops: Stops, tick: Callable[[], None]) -> None:
        """Go through the input, to its end or until a stop is requested; `tick` is called after
        each batch.
        """
        import scipy.linalg  # noqa: F401  # its BLAS must have been loaded to be limited
        from threadpoolctl import threadpool_limits

        with threadpool_limits(
            1
        ):  # one event at a time has no work for more, and the bits must not depend on their number
            self._run(stops, tick)

    def _run(self, stops: Stops, tick: Callable[[], None]) -> None:
        first = self._first_line(stops)
        if first is None:
            return  # and the checkpoint keeps its place
        self._begin(first)
        self._out.wait = stops.wait_to_write
        sinks = [sink for sink in (self._out, self._rejects) if sink is not None]
        for sink in sinks:
            sink.cut()
        if self._resumes and (
            self.options.from_start or not all(sink.continues for sink in sinks if sink.has_length)
        ):
            self._save()  # or after a crash nobody would know from where on the files are ours
        try:
            while not stops.requested:
                if self._is_at_hand() or stops.wait(
                    self._lines.source.descriptor, self._seconds_left()
                ):
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
        return (
            max(0.0, self._saved + self.options.seconds - time.monotonic())
            if self._unsaved
            else None
        )

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

    def _begin(self, first: bytes) -> None:
        """Find out the formats, and where to go on."""
        options = self.options
        arguments = self.model, options.target, options.identifier, options.learns
        self._events: CsvEvents | JsonEvents
        is_json = options.is_json
        if is_json is None:
            suffixes = (
                []
                if options.source is None
                else [suffix.lower() for suffix in options.source.suffixes]
            )
            is_json = any(
                suffix in JSON_SUFFIXES for suffix in suffixes
            ) or first.lstrip().startswith(b"{")
        if is_json:
            self._events = JsonEvents(*arguments)
        else:
            self._events = CsvEvents(first, *arguments)
            self._lines.use_first()
            if self._events.missing:
                self._say(
                    f"the header has no {', '.join(self._events.missing):.300}; what is missing "
                    "counts as its mean"
                )
        suffix = "" if options.out is None else options.out.suffix.lower()
        writes_json = suffix in JSON_SUFFIXES or (is_json and suffix != ".csv")
        key = options.identifier or "line"
        if writes_json and key == "p":
            raise StreamError(
                "--id p cannot be echoed in JSON, where p has the probabilities; answer in CSV "
                "with --out FILE.csv"
            )
        self._answers = JsonAnswers(key) if writes_json else CsvAnswers(key)
        if self._out.continues:
            self._answers.headed = self.model.place["headed"]
        if self._resumes:
            self._say(f"the checkpoint has seen {self._before['events']:,} events; {self._go_on()}")

    def _go_on(self) -> str:
        """Go to where the checkpoint was, if this is the input that it saw; return what is done."""
        place, path = self.model.place["input"], self.options.source
        if path is None or not self._lines.source.is_file:
            return f"going on with what {path or 'standard input'} brings, of which {place['line']:,} lines were read"
        if self.options.from_start or place["position"] <= self._lines.position:
            return f"reading {path} from the beginning"
        there = self._opened_lines()
        found = there.go_to(place)
        if found is Recognised.same:
            self._lines = there
            missing = self._out.has_length and not self._out.continues
            return f"going on after line {there.line:,} of {path}" + (
                f"; {self.options.out} does not have what was answered" if missing else ""
            )
        if found is Recognised.changed:
            what = f"is not as the checkpoint saw it: it is shorter, or differs before byte {place['position']:,}"
            raise StreamError(f"{path} {what}; --from-start reads it from the beginning")
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
            began = time.monotonic()
            self._batch(min(self._most, max(1, self.options.every - self._unsaved)))
            took = time.monotonic() - began
            self._most = max(
                1,
                min(
                    LARGEST_BATCH,
                    2 * self._most
                    if took < QUICK
                    else self._most // 2
                    if took > SLOW
                    else self._most,
                ),
            )
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
        lines, buffer, first, late = (
            self._lines,
            self._lines.buffer,
            self._lines.line + 1,
            self.model.counts["late"],
        )
        batch = self._events.parse(buffer, lines.at, lines.whole, most)
        stops = self.options.strict and bool(batch.rejects)
        self._text: list[bytes] = []
        rows, refused = self._follower.follow(
            batch,
            int(np.searchsorted(batch.lines, batch.rejects[0][0])) if stops else len(batch.labels),
        )
        self._out.write(b"".join(self._text))
        late = self.model.counts["late"] - late
        bad = sorted(
            [
                *batch.rejects,
                *(
                    (int(batch.lines[row]), int(batch.begins[row]), reason)
                    for row, reason in refused
                ),
            ]
        )
        if self.options.strict and bad:
            line, begin, reason = bad[0]
            self._count(rows - late, rows)
            lines.use(begin, line)
            raise BadEventError(f"line {first + line}: {reason}")
        for line, begin, reason in bad:
            self._refuse(
                Complaint(
                    first + line,
                    buffer[begin : buffer.find(b"\n", begin) + 1 or len(buffer)],
                    reason,
                    {},
                )
            )
        self._count(rows + len(batch.rejects) - late, rows + len(batch.rejects))
        lines.use(batch.end, batch.passed)

    def _count(self, events: int, used: int) -> None:
        self.model.counts["events"] += events
        self._unsaved += used

    def _answer(self, batch: Batch, begin: int, end: int, P: Array) -> None:
        keys: Sequence[Identifier] = (
            batch.ids[begin:end]
            if self.options.identifier
            else (batch.lines[begin:end] + self._lines.line + 1).tolist()
        )
        names = [str(name) for name in self.model.learner.labels[: P.shape[1]]]  # there may be more
        self._text.append(self._answers.lines(keys, P, names))

    def _refuse(self, complaint: Complaint) -> None:
        self.model.counts["rejected"] += 1
        if self.first_reject is None:
            self.first_reject = f"line {complaint.line}: {complaint.reason}"
        if self._rejects is not None:
            text = complaint.text[:SHOWN].rstrip(b"\r\n").decode(errors="replace")
            self._rejects.write(
                json.dumps(
                    {"line": complaint.line, "reason": complaint.reason, "text": text}
                ).encode()
                + b"\n"
            )

    def checkpoint(self) -> None:
        """Save, and add a line to the metrics if there is something new to say."""
        self._save()
        if self._metrics is not None and self._noted != self.model.counts:
            self._metrics.write(
                json.dumps(
                    {"time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), **self.figures()}
                ).encode()
                + b"\n"
            )
            self._noted = dict(self.model.counts)
        self._unsaved, self._saved = 0, time.monotonic()

    def _save(self) -> None:
        """Bring to the disk what was written, then the model with the place where all that stands."""
        if not self.options.learns:
            return
        self.model.place = {
            "--target": self.options.target,
            "--id": self.options.identifier,
            "input": self._stopped_at or self._lines.place(),
            "out": self._out.mark(),
            "rejects": None if self._rejects is None else self._rejects.mark(),
            "headed": self._answers.headed,
        }
        try:
            persistence.save(self.model, self.options.model)
        except OSError as error:
            raise StreamError(
                f"cannot write {self.options.model}: {error.strerror}; the last good checkpoint is "
                "kept"
            ) from None

    @property
    def was_in_vain(self) -> bool:
        """Whether this run has had events, all were rejected, and no late label was of use either."""
        return 0 < self._since("events") == self._since("rejected") and not self._since("late")

    def _since(self, name: str) -> int:
        """How many of a kind this run has counted."""
        return self.model.counts[name] - self._before[name]

    def figures(self) -> dict[str, Any]:
        """How it goes: counts over the life of the model, scores, and the rate of this run in
        events per second.
        """
        model, scores = self.model, self.model.scores
        seconds = time.monotonic() - self._began
        figures: dict[str, Any] = {
            **model.counts,
            "waiting": len(model.waiting),
            "classes": len(model.learner.labels),
            "features": len(model.columns),
        }
        for name in ("log_loss", "brier", "accuracy", "calibration_error"):
            value = getattr(scores, name)
            figures[name] = None if math.isnan(value) else value
        figures["rate"] = self._since("events") / seconds if seconds > 0 else None
        return figures
