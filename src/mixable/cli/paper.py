"""The commands of the paper: bounds, growth, the hard regime, kernels."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mixable import _validate
from mixable.cli.consoles import for_tables, new_table, tracked
from mixable.paper import bounds
from mixable.paper.experiments import growth
from mixable.paper.experiments import hard_regime as hard
from mixable.paper.experiments import kernels as kernel_loss


def positive(value: float) -> float:
    """Refuse what is not above zero, or infinite."""
    largest = _validate.LARGEST_SCALE
    if not 1 / largest <= value <= largest:
        wanted = f"must be above 0 ({1 / largest:g} to {largest:g})"
        raise typer.BadParameter(f"{wanted}, got {value:g}")
    return value


def bound(
    n: Annotated[int, typer.Option(min=1, help="Number of examples.")],
    d: Annotated[int, typer.Option(min=1, help="Number of features.")],
    classes: Annotated[int, typer.Option(min=2, help="Number of classes K.")],
    radius: Annotated[float, typer.Option(callback=positive, help="Norm B of the comparators.")],
    input_bound: Annotated[
        float, typer.Option("--bound", callback=positive, help="Norm R of the inputs.")
    ] = 1.0,
) -> None:
    """Print Table 1 of the paper with numbers: regret bounds at their least lam, and costs."""
    sizes = f"n = {n:,}, d = {d}, K = {classes}, B = {radius:g}, R = {input_bound:g}"
    title = f"{sizes}; predicting 1/K costs at most n log K in all"
    headings = ("algorithm", "regret bound (nats)", "per example", "operations", "")
    table = new_table(title, headings, left=("algorithm", ""))
    rows = bounds.table1(n, d, classes, radius, input_bound)
    for row in rows:
        numbers = f"{row.regret:,.4g}", f"{row.regret / n:.3g}", f"{row.cost:.2g}"
        table.add_row(row.algorithm, *numbers, row.remark)
    console = for_tables()
    console.print(table)
    console.print("Which forecaster each bound covers:")
    for row in rows:
        console.print(f"- {row.algorithm}: {row.covers}.")


def table1(
    only: Annotated[
        str | None, typer.Option(help=f"By commas: {', '.join(growth.ALGORITHMS)}.")
    ] = None,
) -> None:
    """Measure Table 1 of the paper: how time grows with d and K, and regret with n and B."""
    names = list(growth.ALGORITHMS) if only is None else [name.strip() for name in only.split(",")]
    for name in names:
        if name not in growth.ALGORITHMS:
            raise typer.BadParameter(
                f"no algorithm is called {name!r}; there are {', '.join(growth.ALGORITHMS)}"
            )
    title = "exponents fitted to measurements; regret on streams whose best model has norm B"
    times = ("time in d", "in K", "paper: time per step")
    regrets = ("regret in n", "in B", "paper: regret")
    texts = ("algorithm", "paper: time per step", "paper: regret")
    table = new_table(title, ("algorithm", *times, *regrets), left=texts)
    for name in tracked(names, "algorithms"):
        paper = growth.ALGORITHMS[name]
        found = growth.measure(name)
        times = f"{found.time_in_d:.2f}", f"{found.time_in_k:.2f}", paper.paper_time
        regrets = f"{found.regret_in_n:.2f}", f"{found.regret_in_b:.2f}", paper.paper_regret
        table.add_row(name, *times, *regrets)
    for_tables().print(table)


def hard_regime(
    out: Annotated[Path, typer.Option(help="Folder for hard-regime.png.")] = Path("hard-regime"),
    largest: Annotated[int, typer.Option(min=100, help="Largest n.")] = 100_000,
    seeds: Annotated[int, typer.Option(min=1, help="Streams to average over, for each chi.")] = 3,
) -> None:
    """Plot regret against n where proper forecasters must pay (Hazan, Koren and Levy 2014)."""
    powers = (100, 300, 1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
    sizes = [n for n in powers if n <= largest]
    results: list[hard.Result] = []
    widths: tuple[float | None, ...] = (*hard.EPS, None)
    for eps, n in tracked([(eps, n) for eps in widths for n in sizes], "streams"):
        results += hard.tuned_regrets(n, seeds) if eps is None else hard.regrets(n, eps, seeds)
    try:
        out.mkdir(parents=True, exist_ok=True)
        hard.plot(results, out / "hard-regime.png")
    except OSError as error:
        raise typer.BadParameter(f"cannot write to {out}: {error.strerror}") from None
    title = f"regret (nats) at n = {sizes[-1]:,}, the worse chi, mean of {seeds} streams"
    headings = ("forecaster", *(f"eps = {eps:g}" for eps in hard.EPS), "worst eps for n")
    table = new_table(title, headings, left=("forecaster",))
    last = {(each.forecaster, each.eps): each.regret for each in results if each.n == sizes[-1]}
    for name in hard.FORECASTERS:
        table.add_row(name, *(f"{last[name, eps]:.1f}" for eps in widths))
    for_tables().print(table)
    print(f"picture: {out / 'hard-regime.png'}")


def kernels(
    out: Annotated[Path, typer.Option(help="Folder for kernels.png.")] = Path("kernels"),
    largest: Annotated[int, typer.Option(min=10, help="Most features.")] = 1600,
    n: Annotated[
        int,
        typer.Option(
            min=50,
            help="Examples of each stream, at most; the exact forecaster's cost grows as n^3.",
        ),
    ] = 1000,
    seeds: Annotated[
        int, typer.Option(min=1, help="Draws of Fourier features to average over.")
    ] = 3,
) -> None:
    """Measure what Fourier features and Nystroem lose to the exact kernel forecaster."""
    try:
        out.mkdir(parents=True, exist_ok=True)  # before the runs, which take minutes
    except OSError as error:
        raise typer.BadParameter(f"cannot write to {out}: {error.strerror}") from None
    sizes = [m for m in (10, 25, 50, 100, 200, 400, 800, 1600) if m <= largest]
    references: list[kernel_loss.Reference] = []
    results: list[kernel_loss.Result] = []
    total = len(kernel_loss.STREAMS) * (1 + len(sizes) * len(kernel_loss.METHODS))
    runs = (
        each for name in kernel_loss.STREAMS for each in kernel_loss.measure(name, sizes, n, seeds)
    )
    for each in tracked(runs, "runs", total):
        if isinstance(each, kernel_loss.Reference):
            references.append(each)
        else:
            results.append(each)
    try:
        kernel_loss.plot(references, results, out / "kernels.png")
    except OSError as error:
        raise typer.BadParameter(f"cannot write to {out}: {error.strerror}") from None
    for reference in references:
        exactly = f"{reference.exact:.4f} exactly ({reference.microseconds:,.0f} us per example)"
        title = f"{reference.stream}: loss {exactly}, linear {reference.linear:.4f}"
        headings = ["features"]
        for method in kernel_loss.METHODS:
            headings += [f"{method}: loss", "regret", "|dlogp|", "us"]
        table = new_table(title, headings, left=())
        for m in sizes:
            cells = [str(m)]
            for each in results:
                if (each.stream, each.n_components) == (reference.stream, m):
                    cells += [f"{each.loss:.4f}", f"{each.regret:.2f}"]
                    cells += [f"{each.difference:.2g}", f"{each.microseconds:.0f}"]
            table.add_row(*cells)
        for_tables().print(table)
        n = len(reference.dimension)
        along = sorted({t for t in (50, 100, 200, 400, n) if t <= n})
        dimensions = [f"{reference.dimension[t - 1]:.0f} after {t} examples" for t in along]
        print(f"effective dimension: {', '.join(dimensions)}")
    print(f"picture: {out / 'kernels.png'}")
