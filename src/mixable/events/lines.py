"""Where events come from: whole lines of a file or of standard input, and the place in them.

A place is what a checkpoint remembers of an input: `position` (bytes read, after unpacking), `line`
(lines read), `torn` (if that is in the midst of a line, why) and two fingerprints, of the beginning
and of what stands before the position.
"""

from __future__ import annotations

import hashlib
import os
import select
import signal
from dataclasses import dataclass
from enum import Enum
from types import FrameType
from typing import Any

from mixable import _validate
from mixable.events.sources import PRINT, Source

LONGEST = 1 << 24  # of a line
PATIENCE = 2.0  # seconds that a reader of the answers has to read some, once a stop is requested

# Why a place is in the midst of a line.
UNFINISHED = "unfinished"  # the input ended without a line feed; the line was used all the same
SKIPPING = "skipping"  # the line was refused before its end was seen


class Recognised(Enum):
    """Whether an input is the one that a checkpoint saw."""

    same = "the same, perhaps longer"
    other = "another one"
    changed = "begins like it, but is shorter or differs later"


def fingerprint(data: bytes) -> str:
    """A short name for some bytes."""
    return hashlib.sha256(data).hexdigest()[:16]


@dataclass(frozen=True, kw_only=True, slots=True)
class Complaint:
    """A line that is refused; `place` is the one before it."""

    line: int
    text: bytes
    reason: str
    place: dict[str, Any]


