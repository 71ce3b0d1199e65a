"""The results: collected from the files of runs, compared with mixable row by row."""

from __future__ import annotations

import itertools
import json
import math
import platform
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.leaderboard.peers import OURS, PEERS, REFITTED
from benchmarks.leaderboard.run import NOT_SCORED
from benchmarks.leaderboard.streams import STREAMS

COMMITTED = Path(__file__).parent.parent / "results" / "leaderboard.json"
PACKAGES = ("mixable", "river", "scikit-learn", "vowpalwabbit", "lightgbm", "capymoa", "numpy")
REFERENCE = "mixable"
CLEAR = 2.0  # standard errors
BLOCKS = 30
SAME = 0.01  # how far mixable's loss may differ between results that are joined


@dataclass(frozen=True, kw_only=True)
class Row:
    """A peer on a stream, at its defaults or at its best setting.

    `loss` is the log loss, or the root mean square error divided by the deviation of the target.
    `ratio` is the loss over mixable's on the same rows, `errors` their difference in standard
    errors: above 0 mixable is better.
    """

    stream: str
    peer: str
    kind: str
    best: bool  # of its grid in hindsight
    setting: str
    rows: int
    loss: float
    ratio: float
    errors: float
    segments: list[float]  # ratios: rows up to 100, 1,000, 10,000, and the rest
    accuracy: float | None  # classes
    calibration: float | None
    crps: float | None  # numbers, in deviations of the target
    coverage: float | None
    microseconds: float
    megabytes: float


@dataclass(frozen=True, kw_only=True)
class Results:
    """All that is kept."""

    machine: dict[str, str]
    streams: dict[str, dict[str, Any]]
    rows: list[Row]
    failed: dict[str, str]

    def names(self, *, number: bool, held_out: bool = True) -> list[str]:
        """Streams of a task, held out or used for choosing."""
        return [
            name for name, about in self.streams.items()
            if (about["K"] == 0) == number and about["held_out"] == held_out
        ]  # fmt: skip

    def of(self, names: Iterable[str], peer: str, best: bool) -> list[Row]:
        """The rows of a peer on these streams."""
        wanted = set(names)
        return [row for row in self.rows
                if row.stream in wanted and row.peer == peer and row.best == best]  # fmt: skip

    def rival(self, stream: str, who: Callable[[Row], bool]) -> Row | None:
        """The row of a stream with the least loss in terms of mixable's, of some peers."""
        rows = [row for row in self.rows
                if row.stream == stream and row.kind != OURS and who(row)]  # fmt: skip
        return min(rows, key=lambda row: row.ratio, default=None)


def online(row: Row) -> bool:
    """Learns one at a time, at its best setting."""
    return row.best and row.kind != REFITTED


def online_defaults(row: Row) -> bool:
    """Learns one at a time, at its defaults."""
    return not row.best and row.kind != REFITTED


def refits(row: Row) -> bool:
    """A batch model, refitted, at its best setting."""
    return row.best and row.kind == REFITTED


def anyone(row: Row) -> bool:
    """Any peer at its best setting."""
    return row.best


