"""The journal: what was answered is on the disk first.

A journal is a row of files, `journal-N`, N the number of its first entry. A file consists of
frames, each written and brought to the disk in one step (group commit): a mark, the length of the
text, the number of its first entry, a digest of all that, and the text, one entry a line. The first
frame holds what the journal is known by, and the limits under which its entries were learned. What
a crash has left of the last frame of the last file is cut off: nobody was told of it. Damage
anywhere else is refused.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from mixable._files import sync_folder, write_whole

MARK = b"mxJ1"
HEAD = struct.Struct("<4sIQ")  # the mark, the length of the text, the number of its first entry
DIGEST = 16
NAME = re.compile(r"journal-(\d{16})")
# All that is needed to read the data again, its length included, but not when it was written.
to_disk = getattr(os, "fdatasync", os.fsync)


class DamagedJournalError(ValueError):
    """A journal that is not as it was written, other than at its end."""


class Frame(NamedTuple):
    """What was written in one step."""

    first: int  # the number of its first entry
    text: bytes
    end: int  # where the next one begins


def framed(text: bytes, first: int) -> bytes:
    """A frame, as it is written."""
    head = HEAD.pack(MARK, len(text), first)
    return head + _digest(head, text) + text


def _digest(head: bytes, text: bytes) -> bytes:
    return hashlib.blake2b(text, digest_size=DIGEST, key=head).digest()


def frame_at(data: bytes, begin: int) -> Frame | None:
    """The frame that begins there; None if there is no whole one."""
    start = begin + HEAD.size + DIGEST
    head = data[begin : begin + HEAD.size]
    if len(data) < start or not head.startswith(MARK):
        return None
    _, length, first = HEAD.unpack(head)
    text = data[start : start + length]
    is_whole = len(text) == length and _digest(head, text) == data[start - DIGEST : start]
    return Frame(first, text, start + length) if is_whole else None


@dataclass(frozen=True, kw_only=True)
class Part:
    """A file of a journal, as it was found."""

    path: Path
    id: str
    limits: Any  # as JSON
    entries: list[tuple[int, bytes]]  # with their numbers
    length: int  # of what is whole
    torn: int  # bytes after that


def parts(folder: Path) -> Iterator[Part]:
    """The files of a journal in their order."""
    paths = sorted(path for path in folder.iterdir() if NAME.fullmatch(path.name))
    following: int | None = None
    known: str | None = None
    for path in paths:
        part = _part(path, is_last=path == paths[-1])
        first = number_of(path)
        if following is not None and first != following:
            raise DamagedJournalError(f"{path} should begin with entry {following}: one is missing")
        if known not in (None, part.id):
            raise DamagedJournalError(f"{path} is of another journal than the file before it")
        following, known = first + len(part.entries), part.id
        yield part


def number_of(path: Path) -> int:
    """The number of the first entry of a file."""
    return int(path.name.partition("-")[2])


def _part(path: Path, *, is_last: bool) -> Part:
    data = path.read_bytes()
    header = frame_at(data, 0)
    if header is None:
        raise DamagedJournalError(f"{path} is damaged: it does not begin like a journal")
    entries: list[tuple[int, bytes]] = []
    number = number_of(path)
    at = header.end
    while at < len(data):
        frame = frame_at(data, at)
        if frame is None or frame.first != number:
            break
        lines = frame.text[:-1].split(b"\n")
        entries += enumerate(lines, number)
        number += len(lines)
        at = frame.end
    if at < len(data) and not (is_last and _is_torn(data, at)):
        raise DamagedJournalError(
            f"{path} is damaged at byte {at}, and what follows is not the rest of a crash; move "
            "the file away to go on without its last entries"
        )
    about = json.loads(header.text)
    return Part(
        path=path,
        id=str(about["id"]),
        limits=about["limits"],
        entries=entries,
        length=at,
        torn=len(data) - at,
    )


def _is_torn(data: bytes, at: int) -> bool:
    """Whether there is no whole frame after a broken one: no other was begun before it was done."""
    place = data.find(MARK, at)
    while place >= 0:
        if frame_at(data, place) is not None:
            return False
        place = data.find(MARK, place + 1)
    return True


class Journal:
    """A journal that is being written; `following` is the number of the next entry.

    `known` is what the files before are known by; None if there are none.
    """

    def __init__(
        self, folder: Path, following: int, limits: Any, *, known: str | None = None
    ) -> None:
        self._folder, self._limits = folder, limits
        self.id = known or secrets.token_hex(8)
        self.following = following
        self.broken: str | None = None  # why nothing can be written any more
        self._descriptor = -1
        self.begin()

    def begin(self) -> None:
        """Begin a new file."""
        path = self._folder / f"journal-{self.following:016d}"
        text = json.dumps({"id": self.id, "limits": self._limits}).encode()
        write_whole(path, framed(text, self.following))
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND)
        self.path, self.length, self.broken = path, os.fstat(self._descriptor).st_size, None
        self.entries = 0

    def begin_again(self) -> None:
        """Begin a new file, also after a failure: what that has left is cut off first."""
        if self.broken is not None:
            self._cut_back()
        if self.broken is not None:
            raise OSError(0, self.broken)
        self.begin()

    def append(self, lines: list[bytes]) -> int:
        """Bring entries to the disk; return the number of the first one. All or nothing."""
        if self.broken is not None:
            raise OSError(0, self.broken)
        first = self.following
        data = framed(b"".join(line + b"\n" for line in lines), first)
        try:
            rest = data
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
            to_disk(self._descriptor)
        except OSError:
            self._cut_back()
            raise
        self.length += len(data)
        self.following += len(lines)
        self.entries += len(lines)
        return first

    def _cut_back(self) -> None:
        """Leave nothing of an entry that nobody was told of."""
        try:
            os.ftruncate(self._descriptor, self.length)
            os.fsync(self._descriptor)
            self.broken = None
        except OSError as error:
            self.broken = f"it cannot be mended: {error.strerror}"

    def others(self) -> list[Path]:
        """The files before this one."""
        paths = (path for path in self._folder.iterdir() if NAME.fullmatch(path.name))
        return sorted(path for path in paths if path != self.path)

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)


def cut(part: Part) -> None:
    """Cut off what a crash has left."""
    if part.torn:
        descriptor = os.open(part.path, os.O_WRONLY)
        try:
            os.ftruncate(descriptor, part.length)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def remove(paths: list[Path]) -> None:
    """Remove files whose entries are in the models, the oldest first."""
    for path in paths:
        path.unlink(missing_ok=True)
    if paths:
        sync_folder(paths[0])
