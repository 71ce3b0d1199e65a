"""The log of a service, in SQLite: events, forecasts, outcomes, checkpoints and options.

One file, `mixable.db`. Its schema explains the tables, which any program may read while the service
runs (docs/guides/serve.md). What is committed is on the disk (synchronous=FULL).
"""

from __future__ import annotations

import contextlib
import json
import re
import sqlite3
import struct
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from mixable import persistence
from mixable.events.decisions import Decisions, Model, Options, options_of
from mixable.events.events import Event
from mixable.events.model import EventModel, as_text

FILE = "mixable.db"
APPLICATION, VERSION = 0x6D697862, 1
PATIENCE = 5.0  # seconds, while another program writes
PIECE = 5000  # rows that are removed in one step

# What was counted of a model in the minute that began then.
Counted = Mapping[tuple[int, int], Mapping[str, float]]

SCHEMA = f"""
BEGIN IMMEDIATE;
CREATE TABLE models (
    model INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    options TEXT NOT NULL,  -- JSON
    made REAL NOT NULL      -- seconds since 1970, as all times
);
CREATE TABLE events (
    number INTEGER PRIMARY KEY,  -- events and outcomes are numbered together, in their order
    model INTEGER NOT NULL,
    time REAL NOT NULL,
    id TEXT,
    features TEXT NOT NULL,      -- JSON
    forecast TEXT,               -- JSON, as it was answered
    outcome,                     -- a label as text, or a number; of late ones see outcomes
    error TEXT                   -- why it was refused, if only its columns were learned
);
CREATE INDEX events_of_model ON events (model, number);
CREATE TABLE outcomes (
    number INTEGER PRIMARY KEY,
    event INTEGER NOT NULL,      -- the number of the event whose outcome came late
    model INTEGER NOT NULL,
    time REAL NOT NULL,
    id TEXT NOT NULL,
    outcome NOT NULL
);
CREATE INDEX outcomes_of_model ON outcomes (model, number);
CREATE INDEX outcomes_of_event ON outcomes (event);
CREATE TABLE checkpoints (
    checkpoint INTEGER PRIMARY KEY AUTOINCREMENT,
    model INTEGER NOT NULL,
    number INTEGER NOT NULL,     -- the last event or outcome that the model knows
    time REAL NOT NULL,
    learned INTEGER NOT NULL,
    name TEXT,                   -- those with a name are kept
    back TEXT,                   -- the version that the model was rolled back to, if it was
    data BLOB NOT NULL           -- what mixable.loads reads
);
CREATE INDEX checkpoints_of_model ON checkpoints (model, checkpoint);
CREATE TABLE series (            -- what happened in a minute, and in an hour
    model INTEGER NOT NULL,
    width INTEGER NOT NULL,      -- seconds: 60 or 3600
    time INTEGER NOT NULL,       -- when the minute or the hour began
    what TEXT NOT NULL,          -- requests, refused, failed, "seconds 0.01", outcomes, loss, ...
    value REAL NOT NULL,         -- how many, or their sum
    PRIMARY KEY (model, width, time, what)
) WITHOUT ROWID;
CREATE TABLE windows (           -- what drift of columns is measured against, if it has a name
    model INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    records TEXT NOT NULL        -- JSON
);
CREATE VIEW log AS
    SELECT e.number, m.name AS model, e.time, e.id, e.features, e.forecast,
        coalesce(e.outcome, o.outcome) AS outcome,
        CASE WHEN e.outcome IS NULL THEN o.time ELSE e.time END AS outcome_time, e.error
    FROM events e JOIN models m ON m.model = e.model LEFT JOIN outcomes o ON o.event = e.number;
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {VERSION};
COMMIT;
"""

SINCE = """
SELECT number, id, features, outcome FROM events WHERE model = :model AND number > :number
UNION ALL
SELECT number, id, NULL, outcome FROM outcomes WHERE model = :model AND number > :number
ORDER BY number
"""


WHEN = "FROM events WHERE model = ?1 AND time >= ?2 AND time < ?3"


class StoreError(ValueError):
    """A file that is no log of ours, or of another version."""


