"""The service: one task lets the models learn events, in order, and writes them to the log.

Events that come while the disk is busy are learned and written together, in one transaction. Their
senders are answered after its commit: what was answered is not lost. If it fails, the models are
read again as the disk has them: the last checkpoint, and what the log has since.
"""

from __future__ import annotations

import asyncio
import dataclasses
import sqlite3
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from mixable import persistence
from mixable.events.applying import MOST, Applied
from mixable.events.beginning import begun_from
from mixable.events.decisions import AgentOptions, Model, Options, made, options_of
from mixable.events.events import Event, RefusedError
from mixable.events.files import Lock
from mixable.events.options import ModelOptions
from mixable.events.serve.bodies import NAME
from mixable.events.serve.drift import LEAST, WINDOW, Window
from mixable.events.serve.series import KEPT, minute
from mixable.events.serve.shown import DEFAULT, Answer, Held, Limits, Shown, busy, read_model
from mixable.events.store import Keep, Store, adopt_old

PAUSE = 1.0  # seconds until the disk is tried again
TURN = 0.005  # seconds after which learning lets others have their turn
UNWRITTEN = "the log cannot be written"


# Rows of the tables events and outcomes.
Rows = tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """Events of one request on their way to the disk."""

    name: str  # of the model
    events: list[Event]
    size: int  # in bytes
    answers: asyncio.Future[list[Answer]]


