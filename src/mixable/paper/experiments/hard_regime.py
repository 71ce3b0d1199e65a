"""Regret where proper forecasters must pay and improper ones need not.

Hazan, E., Koren, T. and Levy, K. Y. (2014). Logistic regression: Tight bounds for stochastic and
online optimization. COLT.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mixable._types import Array, Labels
from mixable.datasets import make_hazan
from mixable.experts import GAF
from mixable.paper.baselines import AIOLI, OGD, ONS, Folklore
from mixable.paper.experiments import growth
from mixable.paper.experiments.report import pyplot
from mixable.paper.losses import log_loss

EPS = (0.001, 0.01, 0.1)
TUNED = (0.25, 1.0, 4.0)
"""Multiples of (log(n) / n)^(2/3), where n examples can just not tell the two chi apart."""

# Proper forecasters first. B = log n bounds the margin weights, so B / sqrt(2) the norm of the 2 x
# 1 matrix.
FORECASTERS: dict[str, Callable[[float, int], OGD | ONS | GAF | Folklore | AIOLI | None]] = {
    "OGD": lambda B, n: OGD.from_theory(1, 2, radius=B / 2**0.5, bound=1.0),
    "ONS": lambda B, n: ONS.from_theory(1, 2, radius=B / 2**0.5, bound=1.0),
    "FTRL (lam = 1)": lambda B, n: None,
    "GAF, paper's constants": lambda B, n: GAF.from_theory(
        1, 2, radius=B / 2**0.5, bound=1.0, horizon=n
    ),
    "GAF, tight constants": lambda B, n: GAF.from_theory(
        1, 2, radius=B / 2**0.5, bound=1.0, horizon=n, constants="tight"
    ),
    "Folklore": lambda B, n: Folklore.from_theory(1, 2, radius=B / 2**0.5, bound=1.0),
    "AIOLI": lambda B, n: AIOLI.from_theory(1, radius=B, bound=1.0),
}
PROPER = 3  # how many of them are proper


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """Mean regret over seeds of a forecaster after n examples, for the worse of chi = -1 and +1.

    `eps` None: for the worst eps of those that are tuned to n, each forecaster's own.
    """

    forecaster: str
    eps: float | None
    n: int
    regret: float


def leaders(X: Array, y: Labels, lam: float, radius: float) -> Array:
    """Margin weights (n + 1,) of the leader after each example, within |w| <= radius.

    It minimises lam w^2 + the losses of the first t examples, for all t at once. The stream has
    only two different examples, so the losses of a prefix are two terms with counts; one dimension,
    so Newton with bisection runs on all prefixes together.
    """
    high_x, low_x = float(X.max()), float(X.min())
    ones = np.concatenate([[0], np.cumsum(y)])
    zeros = np.arange(len(y) + 1) - ones
    low, high = np.full(len(ones), -radius), np.full(len(ones), radius)
    for _ in range(80):
        w = (low + high) / 2
        slope = (
            2 * lam * w
            - ones * high_x / (1 + np.exp(high_x * w))
            + zeros * low_x / (1 + np.exp(-low_x * w))
        )
        low, high = np.where(slope < 0, w, low), np.where(slope < 0, high, w)
    return np.asarray((low + high) / 2)


def losses(w: Array, X: Array, y: Labels) -> Array:
    """Logistic loss of margin weights w on each example."""
    return np.logaddexp(0.0, np.where(y == 1, -1.0, 1.0) * w * X[:, 0])


def regrets(n: int, eps: float, seeds: int) -> Iterator[Result]:
    """One result per forecaster."""
    B = float(np.log(n))
    totals = {name: {-1: 0.0, 1: 0.0} for name in FORECASTERS}
    for chi in (-1, 1):
        for seed in range(seeds):
            X, y = make_hazan(n, chi, seed=seed, eps=eps)
            best = losses(leaders(X, y, 0.0, B)[-1:], X, y).sum()
            for name, make in FORECASTERS.items():
                forecaster = make(B, n)
                # None stands for the true leader, by the shortcut that this stream allows.
                if forecaster is None:
                    incurred = losses(leaders(X, y, 1.0, B)[:-1], X, y)
                else:
                    incurred = log_loss(forecaster.run(X, y), y)
                totals[name][chi] += (float(incurred.sum()) - float(best)) / seeds
    for name, by_chi in totals.items():
        yield Result(forecaster=name, eps=eps, n=n, regret=max(by_chi.values()))


def tuned_regrets(n: int, seeds: int) -> Iterator[Result]:
    """One result per forecaster, for its worst eps of those tuned to n."""
    scale = (np.log(n) / n) ** (2 / 3)
    each = [list(regrets(n, min(factor * scale, 0.25), seeds)) for factor in TUNED]
    for name in FORECASTERS:
        found = [one.regret for results in each for one in results if one.forecaster == name]
        yield Result(forecaster=name, eps=None, n=n, regret=max(found))


def slope(results: list[Result], forecaster: str, least: int = 1000) -> float:
    """The exponent of n in the regret for tuned eps: a line through logarithms, from `least` on."""
    chosen = [
        (each.n, max(each.regret, 1e-9))
        for each in results
        if each.forecaster == forecaster and each.eps is None and each.n >= least
    ]
    sizes, found = zip(*chosen, strict=True)
    return growth.slope(sizes, list(found))


def plot(results: list[Result], path: Path) -> None:
    """One panel per eps, regret against n; dashed lines for proper forecasters.

    In the last one eps is tuned to n, and a dotted line grows as n^(1/3).
    """
    plt = pyplot()
    widths = sorted({result.eps for result in results}, key=lambda eps: (eps is None, eps))
    size = (4.2 * len(widths), 4)
    figure, panels = plt.subplots(1, len(widths), figsize=size, dpi=150, squeeze=False, sharey=True)
    for axes, eps in zip(panels[0], widths, strict=True):
        for i, (name, marker) in enumerate(zip(FORECASTERS, "ovs^Dxp", strict=True)):
            chosen = [each for each in results if (each.forecaster, each.eps) == (name, eps)]
            points = sorted((result.n, result.regret) for result in chosen)
            style = {"linestyle": "--" if i < PROPER else "-", "linewidth": 1.2}
            style |= {"marker": marker, "markersize": 4}
            axes.plot(*zip(*points, strict=True), **style, label=name)
        axes.axhline(0, color="0.6", linewidth=0.8)
        title = "worst eps for n" if eps is None else f"eps = {eps:g}"
        axes.set(xscale="log", xlabel="examples n", title=title)
        if eps is None:
            n = np.array(sorted({result.n for result in results}), dtype=float)
            axes.plot(n, 3 * n ** (1 / 3), color="0.3", linewidth=0.8, linestyle=":")
        axes.set_yscale("symlog", linthresh=10)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0][0].set_ylabel("regret (nats), worse chi")
    handles, labels = panels[0][0].get_legend_handles_labels()
    columns = min(len(labels), 2 * len(widths))
    figure.legend(handles, labels, frameon=False, fontsize=8, ncol=columns, loc="lower center")
    figure.tight_layout(rect=(0, 0.06 * -(-len(labels) // columns), 1, 1))
    figure.savefig(path)
    plt.close(figure)
