"""What the estimators mix over when a parameter is not given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from mixable.experts.settings import SQUASHED
from mixable.model.kernel_inputs import KernelPlan
from mixable.model.shapes import ShapeDesign

SQUASHED_LAMS = (0.1, 0.01, SQUASHED[0])
"""Settings with these lam, beta 1 and no drift stand in the mixture of classes besides, for inputs
that are squashed beyond one deviation. Not beside a single posterior. The last is full where that
is cheap."""

SQUASHED_RIDGE_LAMS = (0.1, 0.01)
"""The same for numbers."""

KERNEL_GRID = (
    (0.03, 1.0, 0.0, None),
    (1e-3, 1.0, 0.0, None),
    (1e-5, 1.0, 0.0, None),
    (0.1, 1.0, 0.01, None),
    (0.03, 1.0, 0.0, 0.125),
    (1e-3, 1.0, 0.0, 0.125),
    (0.03, 1.0, 0.0, 1.0),
    (1e-3, 1.0, 0.0, 1.0),
    (0.1, 1.0, 1e-3, 1.0),
    (0.03, 1.0, 0.0, 16.0),
    (1e-3, 1.0, 0.0, 16.0),
)
"""The mixture over kernels: (lam, beta, drift, bandwidth), None for linear features only.

Few, since each is large. The linear ones go to as small a lam as AutoGAF.GRID, so that little is
lost to it where a plane can separate the classes.
"""


NONLINEAR_WIDTHS = {0.125: 0.5, 1.0: 1.25, 4.0: 1.0}
"""The bandwidths of the nonlinear experts of kernel="auto", one each, and the most landmarks of
each as a multiple of n_components. A wide kernel needs few, and the middle one gains most by more:
in the time of equal numbers, the loss was .995 on the 23 streams of that choice.
"""

NONLINEAR_ALONE = (1.0,)
"""Those of them whose experts see the kernel's features only; the others see the scaled numbers
beside these. So the experts differ more, and the largest is smaller. Loss on the 23 streams of the
choice: .995 with this one, 1.005 with this and 4, 1.002 with 0.125, 1.007 with all three.
"""

SELECTED = 1.0, 0.4
"""The bandwidth of the kernel whose columns are weighted, and the most landmarks in units of
n_components: few columns need few."""

SELECTED_RIDGE = ((0.1, 0.0, 0.125), (0.1, 0.0, 0.5))
"""The settings of the same for numbers: (lam, drift, bandwidth)."""

NUMBERS_ALONE = (4.0,)
"""The bandwidths of kernels that records with categories do without: loss .998 on ten streams, in
.9 of the time."""

OF_CATEGORIES = 0.125, 250 / 200
"""The bandwidth of the kernel on numbers and indicators, and the most landmarks in units of
n_components."""

FEW = ((0.1, 1.0, 0.0), (1.0, 1.0, 0.0), (0.1, 0.3, 1e-3), (0.01, 1.0, 0.0))
"""The settings of linear experts that see columns of categories, which may be many: the last sees
squashed inputs. With all twelve, the loss on seven streams of records was .999 in up to three times
the time."""

NONLINEAR_GRID = ((0.01, 1.0, 0.0),)
"""The settings of each of them. A second lam, a drifting one or a fourth width gained 0.3% or less
on the 20 streams of the choice.
"""

MEMORY = ShapeDesign(linear=True, bins=(2.0, 8.0), memory=True)
"""An expert that sees in which bins the numbers are, and the labels before, for streams in time
order. Bins by themselves gained nothing beside trees."""

LEAVES = ShapeDesign(trees=60, depth=6)
"""An expert that sees in which leaves of random trees a row is."""

SPARSE = ShapeDesign(takes_features=True, linear=True, bins=(1.0, 8.0), whole=True)
"""The first expert on records: categories and words, numbers and their bins, all together. Whole
numbers as bins of their own lowered the loss on census records by 5%; beside them, one bin to a
deviation is better than two by 0.1 to 0.3%."""

SPARSE_MEMORY = replace(SPARSE, memory=True)
"""The same, which also sees the labels before, for streams in time order."""

CROSSES = ShapeDesign(takes_features=True, takes_crosses=True, linear=True)
"""The same with the crosses that were asked for; they must earn their weight."""

RIDGE_CROSSES = replace(SPARSE, takes_crosses=True)
"""What the regressions on records see if crosses were asked for."""

SPARSE_RIDGE_GRID = (
    (1.0, 0.1),
    (1.0, 0.3),
    (4.0, 0.1),
    (4.0, 0.3),
    (16.0, 0.3),
    (16.0, 1.0),
    (64.0, 1.0),
    (40.0, 0.0),
)
"""The regressions on sparse features of records, (lam, b); see core/sparse/sparse_ridge.hpp. Five
other sets of eight had the same RMSE within 0.1% on the 20 streams of the choice."""

RECORD_GRID = (
    (1000.0, 0.0),
    (100.0, 0.0),
    (10.0, 0.0),
    (1.0, 0.0),
    (0.1, 0.0),
    (10.0, 1e-4),
    (10.0, 1e-3),
    (1.0, 1e-2),
)
"""What corrects them: (lam, drift). Large lam, since no correction is the best guess: AutoRidge's
own grid lost 0.4% of RMSE on the streams of the choice."""

RECORD_ROBUST_GRID = ((100.0, 0.0), (10.0, 0.0), (1.0, 0.0))
"""Those of it that are robust, besides."""

LOW_RECORD_GRID = ((100.0, 1e-4),)
"""The one posterior of effort="low"."""

NONLINEAR_RIDGE_GRID = ((0.01, 0.0, 0.03), (0.1, 0.0, 0.125), (0.1, 0.0, 0.5), (1.0, 0.0, 2.0))
"""The nonlinear posteriors of GAFRegressor's kernel="auto": (lam, drift, bandwidth). All 20 pairs
of five bandwidths and four lam were 0.3% better in RMSE on the streams of the choice; see
docs: Choices."""

NONLINEAR_ROBUST_GRID = ((0.1, 0.0, 0.125), (0.1, 0.0, 0.5), (1.0, 0.0, 2.0))
"""Those of them that are robust, besides."""

ANCHORED: dict[str, Any] = {"grid": [(1e-5, 0.0)], "robust": []}
"""The linear expert of numbers whose scale stays: hardly regularised, so that units do not matter.
Where noise is small it is far ahead of those whose scale follows the stream. More settings,
robust ones or drift gained nothing."""

LOW_GRID = ((0.1, 1.0, 1e-4),)
"""The one posterior of effort="low": the best of 35 settings, on average over 20 streams."""

LOW_RIDGE_GRID = ((0.1, 1e-4),)
"""The same for numbers."""

EFFORTS: dict[str, dict[str, Any]] = {
    "low": {"structure": "shared", "fallback": None},
    "auto": {},
    "high": {"structure": "full", "sleep": False},
}
"""How much time a forecast may take, as parameters of AutoGAF."""


def check_effort(effort: str) -> None:
    """Refuse what is not a word for an effort."""
    if not isinstance(effort, str) or effort not in EFFORTS:
        words = ", ".join(map(repr, EFFORTS))
        raise ValueError(f"effort must be one of {words}, got {effort!r:.80}")


def linear(
    grid: Sequence[tuple[float, ...]],
    names: tuple[str, ...],
    given: dict[str, float],
    *,
    standardize: bool,
) -> dict[str, Any]:
    """Return a grid with the given parameters fixed, in absolute units, and its views."""

    def settings(rows: Sequence[tuple[float, ...]]) -> list[tuple[float, ...]]:
        fixed = [
            tuple(given.get(name, value) for name, value in zip(names, row, strict=True))
            for row in rows
        ]
        return list(dict.fromkeys(fixed))

    plain = settings(grid)
    out: dict[str, Any] = {"grid": plain}
    if standardize and len(grid) > 1:
        plainest = {"beta": 1.0, "drift": 0.0}
        lams = SQUASHED_LAMS if "beta" in names else SQUASHED_RIDGE_LAMS
        rows = [tuple({**plainest, "lam": lam}[name] for name in names) for lam in lams]
        squashed = settings(rows)
        views = [0] * len(plain) + [1] * len(squashed)
        out = {"grid": plain + squashed, "views": views}
    if given:
        out["scale"] = 1.0
    return out


def kernels(
    plan: KernelPlan, names: tuple[str, ...], given: dict[str, float]
) -> tuple[KernelPlan, dict[str, Any]]:
    """Return the kernel's views, and the settings that see them, all in absolute units."""
    widths = [width for *_, width in KERNEL_GRID if width is not None]
    bandwidths = tuple(dict.fromkeys(widths))
    rows: dict[tuple[Any, ...], None] = {}
    for lam, beta, drift, width in KERNEL_GRID:
        setting = {"lam": lam, "beta": beta, "drift": drift, **given}
        view = 0  # the linear one
        if width is not None:
            view = 1 + bandwidths.index(width) if plan.gamma is None else 1
        rows[tuple(setting[name] for name in names), view] = None
    grid, views = [row for row, _ in rows], [view for _, view in rows]
    return plan.mixed(bandwidths), {"grid": grid, "views": views, "scale": 1.0}


