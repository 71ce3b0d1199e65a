"""A race: many independent runs, here or on a cluster; each result is kept at once."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mixable._files import clear_parts, write_whole
from mixable.learner.inputs import ScaledInputs
from mixable.paper import regret
from mixable.paper.experiments import runs, sources

HINDSIGHT_RADIUS = 10.0
MOST_ROWS_IN_HINDSIGHT = 100_000
PATIENCE = 5.0  # seconds in which a Dask scheduler must answer


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """A forecaster on a data set, at its best setting in hindsight: quartiles, and the runs."""

    data: str
    forecaster: str
    setting: dict[str, Any]
    low: float
    median: float
    high: float
    accuracy: float
    calibration_error: float
    classwise_error: float
    microseconds: float
    regret: float | None
    results: list[dict[str, Any]]


class Store:
    """A folder with one small file for each finished run; one race at a time may write there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "runs"
        self.folder.mkdir(parents=True, exist_ok=True)
        clear_parts(self.folder)

    def get(self, key: str) -> dict[str, Any] | None:
        """Return a result, if it is there and whole."""
        try:
            found: dict[str, Any] = json.loads((self.folder / f"{key}.json").read_text())
        except (OSError, ValueError):
            return None
        return found

    def put(self, key: str, result: dict[str, Any]) -> None:
        """Keep a result: all of it or nothing."""
        write_whole(self.folder / f"{key}.json", json.dumps(result).encode())


def local(tasks: list[runs.Task], jobs: int) -> Iterator[tuple[runs.Task, dict[str, Any]]]:
    """Run tasks in processes of this machine, in any order."""
    if jobs == 1 or len(tasks) == 1:
        for task in tasks:
            yield task, runs.run(task)
        return
    from joblib import Parallel, delayed

    yield from Parallel(n_jobs=jobs, return_as="generator_unordered", pre_dispatch="4 * n_jobs")(
        delayed(with_task)(task) for task in tasks
    )


def with_task(task: runs.Task) -> tuple[runs.Task, dict[str, Any]]:
    """Run a task, and say which it was."""
    return task, runs.run(task)


def on_dask(tasks: list[runs.Task], scheduler: str) -> Iterator[tuple[runs.Task, dict[str, Any]]]:
    """Run tasks on a Dask cluster, again if a worker dies; all workers must read the files."""
    try:
        from distributed import Client, as_completed
        from distributed.comm.addressing import get_address_host
    except ImportError:
        raise sources.BadDataError(
            '--engine dask needs Dask: pip install "mixable[dask]"'
        ) from None
    try:
        get_address_host(scheduler)  # a client with a bad address could not even be closed
        # Dask is not typed throughout.
        client = Client(  # type: ignore[no-untyped-call]
            scheduler, set_as_default=False, timeout=PATIENCE
        )
    except (OSError, ValueError) as error:
        raise sources.BadDataError(
            f"no Dask scheduler answers at {scheduler}: {sources.one_line(error)}"
        ) from None
    with client:
        futures = {client.submit(runs.run, task, pure=False, retries=3): task for task in tasks}
        done = as_completed(list(futures), loop=client.loop)  # type: ignore[no-untyped-call]
        for future in done:
            yield futures[future], future.result()


def hindsight(layout: sources.Layout, store: Store) -> float | None:
    """The least loss of a linear model of norm 10 on z-scored features; None if too large."""
    if layout.rows > MOST_ROWS_IN_HINDSIGHT:
        return None
    task = runs.Task(data=layout.name, layout=layout, forecaster="hindsight", scale="zscore")
    known = store.get(task.key)
    if known is None:
        ((raw, y),) = runs.batches(task)
        inputs = ScaledInputs(layout.n_features, intercept=True, standardize=False, views=1)
        X, _ = inputs.stage(raw)
        best = regret.best_in_hindsight(
            X, y, HINDSIGHT_RADIUS, n_classes=len(layout.classes), tolerance=1e-6
        )
        known = {"loss": best.loss, "gap": best.gap}
        store.put(task.key, known)
    return float(known["loss"])


def standings(results: list[dict[str, Any]], best: dict[str, float | None]) -> list[Standing]:
    """Rank the forecasters of each data set, each at the setting of the least mean log loss."""
    groups: dict[tuple[str, str], dict[str, list[dict[str, Any]]]] = {}
    for result in results:
        settings = groups.setdefault((result["data"], result["forecaster"]), {})
        settings.setdefault(json.dumps(result["setting"]), []).append(result)
    data = list(dict.fromkeys(result["data"] for result in results))
    rows = [
        _standing(min(settings.values(), key=_mean_loss), best.get(name))
        for (name, _), settings in groups.items()
    ]
    return sorted(rows, key=lambda row: (data.index(row.data), row.median))


def _mean_loss(group: list[dict[str, Any]]) -> float:
    return statistics.fmean(result["log_loss"] for result in group)


def _standing(chosen: list[dict[str, Any]], least: float | None) -> Standing:
    """The runs of one forecaster with one setting."""
    first = chosen[0]
    low, median, high = np.quantile([each["log_loss"] for each in chosen], [0.25, 0.5, 0.75])
    names = ("accuracy", "calibration_error", "classwise_error", "microseconds")
    middle = {name: float(statistics.median(each[name] for each in chosen)) for name in names}
    return Standing(
        data=first["data"],
        forecaster=first["forecaster"],
        setting=first["setting"],
        low=float(low),
        median=float(median),
        high=float(high),
        **middle,
        regret=None if least is None else float(median) * first["n"] - least,
        results=sorted(chosen, key=_seed),
    )


def _seed(result: dict[str, Any]) -> int:
    return -1 if result["seed"] is None else int(result["seed"])


def table(results: list[dict[str, Any]]) -> Any:
    """All runs as a Polars data frame, one row each."""
    import polars as pl

    keys = ("data", "forecaster", "seed", "n", *runs.SCORES, "microseconds")
    rows = [
        {**{key: result[key] for key in keys}, "setting": json.dumps(result["setting"])}
        for result in results
    ]
    rows.sort(key=lambda row: (row["data"], row["forecaster"], row["setting"], _seed(row)))
    return pl.DataFrame(rows, infer_schema_length=None)
