"""Bytes of a file or of standard input: gzip and zstd are unpacked, tables become JSON lines."""

from __future__ import annotations

import contextlib
import os
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CHUNK = 1 << 18
PRINT = 4096  # bytes that a fingerprint is taken of
PACKINGS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
TABLES = {b"PAR1": "Parquet", b"ARROW1": "Arrow IPC"}
ROWS = 5000  # of a table that become lines at once


class Source:
    """Bytes from a file, or from standard input if there is no path."""

    def __init__(self, path: Path | None) -> None:
        self.descriptor = 0 if path is None else os.open(path, os.O_RDONLY)
        self.path = path
        # One can go back in a file.
        self.is_file = path is not None and stat.S_ISREG(os.fstat(self.descriptor).st_mode)
        self._start()

    def _start(self) -> None:
        self._unpacker: Any = None  # zlib has no public name for its type
        self._packing = ""  # what it is called
        self._table: Iterator[bytes] | None = None  # of a file that has columns
        self._packed = self._surplus = b""
        self._began = self.ended = False
        self.damage: str | None = None

    def close(self) -> None:
        """Close the file."""
        if self.path is not None:
            os.close(self.descriptor)

    @property
    def has_more_at_hand(self) -> bool:
        """Whether a read would not wait."""
        return bool(self._packed or self._surplus)

    def read(self) -> bytes:
        """What there is, which may be nothing yet; `ended` says whether more can come."""
        if self._surplus:
            data, self._surplus = self._surplus, b""
            return data
        data = self._packed or os.read(self.descriptor, CHUNK)
        if not self._began:
            while data == b"\x1f" and (more := os.read(self.descriptor, CHUNK)):
                data += more
            self._began = True
            self._recognise(data)
        if self._table is not None:
            lines = next(self._table, b"")
            self.ended = not lines
            return lines
        if self.damage is not None:
            self.ended = True
            return b""
        if self._unpacker is not None:
            return self._unpack(data)
        self.ended = not data
        return data

    def _recognise(self, data: bytes) -> None:
        """Find out what the file is, by its first bytes."""
        for mark, packing in PACKINGS.items():
            if data.startswith(mark):
                self._packing = packing
                self._unpacker = self._new_unpacker()
        for mark, kind in TABLES.items():
            if data.startswith(mark) and self.is_file and self.path is not None:
                self._table = _rows(self.path, kind)
            elif data.startswith(mark):
                self.damage = f"it is {kind}, which a pipe cannot bring: name the file"
        if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            self.damage = "it is UTF-16; write it as UTF-8, say by iconv -f UTF-16 -t UTF-8"

    def _new_unpacker(self) -> Any:
        return _Zstandard() if self._packing == "zstd" else zlib.decompressobj(wbits=31)

    def _unpack(self, data: bytes) -> bytes:
        if not data:
            self.ended = True
            if not self._unpacker.eof:
                self.damage = f"the {self._packing} data end too early"
            return b""
        if self._unpacker.eof:  # padding, or another member
            data = data.lstrip(b"\0")
            if not data:
                self._packed = b""
                return b""
            self._unpacker = self._new_unpacker()
        before = self._unpacker.copy()
        try:
            out: bytes = self._unpacker.decompress(data, CHUNK)
        except zlib.error as error:
            self.damage, self.ended, self._packed = (
                f"the {self._packing} data are damaged: {error}",
                True,
                b"",
            )
            return _sound_part(before, data)
        unpacker = self._unpacker
        self._packed = unpacker.unused_data if unpacker.eof else unpacker.unconsumed_tail
        return out

    def go_to(self, position: int) -> tuple[bytes, bytes]:
        """Go to a position in a file; return the file's beginning and what is before it."""
        os.lseek(self.descriptor, 0, os.SEEK_SET)
        self._start()
        data, head, past = self.read(), b"", b""
        if self._unpacker is None and self._table is None:
            os.lseek(self.descriptor, position, os.SEEK_SET)
            size = min(PRINT, position)
            self.ended = False
            head = os.pread(self.descriptor, size, 0)
            return head, os.pread(self.descriptor, size, position - size)
        while True:
            data, self._surplus = data[:position], data[position:]
            position -= len(data)
            head += data[: PRINT - len(head)]
            past = (past + data)[-PRINT:]
            if position == 0 or self.ended:
                return head, past
            data = self.read()


def _sound_part(unpacker: Any, data: bytes) -> bytes:
    """What can be unpacked of damaged data: zlib gives nothing of a piece that has a fault."""
    out = []
    with contextlib.suppress(zlib.error):
        for i in range(len(data)):
            out.append(unpacker.decompress(data[i : i + 1]))
    return b"".join(out)


class _Zstandard:
    """zstd with the interface of zlib."""

    def __init__(self) -> None:
        try:
            import zstandard
        except ModuleNotFoundError:
            raise zlib.error('zstandard is missing: pip install "mixable[cli]"') from None
        self._bad = zstandard.ZstdError
        self._unpacker = zstandard.ZstdDecompressor().decompressobj()
        self.eof, self.unused_data, self.unconsumed_tail = False, b"", b""

    def decompress(self, data: bytes, most: int = 0) -> bytes:
        """Unpack some; the rest is in `unconsumed_tail`, at the end in `unused_data`."""
        some, rest = data[:PRINT], data[PRINT:]
        try:
            out: bytes = self._unpacker.decompress(some)
        except self._bad as error:
            raise zlib.error(str(error)) from None
        self.eof = self._unpacker.eof
        self.unconsumed_tail = b"" if self.eof else rest
        self.unused_data = self._unpacker.unused_data + rest if self.eof else b""
        return out

    def copy(self) -> _Zstandard:
        """What there is to unpack of damaged data: nothing more."""
        return _Zstandard()


def _rows(path: Path, kind: str) -> Iterator[bytes]:
    """The rows of a table as JSON lines, the same ones each time."""
    import polars as pl

    table = pl.scan_parquet(path) if kind == "Parquet" else pl.scan_ipc(path)
    at = 0
    while len(some := table.slice(at, ROWS).collect()):
        yield some.write_ndjson().encode()
        at += len(some)
