"""`mixable stream`."""

from __future__ import annotations

import contextlib
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

from mixable import persistence, records
from mixable._files import clear_parts
from mixable.cli.consoles import Messages
from mixable.cli.kinds import columns_of, declaring, names_of, options_of
from mixable.events.files import Lock, Options, StreamError, open_standard_descriptors
from mixable.events.lines import Stops
from mixable.events.model import StreamModel
from mixable.events.stream import Stream
from mixable.forecasters import AutoGAF
from mixable.forecasters.table import FORECASTERS
from mixable.learner import Blend, Design, design_of_classes

REFRESH = 0.2  # seconds between two updates of the live line


class Format(str, Enum):
    """How events are written."""

    auto = "auto"
    csv = "csv"
    json = "json"


KINDS = {entry.short: entry.kind for entry in FORECASTERS if entry.streams}
# Read from the table.
Forecaster = Enum("Forecaster", [(name, name) for name in KINDS], type=str)  # type: ignore[misc]


@declaring
def run_stream(
    *,
    model: Annotated[Path, typer.Option(help="The model file: made on first use, then continued.")],
    source: Annotated[
        Path | None,
        typer.Argument(
            metavar="[IN]", help="CSV or JSON lines, also gzipped; standard input if not given."
        ),
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="The column with the label; may be left out with --no-learn.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Where answers go (.csv, .jsonl); standard output if not given."),
    ] = None,
    identifier: Annotated[
        str | None,
        typer.Option("--id", help="The column to echo; a late label finds its event by it."),
    ] = None,
    remember: Annotated[
        int, typer.Option(min=0, help="Events that may wait for a late label.")
    ] = 10_000,
    classes: Annotated[
        str | None,
        typer.Option(help="All labels, by commas; otherwise they are added as they come."),
    ] = None,
    features: Annotated[
        str | None, typer.Option(help="The features to use, by commas; otherwise all columns.")
    ] = None,
    declared: dict[str, str | None],
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
    forecaster: Annotated[
        Forecaster | None,
        typer.Option(
            help="A linear one; auto mixes over whatever of the following is not given. If nothing "
            "is given, linear and curved forecasters are pooled."
        ),
    ] = None,
    lam: Annotated[float | None, typer.Option(help="Regularisation.")] = None,
    beta: Annotated[float | None, typer.Option(help="Curvature.")] = None,
    alpha: Annotated[float | None, typer.Option(help="Hedge width.")] = None,
    drift: Annotated[float | None, typer.Option(help="Process noise.")] = None,
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
        fixed = {"lam": lam, "beta": beta, "alpha": alpha, "drift": drift}
        options = Options(
            model=model,
            target=target,
            source=source,
            out=out,
            rejects=rejects,
            metrics=metrics,
            identifier=identifier,
            remember=remember,
            learns=learn,
            strict=strict,
            from_start=from_start,
            every=every,
            seconds=seconds,
            is_json=None if format_ is Format.auto else format_ is Format.json,
        )
        with _locked(options, say), _warnings_said(say):
            asked = forecaster is not None or any(value is not None for value in fixed.values())
            kept = _model(
                options,
                _design(forecaster, fixed),
                asked=asked,
                classes=names_of(classes, "--classes"),
                features=names_of(features, "--features"),
                columns=columns_of(declared),
            )
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


def _design(forecaster: Forecaster | None, fixed: dict[str, float | None]) -> Design:
    """The forecaster that the options ask for."""
    kind = None if forecaster is None else KINDS[forecaster.value]
    try:
        if kind is AutoGAF:
            design = Design.for_classes(None, fixed)
        else:
            design = design_of_classes(kind, fixed)
        Blend(design, 1, 2)
    except (TypeError, ValueError) as error:
        name = "" if forecaster is None else f"--forecaster {forecaster.value}: "
        raise StreamError(f"{name}{error}") from None
    return design


def _model(
    options: Options,
    design: Design,
    *,
    asked: bool,
    classes: tuple[str, ...] | None,
    features: tuple[str, ...] | None,
    columns: records.Columns | None,
) -> StreamModel:
    """Read the model and check that it is what was asked for; make it if there is none."""
    path = options.model
    if not path.exists():
        if not options.learns:
            raise StreamError(f"{path}: no such file; --no-learn needs a model")
        if classes is not None and len(classes) < 2:
            raise StreamError("--classes must be two or more")
        return StreamModel(design, classes=classes, features=features, columns=columns)
    try:
        model = persistence.load(path)
    except ValueError as error:
        raise StreamError(str(error)) from None
    if not isinstance(model, StreamModel):
        raise StreamError(f"{path} holds a {type(model).__name__}, not a model of mixable stream")
    if asked and not design.is_like(model.design):
        raise StreamError(
            f"{path} was made with another forecaster or other parameters; leave them out to go on "
            "with it"
        )
    if classes is not None and classes != model.classes:
        given = ", ".join(model.classes or ()) or "none given"
        raise StreamError(f"{path} was made with other --classes: {given}")
    if features is not None and set(features) != set(model.features or ()):
        given = ", ".join(model.features or ()) or "none given"
        raise StreamError(f"{path} was made with other --features: {given}")
    if columns is not None and columns != model.declared:
        raise StreamError(
            f"{path} was made with other kinds of columns: {options_of(model.declared)}"
        )
    return model


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
    name = stream.model.class_name(worst.label)
    how_far = f"forecast {worst.forecast:.3g} on average, came {worst.rate:.3g}"
    return f", worst class {name!r:.80} ({how_far})"
