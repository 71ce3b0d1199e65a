"""The report of a race: one HTML file that needs nothing else, neither scripts nor a network."""

from __future__ import annotations

import html
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mixable.paper.experiments.figures import in_words
from mixable.paper.experiments.race import HINDSIGHT_RADIUS, Standing
from mixable.paper.experiments.runs import FORECASTERS

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem;
  color: #222; background: #fff }
table { border-collapse: collapse; margin: 1rem 0 }
th, td { padding: .25rem .8rem; text-align: right; border-bottom: 1px solid #ddd }
th:first-child, td:first-child, th:last-child, td:last-child { text-align: left }
figure { margin: 1.5rem 0 } svg { max-width: 100%; height: auto }
code { background: #f4f4f4; padding: .1rem .3rem } figcaption { color: #555 }
"""
CAPTIONS = {
    "loss": "Averaged log loss over time, each forecaster at its best setting in hindsight; bands "
    "are quartiles over the orders. The dotted line is the uniform forecast.",
    "reliability": "Of the forecasts that were so sure, how many were right; on the diagonal is "
    "perfect calibration. Thin: of the class that is calibrated worst, what was forecast and how "
    "often it came. Bins with fewer than 10 forecasts are left out.",
    "trust": "How AutoGAF's trust is shared among experts of different drift, in the first order.",
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


def write(path: Path, standings: list[Standing], figures: list[Path], race: dict[str, Any]) -> None:
    """Write it."""
    parts = [
        f"<h1>mixable race: {html.escape(', '.join(race['data']))}</h1>",
        f"<p>Made by <code>{html.escape(race['command'])}</code></p>",
    ]
    for data in dict.fromkeys(row.data for row in standings):
        parts.append(f"<h2>{html.escape(data)}</h2>")
        parts += [f"<p>{html.escape(remark)}</p>" for remark in race["remarks"].get(data, [])]
        lines = [cells(row) for row in standings if row.data == data]
        body = "".join(_line("td", line.values()) for line in lines)
        heading = _line("th", lines[0])
        parts.append(f"<table><thead>{heading}</thead><tbody>{body}</tbody></table>")
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
            f"<figure>{svg}<figcaption>{html.escape(CAPTIONS[figure.stem])}</figcaption></figure>"
        )
    icon = '<link rel="icon" href="data:,">'
    title = f"<title>mixable race</title><style>{STYLE}</style>"
    head = f'<head><meta charset="utf-8">{icon}{title}</head>'
    text = f'<!doctype html><html lang="en">{head}<body>{"".join(parts)}</body></html>\n'
    # the command may have names of files that are not UTF-8
    path.write_text(text, encoding="utf-8", errors="backslashreplace")
