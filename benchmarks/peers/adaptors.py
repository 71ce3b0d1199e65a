"""The tools as contestants: how each is given rows, and how it forecasts and learns one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.contest import REFITTED, Contestant, Play, Setting, one_by_one
from benchmarks.peers.streams import Stream

Make = Callable[[Setting], Any]
Grid = tuple[Setting, ...]


def dictionaries(stream: Stream) -> list[tuple[dict[str, float], int]]:
    """Rows as dictionaries, with their labels."""
    features = [f"x{i}" for i in range(stream.d)]
    rows = [dict(zip(features, row, strict=True)) for row in stream.rows.tolist()]
    return list(zip(rows, stream.y.tolist(), strict=True))


def with_constant(stream: Stream) -> list[tuple[dict[str, float], int]]:
    """The same, with the feature that stands in for an intercept."""
    return [(row | {"constant": 1.0}, label) for row, label in dictionaries(stream)]


def play_river(model: Any, events: list[Any]) -> Play:
    """Play with a model of river, or one that has its interface."""

    def step(event: tuple[dict[str, Any], int]) -> Any:
        p = model.predict_proba_one(event[0])
        model.learn_one(*event)
        return p

    return one_by_one(events, step)


def river(
    name: str, make: Make, grid: Grid = (), *, inputs: Callable[[Stream], Any] = dictionaries
) -> Contestant:
    """A model of river."""
    return Contestant(
        name=f"river {name}",
        kind="river",
        package="river",
        inputs=inputs,
        start=lambda events, stream, setting: play_river(make(setting), events),
        grid=grid,
    )


def single_rows(stream: Stream) -> list[tuple[NDArray[np.float64], NDArray[np.int_]]]:
    """Tables of one row."""
    return [(stream.rows[t : t + 1], stream.y[t : t + 1]) for t in range(stream.n)]


def scikit_learn(
    name: str, make: Make, grid: Grid = (), *, inputs: Callable[[Stream], Any] = single_rows
) -> Contestant:
    """A model with `partial_fit`, given the classes in advance; before the first row it can only
    say 1/K.
    """

    def start(events: list[Any], stream: Stream, setting: Setting) -> Play:
        model, classes = make(setting), np.arange(stream.K)

        def step(event: tuple[Any, NDArray[np.int_]]) -> Any:
            p = np.full(stream.K, 1 / stream.K)
            if hasattr(model, "classes_"):
                p = model.predict_proba(event[0])[0]
            model.partial_fit(*event, classes=classes)
            return p

        return one_by_one(events, step)

    return Contestant(
        name=name,
        kind="scikit-learn",
        package="scikit-learn",
        inputs=inputs,
        start=start,
        grid=grid,
    )


def lines(stream: Stream) -> list[str]:
    """Rows in Vowpal Wabbit's format."""
    rows = zip(stream.rows.tolist(), stream.y.tolist(), strict=True)
    return [
        f"{label + 1} | " + " ".join(f"x{i}:{value!r}" for i, value in enumerate(row))
        for row, label in rows
    ]


def vowpal_wabbit(
    options: str, grid: Grid = (), *, inputs: Callable[[Stream], Any] = lines
) -> Contestant:
    """Vowpal Wabbit, one against all, given K in advance.

    Learning forecasts on its way, before the update: that is the forecast.
    """

    def start(events: list[str], stream: Stream, setting: Setting) -> Play:
        from vowpalwabbit import LabelType, PredictionType, Workspace

        words = " ".join(f"--{name} {value}" for name, value in setting.items())
        fixed = "--probabilities --loss_function logistic --quiet"
        workspace = Workspace(f"--oaa {stream.K} {fixed} {options} {words}")

        def step(line: str) -> Any:
            example = workspace.parse(line, LabelType.MULTICLASS)
            workspace.learn(example)
            p = example.get_prediction(PredictionType.SCALARS)
            workspace.finish_example(example)
            return p

        return one_by_one(events, step)

    return Contestant(
        name=f"VW {options}".strip(),
        kind="Vowpal Wabbit",
        package="vowpalwabbit",
        inputs=inputs,
        start=start,
        grid=grid,
    )


def refitted(name: str, package: str, make: Make, grid: Grid = ()) -> Contestant:
    """A batch model, fitted anew to all rows so far after 100, 200, 400, ... of them.

    Before the first time it says the frequencies of the classes.
    """

    def start(inputs: None, stream: Stream, setting: Setting) -> Play:
        X, y, n, K = stream.rows, stream.y, stream.n, stream.K
        p = np.zeros((n, K))

        def play(rows: range) -> NDArray[np.float64]:
            first = min(100, n)
            came = np.concatenate([np.zeros((1, K)), np.cumsum(np.eye(K)[y[:first]], axis=0)[:-1]])
            p[:first] = came + 1.0
            begin = 100
            while begin < n:
                end = min(2 * begin, n)
                model = make(setting).fit(X[:begin], y[:begin])
                p[begin:end, model.classes_] = model.predict_proba(X[begin:end])
                begin = end
            return p

        return play

    return Contestant(
        name=f"{name}, refitted",
        kind=REFITTED,
        package=package,
        inputs=lambda stream: None,
        start=start,
        grid=grid,
        whole=True,
    )
