"""One run of a race: one forecaster with one setting over one order of the data, in one pass."""

from __future__ import annotations

import difflib
import hashlib
import json
import math
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from inspect import Parameter
from typing import Any

import numpy as np

from mixable import metrics
from mixable._config import __version__, one_blas_thread
from mixable.forecasters import AutoGAF, table
from mixable.forecasters.settings import RATES
from mixable.learner import Design, KernelPlan, Learner, design_of_classes, design_of_records
from mixable.learner.record_inputs import records_encoder
from mixable.paper.experiments import sources

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
    for entry in table.FORECASTERS:
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
    out["curved"] = replace(kernel, title="curved", parameters=("n_components",), fixed=pooled)
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
            encoder = records_encoder()
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
            return design_of_classes(None, free, features=features, standardize=standardize)
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
    """Run a task; return the loss curve, scores, time and AutoGAF's trust, as plain JSON."""
    n, learner, scores = task.layout.rows, task.make(), metrics.Scores()
    evenly = np.concatenate([np.linspace(1, n, POINTS), np.geomspace(1, n, POINTS)])
    marks = np.unique(evenly.round().astype(int))
    curve, trust, total, seconds, seen = [], [], 0.0, 0.0, 0
    # The trust is noted after each piece.
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
                trust.append([seen, *_trust(learner.forecaster)])
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
        "trust": trust,
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


def _trust(forecaster: AutoGAF) -> list[float]:
    """AutoGAF's trust by drift: none, each drift of the grid; then the class rates, the guard."""
    out = dict.fromkeys(trust_groups(), 0.0)
    for expert, trust in zip(forecaster.experts, forecaster.trust, strict=True):
        other = RATES if expert.kind == RATES else "guard"
        out[f"drift {expert.drift:g}" if expert.kind == "GAF" else other] += float(trust)
    return list(out.values())


def trust_groups() -> list[str]:
    """The groups of `trust`, in order."""
    drifts = sorted({drift for _, _, drift in AutoGAF.GRID})
    return [*(f"drift {drift:g}" for drift in drifts), RATES, "guard"]


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
