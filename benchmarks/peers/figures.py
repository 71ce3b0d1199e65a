"""Figures of a race: loss against time, one panel each, readable when 400 pixels wide."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib import patheffects
from matplotlib.lines import Line2D

from benchmarks.peers.contest import BASELINE, OURS, REFITTED
from benchmarks.peers.results import REFERENCE, Results
from benchmarks.peers.text import contestants, mean, relative_loss

# The colours of Okabe and Ito, which the colour-blind tell apart.
COLOURS = {
    OURS: "#000000",
    "Vowpal Wabbit": "#009E73",
    "river": "#0072B2",
    "scikit-learn": "#D55E00",
    REFITTED: "#CC79A7",
}
NAMES = {REFITTED: "refitted batch models"}
SIZE, DPI = (4.6, 4.6), 200
HIGHEST = 6.0  # the upper edge of a panel is not above it


class Point(NamedTuple):
    """A contestant in a panel: microseconds and loss, at the defaults and at its best."""

    name: str
    kind: str
    defaults: tuple[float, float]
    best: tuple[float, float]


def points(results: Results, table: str) -> list[Point]:
    """The contestants of a table, means over its streams."""
    out = []
    kinds = {row.contestant: row.kind for row in results.of(table)}
    for name in contestants(results, table):
        at = [
            (
                mean(results, table, name, lambda row: row.microseconds, hindsight),
                relative_loss(results, table, name, hindsight=hindsight),
            )
            for hindsight in (False, True)
        ]
        out.append(Point(name=name, kind=kinds[name], defaults=at[0], best=at[1]))
    return out


def both(results: Results) -> list[Point]:
    """All who take numbers, beside mixable's default: the tables numbers and curves as one."""
    tables = [table for table in ("numbers", "curves") if table in results.tables()]
    unit = relative_loss(results, tables[-1], REFERENCE["numbers"], hindsight=False)
    found = {point.name: point for point in points(results, tables[-1])}
    for point in points(results, tables[0]):
        scaled = [(time, loss * unit) for time, loss in (point.defaults, point.best)]
        found.setdefault(point.name, point._replace(defaults=scaled[0], best=scaled[1]))
    return list(found.values())


