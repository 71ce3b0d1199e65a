"""The commands of `mixable`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

from mixable import bounds
from mixable.experiments import hard_regime as hard

app = typer.Typer(help="Online probabilistic prediction with a bound on the regret.", no_args_is_help=True, pretty_exceptions_enable=False)


def positive(value: float) -> float:
    """Refuse what is not above zero, or infinite."""
    if not 1e-100 <= value <= 1e100:
        raise typer.BadParameter(f"must be above 0 (1e-100 to 1e100), got {value:g}")
    return value


@app.callback()
def common() -> None:
    """Keep `bound` a command of its own even when it is the only one."""


@app.command()
def bound(
    n: Annotated[int, typer.Option(min=1, help="Number of examples.")],
    d: Annotated[int, typer.Option(min=1, help="Number of features.")],
    classes: Annotated[int, typer.Option(min=2, help="Number of classes K.")],
    radius: Annotated[float, typer.Option(callback=positive, help="Norm B of the comparators.")],
    input_bound: Annotated[float, typer.Option("--bound", callback=positive, help="Norm R of the inputs.")] = 1.0,
) -> None:
    """Print Table 1 of the paper with numbers in it: regret bounds and total costs."""
    table = Table(
        title=f"n = {n:,}, d = {d}, K = {classes}, B = {radius:g}, R = {input_bound:g}; predicting 1/K costs at most n log K in all"
    )
    for name in ("algorithm", "regret bound (nats)", "per example", "operations", ""):
        table.add_column(name, justify="left" if name in ("algorithm", "") else "right")
    for row in bounds.table1(n, d, classes, radius, input_bound):
        table.add_row(row.algorithm, f"{row.regret:,.4g}", f"{row.regret / n:.3g}", f"{row.cost:.2g}", row.remark)
    Console(width=None if Console().is_terminal else 120).print(table)


@app.command()
def hard_regime(
    out: Annotated[Path, typer.Option(help="Folder for hard-regime.png.")] = Path("hard-regime"),
    largest: Annotated[int, typer.Option(min=100, help="Largest n.")] = 100_000,
    seeds: Annotated[int, typer.Option(min=1, help="Streams to average over, for each chi.")] = 3,
) -> None:
    """Plot regret against n where proper forecasters must pay (Hazan, Koren and Levy 2014), for several eps and both sets of constants."""
    sizes = [n for n in (100, 300, 1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000) if n <= largest]
    console = Console(stderr=True)
    results: list[hard.Result] = []
    for eps, n in track(
        [(eps, n) for eps in hard.EPS for n in sizes], description="streams", console=console, disable=not console.is_terminal
    ):
        results += hard.regrets(n, eps, seeds)
    try:
        out.mkdir(parents=True, exist_ok=True)
        hard.plot(results, out / "hard-regime.png")
    except OSError as error:
        raise typer.BadParameter(f"cannot write to {out}: {error.strerror}") from None
    table = Table(title=f"regret (nats) at n = {sizes[-1]:,}, the worse chi, mean of {seeds} streams")
    table.add_column("forecaster")
    for eps in hard.EPS:
        table.add_column(f"eps = {eps:g}", justify="right")
    for name in hard.FORECASTERS:
        last = {result.eps: result.regret for result in results if result.forecaster == name and result.n == sizes[-1]}
        table.add_row(name, *(f"{last[eps]:.1f}" for eps in hard.EPS))
    Console(width=None if Console().is_terminal else 120).print(table)
    print(f"picture: {out / 'hard-regime.png'}")
