"""`mixable stream`."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from mixable import persistence, records
from mixable._files import clear_parts
from mixable.cli.consoles import Messages
from mixable.cli.display import live, summary
from mixable.cli.kinds import (
    CategoryColumns,
    Crosses,
    DaysFirst,
    DecimalCommas,
    IgnoredColumns,
    MonthsFirst,
    NumberColumns,
    TagsColumns,
    TextColumns,
    TimeColumns,
)
from mixable.forecasters import AutoGAF
from mixable.forecasters.table import FORECASTERS
from mixable.learner import Design, design_of_classes
from mixable.streaming.errors import StreamError
from mixable.streaming.files import Lock, open_standard_descriptors
from mixable.streaming.loop import Stream
from mixable.streaming.model import StreamModel
from mixable.streaming.options import Options
from mixable.streaming.stops import Stops


class Format(str, Enum):
    """How events are written."""

    auto = "auto"
    csv = "csv"
    json = "json"


KINDS = {entry.short: entry.kind for entry in FORECASTERS if entry.streams}
# Read from the table.
Forecaster = Enum("Forecaster", [(name, name) for name in KINDS], type=str)  # type: ignore[misc]


def run_stream(
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
    number: NumberColumns = None,
    category: CategoryColumns = None,
    text: TextColumns = None,
    tags: TagsColumns = None,
    time: TimeColumns = None,
    ignore: IgnoredColumns = None,
    decimal_comma: DecimalCommas = None,
    day_first: DaysFirst = None,
    month_first: MonthsFirst = None,
    cross: Crosses = None,
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
    try:
        closed = open_standard_descriptors()
        source = None if source == Path("-") else source
        if (0 in closed and source is None) or (1 in closed and out is None):
            raise StreamError("standard input or output is closed; name a file")
        if learn and target is None:
            raise StreamError("--target COLUMN is needed, unless --no-learn")
        declared = {"number": number, "category": category, "text": text, "tags": tags}
        declared.update({"time": time, "ignore": ignore, "cross": cross})
        formats = {"day_first": day_first, "month_first": month_first}
        declared.update({"decimal_comma": decimal_comma, **formats})
        fixed = {"lam": lam, "beta": beta, "alpha": alpha, "drift": drift}
        is_json = None if format_ is Format.auto else format_ is Format.json
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
            is_json=is_json,
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
    except (StreamError, MemoryError) as error:
        reason = str(error)
    except OSError as error:
        # Reading alone leaves the name out.
        reason = f"{error.filename or source or 'standard input'}: {error.strerror}"
    else:
        raise typer.Exit(1 if in_vain else 0)
    messages.fail(reason)
    raise typer.Exit(2)


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


def names_of(text: str | None, option: str) -> tuple[str, ...] | None:
    """The names that an option lists; None if it is not given."""
    if text is None:
        return None
    names = tuple(name.strip() for name in text.split(","))
    if not all(names) or len(set(names)) < len(names):
        raise StreamError(f"{option} must be different names with commas between, got {text!r}")
    return names


def _design(forecaster: Forecaster | None, fixed: dict[str, float | None]) -> Design:
    """The forecaster that the options ask for."""
    kind = None if forecaster is None else KINDS[forecaster.value]
    try:
        if kind is AutoGAF:
            design = Design.for_classes(None, fixed)
        else:
            design = design_of_classes(kind, fixed)
        design.forecaster(1, 2)
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
        raise StreamError(f"{path} was made with other kinds of columns: {_given(model.declared)}")
    return model


def columns_of(declared: dict[str, str | None]) -> records.Columns | None:
    """What the options declare of the columns; None if nothing."""
    names = {kind: names_of(text, f"--{kind.replace('_', '-')}") for kind, text in declared.items()}
    given = {kind: each for kind, each in names.items() if each is not None}
    try:
        return records.Columns(**given) if given else None  # type: ignore[arg-type]
    except ValueError as error:
        raise StreamError(str(error)) from None


def _given(columns: records.Columns | None) -> str:
    """The options that declare some columns."""
    found = []
    for kind, names in ({} if columns is None else columns.__getstate__()).items():
        pairs = ("*".join(map(str, name)) for name in names) if kind == "cross" else map(str, names)
        if names:
            found.append(f"--{kind.replace('_', '-')} {','.join(pairs)}")
    return " ".join(found) or "none given"
