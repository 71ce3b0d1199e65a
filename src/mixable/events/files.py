"""What a stream is asked for, the files that it writes, and the lock on its model."""

from __future__ import annotations

import contextlib
import fcntl
import io
import itertools
import json
import math
import os
import stat
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mixable import _core
from mixable._files import sync_folder, write_whole
from mixable._types import Array
from mixable.events.lines import Complaint, fingerprint
from mixable.events.model import Identifier, as_text
from mixable.events.sources import PRINT

LONGEST_LINE = 1 << 16  # of a log
PIECE = 4096  # bytes that a pipe takes without waiting, if it takes any
SHOWN = 1000  # bytes of a rejected line
JSON_SUFFIXES = {".json", ".jsonl", ".ndjson"}
TABLE_SUFFIXES = {".parquet", ".arrow", ".ipc", ".feather"}
Mark = list[int | str]  # length, fingerprint of what stands before it, name if that is nothing


class StreamError(ValueError):
    """What the user has to mend: an option, a file, or a bad event where none may be."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of `mixable stream`.

    Without `source` and `out`, standard input and output are meant. `is_json` says whether events
    are JSON lines; None decides by the name of the file, then by its first line.
    """

    model: Path
    target: str | None
    source: Path | None = None
    out: Path | None = None
    rejects: Path | None = None
    metrics: Path | None = None
    identifier: str | None = None
    remember: int | None = None  # None: as the model has it
    learns: bool = True
    strict: bool = False
    from_start: bool = False
    every: int = 100_000
    seconds: float = 10.0
    is_json: bool | None = None
    regression: bool = False

    def __post_init__(self) -> None:
        """Refuse what cannot be meant."""
        read = {"--model": self.model, "IN": self.source}
        written = {"--out": self.out, "--rejects": self.rejects, "--metrics": self.metrics}
        refuse_same_files({**read, **written})
        if self.target is not None and self.target == self.identifier:
            raise StreamError(f"--target and --id are both {self.target!r}")

    @property
    def writes_table(self) -> bool:
        """Whether the answers become a file that has columns, in the end."""
        return self.out is not None and self.out.suffix.lower() in TABLE_SUFFIXES

    @property
    def answers(self) -> Path | None:
        """Where answers are written as they come."""
        if self.out is None or not self.writes_table:
            return self.out
        return self.out.with_name(f"{self.out.name}.jsonl")

    def reads_json(self, first: bytes) -> bool:
        """Whether events are JSON lines; `first` is the first line."""
        if self.is_json is not None:
            return self.is_json
        suffixes = [] if self.source is None else self.source.suffixes
        is_named_so = any(suffix.lower() in JSON_SUFFIXES for suffix in suffixes)
        return is_named_so or first.lstrip().startswith(b"{")

    def writes_json(self, reads_json: bool) -> bool:
        """Whether answers are JSON lines."""
        suffix = "" if self.answers is None else self.answers.suffix.lower()
        return suffix in JSON_SUFFIXES or (reads_json and suffix != ".csv")


def refuse_same_files(paths: dict[str, Path | None]) -> None:
    """Refuse options that name one file twice: one would destroy what the other holds."""
    given = [(option, path) for option, path in paths.items() if path is not None]
    for (one, path), (two, other) in itertools.combinations(given, 2):
        if path.exists() and other.exists():
            same = path.is_file() and path.samefile(other)
        else:
            same = os.path.realpath(path) == os.path.realpath(other)
        if same:
            raise StreamError(f"{one} and {two} are the same file, {path}")


