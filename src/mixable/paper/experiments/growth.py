"""Table 1 of the paper, measured: exponents of time in d and K, and of regret in n and B."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from mixable._config import one_blas_thread
from mixable._types import Array, Labels, Stream
from mixable.experts import GAF
from mixable.paper.baselines import OGD, ONS, Folklore, Foster
from mixable.paper.losses import log_loss
from mixable.paper.regret import best_in_hindsight


@dataclass(frozen=True, kw_only=True, slots=True)
class Growth:
    """Measured exponents of one algorithm."""

    time_in_d: float
    time_in_k: float
    regret_in_n: float
    regret_in_b: float


Maker = Callable[[int, int, float, int], Any]


@dataclass(frozen=True, slots=True)
class Algorithm:
    """How to make it for (d, K, B, n), what the paper says of it, and where it is measured."""

    make: Maker
    paper_time: str
    paper_regret: str
    _: KW_ONLY
    sizes: tuple[int, ...] = (64, 128, 256, 512)  # d
    classes: tuple[int, ...] = (8, 16, 32, 64)  # K
    lengths: tuple[int, ...] = (1000, 3000, 10_000, 30_000)  # n
    radii: tuple[float, ...] = (1.0, 2.0, 4.0, 8.0)  # B


ALGORITHMS = {
    "OGD": Algorithm(
        lambda d, K, B, n: OGD.from_theory(d, K, radius=B, bound=1.0),
        "d K",
        "B sqrt(n)",
        sizes=(512, 1024, 2048, 4096),
        classes=(16, 64, 256, 1024),
    ),
    "ONS": Algorithm(
        lambda d, K, B, n: ONS(d, K, lam=1.0, beta=min(1.0, 1 / (8 * B))),
        "(d K)^2, with projection (d K)^3",
        "e^B log(n)",
    ),
    "GAF": Algorithm(
        lambda d, K, B, n: GAF.from_theory(d, K, radius=B, bound=1.0, horizon=n, constants="tight"),
        "d^2 K^3 + K^2 m",
        "B^2 + B log(n)",
    ),
    "Folklore": Algorithm(
        lambda d, K, B, n: Folklore.from_theory(d, K, radius=B, bound=1.0), "d^2 K^3", "B log(n)"
    ),
    "Foster et al.": Algorithm(
        lambda d, K, B, n: Foster.from_theory(d, K, radius=B, horizon=n, m=20, force=True),
        "B^6 n^24 (B n + d K)^12",
        "log(B n)",
        sizes=(2, 4, 8, 16),
        classes=(2, 3, 5, 8),
        lengths=(50, 100, 200),
        radii=(1.0, 2.0, 4.0),
    ),
}


def slope(x: Sequence[float], y: list[float]) -> float:
    """The exponent: the slope of log y in log x."""
    return float(np.polyfit(np.log(x), np.log(np.maximum(y, 1e-12)), 1)[0])


def stream(n: int, d: int, K: int, radius: float, seed: int = 0) -> Stream:
    """Inputs in the unit ball, labels drawn from a softmax of weights of norm `radius`."""
    rng = np.random.default_rng([seed, n, d, K])
    X = rng.normal(size=(n, d))
    X /= np.maximum(1.0, np.linalg.norm(X, axis=1, keepdims=True))
    W = rng.normal(size=(K, d))
    return X, (X @ (W * radius / np.linalg.norm(W)).T + rng.gumbel(size=(n, K))).argmax(axis=1)


def seconds_per_step(make: Maker, d: int, K: int, budget: float) -> float:
    """Processor time of one step: the best of three runs, each of at least `budget` seconds."""

    def seconds(X: Array, y: Labels) -> float:
        forecaster = make(d, K, 1.0, 10_000)
        start = time.process_time()
        forecaster.run(X, y)
        return time.process_time() - start

    n = 8
    while True:
        X, y = stream(n, d, K, 1.0)
        took = seconds(X, y)
        if took > budget:
            return min(took, seconds(X, y), seconds(X, y)) / n
        n *= 4


@one_blas_thread()
def measure(name: str, budget: float = 0.05) -> Growth:
    """Fit the exponents of one algorithm."""
    measured = ALGORITHMS[name]
    make, sizes, classes = measured.make, measured.sizes, measured.classes
    in_d = slope(sizes, [seconds_per_step(make, d, 3, budget) for d in sizes])
    in_k = slope(classes, [seconds_per_step(make, 4, K, budget) for K in classes])

    def regret(n: int, B: float) -> float:
        X, y = stream(n, 2, 3, B)
        best = best_in_hindsight(X, y, B, n_classes=3).loss
        return float(log_loss(make(2, 3, B, n).run(X, y), y).sum()) - best

    lengths, radii = measured.lengths, measured.radii
    in_n = slope(lengths, [regret(n, 2.0) for n in lengths])
    in_b = slope(radii, [regret(lengths[-1], B) for B in radii])
    return Growth(time_in_d=in_d, time_in_k=in_k, regret_in_n=in_n, regret_in_b=in_b)
