"""The options of a model on the command line: read from `ModelOptions`, the same everywhere."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from mixable.events.files import StreamError
from mixable.events.options import SENTENCES, ModelOptions, told

KINDS: dict[str, Any] = {"flag": bool, "names": str, "word": str, "real": float, "count": int}


def with_model_options(command: Callable[..., None]) -> Callable[..., None]:
    """A command with these options in place of its argument `given`, a dictionary."""
    signature = inspect.signature(command, eval_str=True)

    @functools.wraps(command)
    def run(**values: Any) -> None:
        asked = {each.name: values.pop(each.name) for each in told()}
        command(given={name: value for name, value in asked.items() if value is not None}, **values)

    def options(parameter: inspect.Parameter) -> list[inspect.Parameter]:
        if parameter.name != "given":
            return [parameter]
        made = []
        for each in told():
            about = each.sentence
            about = f"{about[:-1]}, by commas." if each.kind == "names" else about
            option = typer.Option(f"--{each.name.replace('_', '-')}", help=about)
            made.append(
                parameter.replace(
                    name=each.name,
                    annotation=Annotated[KINDS[each.kind] | None, option],
                    default=None,
                )
            )
        return made

    every = [each for parameter in signature.parameters.values() for each in options(parameter)]
    vars(run)["__signature__"] = signature.replace(parameters=every)
    return run


def model_options(given: dict[str, Any]) -> ModelOptions:
    """The options that were given, checked."""
    try:
        return ModelOptions(**given)
    except ValueError as error:
        name, _, why = str(error).partition(" ")
        option = f"--{name.replace('_', '-')}" if name in SENTENCES else name
        raise StreamError(f"{option} {why}") from None


def spelled(options: ModelOptions, names: list[str]) -> str:
    """Options as they are given on the command line."""
    found = []
    for name, value in options.to_json().items():
        if name in names:
            text = ",".join(value) if isinstance(value, list) else str(value)
            found.append(f"--{name.replace('_', '-')} {text}")
    return " ".join(found) or "none given"
