"""The pictures of a race: loss over time, reliability, AutoGAF's trust. Readable in grey."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from mixable.experiments.race import Standing
from mixable.experiments.runs import FORECASTERS, trust_groups

# Colours that differ in lightness too, and a line style each (Okabe and Ito's palette).
STYLES = [
    ("#000000", "-"),
    ("#0072B2", "--"),
    ("#D55E00", "-."),
    ("#009E73", ":"),
    ("#CC79A7", (0, (5, 1))),
    ("#E69F00", (0, (3, 1, 1, 1))),
    ("#56B4E9", (0, (1, 1))),
    ("#999999", (0, (7, 2, 1, 2))),
]
LONGEST_TITLE = 55  # characters that stand above a panel without touching the next


def in_words(setting: dict[str, Any]) -> str:
    """A setting as text."""
    return ", ".join(
        f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in setting.items()
    )


def entitle(axes: Any, name: str, about: str) -> None:
    """Set a title; a name that is long gets a line of its own, and dollars in it are no formula."""
    title = name + about
    if len(title) > LONGEST_TITLE:
        short = name if len(name) <= LONGEST_TITLE else "…" + name[1 - LONGEST_TITLE :]
        title = f"{short}\n{about.lstrip(': ')}"
    axes.set_title(title, parse_math=False)


def draw(standings: list[Standing], n_classes: dict[str, int], folder: Path) -> list[Path]:
    """Draw everything, as PNG and SVG; return the SVG files."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update(
        {
            "svg.fonttype": "path",
            "svg.hashsalt": "mixable",
            "font.size": 9,
            "axes.spines.top": False,
            "axes.spines.right": False,
        }
    )
    data = list(dict.fromkeys(row.data for row in standings))
    order = list(dict.fromkeys(row.forecaster for row in standings))
    styles = {
        name: STYLES[i % len(STYLES)]
        for i, name in enumerate(sorted(order, key=list(FORECASTERS).index))
    }
    drawn = []

    def finish(figure: Any, name: str) -> None:
        for suffix in (".png", ".svg"):
            figure.savefig(
                folder / f"{name}{suffix}",
                dpi=160,
                metadata={"Date": None} if suffix == ".svg" else None,
            )
        plt.close(figure)
        drawn.append(folder / f"{name}.svg")

    figure, panels = plt.subplots(1, len(data), figsize=(1.2 + 4.6 * len(data), 3.8), squeeze=False)
    for axes, name in zip(panels[0], data, strict=True):
        rows = [row for row in standings if row.data == name]
        for row in rows:
            color, style = styles[row.forecaster]
            marks = [mark for mark, _ in row.results[0]["curve"]]
            low, median, high = np.quantile(
                [[value for _, value in result["curve"]] for result in row.results],
                [0.25, 0.5, 0.75],
                axis=0,
            )
            axes.plot(
                marks,
                median,
                color=color,
                linestyle=style,
                linewidth=1.6,
                label=f"{FORECASTERS[row.forecaster].title}: {row.median:.3f}",
            )
            if len(row.results) > 1:
                axes.fill_between(marks, low, high, color=color, alpha=0.15, linewidth=0)
        uniform = float(np.log(n_classes[name]))
        axes.axhline(uniform, color="0.6", linewidth=0.8, linestyle=(0, (1, 3)))
        ends = [row.median for row in rows]
        axes.set_ylim(0.9 * min(ends), min(1.25 * uniform, max(1.4 * max(ends), 1.05 * uniform)))
        repeats = len(rows[0].results)
        spread = f"median and quartiles of {repeats} orders" if repeats > 1 else "one pass"
        entitle(axes, name, f" ({n_classes[name]} classes), {spread}")
        axes.set(xlabel="examples seen")
        if rows[0].results[0]["n"] > 5000:
            axes.set(xscale="log", xlim=(10, rows[0].results[0]["n"]))
        axes.legend(frameon=False, fontsize=8)
    panels[0][0].set_ylabel("averaged log loss (nats per example)")
    figure.tight_layout()
    finish(figure, "loss")

    figure, panels = plt.subplots(1, len(data), figsize=(1.2 + 3.8 * len(data), 3.8), squeeze=False)
    for axes, name in zip(panels[0], data, strict=True):
        axes.plot([0, 1], [0, 1], color="0.7", linewidth=0.8)
        for row in (row for row in standings if row.data == name):
            color, style = styles[row.forecaster]
            bins = [b for b in row.results[0]["reliability"] if b[2] >= 10]
            label = f"{FORECASTERS[row.forecaster].title}: {row.calibration_error:.3f}"
            axes.plot(
                [b[3] for b in bins],
                [b[4] for b in bins],
                color=color,
                linestyle=style,
                marker="o",
                markersize=3,
                label=label,
            )
        entitle(axes, name, ": calibration error")
        axes.set(xlabel="how sure the forecast was", xlim=(0, 1), ylim=(0, 1), aspect="equal")
        axes.legend(frameon=False, fontsize=8)
    panels[0][0].set_ylabel("how often it was right")
    figure.tight_layout()
    finish(figure, "reliability")

    automatic = [row for row in standings if row.forecaster == "auto" and row.results[0]["trust"]]
    if automatic:
        figure, panels = plt.subplots(
            1, len(automatic), figsize=(1.2 + 4.6 * len(automatic), 3.4), squeeze=False
        )
        for axes, row in zip(panels[0], automatic, strict=True):
            trust = np.array(row.results[0]["trust"])
            groups = trust_groups()
            grey = [str(value) for value in np.linspace(0.95, 0.25, len(groups))]
            axes.stackplot(
                trust[:, 0],
                trust[:, 1:].T,
                labels=groups,
                colors=grey,
                edgecolor="white",
                linewidth=0.3,
            )
            entitle(axes, row.data, ": what AutoGAF trusts")
            axes.set(
                xlabel="examples seen",
                ylim=(0, 1),
                xlim=(trust[0, 0], max(trust[-1, 0], trust[0, 0] + 1)),
            )
            axes.legend(frameon=False, fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))
        panels[0][0].set_ylabel("share of the trust")
        figure.tight_layout()
        finish(figure, "trust")
    return drawn
