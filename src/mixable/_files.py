"""Writing files so that whatever happens on the way, they are whole."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import tempfile
from pathlib import Path


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file under another name, bring it to the disk, and rename it.

    `path` holds either what it did or all of `data`. A link stays a link to the file that is
    written, and a file that was there keeps its permissions.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        raise OSError(errno.EINVAL, "is not a file that could be replaced", os.fspath(path))
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=_prefix(target), suffix=".part")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, _mode(target))
        os.replace(name, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
    sync_folder(target)


def sync_folder(path: Path) -> None:
    """Bring the name of a file to the disk."""
    with contextlib.suppress(OSError):  # not every system lets a folder be opened
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _prefix(target: Path) -> str:
    """How the names of parts begin: with that of the file, which may be too long to be repeated."""
    digest = hashlib.sha256(target.name.encode(errors="surrogateescape")).hexdigest()
    return f".{target.name[:20]}.{digest[:12]}."


def clear_parts(path: str | os.PathLike[str]) -> None:
    """Remove what writers of this file, or of any in this folder, have left that were killed.

    There must be none at work.
    """
    target = Path(os.path.realpath(path))
    is_folder = target.is_dir()
    prefix = r"\..{1,20}\.[0-9a-f]{12}\." if is_folder else re.escape(_prefix(target))
    for part in (target if is_folder else target.parent).iterdir():
        if re.fullmatch(prefix + r"\w{8}\.part", part.name, re.DOTALL):
            part.unlink(missing_ok=True)


def _mode(target: Path) -> int:
    """The permissions of the file that is there, or those of a new one."""
    with contextlib.suppress(OSError):
        return target.stat().st_mode & 0o7777
    umask = os.umask(0o077)  # which can only be asked for by setting it
    os.umask(umask)
    return 0o666 & ~umask