class Store:
    """A connection to the log; `is_new` says whether there was none."""

    def __init__(self, folder: Path, *, read_only: bool = False) -> None:
        self.path = folder / FILE
        self.is_new = not self.path.exists()
        if read_only and self.is_new:
            raise StoreError(f"{folder} is no folder of mixable serve: it has no {FILE}")
        where = f"file:{_quoted(self.path)}?mode={'ro' if read_only else 'rwc'}"
        self._db = sqlite3.connect(
            where, PATIENCE, isolation_level=None, check_same_thread=False, uri=True
        )
        try:
            self._begin(read_only=read_only)
        except sqlite3.DatabaseError as error:
            self._db.close()
            raise StoreError(f"{self.path} cannot be used: {error}") from None
        except BaseException:
            self._db.close()
            raise

    def _begin(self, *, read_only: bool) -> None:
        if not read_only:
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = FULL")
            self._db.execute(f"PRAGMA journal_size_limit = {2**26}")
        found = [self.one(f"PRAGMA {name}") for name in ("application_id", "user_version")]
        if found == [0, 0] and not read_only and not self.one("SELECT count(*) FROM sqlite_master"):
            self._db.executescript(SCHEMA)
        elif found != [APPLICATION, VERSION]:
            raise StoreError(
                f"{self.path} is not a log that this version of mixable can read "
                f"(application {found[0]}, version {found[1]}): use the version that made it"
            )

    def close(self) -> None:
        """Close it."""
        self._db.close()

    def one(self, query: str, *values: Any) -> Any:
        """The first value of the first row; None if there is none."""
        row = self._db.execute(query, values).fetchone()
        return None if row is None else row[0]

    def each(self, query: str, *values: Any) -> Iterator[Any]:
        """The rows one after the other."""
        return self._db.execute(query, values)

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """All rows."""
        return self._db.execute(query, values).fetchall()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All or nothing; when it ends, it is on the disk."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield self._db
            self._db.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                self._db.execute("ROLLBACK")
            raise

    @property
    def size(self) -> int:
        """Bytes of the file and of what is not in it yet."""
        paths = (self.path, self.path.with_name(f"{FILE}-wal"))
        return sum(path.stat().st_size for path in paths if path.exists())

    @property
    def last_number(self) -> int:
        """The number of the last event or outcome there ever was."""
        tables = ("events", "outcomes", "checkpoints")
        return max(self.one(f"SELECT max(number) FROM {each}") or 0 for each in tables)

    def models(self) -> dict[str, int]:
        """The models by name."""
        return dict(self.rows("SELECT name, model FROM models"))

    def agents(self) -> set[str]:
        """The names of those that are agents."""
        found = self.rows("SELECT name, options FROM models")
        return {name for name, text in found if json.loads(text).get("kind") == "agent"}

    def options(self, name: str) -> Options:
        """What a model was told."""
        text = self.one("SELECT options FROM models WHERE name = ?", name)
        return options_of(json.loads(text))

    def make(self, name: str, model: Model, number: int) -> int:
        """Make a model, which knows nothing of the log so far; its number."""
        options, now = json.dumps(model.options.to_json()), time.time()
        with self.transaction() as db:
            query = "INSERT INTO models (name, options, made) VALUES (?, ?, ?)"
            key = db.execute(query, (name, options, now)).lastrowid
            assert key is not None
            self._checkpoint(key, number, model.counts["learned"], persistence.to_bytes(model))
        return key

    def delete(self, model: int) -> None:
        """Delete a model and all that is known of it."""
        with self.transaction() as db:
            for table in ("models", "events", "outcomes", "checkpoints", "series", "windows"):
                db.execute(f"DELETE FROM {table} WHERE model = ?", (model,))

    def write(self, events: list[tuple[Any, ...]], outcomes: list[tuple[Any, ...]]) -> None:
        """Write what was learned: rows of the tables of these names."""
        with self.transaction() as db:
            db.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?)", events)
            if outcomes:
                db.executemany("INSERT INTO outcomes VALUES (?, ?, ?, ?, ?, ?)", outcomes)

    def add_counts(self, counted: Counted, kept: dict[int, int]) -> None:
        """Add counts of minutes to those of the widths that are `kept` so long; remove old ones."""
        add = "INSERT INTO series VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
        with self.transaction() as db:
            for (model, when), counts in counted.items():
                for width in kept:
                    rows = [(model, width, when // width * width, *each) for each in counts.items()]
                    db.executemany(f"{add} value = value + excluded.value", rows)
            for model in {model for model, _ in counted}:
                for width, seconds in kept.items():
                    query = "DELETE FROM series WHERE model = ? AND width = ? AND time < ?"
                    db.execute(query, (model, width, time.time() - seconds))

    def counted(self, model: int, width: int, since: float) -> list[tuple[int, str, float]]:
        """What was counted of a model since then: when, what, how much."""
        query = "SELECT time, what, value FROM series WHERE model = ? AND width = ? AND time >= ?"
        return self.rows(query, model, width, since)

    def try_to_write(self) -> None:
        """Raise an error if nothing can be written."""
        with self.transaction() as db:
            db.execute(f"PRAGMA user_version = {VERSION}")

    def _checkpoint(
        self,
        model: int,
        number: int,
        learned: int,
        data: bytes,
        name: str | None = None,
        back: str | None = None,
    ) -> None:
        query = "INSERT INTO checkpoints (model, number, time, learned, name, back, data)"
        values = (model, number, time.time(), learned, name, back, data)
        self._db.execute(f"{query} VALUES (?, ?, ?, ?, ?, ?, ?)", values)

    def saved(self, model: int) -> tuple[int, int]:
        """The last checkpoint that a model was rolled back to, and the last event of any; or 0."""
        back = "SELECT max(checkpoint) FROM checkpoints WHERE model = ? AND back IS NOT NULL"
        number = "SELECT max(number) FROM checkpoints WHERE model = ?"
        return self.one(back, model) or 0, self.one(number, model) or 0

    @contextlib.contextmanager
    def unchanged(self) -> Iterator[None]:
        """What is read is of one time, whatever others write."""
        self._db.execute("BEGIN")
        try:
            yield
        finally:
            self._db.execute("COMMIT")

    @property
    def change(self) -> int:
        """A number that is another one once somebody else has written."""
        return int(self.one("PRAGMA data_version"))

    def checkpoint(
        self,
        model: int,
        number: int,
        learned: int,
        data: bytes,
        *,
        name: str | None,
        most: int,
        back: str | None = None,
    ) -> None:
        """Save a model with its place in the log; of those without a name, the last are kept."""
        with self.transaction() as db:
            if name is not None:  # it names one checkpoint
                db.execute(
                    "UPDATE checkpoints SET name = NULL WHERE model = ? AND name = ?", (model, name)
                )
            self._checkpoint(model, number, learned, data, name, back)
            db.execute(
                "DELETE FROM checkpoints WHERE model = ?1 AND name IS NULL AND checkpoint NOT IN "
                "(SELECT checkpoint FROM checkpoints WHERE model = ?1 ORDER BY checkpoint DESC "
                "LIMIT ?2)",
                (model, max(most, 1)),
            )

    def latest(self, model: int) -> tuple[int, bytes]:
        """The last checkpoint: its place, and the bytes of the model."""
        found = self.rows(
            "SELECT number, data FROM checkpoints WHERE model = ? ORDER BY checkpoint DESC LIMIT 1",
            model,
        )
        if not found:
            raise ValueError("it has no checkpoint")
        return found[0]

    def versions(self, model: int) -> list[dict[str, Any]]:
        """The checkpoints, the newest first."""
        names = ("version", "name", "time", "learned", "number")
        found = self.rows(
            "SELECT checkpoint, name, time, learned, number FROM checkpoints WHERE model = ? "
            "ORDER BY checkpoint DESC",
            model,
        )
        return [dict(zip(names, row, strict=True)) for row in found]

    def version(self, model: int, which: str | int) -> bytes | None:
        """The bytes of a checkpoint, by its name or its number."""
        data: bytes | None = self.one(
            "SELECT data FROM checkpoints WHERE model = ?1 AND ?2 IN (name, checkpoint || '') "
            "ORDER BY checkpoint DESC",
            model,
            str(which),
        )
        return data

    def window(self, model: int, most: int) -> tuple[str | None, list[Any]]:
        """What drift is measured against: its name and records; or the first that are kept."""
        for name, text in self.rows("SELECT name, records FROM windows WHERE model = ?", model):
            return name, json.loads(text)
        query = "SELECT features FROM events WHERE model = ? ORDER BY number LIMIT ?"
        return None, [json.loads(text) for (text,) in self.rows(query, model, most)]

    def count(self, model: int, begin: float, end: float) -> int:
        """How many events of a time there are."""
        return int(self.one(f"SELECT count(*) {WHEN}", model, begin, end))

    def set_window(self, model: int, name: str | None, begin: float, end: float, most: int) -> None:
        """Let drift be measured against events of a time, spread evenly.

        Without a name, against the first ones again.
        """
        numbered = f"SELECT features, row_number() OVER (ORDER BY number) AS i {WHEN}"
        some = f"SELECT features FROM ({numbered}) WHERE i * ?4 % ?5 < ?4"
        values = (model, begin, end, most, max(self.count(model, begin, end), most + 1))
        with self.transaction() as db:
            db.execute("DELETE FROM windows WHERE model = ?", (model,))
            if name is not None:
                texts = ",".join(text for (text,) in db.execute(some, values))
                db.execute("INSERT INTO windows VALUES (?, ?, ?)", (model, name, f"[{texts}]"))

    def last(self, model: int, most: int) -> list[Any]:
        """The features of the last events, the newest last."""
        query = "SELECT features FROM events WHERE model = ? ORDER BY number DESC LIMIT ?"
        return [json.loads(text) for (text,) in reversed(self.rows(query, model, most))]

    def recent(self, name: str, most: int = 10) -> list[dict[str, Any]]:
        """The last events with forecast and outcome, the newest first."""
        names = ("time", "id", "features", "forecast", "outcome")
        model = self.one("SELECT model FROM models WHERE name = ?", name)
        found = self.rows(
            "SELECT e.time, e.id, e.features, e.forecast, coalesce(e.outcome, o.outcome) "
            "FROM events e LEFT JOIN outcomes o ON o.event = e.number "
            "WHERE e.model = ? ORDER BY e.number DESC LIMIT ?",
            model,
            most,
        )
        rows = [dict(zip(names, row, strict=True)) for row in found]
        for row in rows:
            row["features"] = json.loads(row["features"])
            row["forecast"] = json.loads(row["forecast"] or "{}")
        return rows

    def since(self, model: int, number: int = 0) -> Iterator[Event]:
        """What a model was told after a place, in its order."""
        found = self._db.execute(SINCE, {"model": model, "number": number})
        for place, key, features, outcome in found:
            label = None if outcome is None else as_text(outcome)
            given = None if features is None else json.loads(features)
            yield Event(id=key, features=given, label=label, number=place)

    def prune(self, keep: Keep) -> int:
        """Remove what is beyond what is to be kept, once checkpoints know it; how many rows."""
        if not keep.is_bounded:
            return 0
        end = self.last_number
        if keep.rows is not None:
            oldest = "SELECT number FROM events ORDER BY number DESC LIMIT 1 OFFSET ?"
            end = min(end, self.one(oldest, keep.rows) or 0)
        if keep.seconds is not None:
            old = "SELECT max(number) FROM events WHERE time < ?"
            end = min(end, self.one(old, time.time() - keep.seconds) or 0)
        places = self.rows("SELECT model, max(number) FROM checkpoints GROUP BY model")
        some = "SELECT number FROM {} WHERE model = ? AND number <= ? ORDER BY number LIMIT ?"
        removed = 0
        with self.transaction() as db:
            for model, place in places:
                for table in ("events", "outcomes"):
                    query = f"DELETE FROM {table} WHERE number IN ({some.format(table)})"
                    removed += db.execute(query, (model, min(end, place), PIECE)).rowcount
        return removed

    def backup(self, target: Path) -> None:
        """Copy everything, also while the service writes: SQLite's online backup."""
        with contextlib.closing(sqlite3.connect(target)) as copy:
            self._db.backup(copy, pages=1000, sleep=0.01)


class Keep(NamedTuple):
    """How much of the log is kept: rows, seconds, or everything."""

    rows: int | None = None
    seconds: float | None = None

    @property
    def is_bounded(self) -> bool:
        """Whether anything is to be removed."""
        return self.rows is not None or self.seconds is not None

    @classmethod
    def read(cls, text: str) -> Keep:
        """What `--keep` says: all, 30d, 12h, or a number of events.

        >>> Keep.read("30d").seconds, Keep.read("1000").rows
        (2592000.0, 1000)
        """
        found = re.fullmatch(r"(all)|(\d{1,12})([dh]?)", text.strip())
        if found is None:
            raise ValueError(f"--keep must be all, days (30d), hours (12h) or events, got {text!r}")
        if found[1]:
            return cls()
        unit = {"d": 86400.0, "h": 3600.0}.get(found[3])
        return cls(rows=int(found[2])) if unit is None else cls(seconds=unit * int(found[2]))


def load(store: Store, model: int) -> tuple[Model, int, Iterable[Event]]:
    """A model as its last checkpoint has it, its place in the log, and what it lacks."""
    number, data = store.latest(model)
    made = persistence.loads(data)
    if not isinstance(made, EventModel | Decisions):
        raise ValueError(f"a checkpoint holds a {type(made).__name__}")
    return made, number, store.since(model, number)


def adopt_old(folder: Path, store: Store) -> list[str]:
    """Take over the models of version 0.2, which were files; return their names.

    Its journal must be empty, as it is after a stop.
    """
    head = struct.Struct("<4sIQ16s")
    for path in sorted(folder.glob("journal-*")):
        data = path.read_bytes()
        is_journal = len(data) >= head.size and data.startswith(b"mxJ1")
        if not is_journal or len(data) > head.size + head.unpack_from(data)[1]:
            raise StoreError(
                f"{path} has events of version 0.2 that its models do not know yet. Let that "
                'version learn them: pip install "mixable[serve]==0.2.0", mixable serve '
                f"{folder}, stop it with Ctrl-C, and come back with this version"
            )
    names = []
    for path in sorted(folder.glob("*.model")):
        model = persistence.load(path)
        if not isinstance(model, EventModel):
            raise StoreError(f"{path} holds a {type(model).__name__}, not a model of mixable serve")
        store.make(path.stem, model, 0)
        names.append(path.stem)
    return names


def _quoted(path: Path) -> str:
    """A path as part of a URI."""
    return str(path.absolute()).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
