"""`mixable race` and `mixable datasets`."""

from __future__ import annotations

import contextlib
import json
import math
import os
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from mixable._config import __version__
from mixable._files import clear_parts, write_whole
from mixable.cli.consoles import Messages, for_tables, new_table, printable
from mixable.paper.experiments import race, report, sources

SMALL = 5000  # rows up to which the paper's grid is the default
PAUSE = 10.0  # seconds between two lines of progress, where there is no terminal


class Engine(str, Enum):
    """Where the runs take place."""

    local = "local"
    dask = "dask"


class Scale(str, Enum):
    """How inputs are scaled."""

    causal = "causal"
    zscore = "zscore"
    libsvm = "libsvm"
    none = "none"


def list_datasets() -> None:
    """List the embedded data sets: sizes and sources."""
    title = "data sets that come with mixable (UCI Machine Learning Repository, CC BY 4.0)"
    headings = ("name", "rows", "features", "classes", "what it is")
    table = new_table(title, headings, left=("name", "what it is"))
    about = {
        "vehicle": "Statlog vehicle silhouettes (Turing Institute, Glasgow)",
        "shuttle": "Statlog shuttle (NASA); heavy tails, one class is 79% of all",
        "segment": "Statlog image segmentation (Vision Group, University of Massachusetts)",
    }
    for name in sources.EMBEDDED:
        layout = sources.survey(name, None)
        sizes = f"{layout.rows:,}", f"{layout.n_features}", f"{len(layout.classes)}"
        table.add_row(name, *sizes, about[name])
    for_tables().print(table)


def run_race(
    data: Annotated[
        list[str],
        typer.Argument(
            help="Embedded names (see `mixable datasets`) or CSV, Parquet, JSON-lines, ARFF or "
            "LIBSVM files."
        ),
    ],
    target: Annotated[
        str | None, typer.Option(help="The column to forecast; the last one if not given.")
    ] = None,
    forecasters: Annotated[
        str, typer.Option(help=f"Which, by commas: {', '.join(race.FORECASTERS)}.")
    ] = "nonlinear,auto,gaf,folklore,ons,ogd",
    grid: Annotated[
        str | None,
        typer.Option(
            help="Settings to try: paper, none, or a JSON file {forecaster: [{parameter: value}]}."
        ),
    ] = None,
    alphas: Annotated[
        str, typer.Option(help="Hedge widths of gaf in the grid, by commas; 1 is the paper's.")
    ] = "1",
    repeats: Annotated[int, typer.Option(min=1, help="Shuffled orders.")] = 5,
    keep_order: Annotated[
        bool,
        typer.Option("--keep-order", help="One pass in the order of the file, read in chunks."),
    ] = False,
    scale: Annotated[
        Scale,
        typer.Option(help="causal: by what came before; zscore, libsvm ([-1, 1]): in hindsight."),
    ] = Scale.causal,
    jobs: Annotated[int, typer.Option(help="Processes; 0 is one per core.")] = 0,
    engine: Annotated[Engine, typer.Option(help="Where to run.")] = Engine.local,
    scheduler: Annotated[str | None, typer.Option(help="Address of a Dask scheduler.")] = None,
    out: Annotated[
        Path, typer.Option(help="Folder for results; what is finished there is not done again.")
    ] = Path("race"),
    seed: Annotated[
        int, typer.Option(min=0, help="The first order's seed; the others follow.")
    ] = 0,
) -> None:
    """Run forecasters side by side over streams, one pass each, and show who leads and when."""
    messages = Messages()
    fail = messages.fail
    layouts, failed = {}, False
    try:
        names = [name.strip() for name in forecasters.split(",") if name.strip()]
        if "curved" in names:
            messages.say("curved is called nonlinear now", "yellow")
            names = ["nonlinear" if name == "curved" else name for name in names]
        for name in names:
            race.check_forecaster(name)
        widths = tuple(float(alpha) for alpha in alphas.split(","))
        if not all(width > 0 for width in widths):
            raise sources.BadDataError(f"--alphas must be above 0, got {alphas}")
        chosen = _grid(grid)
        if engine is Engine.dask and scheduler is None:
            raise sources.BadDataError("--engine dask needs --scheduler ADDRESS")
        out.mkdir(parents=True, exist_ok=True)
        store = race.Store(out)
        clear_parts(out / "race.json")
        (out / "race.json").touch()
    except ValueError as error:
        fail(str(error))
        raise typer.Exit(2) from None
    except OSError as error:
        fail(f"cannot write to {out}: {error.strerror}")
        raise typer.Exit(2) from None

    seeds: list[int | None] = [None] if keep_order else [seed + i for i in range(repeats)]
    tasks: list[race.Task] = []
    for name in dict.fromkeys(data):
        try:
            layout = sources.survey(name, target)
            default = "paper" if layout.rows <= SMALL else "none"
            alone = []  # in the order of the file
            for each in names:
                race.check_forecaster(each, len(layout.classes))
                plain = race.Task(data=name, layout=layout, forecaster=each, scale=scale.value)
                for setting in race.settings(each, chosen or default, widths):
                    alone.append(replace(plain, setting=setting))
                    alone[-1].make()
            tasks += [replace(task, seed=order) for order in seeds for task in alone]
            layouts[name] = layout
        except sources.BadDataError as error:
            fail(str(error))
            failed = True
    if not layouts:
        raise typer.Exit(2)
    done = {task.key: result for task in tasks if (result := store.get(task.key)) is not None}
    waiting = [task for task in tasks if task.key not in done]
    waiting.sort(key=lambda task: -task.layout.rows)  # the longest first
    if done:
        messages.say(f"{len(done)} of {len(tasks)} runs were finished before")
    ran: list[dict[str, Any]] = []
    finished = race.local(waiting, jobs if jobs > 0 else os.cpu_count() or 1)
    if engine is Engine.dask:
        finished = race.on_dask(waiting, scheduler or "")
    try:
        with _progress(messages, len(done), len(tasks)) as tick:
            for task, result in finished:
                store.put(task.key, result)
                done[task.key] = result
                ran.append(result)
                tick(len(done), _rate(ran))
    except sources.BadDataError as error:
        fail(str(error))
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        fail(f"stopped after {len(done)} of {len(tasks)} runs; the same command goes on from there")
        raise typer.Exit(130) from None

    best = {name: race.hindsight(layout, store) for name, layout in layouts.items()}
    results = [done[task.key] for task in tasks]
    standings = race.standings(results, best)
    described = {
        "command": shlex.join(["mixable", *sys.argv[1:]]),
        "data": list(layouts),
        "forecasters": names,
        "grid": chosen or f"paper up to {SMALL} rows, else none",
        "alphas": [width if math.isfinite(width) else "inf" for width in widths],
        "seeds": seeds,
        "scale": scale.value,
        "version": __version__,
        "rows": {name: layout.rows for name, layout in layouts.items()},
        "remarks": {name: list(layout.remarks) for name, layout in layouts.items()},
        "best_in_hindsight": best,
    }
    write_whole(out / "race.json", json.dumps(described, indent=1).encode())
    race.table(results).write_parquet(out / "results.parquet")
    sizes = {name: len(layout.classes) for name, layout in layouts.items()}
    drawn = report.draw(standings, sizes, out)
    report.write(out / "report.html", standings, drawn, described)
    _show(standings, layouts)
    where = printable(str(out / "report.html"))
    print(f"{where}, loss.png, reliability.png, results.parquet, race.json")
    if failed:
        raise typer.Exit(2)


