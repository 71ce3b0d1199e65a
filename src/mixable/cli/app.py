"""The commands of `mixable`, each imported when it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from mixable._config import __version__

# By name: where it is, and the first sentence of it.
COMMANDS = {
    "race": (
        "race.run_race",
        "Run forecasters side by side over streams, one pass each, and show who leads and when.",
    ),
    "datasets": ("race.list_datasets", "List the embedded data sets: sizes and sources."),
    "stream": (
        "stream.run_stream",
        "Forecast events, learn when labels come, and lose nothing when the machine dies.",
    ),
    "serve": (
        "serve.run_serve",
        "Forecast over HTTP, learn when outcomes come, lose nothing, and show a page of it.",
    ),
    "decide": (
        "decide.run_decide",
        "Choose actions for contexts, learn rewards when they come, evaluate policies by the log.",
    ),
    "export": (
        "log.run_export",
        "Write the events of a model with their forecasts and outcomes, also while it serves.",
    ),
    "backup": ("log.run_backup", "Copy the log and all models, also while the service writes."),
    "replay": (
        "log.run_replay",
        "Say what another model would have said on the same events, beside what was answered.",
    ),
    "bound": (
        "paper.bound",
        "Print Table 1 of the paper with numbers: regret bounds at their least lam, and costs.",
    ),
    "table1": (
        "paper.table1",
        "Measure Table 1 of the paper: how time grows with d and K, and regret with n and B.",
    ),
    "hard-regime": (
        "paper.hard_regime",
        "Plot regret against n where proper forecasters must pay (Hazan, Koren and Levy 2014).",
    ),
    "kernels": (
        "paper.kernels",
        "Measure what Fourier features and Nystroem lose to the exact kernel forecaster.",
    ),
}


class OnDemand(TyperGroup):
    """Knows its commands by a sentence each, until one is asked for."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands = {
            name: TyperCommand(name, help=said) for name, (_, said) in COMMANDS.items()
        }

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Import the command, if there is one of that name."""
        if args[0] in COMMANDS:
            self.commands[args[0]] = command_called(args[0])
        return super().resolve_command(ctx, args)


def command_called(name: str) -> TyperCommand:
    """The command itself."""
    module, _, function = COMMANDS[name][0].partition(".")
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    alone.command(name)(getattr(import_module(f"mixable.cli.{module}"), function))
    made = typer.main.get_command(alone)
    assert isinstance(made, TyperCommand)
    return made


app = typer.Typer(cls=OnDemand, no_args_is_help=True, pretty_exceptions_enable=False)


def print_version(wanted: bool) -> None:
    """Print the package's version, and nothing else."""
    if wanted:
        print(f"mixable {__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Online probabilistic prediction with a bound on the regret."""
