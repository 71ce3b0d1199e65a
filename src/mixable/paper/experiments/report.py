"""The report of a race: pictures, readable in grey, and an HTML file that needs nothing else.

The file has neither scripts nor links to a network, fits a phone and follows its dark mode. The
pictures show loss over time, reliability and AutoGAF's weight.
"""

from __future__ import annotations

import html
import itertools
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from mixable.paper.experiments.race import FORECASTERS, HINDSIGHT_RADIUS, Standing, weight_groups
from mixable.plots.drawing import STYLES, area_colours

STYLE = """
:root { color-scheme: light dark; --ink: #222; --quiet: #555; --paper: #fff; --shade: #f4f4f4;
  --rule: #ddd }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem;
  color: var(--ink); background: var(--paper); overflow-wrap: anywhere }
.lead { font-size: 1.2rem }
.wide, figure { overflow-x: auto; margin: 1.5rem 0 }
table { border-collapse: collapse; overflow-wrap: normal }
th, td { padding: .25rem .8rem; text-align: right; border-bottom: 1px solid var(--rule) }
@media (max-width: 60rem) { th, td { white-space: nowrap } }
th:first-child, td:first-child { position: sticky; left: 0; background: var(--paper) }
th:first-child, td:first-child, th:last-child, td:last-child { text-align: left }
svg { max-width: 100%; min-width: calc(var(--panels) * 20rem); height: auto }
code { background: var(--shade); padding: .1rem .3rem } figcaption { color: var(--quiet) }
@media (prefers-color-scheme: dark) {
  :root { --ink: #ddd; --quiet: #aaa; --paper: #161616; --shade: #2a2a2a; --rule: #444 }
  svg { filter: invert(1) hue-rotate(180deg); mix-blend-mode: screen }
}
"""
CAPTIONS = {
    "loss": "Averaged log loss over time, each forecaster at its best setting in hindsight; bands "
    "are quartiles over the orders. The dotted line is the uniform forecast.",
    "reliability": "Of the forecasts that were so sure, how many were right; on the diagonal is "
    "perfect calibration. Thin: of the class that is calibrated worst, what was forecast and how "
    "often it came. Bins with fewer than 10 forecasts are left out.",
    "weights": "How AutoGAF's weight is spread over experts by drift, in the first order.",
}


def cells(row: Standing) -> dict[str, str]:
    """One line of the table, by heading."""
    return {
        "forecaster": FORECASTERS[row.forecaster].title,
        "log loss": f"{row.median:.4f}",
        "quartiles": f"{row.low:.4f} to {row.high:.4f}",
        "accuracy": f"{row.accuracy:.1%}",
        "calibration error": f"{row.calibration_error:.3f}",
        "of all classes": f"{row.classwise_error:.4f}",
        "worst class": _worst(row.results[0]["worst"]),
        "regret": "skipped" if row.regret is None else f"{row.regret:.1f}",
        "µs per example": f"{row.microseconds:.1f}",
        "best setting": in_words(row.setting) or "nothing to set",
    }


def _worst(worst: dict[str, Any] | None) -> str:
    """The class that is calibrated worst in the first order: its mean forecast, and its rate."""
    if worst is None:
        return ""
    return f"{worst['label']:.20} ({worst['forecast']:.3g} for {worst['rate']:.3g})"


def _line(tag: str, texts: Iterable[str]) -> str:
    return "<tr>" + "".join(f"<{tag}>{html.escape(text)}</{tag}>" for text in texts) + "</tr>"


def in_short(standings: list[Standing]) -> str:
    """Who won, and by how much: one sentence."""
    ranked: dict[str, list[Standing]] = {}
    for row in standings:
        ranked.setdefault(row.data, []).append(row)
    return "; ".join(_winner(data, rows) for data, rows in ranked.items()) + "."


def _winner(data: str, rows: list[Standing]) -> str:
    """Who stands first on a data set, and how far behind the next is."""
    first, *others = rows
    name, loss = FORECASTERS[first.forecaster].title, f"{first.median:.4f} nats per example"
    if not others:
        return f"{name} ran alone on {data}: {loss}"
    less = 1 - first.median / others[0].median if others[0].median else 0.0
    second = f"{FORECASTERS[others[0].forecaster].title} ({others[0].median:.4f})"
    lead = f"{less:.1%} less than" if less >= 0.0005 else "level with"
    return f"{name} won on {data}: {loss}, {lead} {second}"