def paired_errors(ours: NDArray[np.float64], theirs: NDArray[np.float64]) -> float:
    """The mean difference of losses over its standard error.

    By means of blocks of rows, since rows nearby may be alike; and by the steps from block to
    block, since a difference that shrinks while both learn is no noise.
    """
    difference = theirs - ours
    blocks = min(BLOCKS, max(len(difference) // 10, 2))
    means = np.array([part.mean() for part in np.array_split(difference, blocks)])
    error = math.sqrt(float((np.diff(means) ** 2).mean()) / 2 / blocks)
    return float(difference.mean() / error) if error > 0 else 0.0


def geometric(values: list[float]) -> tuple[float, float, float]:
    """The geometric mean, and its interval of 95% by the bootstrap over streams."""
    logs = np.log(values)
    draws = np.random.default_rng(0).integers(0, len(logs), (2000, len(logs)))
    low, high = np.quantile(logs[draws].mean(axis=1), [0.025, 0.975])
    return math.exp(logs.mean()), math.exp(low), math.exp(high)


def _rounded(value: Any) -> Any:
    """Four digits."""
    return float(f"{value:.4g}") if isinstance(value, float) else value


def _segment_ratios(
    ours: NDArray[np.float64], theirs: NDArray[np.float64], number: bool
) -> list[float]:
    edges = [max(edge - NOT_SCORED * number, 0) for edge in (0, 100, 1000, 10_000)]
    edges = [edge for edge in edges if edge < len(theirs)] + [len(theirs)]
    out = []
    for a, b in itertools.pairwise(edges):
        ratio = float(theirs[a:b].mean() / max(ours[a:b].mean(), 1e-12))
        out.append(_rounded(math.sqrt(ratio) if number else ratio))
    return out


def _row(stream: str, found: dict[str, Any], best: bool, ours: Any) -> Row | None:
    """A row of a file; None if the setting failed."""
    at = found["best"] if best else 0
    if at is None or str(at) not in found["losses"]:
        return None
    run, about = found["runs"][at], found["about"]
    theirs = np.array(found["losses"][str(at)])
    same = ours[: len(theirs)]
    number = about["K"] == 0
    unit = about["deviation"] if number else 1.0
    mean, ratio = float(theirs.mean()), float(theirs.mean() / same.mean())
    crps = run["crps"] / unit if number else None
    return Row(
        stream=stream,
        peer=found["peer"],
        kind=PEERS[found["peer"]].kind,
        best=best,
        setting=", ".join(f"{name} {value}" for name, value in run["setting"].items()),
        rows=run["rows"],
        loss=_rounded(math.sqrt(mean) / unit if number else mean),
        ratio=_rounded(math.sqrt(ratio) if number else ratio),
        errors=round(paired_errors(same, theirs), 1),
        segments=_segment_ratios(same, theirs, number),
        accuracy=_rounded(run.get("accuracy")),
        calibration=_rounded(run.get("calibration")),
        crps=_rounded(crps),
        coverage=_rounded(run.get("coverage")),
        microseconds=_rounded(run["microseconds"]),
        megabytes=_rounded(run["megabytes"]),
    )


def machine(command: str) -> dict[str, str]:
    """Where, when and with what."""
    cpu = Path("/proc/cpuinfo")
    lines = cpu.read_text().splitlines() if cpu.exists() else []
    model = next((x.partition(":")[2].strip() for x in lines if x.startswith("model name")), "")
    out = {"processor": model or platform.processor(), "python": platform.python_version(),
           "date": time.strftime("%Y-%m-%d"), "command": command}  # fmt: skip
    for package in PACKAGES:
        try:
            out[package] = version(package)
        except PackageNotFoundError:
            continue
    return out


def collect(folder: Path, command: str = "python -m benchmarks.leaderboard") -> Results:
    """The results of a folder: all streams on which mixable and others have run."""
    streams: dict[str, dict[str, Any]] = {}
    rows: list[Row] = []
    failed: dict[str, str] = {}
    known = [name for name in STREAMS if (folder / name).is_dir()]
    own = sorted(path.name for path in folder.iterdir() if path.name not in STREAMS)
    for name in [*known, *own]:
        files = [folder / name / f"{peer.replace('/', ' or ')}.json" for peer in PEERS]
        read = [json.loads(path.read_text("utf-8")) for path in files if path.exists()]
        kinds = {PEERS[found["peer"]].kind for found in read}
        if not kinds > {OURS} or read[0]["peer"] != REFERENCE:
            continue
        ours, stream = np.array(read[0]["losses"]["0"]), STREAMS.get(name)
        streams[name] = {
            **{key: read[0]["about"][key] for key in ("whole", "rows", "K", "numbers", "others")},
            "package": stream.package if stream else "a file",
            "held_out": not (stream and stream.chosen),
            "ordered": stream.ordered if stream else True,
            "tags": stream.tags if stream else "",
        }
        for found in read:
            if found["best"] is None:
                failed[f"{name}: {found['peer']}"] = found["runs"][0]["error"]
            rows += [row for best in (False, True) if (row := _row(name, found, best, ours))]
    return Results(machine=machine(command), streams=streams, rows=rows, failed=failed)


def joined(first: Results, second: Results) -> Results:
    """The first results, and the second's rows of peers on streams where the first has none.

    A row was compared with the mixable of its own results. So only streams count on which its loss
    is the same in both, within 1%.
    """
    ours = [{row.stream: row.loss for row in each.of(each.streams, REFERENCE, True)}
            for each in (first, second)]  # fmt: skip
    same = {name for name in set(ours[0]) & set(ours[1])
            if abs(ours[0][name] / ours[1][name] - 1) <= SAME}  # fmt: skip
    there = {(row.stream, row.peer) for row in first.rows}
    more = [row for row in second.rows
            if row.stream in same and (row.stream, row.peer) not in there]  # fmt: skip
    place = {name: k for k, name in enumerate([*first.streams, *PEERS])}
    rows = sorted([*first.rows, *more], key=lambda row: (place[row.stream], place[row.peer]))
    return replace(first, rows=rows)


def save(results: Results, path: Path = COMMITTED) -> None:
    """Write results, a line for each row, so that differences can be read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    head = {name: value for name, value in asdict(results).items() if name != "rows"}
    names = list(Row.__dataclass_fields__)
    lines = ",\n".join(json.dumps([getattr(row, name) for name in names]) for row in results.rows)
    text = json.dumps(head, indent=1)[:-2]
    text += f',\n "columns": {json.dumps(names)},\n "rows": [\n{lines}\n]}}\n'
    path.write_text(text, encoding="utf-8")


def load(path: Path = COMMITTED) -> Results:
    """Read results."""
    read = json.loads(path.read_text(encoding="utf-8"))
    names = read.pop("columns")
    rows = [Row(**dict(zip(names, row, strict=True))) for row in read.pop("rows")]
    return Results(**read, rows=rows)
