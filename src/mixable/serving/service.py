"""The service: one task writes events to the journal and lets the models learn them, in order.

Events that come while the disk is busy are written together, with one fsync (group commit). A model
learns an event when it is on the disk, and then the sender is answered: what was answered is not
lost, and a model never knows more than the disk.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mixable import persistence
from mixable._files import clear_parts
from mixable.serving import journal
from mixable.serving.events import Event
from mixable.serving.limits import Limits, RefusedError, busy
from mixable.serving.model import MOST, Answer, ServedModel
from mixable.serving.recovery import as_entry, recover
from mixable.serving.store import DEFAULT, RECENT, Held, Models
from mixable.streaming.files import Lock

LONGEST_JOURNAL = 2**26  # bytes, until a checkpoint
QUEUE_BYTES = 2**26
PAUSE = 1.0  # seconds between two checkpoints, at least
TURN = 0.005  # seconds after which learning lets others have their turn


@dataclass(frozen=True, slots=True)
class Entry:
    """Events of one request on their way to the disk."""

    held: Held
    events: list[Event]
    answers: asyncio.Future[list[Answer]]


class Service:
    """Models in a folder that learn as they serve. `say` gets what the operator should know."""

    def __init__(
        self,
        folder: Path,
        make: Callable[[], ServedModel],
        *,
        limits: Limits | None = None,
        seconds: float = 10.0,
        say: Callable[[str], None] = print,
    ) -> None:
        self.limits, self._seconds, self._say = limits or Limits(), seconds, say
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = Lock(folder)
        try:
            clear_parts(folder)
            self.models = Models(folder, make, self.limits.in_memory)
            known, following = recover(folder, self.models, say)
            self.journal = journal.Journal(
                folder, following, asdict(self.limits.model), known=known
            )
            if not self.models.names:
                self._make(DEFAULT)
        except BaseException:
            self._lock.release()
            raise
        self.rejected: deque[tuple[str, str]] = deque(maxlen=20)  # model, reason
        self.commits = self.failures = 0
        self._queue: list[Entry] = []
        self._queued = self._queued_bytes = 0
        self._loading: dict[str, asyncio.Task[ServedModel]] = {}
        self._writing: asyncio.Task[None] | None = None
        self._checkpointed = time.monotonic()
        self._wanted = False  # a checkpoint, at once
        self.stopping = False  # nothing more is taken in
        self.closing = False  # what could go on for ever is to end

    def start(self) -> None:
        """Begin, within a loop of asyncio."""
        self._wake = asyncio.Event()
        self._disk = ThreadPoolExecutor(1)
        self._files = ThreadPoolExecutor(1)
        self._task = asyncio.create_task(self._work())

    async def held(self, name: str) -> Held:
        """A model by its name."""
        self.models.check(name)
        held = self.models.in_memory(name)
        if held is not None:
            return held
        if len(self.models.loaded) >= 2 * self.limits.in_memory:
            self._want_checkpoint()
            raise busy("too many models are in use")
        task = self._loading.get(name)
        if task is None:
            task = self._loading[name] = asyncio.create_task(self._read(name))
        try:
            model = await asyncio.shield(task)
        finally:
            if task.done():
                self._loading.pop(name, None)
        self.models.let_go()
        held = self.models.hold(name, model)
        if self.models.is_full:
            self._want_checkpoint()
        return held

    async def _read(self, name: str) -> ServedModel:
        try:
            model: ServedModel = await self._in(self._files, self.models.read, name)
        except (OSError, ValueError) as error:
            self._say(f"cannot read the model {name}: {error}")
            raise RefusedError(503, f"the model {name} cannot be read") from None
        return model

    async def make(self, name: str) -> bool:
        """Make a model; whether there was none of that name."""
        if name in self.models.names:
            return False
        if len(self.models.names) >= self.limits.models:
            raise RefusedError(422, f"there are {self.limits.models:,} models already")
        try:
            await self._in(self._files, self._make, name)
        except OSError as error:
            raise RefusedError(503, f"cannot write the model: {error.strerror}") from None
        return True

    def _make(self, name: str) -> None:
        """Make a model that no entry of the journal so far is for."""
        self.models.make(name, self.journal.id, self.journal.following - 1)

    def forecast(self, held: Held, event: Event) -> dict[str, Any]:
        """The answer to an event that changes nothing; what is refused is raised."""
        (answer,) = self._apply(held, [event], 0)
        if isinstance(answer, RefusedError):
            raise answer
        return answer

    async def submit(self, held: Held, events: list[Event]) -> list[Answer]:
        """Bring events to the disk, let the model learn them, and return the answers."""
        if not any(event.changes for event in events):
            return self._apply(held, events, 0)
        if self.stopping:
            raise RefusedError(503, "the service is stopping")
        size = sum(len(event.text) for event in events)
        if not self.has_room(len(events), size):
            raise busy("too many events wait for the disk")
        self._queued += len(events)
        self._queued_bytes += size
        held.pending += 1
        entry = Entry(held, events, asyncio.get_running_loop().create_future())
        self._queue.append(entry)
        self._wake.set()
        try:
            return await entry.answers
        finally:
            held.pending -= 1
            self._queued -= len(events)
            self._queued_bytes -= size

    def has_room(self, events: int, size: int) -> bool:
        """Whether so many events of so many bytes may wait for the disk."""
        fits = self._queued + events <= self.limits.queue
        return fits and self._queued_bytes + size <= QUEUE_BYTES

    def reject(self, name: str, reason: str) -> None:
        """Remember a bad request for a while, for those who watch."""
        self.rejected.append((name, reason))

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        while not self.stopping or self._queue:
            is_long = self.journal.length > LONGEST_JOURNAL
            patience = min(PAUSE, self._seconds) if self._wanted or is_long else self._seconds
            timer = loop.call_later(patience, self._wake.set)
            await self._wake.wait()
            timer.cancel()
            self._wake.clear()
            if self._queue:
                await asyncio.sleep(0)  # requests that have come by now go along
                await self._commit()
            if time.monotonic() - self._checkpointed >= patience:
                await self._checkpoint()

    async def _commit(self) -> None:
        """Write what waits, with one fsync, and learn it."""
        batch, self._queue = self._queue, []
        lines = [
            as_entry(entry.held.name, event.text)
            for entry in batch
            for event in entry.events
            if event.changes
        ]
        try:
            number = await self._in(self._disk, self.journal.append, lines)
        except OSError as error:
            self._fail("the journal cannot be written", error)
            self._want_checkpoint()  # which makes room if it can be written
            for entry in batch:
                if not entry.answers.done():  # who asked may have gone
                    entry.answers.set_exception(busy("the disk cannot be written"))
            return
        self.commits += 1
        turn = time.monotonic()
        for entry in batch:
            answers: list[Answer] = []
            for begin in range(0, len(entry.events), MOST):
                some = entry.events[begin : begin + MOST]
                number += sum(1 for event in some if event.changes)
                answers += self._apply(entry.held, some, number - 1)
                if time.monotonic() - turn > TURN:
                    await asyncio.sleep(0)
                    turn = time.monotonic()
            if not entry.answers.done():
                entry.answers.set_result(answers)

    def _apply(self, held: Held, events: list[Event], number: int) -> list[Answer]:
        """Let a model have events, of which `number` is the last in the journal."""
        if any(event.changes for event in events):
            held.model.journal, held.model.place, held.dirty = self.journal.id, number, True
        held.recent.extend([event.features for event in events if event.features][:RECENT])
        try:
            return held.model.apply_many(events, self.limits.model)
        except Exception as error:  # no memory, say; the journal must not bring it back
            self._fail(f"{held.name} cannot learn an event", error)
            self._want_checkpoint()
            return [RefusedError(503, f"the model cannot learn this: {error!s:.200}")] * len(events)

    def _want_checkpoint(self) -> None:
        self._wanted = True
        self._wake.set()

    async def _checkpoint(self) -> None:
        """Take a picture of each model that has learned; the files are written meanwhile."""
        if self._writing is not None and not self._writing.done():
            return
        self._checkpointed, self._wanted = time.monotonic(), False
        pictures = []
        for held in [held for held in self.models.loaded.values() if held.dirty]:
            pictures.append((held, persistence.to_bytes(held.model)))
            held.dirty = False
            held.pending += 1  # it must stay in memory until its file is written
            await asyncio.sleep(0)
        if self.journal.entries and self.journal.broken is None:
            try:
                await self._in(self._disk, self.journal.begin)
            except OSError as error:
                self._fail("no new journal can be begun", error)
        if pictures:
            old = self.journal.others()
            self._writing = asyncio.create_task(self._write(pictures, old))

    async def _write(self, pictures: list[tuple[Held, bytes]], old: list[Path]) -> None:
        """Write the models; then the journal up to there is of no use."""
        try:
            for held, data in pictures:
                await self._in(self._files, self.models.write, held.name, data)
            await self._in(self._files, journal.remove, old)
        except OSError as error:
            self._fail("a checkpoint cannot be written; the journal is kept", error)
            for held, _ in pictures:
                held.dirty = True
        for held, _ in pictures:
            held.pending -= 1
        self.models.let_go()

    def _fail(self, what: str, error: Exception) -> None:
        if self.failures < 10:
            self._say(f"{what}: {getattr(error, 'strerror', None) or error!s:.200}")
        self.failures += 1

    async def stop(self) -> None:
        """Learn what has been taken in, and save."""
        self.stopping = True
        self._wake.set()
        await self._task
        for _ in range(2):  # one may be under way that does not have the last events
            if self._writing is not None:
                await self._writing
            await self._checkpoint()
        if self._writing is not None:
            await self._writing
        self._disk.shutdown()
        self._files.shutdown()
        self.journal.close()
        self._lock.release()

    @staticmethod
    async def _in(thread: ThreadPoolExecutor, call: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(thread, call, *arguments)
