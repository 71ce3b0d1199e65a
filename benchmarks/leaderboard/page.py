"""The documents' share of the leaderboard: what stands between `<!-- board: NAME -->` and
`<!-- /board -->`, and the picture.

NAME is one of `parts` or of `numbers`. A test compares what stands there with the committed
results. Do not begin a line with the mark of a number: Markdown takes such a line for HTML.

Large tables are in `tables.md` beside this file. The site's page links to their headings there, and
has each table in place of its link (docs/_hooks/tables.py).
"""

from __future__ import annotations

import math
import re
import statistics
from pathlib import Path

from benchmarks.leaderboard import curves
from benchmarks.leaderboard.peers import BASELINE, OURS, PEERS, REFITTED
from benchmarks.leaderboard.results import (
    CLEAR,
    REFERENCE,
    Results,
    Row,
    anyone,
    geometric,
    online,
    online_defaults,
    refits,
)
from benchmarks.leaderboard.streams import PACKAGES, STREAMS

ROOT = Path(__file__).parent.parent.parent
MARK = re.compile(r"<!-- board: ([^>]+?) -->(.*?)<!-- /board -->", re.DOTALL)
PICTURE = ROOT / "docs" / "img" / "leaderboard.png"
TABLES = Path(__file__).parent / "tables.md"
RIVALS = {"online": online, "online-defaults": online_defaults, "refitted": refits, "any": anyone}
TASKS = {"classes": False, "numbers": True}


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _mean(values: list[float | None]) -> str:
    there = [value for value in values if value is not None]
    return f"{sum(there) / len(there):.3f}" if there else ""


