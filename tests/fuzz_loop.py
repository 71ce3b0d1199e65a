"""The loop of the fuzzers: cases of each kind in a process of its own, which may crash or hang."""

from __future__ import annotations

import argparse
import faulthandler
import json
import math
import mmap
import os
import resource
import signal
import struct
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from mixable._files import write_whole

SECONDS = 20
BYTES = 2**30


class FoundError(Exception):
    """What must not happen."""


def limit_memory() -> None:
    """Refuse this process more than BYTES beyond what it has now. AddressSanitizer reserves
    terabytes: there it cannot be done.
    """
    now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    if now < 2**40:
        resource.setrlimit(
            resource.RLIMIT_AS, (now + BYTES, resource.getrlimit(resource.RLIMIT_AS)[1])
        )


def fuzz(
    try_case: Callable[[str, int, int], bool],
    kinds: list[str],
    cases: range,
    *,
    seed: int = 0,
    at_once: int | None = None,
    log: Path | None = None,
) -> int:
    """Try cases of each kind, `at_once` of one kind and then of the next, in processes of their
    own; print what was found, and return how much that was. A log remembers what is done.
    """
    so_far = {kind: {"next": cases.start, "worked": 0, "found": 0} for kind in kinds}
    if log is not None and log.exists():
        so_far.update((kind, counts) for kind, counts in json.loads(log.read_text()).items())
    while any(so_far[kind]["next"] < cases.stop for kind in kinds):
        for kind in kinds:
            counts = so_far[kind]
            if counts["next"] >= cases.stop:
                continue
            end = min(cases.stop, counts["next"] + (at_once or len(cases)))
            worked, found = _try_some(try_case, kind, seed, range(counts["next"], end))
            counts["worked"] += worked
            counts["found"] += found
            counts["next"] = end
            if log is not None:
                write_whole(log, json.dumps(so_far, indent=1).encode())
            if end == cases.stop:
                tried = end - cases.start
                print(
                    f"{kind}: {tried} cases, {counts['worked']} got through and worked", flush=True
                )
    found = sum(so_far[kind]["found"] for kind in kinds)
    print(f"{found} found")
    return found


def _try_some(
    try_case: Callable[[str, int, int], bool], kind: str, seed: int, cases: range
) -> tuple[int, int]:
    """How many cases worked, and how much was found; what ends the process is one of the latter."""
    notes = mmap.mmap(
        -1, 24
    )  # shared with the child: the case, how many worked, how much was found
    case, passed, found = cases.start, 0, 0
    while case < cases.stop:
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            _work(try_case, kind, seed, range(case, cases.stop), notes)
        status = os.waitpid(child, 0)[1]
        last, worked, bad = struct.unpack("3q", notes[:24])
        passed, found, case = passed + worked, found + bad, last + 1
        if status:
            found += 1
            print(
                f"FOUND --kind {kind} --seed {seed} --first {last} --cases 1: the process "
                f"ended with status {status}"
            )
    return passed, found


def _work(
    try_case: Callable[[str, int, int], bool], kind: str, seed: int, cases: range, notes: mmap.mmap
) -> NoReturn:
    """Try cases, and leave notes for the parent."""

    def too_slow(*_: object) -> None:
        raise FoundError(f"it took more than {SECONDS} seconds")

    signal.signal(signal.SIGPROF, too_slow)
    passed = found = 0
    armed = -math.inf
    for case in cases:
        notes[:24] = struct.pack("3q", case, passed, found)
        signal.setitimer(
            signal.ITIMER_PROF, SECONDS
        )  # of this process: the machine may have others to serve
        if time.monotonic() > armed + SECONDS:  # it starts a thread: not for each case
            armed = time.monotonic()
            faulthandler.dump_traceback_later(
                30 * SECONDS, exit=True
            )  # where it waits for ever, or no signal is heard
        try:
            passed += try_case(kind, seed, case)
        except FoundError as finding:
            found += 1
            print(f"FOUND --kind {kind} --seed {seed} --first {case} --cases 1: {finding}")
        signal.setitimer(signal.ITIMER_PROF, 0)
    notes[:24] = struct.pack("3q", cases[-1], passed, found)
    sys.stdout.flush()
    os._exit(0)


def main(try_case: Callable[[str, int, int], bool], kinds: list[str]) -> None:
    """Read the command line, and exit with 1 if something was found."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=500, help="of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--kind", choices=kinds, action="append")
    parser.add_argument("--at-once", type=int, help="cases of a kind before the next has its turn")
    parser.add_argument(
        "--log", type=Path, help="counts by kind; begun again, it goes on from there"
    )
    options = parser.parse_args()
    limit_memory()
    faulthandler.enable()
    warnings.simplefilter("ignore")
    cases = range(options.first, options.first + options.cases)
    chosen = options.kind or kinds
    more = {"seed": options.seed, "at_once": options.at_once, "log": options.log}
    sys.exit(fuzz(try_case, chosen, cases, **more) > 0)
