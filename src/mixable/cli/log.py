"""`mixable export`, `mixable backup` and `mixable replay`: the log of a service."""

from __future__ import annotations

import contextlib
import dataclasses
from pathlib import Path
from typing import Annotated, Any

import typer

from mixable._config import one_blas_thread
from mixable.cli.consoles import Messages, for_tables, new_table
from mixable.cli.options import model_options, with_model_options
from mixable.events import exporting
from mixable.events.decisions import AgentOptions
from mixable.events.store import FILE, Store

Folder = Annotated[Path, typer.Argument(help="The folder of mixable serve.")]
Name = Annotated[str, typer.Argument(help="The model.")]


def _opened(folder: Path, name: str | None = None) -> Any:
    store = Store(folder, read_only=True)
    if name is not None and name not in store.models():
        known = ", ".join(sorted(store.models()))
        store.close()
        raise ValueError(f"{folder} has no model {name!r} (it has {known:.300})")
    return contextlib.closing(store)


def run_export(
    folder: Folder,
    name: Name = "default",
    out: Annotated[
        Path | None,
        typer.Option(help=".csv, .jsonl or .parquet; JSON lines to standard output if not given."),
    ] = None,
    since: Annotated[
        str | None, typer.Option(help="Events from this time on: 2024-03-01 or 2024-03-01T20:15.")
    ] = None,
) -> None:
    """Write the events of a model with their forecasts and outcomes, also while it serves."""
    messages = Messages()
    with messages.failing(ValueError, where=folder), _opened(folder, name) as store:
        n = exporting.export(store, name, out, exporting.since(since))
        messages.say(f"{n:,} events of {name}")


def run_backup(
    folder: Folder, target: Annotated[Path, typer.Argument(help="A new folder for the copy.")]
) -> None:
    """Copy the log and all models, also while the service writes."""
    messages = Messages()
    with messages.failing(ValueError, where=target), _opened(folder) as store:
        if target.exists() and any(target.iterdir()):
            raise ValueError(f"{target} is not empty; name a new folder")
        target.mkdir(parents=True, exist_ok=True)
        store.backup(target / FILE)
        messages.say(f"{target} is a copy of {folder}; mixable serve {target} would serve it")


@with_model_options
def run_replay(*, folder: Folder, name: Name = "default", given: dict[str, Any]) -> None:
    """Say what another model would have said on the same events, beside what was answered."""
    messages = Messages()
    with messages.failing(ValueError, where=folder), _opened(folder, name) as store:
        asked = model_options(given)
        changed = {each: getattr(asked, each) for each in given}
        first = store.options(name)
        if isinstance(first, AgentOptions):
            raise ValueError(f"{name} is an agent: export it, and ask mixable decide --evaluate")
        options = dataclasses.replace(first, **changed)
        with one_blas_thread():
            served, other = exporting.replay(store, name, options)
        title = f"{name}: what was answered, and what another model would have said"
        table = new_table(title, ("score", "served", "replayed"), left=("score",))
        for score, value in served.items():
            cells = ("-" if each is None else f"{each:.4g}" for each in (value, other.get(score)))
            table.add_row(score.replace("_", " "), *cells)
        for_tables().print(table)
