"""A race: many independent runs, here or on a cluster; each result is kept at once.

A run is one forecaster with one setting over one order of the data, in one pass.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import math
import statistics
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from inspect import Parameter
from pathlib import Path
from typing import Any

import numpy as np

from mixable import metrics
from mixable._config import __version__, one_blas_thread
from mixable._files import clear_parts, write_whole
from mixable.experts import AutoGAF
from mixable.experts.settings import FREQUENCIES
from mixable.experts.table import FORECASTERS as TABLE
from mixable.model import Design, KernelPlan, Learner, design_of_classes, design_of_records
from mixable.model.inputs import ScaledInputs
from mixable.paper import regret
from mixable.paper.experiments import sources
from mixable.records import Encoder

Setting = tuple[tuple[str, float], ...]

SCORES = ("log_loss", "brier", "accuracy", "calibration_error", "classwise_error")
PAPER_GRID = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
LOOKED_AT = 100  # records that the kinds of columns are guessed from, as in a stream
POINTS = 120  # of a loss curve that are kept, evenly spaced in n, and as many in log n


@dataclass(frozen=True, kw_only=True, slots=True)
class Entrant:
    """Something that can be raced: its name in pictures, its class, what can be set, what is fixed.

    Without a class it is what is behind `GAFClassifier()` or `GAFClassifier(kernel="rbf")`.
    """

    title: str
    kind: type | None
    parameters: tuple[str, ...]
    searched: tuple[str, ...] = ()
    fixed: tuple[tuple[str, Any], ...] = ()


def _entrants() -> dict[str, Entrant]:
    """The forecasters of the table, the plug-in after GAF, the kernels, and the default."""
    out: dict[str, Entrant] = {}
    for entry in TABLE:
        if entry.short is None:
            continue
        # Without a default it is a size, and the data's.
        given = entry.parameters.items()
        settable = tuple(name for name, default in given if default is not Parameter.empty)
        out[entry.short] = Entrant(
            title=entry.name, kind=entry.kind, parameters=settable, searched=entry.searched
        )
        if entry.short == "gaf":
            fixed = (("alpha", math.inf),)
            out["plugin"] = replace(out["gaf"], title="GAF, plug-in", fixed=fixed)
    kernel = Entrant(title="kernel (Fourier)", kind=None, parameters=("n_components", "gamma"))
    out["kernel"] = replace(kernel, fixed=(("method", "fourier"),))
    nystroem = (("method", "nystroem"),)
    out["nystroem"] = replace(kernel, title="kernel (Nystroem)", fixed=nystroem)
    pooled = (("method", "pool"),)
    out["nonlinear"] = replace(
        kernel, title="nonlinear", parameters=("n_components",), fixed=pooled
    )
    return out


FORECASTERS = _entrants()


def check_forecaster(name: str, n_classes: int | None = None) -> None:
    """Raise BadDataError for a name that is not known, with the nearest one that is."""
    if name not in FORECASTERS:
        near = difflib.get_close_matches(name, FORECASTERS, n=1, cutoff=0.3)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        raise sources.BadDataError(
            f"no forecaster is called {name!r}{hint} There are {', '.join(FORECASTERS)}"
        )
    if name == "aioli" and n_classes is not None and n_classes > 2:
        raise sources.BadDataError("aioli is for two classes")


def settings(
    name: str, grid: str | dict[str, list[dict[str, float]]], alphas: tuple[float, ...]
) -> list[Setting]:
    """The settings of a forecaster that a race tries."""
    if isinstance(grid, dict):
        return [tuple(setting.items()) for setting in grid.get(name, [{}])]
    out: list[Setting] = [()]
    if grid == "paper":
        for parameter in FORECASTERS[name].searched:
            out = [(*setting, (parameter, value)) for setting in out for value in PAPER_GRID]
    if name == "gaf" and alphas != (1.0,):
        out = [(*setting, ("alpha", alpha)) for setting in out for alpha in alphas]
    return out


@dataclass(frozen=True, kw_only=True)
class Task:
    """What is to be run; `seed` shuffles the rows, None keeps their order."""

    data: str
    layout: sources.Layout
    forecaster: str
    scale: str
    setting: Setting = ()
    seed: int | None = None

    def make(self) -> Learner:
        """Return what learns; BadDataError if there is none with this setting."""
        try:
            labels = range(len(self.layout.classes))
            if not self.takes_records:
                return Learner(self._design(), self.layout.n_features, labels)
            encoder = Encoder()
            encoder.guess(next(sources.records(self.layout, LOOKED_AT))[0][:LOOKED_AT])
            design = design_of_records(self._design())
            return Learner(design, encoder.n_dense, labels, encoder=encoder)
        except (TypeError, ValueError, MemoryError) as error:
            what = f"{self.forecaster} with {dict(self.setting)}"
            raise sources.BadDataError(f"{self.data}: {what}: {sources.one_line(error)}") from None

    @property
    def takes_records(self) -> bool:
        """Whether it reads records, as `mixable stream` does, in place of numbers."""
        is_default = ("method", "pool") in FORECASTERS[self.forecaster].fixed
        return self.layout.has_words and is_default and self.scale in ("causal", "none")

    def _design(self) -> Design:
        """The forecaster and its inputs; rows that were scaled beforehand stay as they are."""
        entrant = FORECASTERS[self.forecaster]
        setting: dict[str, Any] = {**dict(self.setting), **dict(entrant.fixed)}
        standardize = self.scale == "causal"
        for name in dict(self.setting):
            if name not in entrant.parameters:
                known = ", ".join(entrant.parameters)
                raise TypeError(f"there is no parameter {name!r}; there are {known}")
        if entrant.kind is not None:
            return Design(entrant.kind, setting, standardize=standardize, intercept=True)
        components = float(setting.get("n_components", 200))
        if not components.is_integer():  # numbers of a grid are floats
            raise ValueError(f"n_components must be an integer, got {components:g}")
        if setting["method"] == "pool":
            features = (int(components), None, "nystroem")
            free: dict[str, float | None] = {"lam": None}
            options: dict[str, Any] = {"features": features, "standardize": standardize}
            return design_of_classes(None, free, memory=True, **options)
        plan = KernelPlan(
            method=setting["method"], n_components=int(components), gamma=setting.get("gamma")
        )
        return Design.for_classes(None, {"lam": None}, standardize=standardize, kernel=plan)

    @property
    def key(self) -> str:
        """A name for the result's file: the same for the same work on the same contents."""
        what = asdict(self)
        what["layout"] = {
            name: value for name, value in what["layout"].items() if name not in ("path", "remarks")
        }
        what["version"], what["scores"] = __version__, SCORES
        return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:24]


