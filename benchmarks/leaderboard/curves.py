"""Learning curves on long streams: each peer's loss from mark to mark, and the picture."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.leaderboard.results import COMMITTED, Results, machine

CURVES = COMMITTED.with_name("leaderboard-curves.json")
PICTURE = COMMITTED.parent.parent.parent / "docs" / "img" / "leaderboard-curves.png"
MARKS = (0, *(100 * 2**k for k in range(11)))
LEAST_ROWS = 20_000  # of a stream
SHOWN = {
    "mixable": ("#000000", "-"),
    "VW --ftrl": ("#009E73", ":"),
    "river Softmax/Linear": ("#0072B2", "--"),
    "LightGBM, refitted": ("#D55E00", "-."),
    "class frequencies or mean": ("#999999", (0, (1, 3))),
}


def long_streams(results: Results) -> list[str]:
    """Held-out streams of classes with 20,000 rows and more."""
    names = results.names(number=False)
    return [name for name in names if results.streams[name]["whole"] >= LEAST_ROWS]


def collect(results: Results, folder: Path, command: str) -> dict[str, Any]:
    """The points (rows, mean loss since the point before) of peers at their best settings."""
    curves: dict[str, dict[str, list[list[float]]]] = {}
    for name, peer in itertools.product(long_streams(results), SHOWN):
        path = folder / name / f"{peer.replace('/', ' or ')}.json"
        found = json.loads(path.read_text("utf-8")) if path.exists() else {"best": None}
        if found["best"] is not None:
            losses = found["losses"][str(found["best"])]
            ends = [*(mark for mark in MARKS if mark < len(losses)), len(losses)]
            points = [[b, float(f"{np.mean(losses[a:b]):.4g}")]
                      for a, b in itertools.pairwise(ends)]  # fmt: skip
            curves.setdefault(name, {})[peer] = points
    return {"machine": machine(command), "curves": curves}


def save(found: dict[str, Any], path: Path = CURVES) -> None:
    """Write them, a line for each peer."""
    rows = ",\n".join(
        f"  {json.dumps(name)}: {{\n"
        + ",\n".join(f"   {json.dumps(peer)}: {json.dumps(own)}" for peer, own in peers.items())
        + "}"
        for name, peers in found["curves"].items()
    )
    head = json.dumps({"machine": found["machine"]}, indent=1)[:-2]
    path.write_text(f'{head},\n "curves": {{\n{rows}\n}}}}\n', encoding="utf-8")


def load(path: Path = CURVES) -> dict[str, Any]:
    """Read them."""
    read: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return read


def cells(found: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """The head and the rows of a table: the loss since the last mark."""
    rows = []
    for name, peers in found["curves"].items():
        ends = {peer: own[-1] for peer, own in peers.items()}
        rows_seen = ends["mixable"][0]
        losses = {peer: loss for peer, (n, loss) in ends.items() if n == rows_seen}
        least = min(losses.values())
        rows.append([name, f"{peers['mixable'][-2][0]:,} to {rows_seen:,}"] + [
            "" if peer not in losses
            else f"**{losses[peer]:.3f}**" if losses[peer] == least
            else f"{losses[peer]:.3f}"
            for peer in SHOWN
        ])  # fmt: skip
    return ["stream", "rows", *SHOWN], rows


def draw(found: dict[str, Any], path: Path = PICTURE) -> None:
    """A panel for each stream: loss against rows, on logarithmic scales."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    curves = found["curves"]
    figure, panels = plt.subplots(
        -(-len(curves) // 2), 2, figsize=(6, 1.75 * -(-len(curves) // 2) + 0.9), dpi=150,
        sharex=True, squeeze=False, layout="constrained",
    )  # fmt: skip
    for axes, (name, peers) in zip(panels.flat, curves.items(), strict=False):
        for peer, points in peers.items():
            colour, dashes = SHOWN[peer]
            axes.plot(*zip(*points, strict=True), color=colour, linestyle=dashes, linewidth=1.5,
                      marker="o", markersize=2.5, label=peer)  # fmt: skip
        axes.set_title(name, fontsize=9)
        axes.set(xscale="log", yscale="log")
        heights = [loss for points in peers.values() for _, loss in points]
        ticks = np.geomspace(min(heights), max(heights), 4).tolist()
        axes.set_yticks(ticks, [f"{tick:.2g}" for tick in ticks])
        axes.set_yticks([], minor=True)
        axes.tick_params(labelsize=8)
        axes.spines[["top", "right"]].set_visible(False)
    for axes in panels[-1]:
        axes.set_xlabel("rows", fontsize=9)
    for axes in panels[:, 0]:
        axes.set_ylabel("log loss", fontsize=9)
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3, fontsize=8, frameon=False)
    figure.savefig(path)
    plt.close(figure)
