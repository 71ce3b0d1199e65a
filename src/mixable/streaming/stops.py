"""Waiting for input that SIGTERM and Ctrl-C can end, never in the midst of an event."""

from __future__ import annotations

import os
import select
import signal
from types import FrameType

# Seconds that a reader of the answers has to read some, once a stop is requested.
PATIENCE = 2.0


class Stops:
    """While it is entered, the two signals only set `requested`, and end a wait."""

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
