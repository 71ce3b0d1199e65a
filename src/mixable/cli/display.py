"""What `mixable stream` shows: a live line and a summary."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.text import Text

from mixable.streaming.loop import Stream

REFRESH = 0.2  # seconds between two updates of the live line


@contextlib.contextmanager
def live(console: Console, stream: Stream) -> Iterator[Any]:
    """A line that is kept up to date, where there is a terminal that the answers do not go to."""
    if not console.is_terminal or (stream.options.out is None and os.isatty(1)):
        yield lambda: None
        return
    shown = 0.0
    with Live(console=console, auto_refresh=False, transient=True) as live:

        def tick() -> None:
            nonlocal shown
            if time.monotonic() - shown >= REFRESH:
                shown = time.monotonic()
                line = Text(_line(stream.figures()), no_wrap=True, overflow="ellipsis")
                live.update(line, refresh=True)

        yield tick


def _line(figures: dict[str, Any]) -> str:
    """The figures in one line."""
    parts = [f"{figures['events']:,} events", f"{figures['rate'] or 0:,.0f}/s"]
    if figures["log_loss"] is not None:
        parts.append(f"log loss {figures['log_loss']:.4f}")
        parts.append(f"calibration error {figures['calibration_error']:.3f}")
    if figures["rejected"]:
        parts.append(f"{figures['rejected']:,} rejected")
    return ", ".join(parts)


def summary(stream: Stream) -> str:
    """What has become of the events, in one line."""
    figures = stream.figures()
    parts = [f"{figures[name]:,} {name}" for name in ("predicted", "rejected", "learned")]
    if stream.first_reject is not None:
        parts[1] += f" (the first at {stream.first_reject:.300})"
    names = {"late": "late labels", "waiting": "waiting", "forgotten": "forgotten"}
    parts += [f"{figures[name]:,} {text}" for name, text in names.items() if figures[name]]
    text = f"{figures['events']:,} events: {', '.join(parts)}"
    if figures["log_loss"] is not None:
        text += f"; log loss {figures['log_loss']:.4f}, accuracy {figures['accuracy']:.3f}, "
        text += f"calibration error {figures['calibration_error']:.3f}"
        text += _worst_class(stream)
    return text + f"; {figures['rate'] or 0:,.0f} events/s"


def _worst_class(stream: Stream) -> str:
    """The class that is calibrated worst, and how far; nothing if no class came often."""
    worst = stream.model.scores.worst_class
    if worst is None:
        return ""
    name = stream.class_name(worst.label)
    how_far = f"forecast {worst.forecast:.3g} on average, came {worst.rate:.3g}"
    return f", worst class {name!r:.80} ({how_far})"