@contextlib.contextmanager
def _progress(messages: Messages, before: int, total: int) -> Iterator[Callable[[int, str], None]]:
    """Show how many runs are finished: a bar, or where there is no terminal a line now and then."""
    if messages.console.is_terminal:
        counts = (TextColumn("runs"), BarColumn(), MofNCompleteColumn())
        speed = (TextColumn("{task.fields[rate]}"), TimeRemainingColumn())
        with Progress(*counts, *speed, console=messages.console) as bar:
            shown = bar.add_task("runs", total=total, completed=before, rate="")
            yield lambda done, rate: bar.update(shown, completed=done, rate=rate)
        return
    began = said = time.monotonic()

    def tick(done: int, rate: str) -> None:
        nonlocal said
        now = time.monotonic()
        if done == total or now - said >= PAUSE:
            said = now
            left = (now - began) / (done - before) * (total - done)
            parts = [f"{done} of {total} runs", rate, f"about {left:.0f} s left" if left else ""]
            messages.say(", ".join(filter(None, parts)))

    if not before:  # or it has been said
        messages.say(f"{before} of {total} runs")
    yield tick


def _rate(results: list[dict[str, Any]]) -> str:
    """The mean rate of some runs."""
    took = sum(each["n"] * each["microseconds"] for each in results)
    return f"{sum(each['n'] for each in results) / took:.2f} M examples/s" if took else ""


def _grid(grid: str | None) -> str | dict[str, list[dict[str, float]]] | None:
    if grid in (None, "paper", "none"):
        return grid
    try:
        found = json.loads(Path(str(grid)).read_text())
        chosen = {
            str(name): [{str(k): float(v) for k, v in setting.items()} for setting in settings]
            for name, settings in found.items()
        }
    except OSError as error:
        raise sources.BadDataError(
            f"--grid {grid}: {error.strerror}; it is paper, none or a JSON file"
        ) from None
    except (ValueError, AttributeError, TypeError):
        raise sources.BadDataError(
            f'--grid {grid}: must hold {{"gaf": [{{"lam": 0.1, "beta": 1}}, ...], ...}}'
        ) from None
    for name in chosen:
        race.check_forecaster(name)
    return chosen


def _show(standings: list[race.Standing], layouts: dict[str, sources.Layout]) -> None:
    for name, layout in layouts.items():
        rows = [row for row in standings if row.data == name]
        repeats = len(rows[0].results)
        sizes = f"{layout.n_features} features, {len(layout.classes)} classes"
        title = f"{printable(name)}: {layout.rows:,} rows, {sizes}; "
        title += f"{repeats} orders" if repeats > 1 else "one pass"
        texts = ("forecaster", "best setting")
        lines = [report.cells(row) for row in rows]
        table = new_table(title, lines[0], texts, "; ".join(layout.remarks) or None)
        for line in lines:
            table.add_row(*line.values())
        for_tables().print(table)
        if rows[0].regret is None:
            many = f"{layout.rows:,} rows are too many"
            print(f"regret skipped: {many} to fit the best model in hindsight")
