"""What processes that learn and processes that only forecast have in common."""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from mixable.events.decisions import Decisions, Model, applier_of
from mixable.events.events import Event, RefusedError
from mixable.events.model import Features
from mixable.events.serve.drift import WINDOW, Window
from mixable.events.serve.series import LOSSES, Series, minute, picture, widths
from mixable.events.store import Store, load

DEFAULT = "default"
RECENT = 4
REASONS = 100  # of rejects that are told apart

Answer = dict[str, Any] | RefusedError


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What the service takes."""

    body: int = 2**20  # bytes of a request, and of a line of /events
    bulk: int = 2**24  # bytes of the body of /events whose length is announced
    models: int = 1000
    in_memory: int = 100  # models
    queue: int = 2000  # events that may wait for the disk
    queue_bytes: int = 2**26
    requests: int = 256  # at one time
    streams: int = 8  # of /events, and as many pages that watch, at one time
    seconds: float = 30.0  # that a request may take to arrive
    versions: int = 5  # checkpoints of a model that are kept, beside those with a name


def busy(what: str) -> RefusedError:
    """Say that there is too much to do at the moment."""
    return RefusedError(503, f"{what}; try again in a second")


class Held:
    """A model in memory; `number` is its place in the log."""

    def __init__(self, name: str, key: int, model: Model, number: int) -> None:
        self.name, self.key, self.model, self.number = name, key, model, number
        self.applier = applier_of(model)
        self.saved = number  # the place of its last checkpoint
        self.back = 0  # the checkpoint that it was rolled back to
        # Records that came last, for those who watch; the first and the last of all.
        self.recent: deque[Features] = deque(maxlen=RECENT)
        self.window = Window()
        # How much each column moves forecasts, and by how many records that is known (`figures`).
        self.importance: dict[str, tuple[float, int]] = {}
        self.minute = 0  # of the last outcomes; 0: what the log has was counted before
        self.counted = model.progress.seen  # the losses that are part of the series

    def follow(self, events: Iterable[Event]) -> None:
        """Learn what the log has."""
        every = list(events)
        self.applier.all(every)
        if every:
            self.number = every[-1].number


def read_model(store: Store, name: str, key: int) -> Held:
    """A model as the disk has it: its last checkpoint, and what the log has since."""
    model, number, rest = load(store, key)
    held = Held(name, key, model, number)
    if not isinstance(model, Decisions):
        named, first = store.window(key, WINDOW)
        held.window = Window(first, store.last(key, WINDOW), named)
    held.follow(rest)
    return held


class Shown:
    """Models by name, as those who ask see them."""

    names: dict[str, int]
    _reader: Store
    _files: ThreadPoolExecutor

    def __init__(self, limits: Limits, say: Callable[[str], None]) -> None:
        self.limits, self.say = limits, say
        self.rejected: deque[tuple[float, str, str]] = deque(maxlen=20)  # time, model, reason
        self.rejects: Counter[tuple[str, str]] = Counter()  # by model and reason
        self.series = Series()
        self.commits = self.failures = 0
        self.loaded: OrderedDict[str, Held] = OrderedDict()
        self.stopping = False  # nothing more is taken in
        self.closing = False  # what could go on for ever is to end

    def known(self) -> dict[str, int]:
        """The models by name, as they are now."""
        return self.names

    def check(self, name: str) -> None:
        """Refuse a name that no model has."""
        if name not in self.known():
            raise RefusedError(404, f"no model is called {name!r:.80}; PUT /models/NAME makes one")

    async def recent(self, name: str) -> list[dict[str, Any]]:
        """The last events of a model with forecast and outcome, the newest first."""
        self.check(name)
        found: list[dict[str, Any]] = await self._in(self._files, self._reader.recent, name)
        return found

    async def read(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """Ask the log."""
        return await self._in(self._files, call, self._reader, *arguments)

    async def versions(self, name: str) -> list[dict[str, Any]]:
        """The checkpoints of a model, the newest first."""
        self.check(name)
        found: list[dict[str, Any]] = await self._in(
            self._files, self._reader.versions, self.names[name]
        )
        return found

    def count(self, path: str, status: int, seconds: float) -> None:
        """Count a request by the clock, for those who watch."""
        name, _, call = path.removeprefix("/models/").rpartition("/")
        key = self.names.get(name or DEFAULT)
        # The lines of /events are counted by themselves.
        is_one = call in ("predict", "learn", "decide", "reward")
        if key is not None and (is_one or (call == "events" and status >= 400)):
            self.series.request(key, status, seconds)

    def count_lines(self, name: str, answers: Iterable[Answer]) -> None:
        """Count lines of /events."""
        if (key := self.names.get(name)) is not None:
            every = list(answers)
            self.series.add(key, "requests", len(every))
            for answer in every:
                if isinstance(answer, RefusedError):
                    self.series.error(key, answer.status)

    def count_losses(self, held: Held, now: float | None = None) -> None:
        """Count losses that came since, in their minute; the next ones are of the minute `now`."""
        seen = held.model.progress.seen
        if held.minute and seen[0] > held.counted[0]:
            for what, value, before in zip(LOSSES, seen, held.counted, strict=True):
                self.series.add(held.key, what, value - before, held.minute)
        held.counted, held.minute = seen, held.minute if now is None else minute(now)

    async def over_time(self, name: str, hours: int) -> dict[str, Any]:
        """Traffic, latency, errors and losses of the last hours."""
        self.check(name)
        if (held := self.loaded.get(name)) is not None:
            self.count_losses(held)
        key, now, width = self.names[name], time.time(), widths(hours)[0]
        rows = await self._in(self._files, self._reader.counted, key, width, now - 3600 * hours)
        return picture([*rows, *self.series.of(key)], hours, now)

    def reject(self, name: str, reason: str) -> None:
        """Count a bad request, and remember it for a while, for those who watch."""
        self.rejected.append((time.time(), name, reason))
        kind = re.sub(r"'.*'|\d[\d.,]*", "...", reason)[:100]
        is_known = (name, kind) in self.rejects or len(self.rejects) < REASONS
        self.rejects[(name, kind) if is_known else ("", "others")] += 1

    def _note(self, held: Held, events: list[Event]) -> None:
        if isinstance(held.model, Decisions):
            return
        held.recent.extend([event.features for event in events if event.features][:RECENT])
        for event in events:
            if event.features:
                held.window.note(event.features)

    @staticmethod
    async def _in(thread: ThreadPoolExecutor, call: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(thread, call, *arguments)
