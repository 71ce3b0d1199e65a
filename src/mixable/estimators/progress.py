"""How far a long `fit` or `prequential` is: a bar, or lines, on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from mixable.learner.parts import Advance

EVERY = 2.0
"""Seconds between two lines, at least."""


@contextmanager
def shown(model: Any, n: int) -> Iterator[Advance]:
    """What is to be told of rows that were learned; None if nobody wants to know.

    A bar if rich is installed and standard error is a terminal or a notebook, else lines.
    """
    if not _is_wanted(model.verbose) or n < 2:
        yield None
        return
    name = type(model).__name__
    console = _console()
    if console is None:
        lines = Lines(name, n)
        try:
            yield lines.advance
        finally:
            lines.end()
    else:
        with _bar(console) as bar:
            task = bar.add_task(name, total=n)
            yield lambda rows: bar.advance(task, rows)


def say(model: Any, n: int, text: str) -> None:
    """Say something of a table of n rows, if somebody wants to know."""
    if _is_wanted(model.verbose) and n > 1:
        print(f"{type(model).__name__}: {text}", file=sys.stderr, flush=True)


def _is_wanted(verbose: Any) -> bool:
    if not isinstance(verbose, bool | np.bool_ | int | np.integer) or verbose < 0:
        raise ValueError(f"verbose must be 0 (nothing) or 1 (progress), got {verbose!r:.80}")
    return bool(verbose)


def _console() -> Any:
    """Where rich can draw a bar; None if it cannot."""
    try:
        from rich.console import Console
    except ModuleNotFoundError:
        return None
    console = Console(stderr=True)
    return console if console.is_terminal or console.is_jupyter else None


def _bar(console: Any) -> Any:
    from rich import progress

    return progress.Progress(
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TextColumn("rows"),
        progress.TimeElapsedColumn(),
        progress.TextColumn("left"),
        progress.TimeRemainingColumn(),
        console=console,
    )


class Lines:
    """A line now and then, and one at the end; also if the end is an error or Ctrl-C."""

    def __init__(self, name: str, n: int) -> None:
        self.name, self.n, self.done = name, n, 0
        self.began = self.wrote = time.monotonic()

    def advance(self, rows: int) -> None:
        """Count the rows, and write a line if the last one is old."""
        self.done += rows
        if self.done < self.n and time.monotonic() - self.wrote >= EVERY:
            self._write()

    def end(self) -> None:
        """Write the last line."""
        self._write()

    def _write(self) -> None:
        self.wrote = time.monotonic()
        seconds = self.wrote - self.began
        speed = self.done / max(seconds, 1e-9)
        text = f"{self.name}: {self.done:,} of {self.n:,} rows in {seconds:.1f} s"
        if self.done < self.n:
            text += f", {(self.n - self.done) / max(speed, 1e-9):.0f} s left"
        print(f"{text}, {speed:,.0f} rows a second", file=sys.stderr, flush=True)
