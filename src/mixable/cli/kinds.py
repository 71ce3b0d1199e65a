"""The options that declare columns: the same of streams and of services."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from mixable import records
from mixable.events.files import StreamError

KINDS = {
    "number": "Columns of numbers, by commas.",
    "category": "Columns of categories, by commas.",
    "text": "Columns of text, by commas.",
    "tags": "Columns of lists of tags, by commas.",
    "time": "Columns of times, by commas.",
    "ignore": "Columns to leave out, by commas.",
    "decimal_comma": "Numbers such as 1.234,50, by commas.",
    "day_first": "Times such as 31/12/2024, by commas.",
    "month_first": "Times such as 12/31/2024, by commas.",
    "cross": "Pairs of columns that count together: a*b,c*d.",
}


def declaring(command: Callable[..., None]) -> Callable[..., None]:
    """A command that has these options in place of its argument `declared`, a dictionary."""
    signature = inspect.signature(command, eval_str=True)

    @functools.wraps(command)
    def run(**given: Any) -> None:
        command(declared={kind: given.pop(kind) for kind in KINDS}, **given)

    def options(parameter: inspect.Parameter) -> list[inspect.Parameter]:
        if parameter.name != "declared":
            return [parameter]
        kinds = [(name, Annotated[str | None, typer.Option(help=h)]) for name, h in KINDS.items()]
        return [parameter.replace(name=n, annotation=a, default=None) for n, a in kinds]

    every = [each for parameter in signature.parameters.values() for each in options(parameter)]
    vars(run)["__signature__"] = signature.replace(parameters=every)
    return run


def names_of(text: str | None, option: str) -> tuple[str, ...] | None:
    """The names that an option lists; None if it is not given."""
    if text is None:
        return None
    names = tuple(name.strip() for name in text.split(","))
    if not all(names) or len(set(names)) < len(names):
        raise StreamError(f"{option} must be different names with commas between, got {text!r}")
    return names


def columns_of(declared: dict[str, str | None]) -> records.Columns | None:
    """What the options declare of the columns; None if nothing."""
    names = {kind: names_of(text, f"--{kind.replace('_', '-')}") for kind, text in declared.items()}
    given = {kind: each for kind, each in names.items() if each is not None}
    try:
        return records.Columns(**given) if given else None  # type: ignore[arg-type]
    except ValueError as error:
        raise StreamError(str(error)) from None


def options_of(columns: records.Columns | None) -> str:
    """The options that declare some columns."""
    found = []
    for kind, names in ({} if columns is None else columns.__getstate__()).items():
        pairs = ("*".join(map(str, name)) for name in names) if kind == "cross" else map(str, names)
        if names:
            found.append(f"--{kind.replace('_', '-')} {','.join(pairs)}")
    return " ".join(found) or "none given"