@one_blas_thread()
def run(task: Task) -> dict[str, Any]:
    """Run a task; return the loss curve, scores, time and AutoGAF's weight, as plain JSON."""
    n, learner, scores = task.layout.rows, task.make(), metrics.Scores()
    evenly = np.concatenate([np.linspace(1, n, POINTS), np.geomspace(1, n, POINTS)])
    marks = np.unique(evenly.round().astype(int))
    curve, shares, total, seconds, seen = [], [], 0.0, 0.0, 0
    # The weight is noted after each piece.
    piece = min(4096, max(16, n // 100)) if task.forecaster == "auto" else 4096
    for X, y in batches(task):
        for begin in range(0, len(y), piece):
            rows, labels = X[begin : begin + piece], y[begin : begin + piece]
            start = time.perf_counter()
            p = learner.run(rows, labels.tolist(), None)
            seconds += time.perf_counter() - start
            scores.update_many(p, labels)
            running = total + np.cumsum(-np.log(p[np.arange(len(labels)), labels]))
            here = marks[(marks > seen) & (marks <= seen + len(labels))]
            curve += [[int(mark), float(running[mark - seen - 1] / mark)] for mark in here]
            total, seen = float(running[-1]), seen + len(labels)
            if task.forecaster == "auto":
                shares.append([seen, *_expert_weights(learner.forecaster)])
    return {
        "data": task.data,
        "forecaster": task.forecaster,
        "setting": {
            name: value if math.isfinite(value) else str(value) for name, value in task.setting
        },
        "seed": task.seed,
        "n": seen,
        **{name: getattr(scores, name) for name in SCORES},
        "reliability": [list(row) for row in scores.reliability()],
        "worst": _worst(scores, task.layout.classes),
        "microseconds": 1e6 * seconds / seen,
        "curve": curve,
        "weights": shares,
    }


def _worst(scores: metrics.Scores, classes: tuple[str, ...]) -> dict[str, Any] | None:
    """The class whose forecasts are calibrated worst for its size, and its reliability."""
    worst = scores.worst_class
    if worst is None:
        return None
    return {
        "label": classes[worst.label],
        "forecast": worst.forecast,
        "rate": worst.rate,
        "error": worst.error,
        "reliability": [list(row) for row in scores.reliability_of(worst.label)],
    }


def _expert_weights(forecaster: AutoGAF) -> list[float]:
    """AutoGAF's weight by drift: none, each of the grid; class frequencies, fallback."""
    out = dict.fromkeys(weight_groups(), 0.0)
    for expert, shares in zip(forecaster.experts, forecaster.expert_weights, strict=True):
        other = FREQUENCIES if expert.kind == FREQUENCIES else "fallback"
        out[f"drift {expert.drift:g}" if expert.kind == "GAF" else other] += float(shares)
    return list(out.values())


def weight_groups() -> list[str]:
    """The groups of `expert_weights`, in order."""
    drifts = sorted({drift for _, _, drift in AutoGAF.GRID})
    return [*(f"drift {drift:g}" for drift in drifts), FREQUENCIES, "fallback"]


def _records(task: Task) -> Iterator[tuple[list[dict[str, Any]], Any]]:
    """Records and labels, in the order of the file or shuffled."""
    if task.seed is None:
        yield from sources.records(task.layout)
        return
    records, y = sources.all_records(task.layout)
    order = np.random.default_rng(task.seed).permutation(len(y))
    yield [records[i] for i in order.tolist()], y[order]


def batches(task: Task) -> Iterator[tuple[Any, Any]]:
    """Rows, scaled here unless that is to be done causally, or records; and labels."""
    layout = task.layout
    if task.forecaster in FORECASTERS and task.takes_records:
        yield from _records(task)
        return
    if task.seed is None and task.scale in ("causal", "none"):
        yield from sources.chunks(layout)
        return
    X, y = sources.table(layout)
    if task.seed is not None:
        order = np.random.default_rng(task.seed).permutation(len(y))
        X, y = X[order], y[order]
    if task.scale == "zscore":
        spread = np.nanstd(X, axis=0)
        X = np.clip((X - np.nanmean(X, axis=0)) / np.where(spread > 0, spread, 1.0), -10, 10)
    elif task.scale == "libsvm":
        low, high = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
        X = np.where(high > low, 2 * (X - low) / np.where(high > low, high - low, 1.0) - 1, 0.0)
    yield np.ascontiguousarray(X), y


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


def local(tasks: list[Task], jobs: int) -> Iterator[tuple[Task, dict[str, Any]]]:
    """Run tasks in processes of this machine, in any order."""
    if jobs == 1 or len(tasks) == 1:
        for task in tasks:
            yield task, run(task)
        return
    from joblib import Parallel, delayed

    yield from Parallel(n_jobs=jobs, return_as="generator_unordered", pre_dispatch="4 * n_jobs")(
        delayed(with_task)(task) for task in tasks
    )


def with_task(task: Task) -> tuple[Task, dict[str, Any]]:
    """Run a task, and say which it was."""
    return task, run(task)


def on_dask(tasks: list[Task], scheduler: str) -> Iterator[tuple[Task, dict[str, Any]]]:
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
        futures = {client.submit(run, task, pure=False, retries=3): task for task in tasks}
        done = as_completed(list(futures), loop=client.loop)  # type: ignore[no-untyped-call]
        for future in done:
            yield futures[future], future.result()


def hindsight(layout: sources.Layout, store: Store) -> float | None:
    """The least loss of a linear model of norm 10 on z-scored features; None if too large."""
    if layout.rows > MOST_ROWS_IN_HINDSIGHT:
        return None
    task = Task(data=layout.name, layout=layout, forecaster="hindsight", scale="zscore")
    known = store.get(task.key)
    if known is None:
        ((raw, y),) = batches(task)
        inputs = ScaledInputs(layout.n_features, intercept=True, standardize=False, views=1)
        X = inputs.scaler.learn(raw)
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

    keys = ("data", "forecaster", "seed", "n", *SCORES, "microseconds")
    rows = [
        {**{key: result[key] for key in keys}, "setting": json.dumps(result["setting"])}
        for result in results
    ]
    rows.sort(key=lambda row: (row["data"], row["forecaster"], row["setting"], _seed(row)))
    return pl.DataFrame(rows, infer_schema_length=None)
