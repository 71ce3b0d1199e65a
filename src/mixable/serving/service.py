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
from mixable.records import Columns
from mixable.serving import journal
from mixable.serving.events import Event
from mixable.serving.limits import Limits, RefusedError, busy
from mixable.serving.model import MOST, Answer
from mixable.serving.recovery import as_entry, recover
from mixable.serving.store import DEFAULT, RECENT, Held, Make, Models
from mixable.streaming.files import Lock

LONGEST_JOURNAL = 2**26  # bytes, until a checkpoint
QUEUE_BYTES = 2**26
PAUSE = 1.0  # seconds between two checkpoints, at least
UNWRITTEN = "the journal cannot be written"
UNSAVED = "a checkpoint cannot be written; the journal is kept"
TURN = 0.005  # seconds after which learning lets others have their turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """Events of one request on their way to the disk; the model is pinned meanwhile."""

    name: str  # of the model
    events: list[Event]
    size: int  # in bytes
    answers: asyncio.Future[list[Answer]]


class Service:
    """Models in a folder that learn as they serve. `say` gets what the operator should know."""

    def __init__(
        self,
        folder: Path,
        make: Make,
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
        self._troubles: dict[str, str] = {}  # what cannot be written now, and why
        self._queue: list[Entry] = []
        self._queued = self._queued_bytes = 0
        self._loading: dict[str, asyncio.Task[None]] = {}
        self._writing: asyncio.Task[None] | None = None
        self._checkpointed = time.monotonic()
        self._wanted = False  # a checkpoint, at once
        self.stopping = False  # nothing more is taken in
        self.closing = False  # what could go on for ever is to end

    def start(self) -> None:
        """Begin, within a loop of asyncio."""
        self._wake = asyncio.Event()
        self._changing = asyncio.Lock()  # which models there are
        self._disk = ThreadPoolExecutor(1)
        self._files = ThreadPoolExecutor(1)
        self._task = asyncio.create_task(self._work())

    @property
    def trouble(self) -> str | None:
        """Why nothing more is learned; None if all is well."""
        if self.stopping or self.closing:
            return "stopping"
        return next(iter(self._troubles.values()), None)

    @property
    def unsaved(self) -> list[str]:
        """Models that know more than their files: the journal has what these lack."""
        return sorted(held.name for held in self.models.loaded.values() if held.dirty)

    async def held(self, name: str) -> Held:
        """A model by its name, to be read: it may be out of memory after the next `await`."""
        while True:
            self.models.check(name)
            held = self.models.in_memory(name)
            if held is not None:
                return held
            if len(self.models.loaded) + len(self._loading) >= 2 * self.limits.in_memory:
                self._want_checkpoint()
                raise busy("too many models are in use")
            task = self._loading.get(name)
            if task is None:
                task = self._loading[name] = asyncio.create_task(self._load(name))
            await asyncio.shield(task)

    async def _load(self, name: str) -> None:
        """Bring a model into memory."""
        try:
            model = await self._in(self._files, self.models.read, name)
            self.models.let_go()
            self.models.hold(name, model)
        except (OSError, ValueError) as error:
            self._say(f"cannot read the model {name}: {error}")
            raise RefusedError(503, f"the model {name} cannot be read") from None
        finally:
            del self._loading[name]
        if self.models.is_full:
            self._want_checkpoint()

    async def make(self, name: str, columns: Columns | None = None) -> bool:
        """Make a model; whether there was none of that name."""
        async with self._changing:
            if name in self.models.names:
                return False
            if len(self.models.names) >= self.limits.models:
                raise RefusedError(422, f"there are {self.limits.models:,} models already")
            try:
                await self._in(self._files, self._make, name, columns)
            except OSError as error:
                raise RefusedError(503, f"cannot write the model: {error.strerror}") from None
            return True

    def _make(self, name: str, columns: Columns | None = None) -> None:
        """Make a model that no entry of the journal so far is for."""
        self.models.make(name, self.journal.id, self.journal.following - 1, columns)

    async def delete(self, name: str) -> None:
        """Delete a model, once what has come for it is learned; nothing more is taken in."""
        async with self._changing:
            self.models.check(name)
            self.models.names.discard(name)
            while name in self._loading or self._is_pinned(name):
                await asyncio.sleep(0.005)
            held = self.models.loaded.pop(name, None)  # no checkpoint writes it from now on
            try:
                await self._in(self._files, self.models.remove, name)
            except OSError as error:
                self.models.names.add(name)
                if held is not None:
                    self.models.loaded[name] = held
                raise RefusedError(503, f"cannot delete the model: {error.strerror}") from None

    def _is_pinned(self, name: str) -> bool:
        held = self.models.loaded.get(name)
        return held is not None and held.pins > 0

    async def submit(self, name: str, events: list[Event]) -> list[Answer]:
        """Bring events to the disk, let the model learn them, and return the answers.

        A model learns only as what `models.loaded` has under its name, which is what is saved; and
        it is pinned there from the moment it is looked up until its events are learned.
        """
        held = await self.held(name)
        if not any(event.changes for event in events):
            return self._apply(held, events, 0)
        if self.stopping:
            raise RefusedError(503, "the service is stopping")
        size = sum(len(event.text) for event in events)
        if not self.has_room(len(events), size):
            raise busy("too many events wait for the disk")
        self._queued += len(events)
        self._queued_bytes += size
        held.pins += 1
        answers = asyncio.get_running_loop().create_future()
        entry = Entry(name=name, events=events, size=size, answers=answers)
        self._queue.append(entry)
        self._wake.set()
        return await entry.answers

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
            is_urgent = self._wanted or is_long or UNWRITTEN in self._troubles
            patience = min(PAUSE, self._seconds) if is_urgent else self._seconds
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
            as_entry(entry.name, event.text)
            for entry in batch
            for event in entry.events
            if event.changes
        ]
        try:
            number = await self._in(self._disk, self.journal.append, lines)
        except OSError as error:
            self._fail(UNWRITTEN, error)
            self._want_checkpoint()  # which makes room if it can be written
            for entry in batch:
                self._finish(entry, busy("the disk cannot be written"))
            return
        self._troubles.pop(UNWRITTEN, None)
        self.commits += 1
        turn = time.monotonic()
        for entry in batch:
            answers: list[Answer] = []
            for begin in range(0, len(entry.events), MOST):
                some = entry.events[begin : begin + MOST]
                number += sum(1 for event in some if event.changes)
                answers += self._apply(self.models.loaded[entry.name], some, number - 1)
                if time.monotonic() - turn > TURN:
                    await asyncio.sleep(0)
                    turn = time.monotonic()
            self._finish(entry, answers)

    def _finish(self, entry: Entry, answers: list[Answer] | RefusedError) -> None:
        """Answer events, and let their model go. Who asked may have gone by now."""
        self.models.loaded[entry.name].pins -= 1
        self._queued -= len(entry.events)
        self._queued_bytes -= entry.size
        if entry.answers.done():
            return
        if isinstance(answers, RefusedError):
            entry.answers.set_exception(answers)
        else:
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
            held.pins += 1  # it must stay in memory until its file is written
            await asyncio.sleep(0)
        # After a failure, this tells whether it can be written again.
        if self.journal.entries or UNWRITTEN in self._troubles:
            try:
                await self._in(self._disk, self.journal.begin_again)
                self._troubles.pop(UNWRITTEN, None)
            except OSError as error:
                self._fail(UNWRITTEN, error)
        old = self.journal.others()
        if pictures or old:
            self._writing = asyncio.create_task(self._write(pictures, old))

    async def _write(self, pictures: list[tuple[Held, bytes]], old: list[Path]) -> None:
        """Write the models; then the journal up to there is of no use."""
        try:
            for held, data in pictures:
                await self._in(self._files, self.models.write, held.name, data)
            await self._in(self._files, journal.remove, old)
            self._troubles.pop(UNSAVED, None)
        except OSError as error:
            self._fail(UNSAVED, error)
            for held, _ in pictures:
                held.dirty = True
        for held, _ in pictures:
            held.pins -= 1
        self.models.let_go()

    def _fail(self, what: str, error: Exception) -> None:
        reason = f"{what}: {getattr(error, 'strerror', None) or error!s:.200}"
        if self.failures < 10:
            self._say(reason)
        self.failures += 1
        if isinstance(error, OSError):
            self._troubles[what] = reason

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