def frontier(spots: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Those than whom none is both faster and better, from fast to slow."""
    out: list[tuple[float, float]] = []
    for spot in sorted(spots):
        if not out or spot[1] < out[-1][1]:
            out.append(spot)
    return out


def _overlap(a: tuple[float, ...], b: tuple[float, ...]) -> float:
    """The area that two boxes (left, low, right, high) share."""
    width, height = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    return max(width, 0.0) * max(height, 0.0)


def _boxes(axes: Any, paths: list[list[tuple[float, float]]], half: float) -> list[Any]:
    """Boxes around the corners of paths, and all along them."""
    out = []
    for path in paths:
        spots = axes.transData.transform(path)
        along = [spots]
        for a, b in itertools.pairwise(spots):
            along.append(np.linspace(a, b, max(2, int(np.hypot(*(b - a)) / 4))))
        out += [(x - half, y - half, x + half, y + half) for x, y in np.concatenate(along)]
    return out


def _place(axes: Any, labels: list[tuple[str, float, float, str]], taken: list[Any]) -> None:
    """Write labels (text, x, y, colour) where they cover neither marks nor each other."""
    figure = axes.figure
    figure.canvas.draw()
    renderer, frame = figure.canvas.get_renderer(), axes.get_window_extent()
    scale = figure.dpi / 72
    boxes = [tuple(box) for box in taken]
    for text, x, y, colour in labels:
        at = axes.transData.transform((x, y))
        written = axes.annotate(
            text, (x, y), (0, 0), textcoords="offset points", fontsize=8, color=colour
        )
        written.set_path_effects([patheffects.withStroke(linewidth=1.5, foreground="white")])
        extent = written.get_window_extent(renderer)
        width, height = extent.width + 2 * scale, extent.height + scale
        found: tuple[float, float, float, float] | None = None
        for radius in (7, 12, 18, 26, 36, 48, 62):
            for turn in range(16):
                angle = 2 * math.pi * turn / 16
                centre_x = at[0] + math.cos(angle) * (radius * scale + width / 2)
                centre_y = at[1] + math.sin(angle) * (radius * scale + height / 2)
                box = (
                    centre_x - width / 2,
                    centre_y - height / 2,
                    centre_x + width / 2,
                    centre_y + height / 2,
                )
                inside = box[0] > frame.x0 and box[2] < frame.x1
                inside = inside and box[1] > frame.y0 and box[3] < frame.y1
                cover = sum(_overlap(box, other) for other in boxes) + (0 if inside else 1e9)
                cost = cover + radius
                if found is None or cost < found[0]:
                    found = (cost, box[0] - at[0] + scale, box[1] - at[1] + scale, radius)
                    best = box
            if found is not None and found[0] <= radius:
                break
        assert found is not None
        boxes.append(best)
        written.set_position((found[1] / scale, found[2] / scale))
        if found[3] > 12:
            end = axes.transData.inverted().transform(
                (min(max(at[0], best[0]), best[2]), min(max(at[1], best[1]), best[3]))
            )
            axes.plot([x, end[0]], [y, end[1]], color="#bbbbbb", linewidth=0.6, zorder=0)


def draw(spots: list[Point], path: Path, *, title: str, unit: str) -> None:
    """Draw a panel: open marks for defaults, filled ones for the best setting, the frontier."""
    figure, axes = plt.subplots(figsize=SIZE, dpi=DPI)
    figure.patch.set_facecolor("white")
    shown = [point for point in spots if point.kind != BASELINE]
    rates = [point.best[1] for point in spots if point.name == "class frequencies"]
    top = 1.15 * min(HIGHEST, max([*rates, *(point.best[1] for point in shown)]))

    def cut(spot: tuple[float, float]) -> tuple[float, float]:
        return spot[0], min(spot[1], top / 1.04)

    all_spots = [spot for point in shown for spot in (point.defaults, point.best)]
    edge = frontier(all_spots)
    right = 1.6 * max(time for time, _ in all_spots)
    times = [edge[0][0], *(time for time, _ in edge), right]
    heights = [top, *(loss for _, loss in edge), edge[-1][1]]
    stairs = list(zip(np.repeat(times, 2)[1:], np.repeat(heights, 2)[:-1], strict=True))
    axes.plot(*zip(*stairs, strict=True), color="#999999", linewidth=1.2, linestyle="--")
    for point in shown:
        colour, first, last = COLOURS[point.kind], cut(point.defaults), cut(point.best)
        mark, size = ("*", 11) if point.kind == OURS else ("o", 5.5)
        if point.defaults != point.best:
            axes.plot(*zip(first, last, strict=True), color=colour, linewidth=0.6, alpha=0.5)
            shape = "^" if first[1] < point.defaults[1] else "o"  # a triangle: further up
            axes.plot(*first, shape, color=colour, markerfacecolor="white", markersize=4.5)
        axes.plot(*last, mark, color=colour, markersize=size, zorder=3)
    if rates and rates[0] < top:
        axes.axhline(rates[0], color="#777777", linewidth=0.8, linestyle=":")
        axes.annotate(
            "class frequencies", (0.99, rates[0]), (0, 2), textcoords="offset points", fontsize=7,
            color="#555555", ha="right", xycoords=("axes fraction", "data"),
        )  # fmt: skip
    low = min(loss for _, loss in all_spots)
    left = min(time for time, _ in all_spots) / 2
    axes.set(xscale="log", yscale="log", xlim=(left, right), ylim=(low / 1.2, top))
    axes.set_xlabel("microseconds an example, forecast and learning", fontsize=9)
    axes.set_title(f"{title}\nlog loss, {unit}; lower is better", fontsize=9, loc="left")
    axes.yaxis.set_major_locator(matplotlib.ticker.LogLocator(subs=(1, 1.2, 1.5, 2, 3, 4, 6, 8)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_locator(matplotlib.ticker.NullLocator())
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.tick_params(labelsize=8, which="both")
    axes.spines[["top", "right"]].set_visible(False)
    kinds = [kind for kind in COLOURS if any(point.kind == kind for point in shown)]
    handles = [
        Line2D([], [], marker="*" if kind == OURS else "o", color=COLOURS[kind], linestyle="",
                   markersize=6, label=NAMES.get(kind, kind))
        for kind in kinds
    ]  # fmt: skip
    handles += [
        Line2D([], [], marker="o", color="#555555", markerfacecolor="white", linestyle="",
                   markersize=4.5, label="a peer's defaults"),
        Line2D([], [], color="#999999", linestyle="--", label="frontier"),
    ]  # fmt: skip
    figure.legend(
        handles=handles, loc="lower center", ncols=3, frameon=False, fontsize=7.5,
        columnspacing=1.0, handletextpad=0.3,
    )  # fmt: skip
    figure.tight_layout(rect=(0, 0.1, 1, 1))
    paths = [stairs]
    paths += [[(left, rates[0]), (right, rates[0])]] if rates else []
    marks = _boxes(axes, [[cut(s)] for p in shown for s in (p.defaults, p.best)], 4 * DPI / 72)
    marks += _boxes(axes, paths, 2.0)
    order = sorted(shown, key=lambda point: (point.kind != OURS, point.best[1]))
    _place(axes, [(p.name, *cut(p.best), COLOURS[p.kind]) for p in order], marks)
    figure.savefig(path, dpi=DPI)
    plt.close(figure)


def draw_all(results: Results, folder: Path) -> None:
    """The figures of the documents: one for each table, one for the README."""
    what = {
        "numbers": "Linear models, six streams of numbers",
        "curves": "Nonlinear models, six streams of numbers",
        "records": "Records with words, text and times",
    }
    for table in results.tables():
        unit = f"{REFERENCE[table].partition(',')[0]} = 1"
        draw(points(results, table), folder / f"peers-{table}.png", title=what[table], unit=unit)
    draw(
        both(results), folder / "peers.png",
        title="Loss and time, mean of six streams", unit="mixable = 1",
    )  # fmt: skip
