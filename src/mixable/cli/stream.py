"""`mixable stream`."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import time
import warnings
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.live import Live
from rich.text import Text

from mixable import persistence
from mixable._files import clear_parts
from mixable.cli.consoles import Messages
from mixable.cli.options import model_options, spelled, with_model_options
from mixable.events.files import Lock, Options, StreamError, open_standard_descriptors
from mixable.events.following import are_numbers
from mixable.events.lines import Stops
from mixable.events.model import EventModel
from mixable.events.options import ModelOptions
from mixable.events.stream import Stream
from mixable.records.declaration import FORMATS, KINDS

REFRESH = 0.2  # seconds between two updates of the live line
MANY = 20  # labels that are numbers, from which on regression may be meant


class Format(str, Enum):
    """How events are written."""

    auto = "auto"
    csv = "csv"
    json = "json"


@with_model_options
def run_stream(
    *,
    model: Annotated[Path, typer.Option(help="The model file: made on first use, then continued.")],
    source: Annotated[
        Path | None,
        typer.Argument(
            metavar="[IN]",
            help="CSV, JSON lines (also .gz, .zst), Parquet or Arrow; standard input if not given.",
        ),
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="The column with the label; may be left out with --no-learn.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Where answers go (.csv, .jsonl, .parquet, .arrow); standard output if not given."
        ),
    ] = None,
    identifier: Annotated[
        str | None,
        typer.Option("--id", help="The column to echo; a late label finds its event by it."),
    ] = None,
    given: dict[str, Any],
    learn: Annotated[
        bool,
        typer.Option(
            "--learn/--no-learn", help="Whether to learn; without, the model file stays as it is."
        ),
    ] = True,
    every: Annotated[int, typer.Option(min=1, help="Events between checkpoints.")] = 100_000,
    seconds: Annotated[float, typer.Option(min=0.0, help="Seconds between checkpoints.")] = 10.0,
    rejects: Annotated[
        Path | None,
        typer.Option(help="Where bad events go, with line number and reason, as JSON lines."),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Stop at the first bad event.")] = False,
    metrics: Annotated[
        Path | None,
        typer.Option(help="A file to add counts and scores to, a line of JSON at each checkpoint."),
    ] = None,
    from_start: Annotated[
        bool,
        typer.Option(
            "--from-start", help="Read IN from its beginning; left out, go on from the checkpoint."
        ),
    ] = False,
    format_: Annotated[
        Format,
        typer.Option(
            "--format", help="Of the events; auto goes by the name of IN, then by its first line."
        ),
    ] = Format.auto,
) -> None:
    """Forecast events, learn when labels come, and lose nothing when the machine dies."""
    messages = Messages()
    say = messages.say
    source = None if source == Path("-") else source
    with messages.failing(StreamError, MemoryError, where=source or "standard input"):
        closed = open_standard_descriptors()
        if (0 in closed and source is None) or (1 in closed and out is None):
            raise StreamError("standard input or output is closed; name a file")
        if learn and target is None:
            raise StreamError("--target COLUMN is needed, unless --no-learn")
        asked = model_options(given)
        options = Options(
            model=model,
            target=target,
            source=source,
            out=out,
            rejects=rejects,
            metrics=metrics,
            identifier=identifier,
            remember=given.get("remember"),
            learns=learn,
            strict=strict,
            from_start=from_start,
            every=every,
            seconds=seconds,
            is_json=None if format_ is Format.auto else format_ is Format.json,
        )
        with _locked(options, say), _warnings_said(say):
            kept = _model(options, asked, list(given))
            options = dataclasses.replace(options, regression=kept.options.regression)
            with Stops() as stops, contextlib.closing(Stream(options, kept, say)) as stream:
                with live(messages.console, stream) as tick:
                    stream.run(stops, tick)
                say(summary(stream))
                # A stream that a signal stopped has not had all its events.
                in_vain = stream.was_in_vain and not stops.requested
    raise typer.Exit(1 if in_vain else 0)


@contextlib.contextmanager
def _locked(options: Options, say: Any) -> Iterator[None]:
    """Keep others from the model while it learns, and clear away what a crash has left."""
    if not options.learns:
        yield
        return
    lock = Lock(options.model)
    try:
        if lock.stale:
            say(f"took over the lock of process {lock.stale}, which is gone")
        clear_parts(options.model)
        yield
    finally:
        lock.release()


@contextlib.contextmanager
def _warnings_said(say: Any) -> Iterator[None]:
    """Say what the model warns of."""
    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = lambda message, *_, **__: say(str(message))
        yield


def _model(options: Options, asked: ModelOptions, given: list[str]) -> EventModel:
    """Read the model and check that it is what was asked for; make it if there is none."""
    path = options.model
    if not path.exists():
        if not options.learns:
            raise StreamError(f"{path}: no such file; --no-learn needs a model")
        return EventModel(asked)
    try:
        model = persistence.load(path)
    except ValueError as error:
        raise StreamError(str(error)) from None
    if not isinstance(model, EventModel):
        raise StreamError(f"{path} holds a {type(model).__name__}, not a model of mixable stream")
    made = model.options
    if asked.chooses_design and not asked.design().is_like(model.design):
        raise StreamError(
            f"{path} was made with another forecaster or other parameters; leave them out to go on "
            "with it"
        )
    declared = [*KINDS, *FORMATS, "cross"]
    for what, names in (
        ("--regression", ["regression"]),
        ("--classes", ["classes"]),
        ("--features", ["features"]),
        ("--level", ["level"]),
        ("kinds of columns", declared),
    ):
        ours, theirs = (
            [_sorted(getattr(each, name), name) for name in names] for each in (asked, made)
        )
        if any(name in given for name in names) and ours != theirs:
            found = spelled(made, names).removeprefix(f"{what} ")
            raise StreamError(f"{path} was made with other {what}: {found}")
    room = {name: getattr(asked, name) for name in ("most_features", "most_classes")}
    room = {name: value for name, value in room.items() if name in given}
    model.options = dataclasses.replace(made, **room)
    return model


def _sorted(value: Any, name: str) -> Any:
    """The order of classes counts, and no other."""
    return sorted(value) if isinstance(value, tuple) and name != "classes" else value


@contextlib.contextmanager
def live(console: Console, stream: Stream) -> Iterator[Callable[[], None]]:
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
    names = ("rmse", "crps") if "rmse" in figures else ("log_loss", "calibration_error")
    parts += [f"{n.replace('_', ' ')} {figures[n]:.4g}" for n in names if figures[n] is not None]
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
    if figures.get("crps") is not None:
        level = stream.model.options.level
        text += f"; CRPS {figures['crps']:.4g}{_beside(figures, 'running mean')}, "
        text += f"RMSE {figures['rmse']:.4g}, {level:.0%} intervals hold {figures['coverage']:.1%}"
    elif figures.get("log_loss") is not None:
        text += f"; log loss {figures['log_loss']:.4f}{_beside(figures, 'class frequencies')}, "
        text += f"accuracy {figures['accuracy']:.3f}, "
        text += f"calibration error {figures['calibration_error']:.3f}"
        text += _worst_class(stream)
        labels = stream.model.labels
        if stream.model.classes is None and len(labels) > MANY and are_numbers(labels):
            text += f"; all {len(labels)} labels are numbers: regression? --regression"
    return text + f"; {figures['rate'] or 0:,.0f} events/s"


def _beside(figures: dict[str, Any], baseline: str) -> str:
    """The loss over the last tenth, and those of a baseline; nothing of a model without them."""
    if figures["recent"] is None or figures["baseline"] is None:
        return ""
    last = f"{figures['recent']:.4g} over the last tenth"
    return f" ({last}; {baseline} {figures['baseline']:.4g}, {figures['recent_baseline']:.4g})"


def _worst_class(stream: Stream) -> str:
    """The class that is calibrated worst, and how far; nothing if no class came often."""
    worst = stream.model.scores.worst_class
    if worst is None:
        return ""
    name = stream.model.class_name(worst.label)
    how_far = f"forecast {worst.forecast:.3g} on average, came {worst.rate:.3g}"
    return f", worst class {name!r:.80} ({how_far})"
