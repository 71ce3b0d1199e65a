"""The streams of benchmarks/regression.py: made here, or shipped with river and scikit-learn.

Half of them chose the grids of `GAFRegressor()`; the others were held out of the choice. Nothing
is downloaded.
"""

from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from river import datasets
from river.datasets import synth
from sklearn.datasets import load_diabetes, make_friedman1, make_friedman2, make_friedman3

Array = NDArray[np.float64]
Data = tuple[Array, Array]
ROWS = 1000  # of the streams that are made
DAY = 24  # hours


class Stream(NamedTuple):
    """Rows (n, d) and targets (n,), in the order in which all see them."""

    name: str
    X: Array
    y: Array


def _linear(rng: Generator, n: int = ROWS) -> Data:
    X = rng.normal(size=(n, 10))
    return X, X @ rng.normal(size=10) + rng.normal(size=n)


def _correlated(rng: Generator) -> Data:
    X = rng.normal(size=(ROWS, 4)) @ rng.normal(size=(4, 20)) + 0.1 * rng.normal(size=(ROWS, 20))
    return X, X @ rng.normal(size=20) + rng.normal(size=ROWS)


def _sparse(rng: Generator) -> Data:
    X = rng.normal(size=(ROWS, 50))
    return X, X[:, :3] @ np.array([2.0, -1.0, 0.5]) + rng.normal(size=ROWS)


def _friedman1(rng: Generator) -> Data:
    X, y = make_friedman1(ROWS, noise=1.0, random_state=int(rng.integers(99)))
    return X, y


def _friedman2(rng: Generator) -> Data:
    X, y = make_friedman2(ROWS, noise=100.0, random_state=int(rng.integers(99)))
    return X, y


def _friedman3(rng: Generator) -> Data:
    X, y = make_friedman3(ROWS, noise=0.1, random_state=int(rng.integers(99)))
    return X, y


def _outliers(rng: Generator) -> Data:
    X, y = _friedman1(rng)
    return X, y + np.where(rng.random(ROWS) < 0.03, 100 * rng.normal(size=ROWS), 0.0)


def _piecewise(rng: Generator) -> Data:
    X = rng.uniform(size=(ROWS, 4))
    steps = np.where(X[:, 0] > 0.5, 2.0, -1.0) + np.where(X[:, 1] + X[:, 2] > 1, 3 * X[:, 3], 0.0)
    return X, steps + 0.3 * rng.normal(size=ROWS)


def _sinus(rng: Generator) -> Data:
    X = rng.uniform(-3, 3, size=(ROWS, 2))
    return X, np.sin(2 * X[:, 0]) + 0.5 * np.cos(3 * X[:, 1]) + 0.2 * rng.normal(size=ROWS)


def _products(rng: Generator) -> Data:
    X = rng.normal(size=(ROWS, 6))
    return X, X[:, 0] * X[:, 1] + 0.5 * X[:, 2] * X[:, 3] + 0.3 * rng.normal(size=ROWS)


def _heteroscedastic(rng: Generator) -> Data:
    X = rng.uniform(-2, 2, size=(ROWS, 3))
    sd = np.exp(X[:, 0])
    return X, 2 * X[:, 0] + np.sin(3 * X[:, 1]) + 0.5 * sd * rng.normal(size=ROWS)


def _uneven(rng: Generator) -> Data:
    """Linear; the deviation of the noise goes up and down with time."""
    X = rng.normal(size=(ROWS, 6))
    sd = np.exp(np.sin(np.arange(ROWS) / 80))
    return X, X @ rng.normal(size=6) + sd * rng.normal(size=ROWS)


def _walk(rng: Generator) -> Data:
    X = rng.normal(size=(ROWS, 6))
    theta = np.cumsum(0.1 * rng.normal(size=(ROWS, 6)), axis=0)
    return X, np.einsum("ij,ij->i", X, theta) + rng.normal(size=ROWS)


