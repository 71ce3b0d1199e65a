"""A process that only forecasts: it reads the checkpoints, follows the log, and answers."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from mixable.events.events import Event, RefusedError
from mixable.events.serve.series import Series
from mixable.events.serve.shown import Answer, Held, Limits, Shown, read_model
from mixable.events.store import Store, StoreError

START = 30.0  # seconds in which the process that learns has made its log


def _opened(folder: Path) -> Store:
    """The log, which the process that learns may be about to make."""
    until = time.monotonic() + START
    while True:
        try:
            return Store(folder, read_only=True)
        except StoreError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)


class Worker(Shown):
    """What `Service` is, without learning.

    `writer` is the address of the process that learns, and `parent` its number.
    """

    def __init__(
        self, folder: Path, writer: str, parent: int, *, limits: Limits, say: Callable[[str], None]
    ) -> None:
        super().__init__(limits, say)
        self.series = Series(writes=False)
        self.store = self._reader = _opened(folder)
        self._watch = Store(folder, read_only=True)  # asked by another thread
        self._writer, self.names = writer, {}
        self._seen: dict[str, int] = {}  # the last change of the log that each model knows
        self._lock = Path(os.path.realpath(folder) + ".lock")
        self._parent, self._keeper = str(parent), os.getppid()

    def start(self) -> None:
        """Begin, within a loop of asyncio."""
        self._files = ThreadPoolExecutor(1)
        self._turn = asyncio.Lock()

    async def stop(self) -> None:
        """End."""
        self._files.shutdown()
        self.store.close()
        self._watch.close()

    @property
    def trouble(self) -> str | None:
        """Why it does not forecast; None if all is well."""
        return "stopping" if self.stopping or self.closing else None

    @property
    def is_replaced(self) -> bool:
        """Whether nobody keeps it, or another process learns: that has workers of its own."""
        if os.getppid() != self._keeper:
            return True
        try:
            holder = self._lock.read_text(errors="replace")[:20]
        except OSError:
            return False
        return holder not in ("", self._parent)

    def known(self) -> dict[str, int]:
        """The models by name: others make and delete them."""
        self.names = self._watch.models()
        return self.names

    async def held(self, name: str) -> Held:
        """A model that knows all that is committed by now."""
        change = self._watch.change
        if change == self._seen.get(name):
            return self.loaded[name]
        async with self._turn:  # while a model learns in another thread, nobody else has it
            change = self._watch.change
            if change != self._seen.get(name):
                self.check(name)
                self.loaded[name] = await self._in(self._files, self._followed, name)
                self._seen[name] = change
                self.loaded.move_to_end(name)
                while len(self.loaded) > self.limits.in_memory:
                    del self._seen[self.loaded.popitem(last=False)[0]]
            return self.loaded[name]

    def _followed(self, name: str) -> Held:
        key, held = self.names[name], self.loaded.get(name)
        with self.store.unchanged():
            back, known = self.store.saved(key)
            if held is None or (held.key, held.back) != (key, back) or held.number < known:
                held = read_model(self.store, name, key)
                held.back = back
            else:
                held.follow(self.store.since(key, held.number))
        return held

    async def submit(self, name: str, events: list[Event], size: int = 0) -> list[Answer]:
        """Forecast; what is to be learned or remembered is for another process."""
        if any(event.changes for event in events):
            await self.make()
        held = await self.held(name)
        return [applied.answer for applied in held.applier.apply(events)]

    def has_room(self, events: int, size: int) -> bool:
        """Nothing waits here."""
        return True

    async def make(self, *_: Any) -> Any:
        """What changes models is for another process."""
        raise RefusedError(421, f"this process only forecasts; ask {self._writer}")

    delete = name_version = roll_back = refer = make