def nonlinear_ridge(
    grid: Any = NONLINEAR_RIDGE_GRID, robust: Any = NONLINEAR_ROBUST_GRID
) -> tuple[tuple[float, ...], dict[str, Any]]:
    """Return the bandwidths of a nonlinear AutoRidge, and its parameters."""
    bandwidths = tuple(dict.fromkeys(width for *_, width in grid))
    settings = (*grid, *robust)
    return bandwidths, {
        "grid": [setting for *setting, _ in grid],
        "robust": [setting for *setting, _ in robust],
        "views": [bandwidths.index(width) for *_, width in settings],
        "scale": 1.0,
    }


def few(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of a linear AutoGAF with the settings of FEW, if it has them."""
    grid, views = parameters["grid"], parameters.get("views")
    last = len(FEW) - 1
    kept = [grid.index(each) for each in FEW[:last] if each in grid]
    if views is None or parameters.get("sleep") is False:
        return parameters
    kept += [i for i, each in enumerate(grid) if each == FEW[last] and views[i] == 1]
    if len(kept) < len(FEW):
        return parameters
    return {**parameters, "grid": [grid[i] for i in kept], "views": [views[i] for i in kept]}


def of_categories(plan: KernelPlan | None) -> KernelPlan:
    """Return the plan of the kernel on numbers and indicators, from that of the first kernel."""
    assert plan is not None
    width, by = OF_CATEGORIES
    return plan.only(width, by / NONLINEAR_WIDTHS[plan.bandwidths[0]], beside=False)


def selected(plan: KernelPlan) -> KernelPlan:
    """Return the plan of the kernel whose columns are weighted."""
    return replace(plan.only(*SELECTED, beside=False), weighted=True)


def nonlinear(effort: str) -> dict[str, Any]:
    """Return the parameters of a nonlinear expert of kernel="auto"."""
    structure = "growing" if effort == "auto" else "blocks"
    return {"grid": list(NONLINEAR_GRID), "structure": structure, "fallback": None, "scale": 1.0}