class Service(Shown):
    """Models in a folder that learn as they serve. `say` gets what the operator should know.

    New models have the `options`, or are as the one in the file `begin`.
    """

    def __init__(
        self,
        folder: Path,
        options: ModelOptions | None = None,
        *,
        begin: Path | None = None,
        limits: Limits | None = None,
        seconds: float = 10.0,
        keep: Keep | None = None,
        say: Callable[[str], None] = print,
    ) -> None:
        self.options, self._begin = options or ModelOptions(), begin
        super().__init__(limits or Limits(), say)
        self._seconds = seconds
        self._keep = keep or Keep()
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = Lock(folder)
        try:
            self._open(folder)
        except BaseException:
            self._lock.release()
            raise
        self._in_use: set[str] = set()  # models whose events are not on the disk yet
        self._trouble: str | None = None  # why nothing can be written
        self._tried = 0.0  # when the disk was written to, or could not be
        self._queue: list[Entry] = []
        self._queued = self._queued_bytes = 0
        self._loading: dict[str, asyncio.Task[None]] = {}
        self._checkpointed = time.monotonic()

    def _open(self, folder: Path) -> None:
        self.store = Store(folder)
        try:
            if self.store.is_new and (taken := adopt_old(folder, self.store)):
                names = ", ".join(taken)
                self.say(f"took over the models of version 0.2: {names}; their files are not used")
            self.names = self.store.models()
            self._number = self.store.last_number
            if not self.names:
                self.names[DEFAULT] = self.store.make(DEFAULT, self._made({}), self._number)
            self._reader = Store(folder, read_only=True)
        except BaseException:
            self.store.close()
            if self.store.is_new:  # or what is to be taken over would be forgotten
                for path in folder.glob(f"{self.store.path.name}*"):
                    path.unlink()
            raise

    def start(self) -> None:
        """Begin, within a loop of asyncio."""
        self._wake = asyncio.Event()
        self._turn = asyncio.Lock()  # who writes
        self._disk = ThreadPoolExecutor(1)
        self._files = ThreadPoolExecutor(1)
        self._task = asyncio.create_task(self._work())

    @property
    def trouble(self) -> str | None:
        """Why nothing more is learned; None if all is well."""
        task = getattr(self, "_task", None)
        if task is not None and task.done() and not self.stopping:
            return "it has stopped learning"
        return "stopping" if self.stopping or self.closing else self._trouble

    # Models.

    def _made(self, given: dict[str, Any]) -> Model:
        """A new model, with what a client asks for."""
        if self._begin is None or "kind" in given:
            return made(self.asked(given))
        if given:
            raise ValueError("new models begin with one that has options of its own")
        return begun_from(self._begin)

    def asked(self, given: dict[str, Any]) -> Options:
        """Options that a client asks for, beside those of the service."""
        asked = options_of(given)
        if isinstance(asked, AgentOptions):
            return asked
        defaults = ModelOptions()
        changed = {
            name: value
            for name, value in vars(asked).items()
            if value != getattr(defaults, name) or name in given
        }
        return dataclasses.replace(self.options, **changed)

    async def held(self, name: str) -> Held:
        """A model by its name, to be read: it may be out of memory after the next `await`."""
        while True:
            self.check(name)
            held = self.loaded.get(name)
            if held is not None:
                self.loaded.move_to_end(name)
                return held
            task = self._loading.get(name)
            if task is None:
                if len(self._loading) >= self.limits.in_memory:
                    raise busy("too many models are in use")
                task = self._loading[name] = asyncio.create_task(self._load(name))
            await asyncio.shield(task)

    async def _load(self, name: str) -> None:
        """Bring a model into memory: its last checkpoint, and what the log has since."""
        try:
            held = await self._in(self._files, read_model, self._reader, name, self.names[name])
            self.loaded.setdefault(name, held)
        except (sqlite3.Error, ValueError, OSError) as error:
            self.say(f"cannot read the model {name}: {error}")
            raise RefusedError(503, f"the model {name} cannot be read") from None
        finally:
            del self._loading[name]
        others = [each for each in self.loaded if each not in self._in_use and each != name]
        for other in others[: max(len(self.loaded) - self.limits.in_memory, 0)]:
            self.count_losses(self.loaded[other])
            del self.loaded[other]  # the log has what its checkpoint lacks

    @asynccontextmanager
    async def _alone(self, name: str) -> AsyncIterator[None]:
        """Nothing is learned meanwhile; what has come for a model before is learned first."""
        async with self._turn:
            await self._commit()
            while name in self._loading:
                await asyncio.sleep(0.005)
            yield

    async def _written(self, call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Write; a disk that cannot be written is said."""
        try:
            return await self._in(self._disk, lambda: call(*arguments, **options))
        except (sqlite3.Error, OSError, OverflowError) as error:  # a number SQLite has no room for
            self._fail(UNWRITTEN, error)
            raise busy("the disk cannot be written") from None

    async def make(self, name: str, given: dict[str, Any] | None = None) -> bool:
        """Make a model; whether there was none of that name."""
        if NAME.fullmatch(name) is None:
            rule = "up to 64 of a-z, 0-9, - and _, a letter or digit first"
            raise RefusedError(422, f"{name!r:.80} cannot be a name: {rule}")
        async with self._alone(name):
            if name in self.names:
                if given and self._reader.options(name) != self.asked(given):
                    raise RefusedError(
                        409,
                        f"there is a model {name!r} that was made with other options; "
                        f"DELETE /models/{name} first, or take another name",
                    )
                return False
            if len(self.names) >= self.limits.models:
                raise RefusedError(422, f"there are {self.limits.models:,} models already")
            model = await self._in(self._files, self._made, given or {})
            self.names[name] = await self._written(self.store.make, name, model, self._number)
            return True

    async def delete(self, name: str) -> None:
        """Delete a model with all that is known of it, once what has come for it is learned."""
        async with self._alone(name):
            self.check(name)
            await self._write_series()
            await self._written(self.store.delete, self.names[name])
            del self.names[name]
            self.loaded.pop(name, None)

    async def name_version(self, name: str, version: str) -> None:
        """Save a model as it is now, under a name that is kept."""
        if NAME.fullmatch(version) is None or version.isdigit():
            raise RefusedError(422, f"{version!r:.80} cannot be the name of a version")
        async with self._alone(name):
            await self._save(await self.held(name), version)

    async def roll_back(self, name: str, version: str | int) -> None:
        """Let a model be again what it was; events since then are kept, and not part of it."""
        async with self._alone(name):
            self.check(name)
            key = self.names[name]
            data = await self._in(self._files, self._reader.version, key, version)
            if data is None:
                raise RefusedError(404, f"{name} has no version {version!r:.80}")
            model: Model = await self._in(self._files, persistence.loads, data)
            if name in self.loaded:
                self.count_losses(self.loaded[name])
            await self._save(Held(name, key, model, self._number), None, back=str(version))
            self.loaded.pop(name, None)

    async def refer(self, name: str, reference: str | None, begin: float, end: float) -> int:
        """Measure drift of columns against the events of a time; how many there were."""
        async with self._alone(name):
            held = await self.held(name)
            times = begin, end
            count = await self._in(self._files, self._reader.count, held.key, *times)
            if reference is not None and count < LEAST:
                raise RefusedError(422, f"a reference needs {LEAST} events, and there are {count}")
            await self._written(self.store.set_window, held.key, reference, *times, WINDOW)
            named, first = await self._in(self._files, self._reader.window, held.key, WINDOW)
            held.window = Window(first, held.window.last, named)
            return int(count)

    # Events.

    async def submit(self, name: str, events: list[Event], size: int = 0) -> list[Answer]:
        """Let a model learn events, write them, and return the answers."""
        if not any(event.changes for event in events):
            held = await self.held(name)
            self._note(held, events)
            return [applied.answer for applied in held.applier.apply(events)]
        self.check(name)
        if self.stopping:
            raise RefusedError(503, "the service is stopping")
        if self._trouble is not None and time.monotonic() - self._tried < PAUSE:
            raise busy("the disk cannot be written")
        if not self.has_room(len(events), size):
            raise busy("too many events wait for the disk")
        self._queued += len(events)
        self._queued_bytes += size
        answers = asyncio.get_running_loop().create_future()
        self._queue.append(Entry(name=name, events=events, size=size, answers=answers))
        self._wake.set()
        out: list[Answer] = await answers
        return out

    def has_room(self, events: int, size: int) -> bool:
        """Whether so many events of so many bytes may wait for the disk."""
        fits = self._queued + events <= self.limits.queue
        return fits and self._queued_bytes + size <= self.limits.queue_bytes

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        while not self.stopping or self._queue:
            patience = min(PAUSE, self._seconds) if self._trouble else self._seconds
            timer = loop.call_later(patience, self._wake.set)
            await self._wake.wait()
            timer.cancel()
            self._wake.clear()
            await asyncio.sleep(0)  # requests that have come by now go along
            async with self._turn:
                await self._commit()
                if time.monotonic() - self._checkpointed >= patience:
                    await self._checkpoint()

    async def _commit(self) -> None:
        """Let models learn what waits, and write it in one transaction."""
        batch, self._queue = self._queue, []
        if not batch:
            return
        by_model: dict[str, list[Entry]] = {}
        for entry in batch:
            by_model.setdefault(entry.name, []).append(entry)
        written: Rows = [], []
        answers: dict[str, list[Answer] | RefusedError] = {}
        for name, entries in by_model.items():
            try:
                held = await self.held(name)
                self._in_use.add(name)
                events = [event for entry in entries for event in entry.events]
                answers[name], rows = await self._learn(held, events)
                written[0].extend(rows[0])
                written[1].extend(rows[1])
            except RefusedError as refused:
                answers[name] = refused
            except Exception as error:  # no memory, say: the model is read again
                self._fail(f"{name} cannot learn an event", error)
                self.loaded.pop(name, None)
                answers[name] = RefusedError(503, f"the model cannot learn this: {error!s:.200}")
        try:
            if any(written):
                await self._written(self.store.write, *written)
                self.commits += 1
                self._trouble, self._tried = None, time.monotonic()
        except RefusedError as refused:
            for name in self._in_use:
                self.loaded.pop(name, None)
            answers = dict.fromkeys(by_model, refused)
        finally:
            self._in_use.clear()
        for name, entries in by_model.items():
            self._finish(entries, answers[name])

    async def _learn(self, held: Held, events: list[Event]) -> tuple[list[Answer], Rows]:
        """Let a model learn events; the answers, and what is to be written."""
        answers: list[Answer] = []
        rows: Rows = [], []
        turn, now = time.monotonic(), time.time()
        if minute(now) != held.minute:
            self.count_losses(held, now)
        self._note(held, events)
        for begin in range(0, len(events), MOST):
            some = events[begin : begin + MOST]
            for event in some:
                self._number += event.changes
                event.number = self._number
            for event, applied in zip(some, held.applier.apply(some), strict=True):
                answers.append(applied.answer)
                if event.changes and applied.changed:
                    held.number = event.number
                    _add(event, applied, held, now, rows)
            if time.monotonic() - turn > TURN:
                await asyncio.sleep(0)
                turn = time.monotonic()
        return answers, rows

    def _finish(self, entries: list[Entry], answers: list[Answer] | RefusedError) -> None:
        """Answer the events of a model. Who asked may have gone by now."""
        begin = 0
        for entry in entries:
            end = begin + len(entry.events)
            self._queued -= len(entry.events)
            self._queued_bytes -= entry.size
            if not entry.answers.done() and isinstance(answers, RefusedError):
                entry.answers.set_exception(answers)
            elif not entry.answers.done():
                entry.answers.set_result(answers[begin:end])  # type: ignore[index]
            begin = end

    async def _checkpoint(self) -> None:
        """Save each model that has learned; remove what need not be kept."""
        self._checkpointed = time.monotonic()
        try:
            if self._trouble is not None:
                await self._written(self.store.try_to_write)
                self._trouble = None
            for held in list(self.loaded.values()):
                if held.number > held.saved:
                    self.count_losses(held)
                    await self._save(held, None)
            await self._write_series()
            if self._keep.is_bounded:
                await self._written(self.store.prune, self._keep)
        except RefusedError:
            pass  # it has been said
        except Exception as error:  # whatever it is, events go on
            self._fail("a checkpoint cannot be made", error)

    async def _save(self, held: Held, name: str | None, back: str | None = None) -> None:
        number, data = held.number, persistence.to_bytes(held.model)
        learned, most = held.model.counts["learned"], self.limits.versions
        write = self.store.checkpoint
        await self._written(write, held.key, number, learned, data, name=name, most=most, back=back)
        held.saved = number

    async def _write_series(self) -> None:
        taken = self.series.take()
        try:
            if taken:
                await self._written(self.store.add_counts, taken, KEPT)
        except RefusedError:
            self.series.give_back(taken)
            raise

    def _fail(self, what: str, error: Exception) -> None:
        reason = f"{what}: {error!s:.200}"
        if self.failures < 10:
            self.say(reason)
        self.failures += 1
        if isinstance(error, OSError | sqlite3.Error):
            self._trouble, self._tried = reason, time.monotonic()

    async def stop(self) -> None:
        """Learn what has been taken in, and save."""
        self.stopping = True
        self._wake.set()
        await self._task
        async with self._turn:
            await self._checkpoint()
        self._disk.shutdown()
        self._files.shutdown()
        self._reader.close()
        self.store.close()  # the last one: SQLite puts all into one file
        self.say("stopped; everything is saved")
        self._lock.release()


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _add(event: Event, applied: Applied, held: Held, now: float, rows: Rows) -> None:
    """Add an event, or an outcome that came late, to what is to be written."""
    refused = isinstance(applied.answer, RefusedError)
    number, key, outcome = event.number, held.key, event.label
    if outcome is not None and held.model.options.regression and not refused:
        outcome = float(outcome)  # type: ignore[assignment]
    if applied.late is not None:
        rows[1].append((number, applied.late, key, now, event.id, outcome))
        return
    forecast = None if applied.forecast is None else _json(applied.forecast)
    error = str(applied.answer) if refused else None
    features = _json(event.features)
    rows[0].append((number, key, now, event.id, features, forecast, outcome, error))
