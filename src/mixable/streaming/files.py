"""Files that a stream writes, and the lock on its model."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
from pathlib import Path

from mixable.streaming.errors import StreamError
from mixable.streaming.lines import PRINT, fingerprint

LONGEST_LINE = 1 << 16  # of a log
Mark = list[int | str]  # length, and fingerprint of what stands before it


class Sink:
    """A file that grows, and is cut back to where a checkpoint saw it; or standard output, if there is no path."""

    def __init__(self, path: Path | None, mark: Mark | None = None, *, fresh: bool = False) -> None:
        """A file that is not as the mark has it is started over if `fresh`, else added to; nothing happens to it before `cut`."""
        self.path = path
        self.descriptor = 1 if path is None else os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        self.has_length = path is not None and stat.S_ISREG(os.fstat(self.descriptor).st_mode)
        self.length = 0
        self.continues = False  # whether it was found as the mark has it
        if self.has_length:
            size = os.fstat(self.descriptor).st_size
            self.continues = mark is not None and mark == self._mark_at(min(int(mark[0]), size))
            self.length = int(mark[0]) if self.continues and mark else 0 if fresh else size

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
                data = data[os.write(self.descriptor, data) :]
        except OSError as error:
            raise StreamError(f"cannot write {self.path or 'the answers'}: {error.strerror}") from None

    def mark(self) -> Mark | None:
        """Bring it to the disk, and return what a checkpoint is to remember of it."""
        if not self.has_length:
            return None
        try:
            os.fsync(self.descriptor)
        except OSError as error:
            raise StreamError(f"cannot write {self.path}: {error.strerror}") from None
        return self._mark_at(self.length)

    def close(self) -> None:
        """Close the file."""
        if self.path is not None:
            os.close(self.descriptor)

    def _mark_at(self, length: int) -> Mark:
        size = min(PRINT, length)
        return [length, fingerprint(os.pread(self.descriptor, size, length - size))]


def open_log(path: Path) -> Sink:
    """A file of lines to add to; half a line at its end, left by a crash, is cut off."""
    log = Sink(path)
    if log.has_length:
        tail = os.pread(log.descriptor, LONGEST_LINE, max(log.length - LONGEST_LINE, 0))
        log.length -= len(tail) - tail.rfind(b"\n") - 1
    log.cut()
    return log


class Lock:
    """Keeps a second process from the same model. The system releases it when a process dies, however it dies."""

    def __init__(self, model: Path) -> None:
        self.path = Path(os.path.realpath(model) + ".lock")
        while True:
            self.descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
            try:
                fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                holder = os.pread(self.descriptor, 20, 0).decode(errors="replace") or "?"
                os.close(self.descriptor)
                raise StreamError(f"{model} is in use by process {holder}; two streams cannot learn into one model") from None
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(self.descriptor), os.stat(self.path)):  # not removed while we waited
                    break
            os.close(self.descriptor)
        self.stale = os.pread(self.descriptor, 20, 0).decode(errors="replace")  # the process that left it behind
        os.ftruncate(self.descriptor, 0)
        os.pwrite(self.descriptor, str(os.getpid()).encode(), 0)

    def release(self) -> None:
        """Remove it."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)
        os.close(self.descriptor)