def _times(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


def _who(row: Row) -> str:
    return f"{row.peer} ({row.setting})" if row.setting else row.peer


def verdicts(rows: list[Row]) -> tuple[int, int, int]:
    """On how many streams mixable is clearly better, neither is, and the other clearly is."""
    won = len([row for row in rows if row.errors > CLEAR])
    lost = len([row for row in rows if row.errors < -CLEAR])
    return won, len(rows) - won - lost, lost


def wilson(won: int, n: int) -> tuple[float, float]:
    """The interval of 95% of a share (Wilson)."""
    z = 1.96
    middle, half = won + z * z / 2, z * math.sqrt(won * (n - won) / n + z * z / 4)
    return (middle - half) / (n + z * z), (middle + half) / (n + z * z)


def numbers(results: Results) -> dict[str, str]:
    """Numbers that documents quote: `TASK-RIVALS-WHAT` of held-out streams, `chosen-...` of others.

    `below` counts the streams on which mixable's loss is less than that of the best rival on each,
    `won`, `even` and `lost` the same with two standard errors as the limit; `ratio` is the
    geometric mean of the best rival's loss over mixable's, `low` and `high` its interval of 95%,
    `median` its median. `PEER-microseconds` are those of a row of the streams with classes.
    """
    used = max(about["rows"] for about in results.streams.values())
    out = {"streams": str(len(results.streams)), "most-rows": f"{used:,}"}
    for held_out, before in ((True, ""), (False, "chosen-")):
        for task, number in TASKS.items():
            names = results.names(number=number, held_out=held_out)
            for rivals, who in RIVALS.items():
                rows = [row for name in names if (row := results.rival(name, who))]
                if not rows:
                    continue
                won, even, lost = verdicts(rows)
                below = len([row for row in rows if row.ratio > 1])
                share = wilson(below, len(rows))
                ratios = [row.ratio for row in rows]
                ratio, low, high = geometric(ratios)
                found = {
                    "of": f"{len(rows)}", "below": f"{below}", "won": f"{won}", "even": f"{even}",
                    "lost": f"{lost}", "ratio": f"{ratio:.2f}", "low": f"{low:.2f}",
                    "high": f"{high:.2f}", "median": f"{statistics.median(ratios):.2f}",
                    "share-low": f"{100 * share[0]:.0f}%",
                    "share-high": f"{100 * share[1]:.0f}%",
                }  # fmt: skip
                out |= {f"{before}{task}-{rivals}-{key}": text for key, text in found.items()}
    names = results.names(number=False)
    for short, peer in (("mixable", REFERENCE), ("linear", "mixable linear"), ("vw", "VW")):
        if rows := results.of(names, peer, True):
            out[f"{short}-microseconds"] = microseconds(rows)
    return out


def microseconds(rows: list[Row]) -> str:
    """The mean time of a row over streams."""
    return _times(geometric([max(row.microseconds, 0.1) for row in rows])[0])


def told(results: Results) -> str:
    """mixable beside the best rival of each stream: how often it is below, and by how much."""
    q, rows = numbers(results), []
    names = {
        "online": "online, best settings",
        "online-defaults": "online, defaults",
        "refitted": "refitted, best settings",
        "any": "all, best settings",
    }
    for task in TASKS:
        for rivals, words in names.items():
            got = {key.removeprefix(f"{task}-{rivals}-"): text for key, text in q.items()
                   if key.startswith(f"{task}-{rivals}-")}  # fmt: skip
            if got:
                rows.append([
                    task, words,
                    f"{got['below']} of {got['of']} ({got['share-low']} to {got['share-high']})",
                    f"{got['won']} / {got['even']} / {got['lost']}", got["median"],
                    f"{got['ratio']} ({got['low']} to {got['high']})",
                ])  # fmt: skip
    head = ["", "against the best of", "below on (95%)", "won / even / lost", "median",
            "mean (95%)"]  # fmt: skip
    return _table(head, rows)


def losses(results: Results) -> str:
    """Every stream on which some peer is below mixable, the worst first."""
    found = []
    for name, about in results.streams.items():
        row = results.rival(name, anyone)
        if row is not None and row.ratio < 1 and about["held_out"]:
            found.append((row, about))
    rows = [
        [f"{row.stream} (RMSE)" if about["K"] == 0 else row.stream, f"{row.ratio:.2f}",
         f"{row.errors:+.1f}{', clearly' if row.errors < -CLEAR else ''}", _who(row),
         f"{row.rows:,}"]
        for row, about in sorted(found, key=lambda pair: pair[0].ratio)
    ]  # fmt: skip
    head = ["stream", "over mixable's", "standard errors", "who", "rows"]
    return _table(head, rows)


def _shown(results: Results, names: list[str]) -> list[str]:
    """Peers that ran on these streams, by their mean ratio at best."""
    means = {}
    for peer in PEERS:
        rows = results.of(names, peer, True)
        if rows:
            means[peer] = geometric([row.ratio for row in rows])[0]
    return sorted(means, key=lambda peer: means[peer])


def peers(results: Results, task: str) -> str:
    """Each peer beside mixable, over the held-out streams of a task."""
    names, out = results.names(number=TASKS[task]), []
    for peer in _shown(results, names):
        defaults, best = results.of(names, peer, False), results.of(names, peer, True)
        at_first = geometric([row.ratio for row in defaults])[0] if defaults else math.nan
        ratio, low, high = geometric([row.ratio for row in best])
        won, even, lost = verdicts(best)
        if TASKS[task]:
            scores = [_mean([row.crps for row in best]), _mean([row.coverage for row in best])]
        else:
            scores = [
                _mean([row.accuracy for row in best]), _mean([row.calibration for row in best])
            ]  # fmt: skip
        out.append([
            peer, f"{len(best)}", f"{at_first:.2f}", f"{ratio:.2f} ({low:.2f} to {high:.2f})",
            f"{won} / {even} / {lost}", *scores, microseconds(best),
            f"{max(row.megabytes for row in best):.0f}",
        ])  # fmt: skip
    scores = ["CRPS", "coverage"] if TASKS[task] else ["accuracy", "calibration"]
    head = ["", "streams", "defaults", "at best (95%)", "won / even / lost", *scores, "µs", "MB"]
    return _table(head, out)


def segments(results: Results, task: str) -> str:
    """How the ratio moves with the rows seen."""
    names, out = results.names(number=TASKS[task]), []
    for peer in _shown(results, names):
        rows = results.of(names, peer, True)
        cells = []
        for k in range(4):
            there = [max(row.segments[k], 1e-3) for row in rows if len(row.segments) > k]
            cells.append(f"{geometric(there)[0]:.2f} ({len(there)})" if there else "")
        out.append([peer, *cells])
    return _table(["", "first 100", "to 1,000", "to 10,000", "rest"], out)


def each(results: Results) -> str:
    """Each stream: mixable's scores, and the best rivals."""
    rows = []
    for name, about in results.streams.items():
        ours = results.of([name], REFERENCE, False)[0]
        cells = []
        for who in (online, refits):
            row = results.rival(name, who)
            cells.append(f"{row.ratio:.2f} ({row.errors:+.1f}) {_who(row)}" if row else "")
        score = ours.coverage if about["K"] == 0 else ours.calibration
        kinds = f"{about['numbers']}+{about['others']}"
        rows.append([
            name, "held out" if about["held_out"] else "chosen", about["package"],
            about["tags"], f"{about['whole']:,}", f"{about['rows']:,}",
            kinds, f"{about['K'] or 'number'}", f"{ours.loss:.3f}",
            f"{ours.accuracy:.3f}" if ours.accuracy is not None else f"{ours.crps:.3f}",
            f"{score:.3f}", *cells,
        ])  # fmt: skip
    head = ["stream", "", "package", "kind", "rows", "used", "numbers + others", "classes", "loss",
            "accuracy or CRPS", "calibration or coverage", "best online",
            "best refitted"]  # fmt: skip
    return _table(head, rows)


def sources(results: Results) -> str:
    """The packages, their licences, and the paths of the streams."""
    rows = []
    for package, (version, licence, origin) in PACKAGES.items():
        own = [s for s in STREAMS.values() if s.package == package and s.name in results.streams]
        if own:
            paths = ", ".join(s.path.rpartition("/")[2].partition(".")[0] or s.name for s in own)
            rows.append([f"{package} {version}".strip(), licence, origin, paths])
    return _table(["package", "licence", "source", "files"], rows)


def machine(about: dict[str, str], failed: dict[str, str] | None = None) -> str:
    """Where and with what it was measured; what failed."""
    words = ", ".join(f"{name} {value}" for name, value in about.items() if name != "command")
    out = f"`{about['command']}`; {words}."
    if failed:
        out += " Failed: " + "; ".join(f"{run} ({why})" for run, why in failed.items())
    return out


def parts(results: Results) -> dict[str, str]:
    """Whole parts of the page, by name."""
    return {
        "told": told(results), "losses": losses(results), "each": each(results),
        "sources": sources(results), "machine": machine(results.machine, results.failed),
        "curves": _table(*curves.cells(curves.load())),
        "curves-machine": machine(curves.load()["machine"]),
        **{f"peers-{task}": peers(results, task) for task in TASKS},
        **{f"segments-{task}": segments(results, task) for task in TASKS},
    }  # fmt: skip


def text(results: Results) -> str:
    """All tables as text, where mixable loses first."""
    if not results.streams:
        return "no stream has results of mixable and a peer"
    blocks = parts(results)
    order = ("losses", "told", *(name for name in blocks if name not in ("losses", "told")))
    return "\n\n".join(f"== {name}\n\n{blocks[name]}" for name in order)


def pages() -> list[Path]:
    """Every document that may quote the leaderboard."""
    return sorted([ROOT / "README.md", TABLES, *(ROOT / "docs").glob("**/*.md")])


def rendered(document: str, results: Results) -> str:
    """A document with all that is quoted as the results have it."""
    if not MARK.search(document):
        return document
    blocks, named = parts(results), numbers(results)

    def quoted(found: re.Match[str]) -> str:
        name = found[1]
        if name not in blocks and name not in named:
            raise ValueError(f"the leaderboard has nothing of the name {name!r}")
        body = f"\n\n{blocks[name]}\n\n" if name in blocks else named[name]
        return f"<!-- board: {name} -->{body}<!-- /board -->"

    return MARK.sub(quoted, document)


# The colours of Okabe and Ito, which the colour-blind tell apart.
COLOURS = {
    OURS: "#000000", "Vowpal Wabbit": "#009E73", "river": "#0072B2", "scikit-learn": "#E69F00",
    "CapyMOA": "#56B4E9", REFITTED: "#D55E00", BASELINE: "#777777",
}  # fmt: skip


def draw(results: Results, path: Path = PICTURE) -> None:
    """Each peer's loss over mixable's on held-out streams, at its defaults and at its best."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    names = results.names(number=False)
    order = [peer for peer in _shown(results, names) if PEERS[peer].kind != OURS]
    figure, axes = plt.subplots(figsize=(6, 0.25 * len(order) + 1.3), dpi=200)
    top, micros = 4.0, {}
    for y, peer in enumerate(reversed(order)):
        colour = COLOURS[PEERS[peer].kind]
        best, defaults = results.of(names, peer, True), results.of(names, peer, False)
        ratio, low, high = geometric([row.ratio for row in best])
        micros[y] = geometric([max(row.microseconds, 0.1) for row in best])[0]
        axes.plot([min(low, top), min(high, top)], [y, y], color=colour, linewidth=2.5, alpha=0.4)
        axes.plot(min(ratio, top), y, "o", color=colour, markersize=6)
        first = geometric([row.ratio for row in defaults])[0] if defaults else ratio
        axes.plot(min(first, top), y, "o" if first < top else ">", color=colour,
                  markerfacecolor="white", markersize=5, zorder=1)  # fmt: skip
    for y, micro in micros.items():
        axes.text(1.02, y, _times(micro), transform=axes.get_yaxis_transform(), va="center",
                  fontsize=8)  # fmt: skip
    axes.text(1.02, len(order), "µs", transform=axes.get_yaxis_transform(), fontsize=8)
    axes.axvline(1, color="black", linewidth=1)
    axes.set(xscale="log", xlim=(0.85, top * 1.04), ylim=(-0.7, len(order) + 0.3))
    axes.set_xticks([1, 1.5, 2, 3, 4], ["mixable", "1.5", "2", "3", "4"])
    axes.minorticks_off()
    counts = {peer: len(results.of(names, peer, True)) for peer in order}
    words = [f"{p} ({n})" if n < len(names) else p for p, n in reversed(counts.items())]
    axes.set_yticks(range(len(order)), words, fontsize=9)
    figure.suptitle(
        f"Log loss as a multiple of mixable's, mean of {len(names)} held-out streams (bar: 95%).\n"
        "Filled: best setting in hindsight. Open: defaults. (n): on n of the streams.",
        fontsize=9, x=0.02, ha="left",
    )  # fmt: skip
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)


def write(results: Results) -> None:
    """Bring documents and the pictures up to date."""
    for path in pages():
        old = path.read_text(encoding="utf-8")
        new = rendered(old, results)
        if new != old:
            path.write_text(new, encoding="utf-8")
            print(str(path.relative_to(ROOT)))
    draw(results)
    curves.draw(curves.load())
