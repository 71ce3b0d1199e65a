"""One run in a process of its own: scores, time and memory."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.peers import curves, numbers, records
from benchmarks.peers.contest import Contestant, Setting, fill, scores
from benchmarks.peers.streams import Source, Stream, loaded

TABLES = {
    "numbers": numbers.CONTESTANTS,
    "curves": curves.CONTESTANTS,
    "records": records.CONTESTANTS,
}
WARM_UP = 100
PIECE = 256  # forecasts that are kept as they came, before they become rows of a table


class Task(NamedTuple):
    """What to run; `alone` is whether nothing else runs meanwhile."""

    table: str
    source: Source
    contestant: str
    setting: tuple[tuple[str, Any], ...]
    alone: bool = False


def find(table: str, name: str) -> Contestant:
    """The contestant of a table that has this name."""
    return next(each for each in TABLES[table] if each.name == name)


def _kilobytes(name: str) -> float:
    """A line of /proc/self/status; NaN where there is none."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(name):
                return float(line.split()[1])
    return float("nan")


def _level_memory() -> float:
    """Give free memory back and let the peak start from here; kilobytes in use."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return _kilobytes("VmRSS")


def play(contestant: Contestant, stream: Stream, setting: Setting) -> dict[str, Any]:
    """One pass. Time is that of the processor, in microseconds an example."""
    n, p = stream.n, np.zeros((stream.n, stream.K))
    p += 0.0  # so that its pages are there before memory is measured
    inputs = contestant.inputs(stream)
    warm = 0 if contestant.whole else min(WARM_UP, n // 2)
    pieces = [range(warm)] if warm else []
    length = n if contestant.whole else PIECE
    pieces += [range(a, min(a + length, n)) for a in range(warm, n, length)]
    seconds = 0.0
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # rates that are too large overflow; their loss says so
        before = _level_memory()
        forecast = contestant.start(inputs, stream, setting)
        for rows in pieces:
            begin = time.process_time()
            raw = forecast(rows)
            passed = time.process_time() - begin
            fill(p[rows.start : rows.stop], raw)
            if rows.start >= warm:
                seconds += passed
        peak = _kilobytes("VmHWM")
    return {
        **scores(p, stream),
        "microseconds": 1e6 * seconds / (n - warm),
        "megabytes": max(peak - before, 0.0) / 1024,
    }


def perform(task: Task) -> tuple[Task, dict[str, Any]]:
    """Run a task; what goes wrong is part of the result."""
    try:
        contestant = find(task.table, task.contestant)
        result = play(contestant, loaded(task.source), dict(task.setting))
    except Exception as error:
        result = {"error": f"{type(error).__name__}: {error}"[:300]}
    result["cpu_seconds"] = round(sum(os.times()[:2]), 2)
    return task, result
