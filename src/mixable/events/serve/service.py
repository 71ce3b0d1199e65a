"""The service: one task writes events to the journal and lets the models learn them, in order.

Events that come while the disk is busy are written together, with one fsync (group commit). A model
learns an event when it is on the disk, and then the sender is answered: what was answered is not
lost, and a model never knows more than the disk.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mixable import persistence
from mixable._files import clear_parts, sync_folder, write_whole
from mixable.events.events import LIMITS, Event, Features, ModelLimits, RefusedError, read
from mixable.events.files import Lock
from mixable.events.serve import journal
from mixable.events.serve.model import MOST, Answer, ServedModel
from mixable.records import Columns

# No name can be a path, and names that differ are files that differ, on every system.
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
SUFFIX = ".model"
DEFAULT = "default"
RECENT = 4
LONGEST_JOURNAL = 2**26  # bytes, until a checkpoint
QUEUE_BYTES = 2**26
PAUSE = 1.0  # seconds between two checkpoints, at least
UNWRITTEN = "the journal cannot be written"
UNSAVED = "a checkpoint cannot be written; the journal is kept"
TURN = 0.005  # seconds after which learning lets others have their turn

# A new model, with what a client declares of its columns.
Make = Callable[[Columns | None], ServedModel]


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What the service takes."""

    model: ModelLimits = LIMITS
    body: int = 2**20  # bytes of a request, and of a line of /events
    bulk: int = 2**24  # bytes of the body of /events whose length is announced
    models: int = 1000
    in_memory: int = 100  # models
    queue: int = 2000  # events that may wait for the disk
    requests: int = 256  # at one time
    streams: int = 8  # of /events, and as many pages that watch, at one time
    seconds: float = 30.0  # that a request may take to arrive


def busy(what: str) -> RefusedError:
    """Say that there is too much to do at the moment."""
    return RefusedError(503, f"{what}; try again in a second")


class Held:
    """A model in memory."""

    def __init__(self, name: str, model: ServedModel) -> None:
        self.name, self.model = name, model
        self.pins = 0  # what needs it in memory: events on their way to the disk, a checkpoint
        self.dirty = False  # whether it has learned something that its file has not
        # Records that came last, for those who watch.
        self.recent: deque[Features] = deque(maxlen=RECENT)
        # How much each column moves forecasts, and by how many records that is known (`figures`).
        self.importance: dict[str, tuple[float, int]] = {}


class Models:
    """Models by name. Those used last are in memory; `make` makes a new one."""

    def __init__(self, folder: Path, make: Make, in_memory: int) -> None:
        self._folder, self._make, self._in_memory = folder, make, in_memory
        found = (path for path in folder.iterdir() if path.suffix == SUFFIX)
        self.names = {path.stem for path in found if NAME.fullmatch(path.stem)}
        self.loaded: OrderedDict[str, Held] = OrderedDict()

    def check(self, name: str) -> None:
        """Refuse a name that no model has."""
        if name not in self.names:
            raise RefusedError(404, f"no model is called {name!r:.80}; PUT /models/NAME makes one")

    def make(self, name: str, journal: str, place: int, columns: Columns | None = None) -> None:
        """Make a model and its file; entries of the journal up to `place` are not for it."""
        if NAME.fullmatch(name) is None:
            rule = "up to 64 of a-z, 0-9, - and _, a letter or digit first"
            raise RefusedError(422, f"{name!r:.80} cannot be a name: {rule}")
        model = self._make(columns)
        model.journal, model.place = journal, place
        self.write(name, persistence.to_bytes(model))
        self.names.add(name)

    def in_memory(self, name: str) -> Held | None:
        """A model that need not be read, as the one used last."""
        held = self.loaded.get(name)
        if held is not None:
            self.loaded.move_to_end(name)
        return held

    def read(self, name: str) -> ServedModel:
        """Read a model from its file."""
        model = persistence.load(self._folder / f"{name}{SUFFIX}")
        if not isinstance(model, ServedModel):
            kind = type(model).__name__
            raise ValueError(f"{name}{SUFFIX} holds a {kind}, not a model of mixable serve")
        return model

    def hold(self, name: str, model: ServedModel) -> Held:
        """Keep a model in memory."""
        return self.loaded.setdefault(name, Held(name, model))

    def write(self, name: str, data: bytes) -> None:
        """Write a model to its file, all or nothing."""
        write_whole(self._folder / f"{name}{SUFFIX}", data)

    def remove(self, name: str) -> None:
        """Remove the file of a model."""
        path = self._folder / f"{name}{SUFFIX}"
        path.unlink(missing_ok=True)
        sync_folder(path)

    @property
    def is_full(self) -> bool:
        """Whether more models are in memory than should be, and must be saved to go."""
        return len(self.loaded) > self._in_memory

    def let_go(self) -> None:
        """Forget models that were not used lately, if their files have all they have learned."""
        for held in list(self.loaded.values()):
            if not self.is_full:
                return
            if not held.dirty and not held.pins:
                del self.loaded[held.name]


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
            b'["%s",%s]' % (entry.name.encode(), event.text)
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


def recover(folder: Path, models: Models, say: Callable[[str], None]) -> tuple[str | None, int]:
    """Go through the journal; return what it is known by, and the number of its next entry."""
    known: str | None = None
    following, learned, strangers = 1, 0, set()
    for part in journal.parts(folder):
        known, limits = part.id, ModelLimits.from_json(part.limits)
        following = journal.number_of(part.path) + len(part.entries)
        for number, line in part.entries:
            name, _, text = line[2:-1].partition(b'",')
            held = _held(models, name.decode())
            if held is None:
                strangers.add(name.decode())
            elif held.model.journal != known or number > held.model.place:
                held.model.journal, held.model.place, held.dirty = known, number, True
                learned += 1
                with suppress(RefusedError):  # as it was at the time
                    held.model.apply(read(text, limits), limits)
        journal.cut(part)
        if part.torn:
            say(
                f"cut {part.torn} bytes off the journal: a crash left them, nobody was told of them"
            )
    if learned:
        say(f"took {learned:,} events from the journal")
    if strangers:
        say(f"the journal has events of models that are gone: {', '.join(sorted(strangers))}")
    return known, following


def _held(models: Models, name: str) -> Held | None:
    """The model of that name, in memory; None if there is none."""
    held = models.in_memory(name)
    if held is None and name in models.names:
        held = models.hold(name, models.read(name))
        if models.is_full:  # more than fit are saved at once
            oldest = next(iter(models.loaded.values()))
            models.write(oldest.name, persistence.to_bytes(oldest.model))
            oldest.dirty = False
            models.let_go()
    return held
