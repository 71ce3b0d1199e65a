"""What approximating a kernel costs: loss, regret and time against the number of features."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mixable import datasets
from mixable._config import one_blas_thread
from mixable._types import Array, Labels, Stream
from mixable.experts import GAF
from mixable.kernels import Fourier, Nystroem
from mixable.paper.experiments.report import pyplot
from mixable.paper.integrals import Quadrature, Sobol
from mixable.paper.kernel_gaf import KernelGAF
from mixable.paper.losses import Logistic, log_loss

LAM, ALPHA = 0.01, 4.0  # of all forecasters here
# Name: the kernel's gamma, for z-scored inputs.
STREAMS = {"checkerboard": 8.0, "vehicle": 1 / 18}
METHODS = ("fourier", "nystroem")


@dataclass(frozen=True, kw_only=True, slots=True)
class Reference:
    """Losses of the exact forecaster and a linear one, and the effective dimension over time."""

    stream: str
    exact: float
    linear: float
    dimension: Array
    microseconds: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """One approximation: its log loss, regret to the exact one, mean |dlog p|, and time."""

    stream: str
    method: str
    n_components: int
    loss: float
    regret: float
    difference: float
    microseconds: float


def stream(name: str, n: int) -> Stream:
    """Return z-scored inputs and labels, in random order."""
    X, y = datasets.make_shapes(n, name) if name != "vehicle" else datasets.load_vehicle()[:2]
    order = np.random.default_rng(0).permutation(len(y))[:n]
    return ((X - X.mean(axis=0)) / X.std(axis=0))[order], y[order]


def timed(forecaster: GAF | KernelGAF, X: Array, y: Labels) -> tuple[Array, float]:
    """Forecasts, and seconds per example."""
    start = time.perf_counter()
    p = forecaster.run(X, y)
    return p, (time.perf_counter() - start) / len(y)


def features(
    method: str, X: Array, n_components: int, gamma: float, seed: int
) -> tuple[Array, float]:
    """Return features of the rows, causally, and seconds per example."""
    d = X.shape[1]
    start = time.perf_counter()
    kernel: Fourier | Nystroem = Nystroem(d, n_components, gamma=gamma)
    if method == "fourier":
        kernel = Fourier(d, n_components, gamma=gamma, seed=seed)
    phi, _ = kernel.learn(X)
    return phi, (time.perf_counter() - start) / len(X)


def measure(name: str, sizes: list[int], n: int, seeds: int) -> Iterator[Reference | Result]:
    """Run a stream: first the reference, then each method with each number of features.

    Means over the seeds, which only Fourier features have a use for, and the shortest time.
    """
    with one_blas_thread():
        yield from _measure(name, sizes, n, seeds)


def _measure(name: str, sizes: list[int], n: int, seeds: int) -> Iterator[Reference | Result]:
    X, y = stream(name, n)
    K, gamma = int(y.max()) + 1, STREAMS[name]
    rule = Logistic(K, Quadrature() if K == 2 else Sobol(128))
    dual = KernelGAF(rule, X.shape[1], gamma=gamma, lam=LAM, alpha=ALPHA)
    exact, seconds = timed(dual, X, y)
    with_ones = np.column_stack([np.ones(len(X)), X])
    linear = GAF(X.shape[1] + 1, K, lam=LAM, alpha=ALPHA).run(with_ones, y)
    yield Reference(
        stream=name,
        exact=float(log_loss(exact, y).mean()),
        linear=float(log_loss(linear, y).mean()),
        dimension=dual.effective_dimension(),
        microseconds=1e6 * seconds,
    )
    for m in sizes:
        for method in METHODS:
            runs = []
            for seed in range(seeds):
                phi, making = features(method, X, m, gamma, seed)
                p, running = timed(GAF(m, K, lam=LAM, alpha=ALPHA, mu=0.0), phi, y)
                each, best = log_loss(p, y), log_loss(exact, y)
                gap = np.abs(np.log(p) - np.log(exact)).mean()
                scores = each.mean(), each.sum() - best.sum(), gap
                runs.append((*scores, 1e6 * (making + running)))
            names = ("loss", "regret", "difference")
            means = dict(zip(names, np.mean(runs, axis=0)[:3].tolist(), strict=True))
            fastest = min(microseconds for *_, microseconds in runs)
            yield Result(stream=name, method=method, n_components=m, microseconds=fastest, **means)


def plot(references: list[Reference], results: list[Result], path: Path) -> None:
    """One row of panels for each stream: loss, regret, difference of log p, time."""
    plt = pyplot()
    size = (15, 3.6 * len(references))
    figure, rows = plt.subplots(len(references), 4, figsize=size, dpi=150, squeeze=False)
    titles = {
        "loss": "log loss per example",
        "regret": "regret to exact (nats)",
        "difference": "mean |difference of log p|",
        "microseconds": "microseconds per example",
    }
    for reference, panels in zip(references, rows, strict=True):
        for axes, (name, title) in zip(panels, titles.items(), strict=True):
            for method, marker in zip(METHODS, "os", strict=True):
                which = (reference.stream, method)
                chosen = [each for each in results if (each.stream, each.method) == which]
                sizes = [result.n_components for result in chosen]
                values = [getattr(result, name) for result in chosen]
                axes.plot(sizes, values, marker=marker, markersize=4, linewidth=1.2, label=method)
            axes.set(xscale="log", xlabel="n_components")
            axes.set_title(f"{reference.stream}: {title}", fontsize=10)
        exact = {"color": "black", "linewidth": 0.9, "label": "exact kernel"}
        linear = {"color": "0.5", "linewidth": 0.9, "linestyle": "--", "label": "linear"}
        effective = {"color": "0.7", "linewidth": 0.9, "linestyle": ":"}
        panels[0].axhline(reference.exact, **exact)
        panels[0].axhline(reference.linear, **linear)
        panels[0].axvline(reference.dimension[-1], **effective, label="effective dimension")
        panels[1].axhline(0, color="0.6", linewidth=0.8)
        panels[1].set_yscale("symlog", linthresh=1)
        panels[2].set_yscale("log")
        panels[3].set_yscale("log")
        panels[3].axhline(reference.microseconds, **exact)
        for axes in (panels[0], panels[3]):
            axes.legend(fontsize=7, framealpha=1.0)
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)