class Lines:
    """The whole lines that have been read and not yet used: `buffer[at:whole]`."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.buffer, self.at, self.whole = b"", 0, 0
        self.position = self.line = 0
        self.torn: str | None = None
        self._complaints: list[Complaint] = []
        self._head = self._past = b""

    @property
    def has_more_at_hand(self) -> bool:
        """Whether there are lines, or could be without waiting."""
        return self.at < self.whole or self.source.has_more_at_hand

    def fill(self) -> None:
        """Read once."""
        data = self.source.read()
        if self.torn:
            data = self._skip(data)
        self.buffer, self.at = self.buffer[self.at :] + data, 0
        self.whole = len(self.buffer) - len(data) + end if (end := data.rfind(b"\n") + 1) else 0
        if self.position == 0 and self.buffer.startswith(b"\xef\xbb\xbf"):
            self._pass(3)
        if self.source.ended:
            self.whole = self.buffer.rfind(b"\n") + 1 if self.source.damage else len(self.buffer)
        self.whole = max(self.at, self.whole)
        # Only the first line can be so long: the others came in one read.
        end = self.buffer.find(b"\n", self.at) + 1 or len(self.buffer)
        if end - self.at > LONGEST:
            self._refuse(end, f"longer than {LONGEST >> 20} MiB")

    def complaints(self) -> list[Complaint]:
        """What is to be refused before the lines at hand."""
        if self.source.damage and self.at == self.whole and not self.torn:
            # What was cut off may be half an event, or any number of them: it counts as one.
            self._refuse(len(self.buffer), self.source.damage)
        out, self._complaints = self._complaints, []
        return out

    def _complain(self, line: int, text: bytes, reason: str) -> None:
        complaint = Complaint(line=line, text=text, reason=reason, place=self.place())
        self._complaints.append(complaint)

    def _refuse(self, end: int, reason: str) -> None:
        """Pass over a line, whose end may not have been seen."""
        text = self.buffer[self.at : end]
        self._complain(self.line + 1, text, reason)
        self.line += 1
        if self.buffer[end - 1 : end] != b"\n" or end == self.at:
            self.torn = SKIPPING
        self._pass(end - self.at)
        self.whole = max(self.at, self.whole)

    def _skip(self, data: bytes) -> bytes:
        """The data after the end of the line that is being passed over."""
        end = data.find(b"\n") + 1 or len(data)
        if self.torn == UNFINISHED and data[:end].strip():
            reason = "the rest of a line that was read before it was complete"
            self._complain(self.line, data[:end], reason)
            self.torn = SKIPPING
        self.buffer, self.at = data, 0
        self._pass(end)
        if data[end - 1 : end] == b"\n":
            self.torn = None
        self.buffer, self.at = b"", 0
        return data[end:]

    def first(self) -> bytes | None:
        """The first whole line at hand that is not blank; those before it are used up."""
        while self.at < self.whole:
            end = self.buffer.find(b"\n", self.at, self.whole) + 1 or self.whole
            if line := self.buffer[self.at : end].strip(b"\r\n"):
                return line
            self.use(end, 1)
        return None

    def use_first(self) -> None:
        """Pass over one line."""
        self.use(self.buffer.find(b"\n", self.at, self.whole) + 1 or self.whole, 1)

    def use(self, end: int, count: int) -> None:
        """Pass over `count` lines, which end at `end` of the buffer."""
        if end > self.at and self.buffer[end - 1 : end] != b"\n":
            self.torn = UNFINISHED
        self._pass(end - self.at)
        self.line += count

    def _pass(self, n: int) -> None:
        end = self.at + n
        self._head += self.buffer[self.at : min(end, self.at + PRINT - len(self._head))]
        self._past = (self._past + self.buffer[max(self.at, end - PRINT) : end])[-PRINT:]
        self.at, self.position = end, self.position + n

    def place(self) -> dict[str, Any]:
        """What a checkpoint is to remember."""
        prints = [fingerprint(self._head), fingerprint(self._past)]
        return {"position": self.position, "line": self.line, "torn": self.torn, "prints": prints}

    def go_to(self, place: dict[str, Any]) -> Recognised:
        """Go on from a place, if this is the input that it is a place of."""
        head, past = self.source.go_to(place["position"])
        if fingerprint(head) != place["prints"][0]:
            return Recognised.other
        if fingerprint(past) != place["prints"][1]:
            return Recognised.changed
        self.buffer, self.at, self.whole = b"", 0, 0
        self._head, self._past = head, past
        self.position, self.line, self.torn = place["position"], place["line"], place["torn"]
        return Recognised.same


class Stops:
    """While it is entered, SIGTERM and Ctrl-C only set `requested`, and end a wait."""

    def __init__(self) -> None:
        self.requested = False

    def __enter__(self) -> Stops:
        self._woken, self._waker = os.pipe()
        os.set_blocking(self._waker, False)
        self._before = {
            number: signal.signal(number, self._request)
            for number in (signal.SIGTERM, signal.SIGINT)
        }
        self._waker_before = signal.set_wakeup_fd(self._waker, warn_on_full_buffer=False)
        return self

    def _request(self, number: int, frame: FrameType | None) -> None:
        self.requested = True

    def wait(self, descriptor: int, seconds: float | None) -> bool:
        """Wait for input, but not longer than that; whether there is some."""
        return descriptor in select.select([descriptor, self._woken], [], [], seconds)[0]

    def wait_to_write(self, descriptor: int) -> bool:
        """Wait until something can be written, not for long after a stop; whether it can."""
        while True:
            seconds = PATIENCE if self.requested else None
            woken = [] if self.requested else [self._woken]
            if descriptor in select.select(woken, [descriptor], [], seconds)[1]:
                return True
            if seconds is not None:
                return False

    def __exit__(self, *_: object) -> None:
        signal.set_wakeup_fd(self._waker_before)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        os.close(self._woken)
        os.close(self._waker)


def check_place(place: Any) -> None:
    """Refuse a place where no stream can have been: files are read and cut there."""
    if not isinstance(place, dict):
        raise TypeError(f"place must be a dictionary, got {place!r:.80}")
    if not place:
        return
    there = place["input"]
    for name in ("position", "line"):
        _validate.count(there[name], name, least=0, most=_validate.MOST_STEPS)
    kinds = [type(each) for each in there["prints"]]
    if not (there["torn"] is None or isinstance(there["torn"], str)) or kinds != [str, str]:
        raise TypeError("the place in the input is not one")
    for name in ("out", "rejects"):
        if place.get(name) is not None:
            length, *prints = place[name]
            _validate.count(length, name, least=0, most=_validate.MOST_STEPS)
            if not all(isinstance(each, str) for each in prints):
                raise TypeError(f"the place in {name} is not one")
