"""How much memory there is, and the errors for sizes that need more."""

from __future__ import annotations

import contextlib
import math
import os
from contextvars import ContextVar
from pathlib import Path

allowance: ContextVar[float] = ContextVar("allowance", default=math.inf)
"""Bytes that sizes may claim which no array confirms; while a file is loaded, a limit."""

SMALL = 2.0**20
"""Bytes that there always are. To ask how many there are takes 0.2 ms."""


def claim(needed: float, what: str) -> None:
    """Refuse a size that memory does not allow, or the length of the file that asks for it."""
    if needed > allowance.get():
        raise ValueError(
            f"{what} would need {needed:.0f} bytes, which a file of this length does not justify"
        )
    memory(needed, what)


def memory(needed: float, what: str) -> None:
    """Refuse a size whose matrices would not fit in memory."""
    if needed <= SMALL:
        return
    available = available_memory()
    if needed > available:
        raise MemoryError(
            f"{what} would need {needed:.0f} bytes ({needed / 2**30:.1f} GiB); {available:.0f} "
            "bytes are available"
        )


def available_memory() -> float:
    """Bytes for a new array: MemAvailable or what a container has left, else all of memory."""
    limits = [math.inf]
    try:
        with open("/proc/meminfo") as info:
            free = [line.split()[1] for line in info if line.startswith("MemAvailable:")]
            limits += [1024.0 * float(kilobytes) for kilobytes in free]
        group = Path("/sys/fs/cgroup")
        most, used = (group / name for name in ("memory.max", "memory.current"))
        limits.append(float(most.read_text()) - float(used.read_text()))
    except (OSError, ValueError):  # another system, no container, or a container without a limit
        pass
    if len(limits) == 1:
        with contextlib.suppress(AttributeError, ValueError, OSError):
            limits.append(float(os.sysconf("SC_PAGE_SIZE")) * float(os.sysconf("SC_PHYS_PAGES")))
    return min(limits)
