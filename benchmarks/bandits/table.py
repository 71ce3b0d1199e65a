"""What has been played, as tables."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from benchmarks.bandits.contestants import Played
from benchmarks.bandits.worlds import Job

LEVEL = 1e-5  # what rounding of means could be


class Row(NamedTuple):
    """Everybody's runs in one world: those of the shuffles that score."""

    job: Job
    actions: int
    rounds: int
    runs: dict[str, list[Played]]
    setting: str  # of Vowpal Wabbit

    def reward(self, who: str) -> float:
        """The mean reward."""
        return float(np.mean([run.blocks for run in self.runs[who]]))

    def difference(self, who: str, other: str) -> tuple[float, float]:
        """The mean of who minus other, and its standard error by blocks of the same rounds."""
        both = [np.ravel([run.blocks for run in self.runs[name]]) for name in (who, other)]
        gaps = both[0] - both[1]
        return float(gaps.mean()), float(gaps.std(ddof=1) / math.sqrt(len(gaps)))

    def microseconds(self, who: str) -> float:
        """Of the quickest run."""
        return min(run.microseconds for run in self.runs[who])


def line(row: Row) -> str:
    """A row of the table."""
    who, *_ = row.runs
    cells = [row.job.label, str(row.actions), *(f"{row.reward(name):.4f}" for name in row.runs)]
    if "vw chosen" in row.runs:
        gap, error = row.difference(who, "vw chosen")
        cells.append(f"{gap:+.4f} ({gap - 1.96 * error:+.4f} to {gap + 1.96 * error:+.4f})")
    cells.append(f"{row.microseconds(who):.0f}")
    if "vw chosen" in row.runs:
        cells.append(f"{row.microseconds(who) / row.microseconds('vw chosen'):.1f}")
        cells.append(row.setting.strip())
    return "| " + " | ".join(cells) + " |"


def head(row: Row) -> str:
    """Its head."""
    cells = ["stream", "actions", *row.runs]
    if "vw chosen" in row.runs:
        cells.append(f"{next(iter(row.runs))} - chosen (95%)")
    cells += ["us"] + (["over vw", "chosen setting"] if "vw chosen" in row.runs else [])
    return f"| {' | '.join(cells)} |\n|{'---|' * len(cells)}"


def summary(rows: list[Row], who: str) -> list[str]:
    """Wins, mean, worst against each of the others."""
    out = []
    for other in [name for name in rows[0].runs if name != who]:
        pairs = [row.difference(who, other) for row in rows]
        gaps, errors = np.array(pairs).T
        half = 1.96 * gaps.std(ddof=1) / math.sqrt(len(gaps)) if len(gaps) > 1 else math.nan
        worst = rows[int(gaps.argmin())].job.label
        times = [row.microseconds(who) / row.microseconds(other) for row in rows]
        out.append(
            f"| {who} | {other} | {(gaps > LEVEL).sum()} of {len(gaps)} | "
            f"{(abs(gaps) <= LEVEL).sum()} | {gaps.mean():+.4f} "
            f"({gaps.mean() - half:+.4f} to {gaps.mean() + half:+.4f}) | {gaps.min():+.4f} "
            f"({worst}) | {(gaps > 1.96 * errors).sum()} | {(gaps < -1.96 * errors).sum()} | "
            f"{np.median(times):.1f} | {max(times):.1f} |"
        )
    return out


def text(rows: list[Row], asked: list[str]) -> str:
    """The whole page."""
    if not rows:
        return "nothing has been played"
    plain = [row for row in rows if row.job.kind == "plain"]
    missing = [name for name in asked if name not in {row.job.label for row in rows}]
    role = "chose" if rows[0].job.chooses else "judge"
    rounds = sorted({row.rounds for row in rows})
    out = [
        f"{' or '.join(f'{n:,}' for n in rounds)} rounds, mean reward of shuffles 3 to 5. These "
        f"streams {role}: {', '.join(dict.fromkeys(row.job.stream for row in rows))}.",
        *([f"Not played: {', '.join(missing)}."] if missing else []),
    ]
    for part in (plain, [row for row in rows if row not in plain]):
        if part:
            out += ["", head(part[0]), *map(line, part), ""]
            out.append(
                "| | against | ahead | level | mean (95%) | worst | clearly ahead | "
                "clearly behind | time, median | time, most |"
            )
            out.append("|" + "---|" * 10)
            rules = [name for name in part[0].runs if not name.startswith(("vw", "lin"))]
            for who in rules:
                out += summary(part, who)
    return "\n".join(out)
