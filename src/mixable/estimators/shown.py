"""What an estimator shows: its progress on standard error, and in a notebook, below scikit-learn's
diagram, what it has learned; all escaped.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

import numpy as np

from mixable.experts.ensemble import Ensemble, in_words
from mixable.model import Learner, RecordPool
from mixable.model.parts import Advance

MOST_NAMES = 8  # of classes, and of features
MOST_SHOWN = 3
LONGEST = 60  # characters of a name
EVERY = 2.0  # seconds between two lines of progress, at least

_STYLE = "text-align: left; vertical-align: top; padding: 0.2em 0.8em;"


def table(model: Any) -> str:
    """A small table: what it learned, which classes, who has the weight, and its loss if known."""
    rows = "".join(
        f'<tr><th scope="row" style="{_STYLE}">{escape(name)}</th>'
        f'<td style="{_STYLE}">{escape(value)}</td></tr>'
        for name, value in summary(model).items()
    )
    return f'<table style="border-collapse: collapse; margin-top: 0.5em;">{rows}</table>'


def summary(model: Any) -> dict[str, str]:
    """The same as text."""
    learner: Learner = model.learner_
    out = {"learned": f"{learner.forecaster.steps:,} rows of {model.n_features_in_:,} columns"}
    if getattr(model, "feature_names_in_", None) is not None:
        out["columns"] = columns(model)
    if learner.has_labels:
        out["classes"] = _listed(list(model.classes_))
    out["heaviest"] = "; ".join(
        f"{name} {share:.0%}" for name, share in heaviest(learner.forecaster)[:MOST_SHOWN]
    )
    n, loss = model._scored
    if n > 0 and learner.has_labels:
        out["log loss so far"] = f"{loss / n:.4g} nats a row, each forecast before its label"
    elif n > 0:
        out["error so far"] = (
            f"{math.sqrt(loss / n):.4g} root mean square, each forecast before its target"
        )
    return out


def columns(model: Any) -> str:
    """What each column is taken for; of a table of numbers, the names alone."""
    taken = model.columns_ if hasattr(model, "columns_") else {}
    if set(taken.values()) <= {"number"}:
        return _listed(list(model.feature_names_in_))
    return _listed([f"{_short(str(name))} ({what})" for name, what in taken.items()])


def heaviest(forecaster: Any) -> list[tuple[str, float]]:
    """Who has the weight, most of it first; a forecaster that is no mixture has it all."""
    if isinstance(forecaster, RecordPool):
        beside = forecaster.fallback_weights
        pools = [] if forecaster.n_classes is None else ["the pool", "the pool that forgets"]
        names = [*pools, *forecaster.design.names, *beside]
        shares = np.array([*forecaster.expert_weights, *beside.values()])
    elif isinstance(forecaster, Ensemble):
        names, shares = (
            [in_words(expert) for expert in forecaster.experts],
            forecaster.expert_weights,
        )
    else:
        names, shares = [type(forecaster).__name__], np.ones(1)
    order = np.argsort(-shares, kind="stable")
    return [(names[i], float(shares[i])) for i in order if shares[i] > 0]


def _listed(names: list[Any]) -> str:
    shown = [_short(str(name)) for name in names[:MOST_NAMES]]
    rest = f" and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else ""
    return f"{len(names):,}: {', '.join(shown)}{rest}"


def _short(name: str) -> str:
    return name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"


@contextmanager
def progress(model: Any, n: int) -> Iterator[Advance]:
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
            lines.write()
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
    from rich import progress as rich

    return rich.Progress(
        rich.TextColumn("{task.description}"),
        rich.BarColumn(),
        rich.MofNCompleteColumn(),
        rich.TextColumn("rows"),
        rich.TimeElapsedColumn(),
        rich.TextColumn("left"),
        rich.TimeRemainingColumn(),
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
            self.write()

    def write(self) -> None:
        """Write how far it is."""
        self.wrote = time.monotonic()
        seconds = self.wrote - self.began
        speed = self.done / max(seconds, 1e-9)
        text = f"{self.name}: {self.done:,} of {self.n:,} rows in {seconds:.1f} s"
        if self.done < self.n:
            text += f", {(self.n - self.done) / max(speed, 1e-9):.0f} s left"
        print(f"{text}, {speed:,.0f} rows a second", file=sys.stderr, flush=True)
