"""The loop of the fuzzers: cases of each kind in a process of its own, which may crash or hang."""

from __future__ import annotations

import argparse
import faulthandler
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
    cases: int,
    seed: int,
    first: int = 0,
) -> int:
    """Try cases of each kind in a process of its own; print what was found, and return how much
    that was.
    """
    found = 0
    for kind in kinds:
        notes = mmap.mmap(
            -1, 24
        )  # shared with the child: the case, how many got through, how much was found
        case, end, passed = first, first + cases, 0
        while case < end:
            sys.stdout.flush()
            child = os.fork()
            if child == 0:
                _work(try_case, kind, seed, range(case, end), notes)
            status = os.waitpid(child, 0)[1]
            last, worked, bad = struct.unpack("3q", notes[:24])
            passed, found, case = passed + worked, found + bad, last + 1
            if status:
                found += 1
                print(
                    f"FOUND --kind {kind} --seed {seed} --first {last} --cases 1: the process "
                    f"ended with status {status}"
                )
        print(f"{kind}: {cases} cases, {passed} got through and worked", flush=True)
    print(f"{found} found")
    return found


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
                10 * SECONDS, exit=True
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
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--kind", choices=kinds, action="append")
    options = parser.parse_args()
    limit_memory()
    faulthandler.enable()
    warnings.simplefilter("ignore")
    sys.exit(fuzz(try_case, options.kind or kinds, options.cases, options.seed, options.first) > 0)