class Sink:
    """A file that grows, and is cut back to where a checkpoint saw it.

    Without a path it is standard output. A file that is not as the mark has it is started over if
    `fresh`, else added to; nothing happens to it before `cut`.
    """

    def __init__(self, path: Path | None, mark: Mark | None = None, *, fresh: bool = False) -> None:
        self.path = path
        self._is_new = path is not None and not path.exists()
        self.descriptor = 1 if path is None else os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        self.has_length = path is not None and stat.S_ISREG(os.fstat(self.descriptor).st_mode)
        self.length = 0
        self.continues = False  # whether it was found as the mark has it
        # Waits until the descriptor can be written to; False gives up.
        self.wait: Callable[[int], bool] = lambda descriptor: True
        if self.has_length:
            size = os.fstat(self.descriptor).st_size
            marked = size + 1 if mark is None else int(mark[0])
            # By its contents, or by its name if it has none.
            self.continues = marked <= size and self._mark_at(marked) == mark
            if self.continues or not fresh:
                self.length = marked if self.continues else size

    def cut(self) -> None:
        """Cut it back, to go on from there."""
        if self.has_length:
            os.ftruncate(self.descriptor, self.length)
            os.lseek(self.descriptor, self.length, os.SEEK_SET)

    def write(self, data: bytes) -> None:
        """Write at once, all of it."""
        try:
            self.length += len(data)
            while data:
                if not self.has_length and not self.wait(self.descriptor):
                    kept = "the model is as of the last checkpoint"
                    raise StreamError(f"nobody reads the answers; {kept}")
                data = data[os.write(self.descriptor, data if self.has_length else data[:PIECE]) :]
        except OSError as error:
            where = self.path or "the answers"
            raise StreamError(f"cannot write {where}: {error.strerror}") from None

    def mark(self) -> Mark | None:
        """Bring it to the disk, and return what a checkpoint is to remember of it."""
        if not self.has_length:
            return None
        try:
            os.fsync(self.descriptor)
            if self._is_new and self.path is not None:
                sync_folder(self.path)
                self._is_new = False
        except OSError as error:
            raise StreamError(f"cannot write {self.path}: {error.strerror}") from None
        return self._mark_at(self.length)

    def close(self) -> None:
        """Close the file."""
        if self.path is not None:
            os.close(self.descriptor)

    def _mark_at(self, length: int) -> Mark:
        size = min(PRINT, length)
        # What stands there says more, if there is anything.
        name = "" if self.path is None or length else self.path.name
        return [length, fingerprint(os.pread(self.descriptor, size, length - size)), name]


def open_log(path: Path) -> Sink:
    """Open a file of JSON lines to add to; half of one, left by a crash, is cut off."""
    log = Sink(path)
    if log.has_length:
        tail = os.pread(log.descriptor, LONGEST_LINE, max(log.length - LONGEST_LINE, 0))
        half = tail[tail.rfind(b"\n") + 1 :]
        if half.startswith(b"{"):
            log.length -= len(half)
    log.cut()
    return log


class Outputs:
    """The files of a stream; `place` is where a checkpoint was in them, if there is one."""

    def __init__(self, options: Options, place: dict[str, Any]) -> None:
        self._options, self._place = options, place
        self._open = contextlib.ExitStack()
        fresh = options.learns and not place
        self.out = self._opened(Sink(options.answers, place.get("out"), fresh=fresh))
        self._rejects = self._metrics = None
        if options.rejects:
            self._rejects = self._opened(Sink(options.rejects, place.get("rejects"), fresh=fresh))
        if options.metrics:
            self._metrics = self._opened(open_log(options.metrics))
        self._sinks = [sink for sink in (self.out, self._rejects) if sink is not None]
        self._headed: int | None = None  # classes in the last header

    def _opened(self, sink: Sink) -> Sink:
        self._open.callback(sink.close)
        return sink

    def close(self) -> None:
        """Close all files."""
        self._open.close()

    def finish(self) -> None:
        """Make a table of the answers, if one is wanted."""
        if not self._options.writes_table or not self.out.length:
            return
        import polars as pl

        assert self._options.out is not None
        assert self._options.answers is not None
        table = pl.read_ndjson(self._options.answers, infer_schema_length=None)
        if "p" in table.columns:
            table = table.with_columns(pl.col("p").name.prefix_fields("p.")).unnest("p")
        kind, made = self._options.out.suffix.lower(), io.BytesIO()
        (table.write_parquet if kind == ".parquet" else table.write_ipc)(made)
        write_whole(self._options.out, made.getvalue())

    def begin(self, reads_json: bool) -> None:
        """Choose the format of the answers."""
        self._writes_json = self._options.writes_json(reads_json)
        self._key = self._options.identifier or "line"
        taken = ("mean", "std", "low", "high") if self._options.regression else ("p",)
        if self._writes_json and self._key in taken:
            raise StreamError(
                f"--id {self._key} cannot be echoed in JSON, where {self._key} has the forecast; "
                "answer in CSV with --out FILE.csv"
            )
        if self.out.continues and not self._writes_json:
            self._headed = self._place["headed"]

    def answers(self, keys: Sequence[Identifier], P: Array, labels: list[str]) -> bytes:
        """A line for each event: an object, or in CSV its forecast, a new header for new classes.

        Each begins with the identifier or the number of the event's line.
        """
        if self._writes_json:
            start = "{" + json.dumps(self._key) + ":"
            heads = [f"{start}{json.dumps(key)},".encode() for key in keys]
            commas, end, none = [json.dumps(name) + ":" for name in labels], "}\n", "null"
            if not self._options.regression:
                heads, end = [head + b'"p":{' for head in heads], "}}\n"
            return _formatted(P, heads, commas[:1] + ["," + name for name in commas[1:]], end, none)
        header = b""
        if self._headed != len(labels):
            header = (",".join(map(_field, [self._key, *labels])) + "\n").encode()
            self._headed = len(labels)
        return header + _formatted(P, list(map(_head, keys)), [","] * len(labels), "\n", "")

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
        return {"out": self.out.mark(), "rejects": rejects, "headed": self._headed}


