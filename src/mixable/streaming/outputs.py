"""What a stream writes: answers, rejected lines, metrics."""

from __future__ import annotations

import contextlib
import json
import time
from typing import Any

from mixable.streaming.answers import CsvAnswers, JsonAnswers
from mixable.streaming.errors import StreamError
from mixable.streaming.files import Sink, open_log
from mixable.streaming.lines import Complaint
from mixable.streaming.options import Options

SHOWN = 1000  # bytes of a rejected line


class Outputs:
    """The files of a stream; `place` is where a checkpoint was in them, if there is one."""

    def __init__(self, options: Options, place: dict[str, Any]) -> None:
        self._options, self._place = options, place
        self._open = contextlib.ExitStack()
        fresh = options.learns and not place
        self.out = self._opened(Sink(options.out, place.get("out"), fresh=fresh))
        self._rejects = self._metrics = None
        if options.rejects:
            self._rejects = self._opened(Sink(options.rejects, place.get("rejects"), fresh=fresh))
        if options.metrics:
            self._metrics = self._opened(open_log(options.metrics))
        self._sinks = [sink for sink in (self.out, self._rejects) if sink is not None]
        self.answers: CsvAnswers | JsonAnswers = CsvAnswers("line")

    def _opened(self, sink: Sink) -> Sink:
        self._open.callback(sink.close)
        return sink

    def close(self) -> None:
        """Close all files."""
        self._open.close()

    def begin(self, reads_json: bool) -> None:
        """Choose the format of the answers."""
        writes_json = self._options.writes_json(reads_json)
        key = self._options.identifier or "line"
        if writes_json and key == "p":
            raise StreamError(
                "--id p cannot be echoed in JSON, where p has the probabilities; answer in CSV "
                "with --out FILE.csv"
            )
        self.answers = JsonAnswers(key) if writes_json else CsvAnswers(key)
        if self.out.continues:
            self.answers.headed = self._place["headed"]

    def cut(self) -> None:
        """Cut back what was written after the checkpoint."""
        for sink in self._sinks:
            sink.cut()

    @property
    def continue_all(self) -> bool:
        """Whether all files are those of the checkpoint."""
        return all(sink.continues for sink in self._sinks if sink.has_length)

    def refuse(self, complaint: Complaint) -> None:
        """Write a rejected line and the reason."""
        if self._rejects is not None:
            text = complaint.text[:SHOWN].rstrip(b"\r\n").decode(errors="replace")
            found = {"line": complaint.line, "reason": complaint.reason, "text": text}
            self._rejects.write(json.dumps(found).encode() + b"\n")

    def note(self, figures: dict[str, Any]) -> None:
        """Add a line to the metrics."""
        if self._metrics is not None:
            now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            self._metrics.write(json.dumps({"time": now, **figures}).encode() + b"\n")

    def marks(self) -> dict[str, Any]:
        """Bring the files to the disk; return what a checkpoint remembers of them."""
        rejects = None if self._rejects is None else self._rejects.mark()
        return {"out": self.out.mark(), "rejects": rejects, "headed": self.answers.headed}