def _switch(rng: Generator) -> Data:
    X = rng.normal(size=(ROWS, 8))
    theta = rng.normal(size=(4, 8))[np.arange(ROWS) * 4 // ROWS]
    return X, np.einsum("ij,ij->i", X, theta) + 0.5 * rng.normal(size=ROWS)


def _heavy(rng: Generator) -> Data:
    X = rng.normal(size=(ROWS, 8))
    return X, X @ rng.normal(size=8) + rng.standard_t(2, size=ROWS)


def _heavy_sinus(rng: Generator) -> Data:
    X = rng.uniform(-3, 3, size=(ROWS, 3))
    return X, 2 * np.sin(2 * X[:, 0]) + X[:, 1] + 0.5 * rng.standard_t(2.5, size=ROWS)


def _lognormal(rng: Generator) -> Data:
    X = rng.normal(size=(ROWS, 5))
    return X, np.exp(0.6 * X @ rng.normal(size=5) + 0.3 * rng.normal(size=ROWS))


def _tailed_inputs(rng: Generator) -> Data:
    X = rng.standard_t(2, size=(ROWS, 5))
    return X, np.tanh(X[:, 0]) + np.sin(X[:, 1]) + 0.3 * rng.standard_t(3, size=ROWS)


def _diabetes(rng: Generator) -> Data:
    X, y = load_diabetes(return_X_y=True)
    order = rng.permutation(len(y))
    return X[order], y[order]


def _river(stream: Iterator[tuple[dict[Any, Any], float]]) -> Data:
    """Numbers as they are; texts by their place among those met."""
    rows, targets, texts = [], [], dict[str, int]()
    for x, y in stream:
        rows.append(
            [texts.setdefault(v, len(texts)) if isinstance(v, str) else v for v in x.values()]
        )
        targets.append(y)
    return np.array(rows, dtype=float), np.array(targets, dtype=float)


def _with_lags(stream: Iterator[tuple[dict[str, datetime], float]], period: int) -> Data:
    """A series of which only the time is given: the last targets, and the phase of a period."""
    y = np.array([target for _, target in stream], dtype=float)
    t = np.arange(len(y))
    phase = 2 * np.pi * t / period
    before = [np.concatenate([np.full(k, y[0]), y[:-k]]) for k in (1, 2, period)]
    return np.column_stack([np.sin(phase), np.cos(phase), t, *before]), y


CHOICE: dict[str, Callable[[Generator], Data]] = {
    "linear": _linear,
    "correlated": _correlated,
    "friedman1": _friedman1,
    "friedman3": _friedman3,
    "piecewise": _piecewise,
    "products": _products,
    "heteroscedastic": _heteroscedastic,
    "walk": _walk,
    "heavy": _heavy,
    "outliers": _outliers,
    "diabetes": _diabetes,
    "chicks": lambda _: _river(iter(datasets.ChickWeights())),
    "friedman-drift": lambda _: _river(
        islice(iter(synth.FriedmanDrift(position=(250, 500, 750), seed=1)), ROWS)
    ),
}
"""Streams on which the grids were chosen."""

KEPT_OUT: dict[str, Callable[[Generator], Data]] = {
    "sparse": _sparse,
    "friedman2": _friedman2,
    "sinus": _sinus,
    "uneven": _uneven,
    "switch": _switch,
    "heavy-sinus": _heavy_sinus,
    "lognormal": _lognormal,
    "tailed-inputs": _tailed_inputs,
    "trump": lambda _: _river(iter(datasets.TrumpApproval())),
    "water": lambda _: _with_lags(iter(datasets.WaterFlow()), DAY),
    "airline": lambda _: _with_lags(iter(datasets.AirlinePassengers()), 12),
    "mv": lambda _: _river(islice(iter(synth.Mv(seed=1)), ROWS)),
    "planes": lambda _: _river(islice(iter(synth.Planes2D(seed=1)), ROWS)),
}
"""Streams that were looked at when the grids had been chosen."""


def streams(makers: dict[str, Callable[[Generator], Data]]) -> Iterator[Stream]:
    """Make each stream, from a seed of its own."""
    for seed, (name, make) in enumerate(makers.items()):
        yield Stream(name, *make(np.random.default_rng(seed)))