def _formatted(P: Array, heads: list[bytes], separators: list[str], end: str, none: str) -> bytes:
    """Rows as text, `none` for what is not known yet: deviations of the first numbers."""
    known = np.isfinite(P).all(axis=1)
    if known.all():
        return _core.format_rows(P, heads, separators, end)
    out = []
    for p, head in zip(P.tolist(), heads, strict=True):
        cells = (repr(value) if math.isfinite(value) else none for value in p)
        row = "".join(sep + cell for sep, cell in zip(separators, cells, strict=True))
        out.append(head + row.encode() + end.encode())
    return b"".join(out)


def _head(key: Identifier) -> bytes:
    """The first field of an answer in CSV."""
    if type(key) is int:
        return b"%d" % key
    return _field("" if key is None else as_text(key)).encode()


def _field(text: str) -> str:
    """A field of CSV, quoted if it has to be."""
    if text.isalnum():
        return text
    is_plain = text and text.strip() == text and not any(c in text for c in ',"\r\n')
    return text if is_plain else '"' + text.replace('"', '""') + '"'


def open_standard_descriptors() -> set[int]:
    """Open 0, 1 and 2, so that no file of ours gets their number; return those that were closed."""
    closed = set()
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        closed.add(descriptor)
    os.close(descriptor)
    return closed


class Lock:
    """Keeps a second process from the same model. The system releases it if the process dies.

    A folder of models is locked itself, too: the file beside it, which says whose it is, may be
    removed by somebody.
    """

    def __init__(self, model: Path) -> None:
        self.path = Path(os.path.realpath(model) + ".lock")
        self._folder = _locked_folder(model) if model.is_dir() else None
        while True:
            self.descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
            try:
                fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                holder = os.pread(self.descriptor, 20, 0).decode(errors="replace") or "?"
                os.close(self.descriptor)
                self._release_folder()
                raise _in_use(model, f"process {holder}") from None
            with contextlib.suppress(FileNotFoundError):
                # not removed while we waited
                if os.path.samestat(os.fstat(self.descriptor), os.stat(self.path)):
                    break
            os.close(self.descriptor)
        # The process that left it behind.
        self.stale = os.pread(self.descriptor, 20, 0).decode(errors="replace")
        os.ftruncate(self.descriptor, 0)
        os.pwrite(self.descriptor, str(os.getpid()).encode(), 0)

    def release(self) -> None:
        """Remove it."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)
        os.close(self.descriptor)
        self._release_folder()

    def _release_folder(self) -> None:
        if self._folder is not None:
            os.close(self._folder)


def _in_use(model: Path, who: str) -> StreamError:
    return StreamError(f"{model} is in use by {who}; two processes cannot learn into one model")


def _locked_folder(folder: Path) -> int:
    """The descriptor of a folder that is locked as long as it is open."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        beside = Path(os.path.realpath(folder) + ".lock")
        holder = beside.read_text(errors="replace")[:20] if beside.is_file() else ""
        raise _in_use(folder, f"process {holder}" if holder else "another process") from None
    except OSError:  # not every file system can lock a folder; the file beside it is locked
        pass
    return descriptor