def write(path: Path, standings: list[Standing], figures: list[Path], race: dict[str, Any]) -> None:
    """Write it."""
    parts = [
        f"<h1>mixable race: {html.escape(', '.join(race['data']))}</h1>",
        f'<p class="lead">{html.escape(in_short(standings))}</p>',
        f"<p>Made by <code>{html.escape(race['command'])}</code></p>",
    ]
    for data in dict.fromkeys(row.data for row in standings):
        parts.append(f"<h2>{html.escape(data)}</h2>")
        parts += [f"<p>{html.escape(remark)}</p>" for remark in race["remarks"].get(data, [])]
        lines = [cells(row) for row in standings if row.data == data]
        body = "".join(_line("td", line.values()) for line in lines)
        heading = _line("th", lines[0])
        table = f"<table><thead>{heading}</thead><tbody>{body}</tbody></table>"
        parts.append(f'<div class="wide">{table}</div>')
    parts.append(
        "<p>Log loss in nats, one pass. Regret: loss in all beyond that of the best linear model "
        f"in hindsight (norm {HINDSIGHT_RADIUS:g}, z-scored features); skipped for data too large "
        "for memory. Calibration error: of the most probable class. Of all classes: the mean over "
        "the classes of each one's error. Worst class: mean forecast and rate of the class whose "
        "error is largest for its size, in the first order.</p>"
    )
    for figure in figures:
        svg = figure.read_text(encoding="utf-8")
        svg = svg[svg.index("<svg") :]
        parts.append(
            f'<figure style="--panels: {len(race["data"])}">{svg}'
            f"<figcaption>{html.escape(CAPTIONS[figure.stem])}</figcaption></figure>"
        )
    icon = '<link rel="icon" href="data:,">'
    icon += '<meta name="viewport" content="width=device-width, initial-scale=1">'
    title = f"<title>mixable race</title><style>{STYLE}</style>"
    head = f'<head><meta charset="utf-8">{icon}{title}</head>'
    text = f'<!doctype html><html lang="en">{head}<body>{"".join(parts)}</body></html>\n'
    # the command may have names of files that are not UTF-8
    path.write_text(text, encoding="utf-8", errors="backslashreplace")


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


def pyplot() -> Any:
    """Matplotlib's functions, without a screen."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot

    return matplotlib.pyplot


def draw(standings: list[Standing], n_classes: dict[str, int], folder: Path) -> list[Path]:
    """Draw everything, as PNG and SVG; return the SVG files."""
    plt = pyplot()
    plt.rcParams.update({"svg.fonttype": "path", "svg.hashsalt": "mixable", "font.size": 9})
    plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False})
    data = {
        name: [row for row in standings if row.data == name]
        for name in dict.fromkeys(row.data for row in standings)
    }
    order = sorted({row.forecaster for row in standings}, key=list(FORECASTERS).index)
    styles = dict(zip(order, itertools.cycle(STYLES), strict=False))
    drawn = []

    def begin(panels: int, width: float, height: float) -> tuple[Any, Any]:
        size = (1.2 + width * panels, height)
        figure, axes = plt.subplots(1, panels, figsize=size, squeeze=False)
        return figure, axes[0]

    def finish(figure: Any, name: str) -> None:
        figure.tight_layout()
        figure.savefig(folder / f"{name}.png", dpi=160)
        figure.savefig(folder / f"{name}.svg", dpi=160, metadata={"Date": None})
        plt.close(figure)
        drawn.append(folder / f"{name}.svg")

    figure, panels = begin(len(data), 4.6, 3.8)
    for axes, (name, rows) in zip(panels, data.items(), strict=True):
        for row in rows:
            style = styles[row.forecaster]
            marks = [mark for mark, _ in row.results[0]["curve"]]
            curves = [[value for _, value in result["curve"]] for result in row.results]
            low, median, high = np.quantile(curves, [0.25, 0.5, 0.75], axis=0)
            label = f"{FORECASTERS[row.forecaster].title}: {row.median:.3f}"
            axes.plot(marks, median, **style, linewidth=1.6, label=label)
            if len(row.results) > 1:
                axes.fill_between(marks, low, high, color=style["color"], alpha=0.15, linewidth=0)
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
    panels[0].set_ylabel("averaged log loss (nats per example)")
    finish(figure, "loss")

    figure, panels = begin(len(data), 3.8, 3.8)
    for axes, (name, rows) in zip(panels, data.items(), strict=True):
        axes.plot([0, 1], [0, 1], color="0.7", linewidth=0.8)
        for row in rows:
            bins = [b for b in row.results[0]["reliability"] if b[2] >= 10]
            points = [b[3] for b in bins], [b[4] for b in bins]
            label = f"{FORECASTERS[row.forecaster].title}: {row.calibration_error:.3f}"
            style = styles[row.forecaster]
            axes.plot(*points, **style, marker="o", markersize=3, label=label)
            worst = row.results[0]["worst"] or {"reliability": []}
            bins = [b for b in worst["reliability"] if b[2] >= 10]
            axes.plot([b[3] for b in bins], [b[4] for b in bins], **style, linewidth=0.6)
        entitle(axes, name, ": calibration error")
        axes.set(xlabel="how sure the forecast was", xlim=(0, 1), ylim=(0, 1), aspect="equal")
        axes.legend(frameon=False, fontsize=8)
    panels[0].set_ylabel("how often it was right")
    finish(figure, "reliability")

    automatic = [row for row in standings if row.forecaster == "auto" and row.results[0]["weights"]]
    if automatic:
        figure, panels = begin(len(automatic), 4.6, 3.4)
        groups = weight_groups()
        look = {"colors": area_colours(len(groups)), "edgecolor": "0.4", "linewidth": 0.3}
        for axes, row in zip(panels, automatic, strict=True):
            shares = np.array(row.results[0]["weights"])
            axes.stackplot(shares[:, 0], shares[:, 1:].T, labels=groups, **look)
            entitle(axes, row.data, ": what AutoGAF gives weight to")
            first, last = shares[0, 0], shares[-1, 0]
            axes.set(xlabel="examples seen", ylim=(0, 1), xlim=(first, max(last, first + 1)))
            axes.legend(frameon=False, fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))
        panels[0].set_ylabel("share of the weight")
        finish(figure, "weights")
    return drawn
