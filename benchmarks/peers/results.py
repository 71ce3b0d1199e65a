"""What is kept of a race: one row for each contestant and stream, at defaults and at its best."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.peers.contest import OURS, in_words
from benchmarks.peers.race import Store, best, key, machine
from benchmarks.peers.run import TABLES, Task, find
from benchmarks.peers.streams import Source, loaded

COMMITTED = Path(__file__).parent.parent / "results" / "peers.json"
MEASURES = ("log_loss", "second_half", "worst_class", "microseconds", "megabytes")

# Whom the others of a table are compared with: one by one through Python, as they are.
REFERENCE = {
    "numbers": "mixable linear, one by one",
    "curves": "mixable, one by one",
    "records": "mixable, one by one",
}


@dataclass(frozen=True, kw_only=True)
class Row:
    """One contestant on one stream."""

    table: str
    stream: str
    contestant: str
    kind: str
    setting: str
    in_hindsight: bool
    log_loss: float
    second_half: float
    worst_class: float
    microseconds: float
    megabytes: float

    @property
    def is_ours(self) -> bool:
        """Whether it is mixable."""
        return self.kind == OURS


@dataclass(frozen=True, kw_only=True)
class About:
    """A stream: n examples with d columns and K classes."""

    n: int
    d: int
    K: int


@dataclass(frozen=True, kw_only=True)
class Results:
    """All of a race."""

    machine: dict[str, str]
    cpu_minutes: float
    cut: int | None  # after so many rows, in a trial
    streams: dict[str, About]
    rows: list[Row]
    failed: dict[str, str]  # runs that ended with an error

    def of(self, table: str, stream: str | None = None) -> list[Row]:
        """The rows of a table, or of one of its streams."""
        return [row for row in self.rows if row.table == table and stream in (None, row.stream)]

    def tables(self) -> list[str]:
        """The tables that were run."""
        return list(dict.fromkeys(row.table for row in self.rows))

    def streams_of(self, table: str) -> list[str]:
        """The streams of a table."""
        return list(dict.fromkeys(row.stream for row in self.of(table)))

    def row(self, table: str, stream: str, contestant: str, in_hindsight: bool = False) -> Row:
        """One row. In hindsight the defaults may have been the best."""
        found = [row for row in self.of(table, stream) if row.contestant == contestant]
        return next(
            (row for row in found if row.in_hindsight and in_hindsight),
            next(row for row in found if not row.in_hindsight),
        )

    def reference(self, table: str, stream: str) -> Row:
        """mixable's row that the others are compared with."""
        return self.row(table, stream, REFERENCE[table])


def _rounded(value: float) -> float:
    """Four digits."""
    return float(f"{value:.4g}")


def collect(store: Store, sources: dict[str, list[Source]]) -> Results:
    """The results of all runs of a store."""
    rows: list[Row] = []
    streams: dict[str, About] = {}
    for table, own in sources.items():
        for source in own:
            stream = loaded(source)
            streams[source.name] = About(n=stream.n, d=stream.d, K=stream.K)
            for contestant in TABLES[table]:
                defaults, winner = best(store, table, source, contestant.name)
                for setting in [defaults] if winner == defaults else [defaults, winner]:
                    task = Task(table, source, contestant.name, tuple(setting.items()))
                    runs = [store.runs[key(task)], store.runs.get(key(task._replace(alone=True)))]
                    found = [run for run in runs if run and "error" not in run]
                    if found:
                        rows.append(_row(task, setting, found))
    failed = {name: run["error"] for name, run in store.runs.items() if "error" in run}
    minutes = sum(run["cpu_seconds"] for run in store.runs.values()) / 60
    return Results(
        machine=machine(),
        cpu_minutes=_rounded(minutes),
        cut=next(source.rows for own in sources.values() for source in own),
        streams=streams,
        rows=rows,
        failed=failed,
    )


def _row(task: Task, setting: dict[str, Any], runs: list[dict[str, Any]]) -> Row:
    """Time and memory are the least of the runs; their forecasts are the same."""
    values = {name: _rounded(runs[0][name]) for name in MEASURES}
    values["microseconds"] = _rounded(min(run["microseconds"] for run in runs))
    values["megabytes"] = _rounded(min(run["megabytes"] for run in runs))
    return Row(
        table=task.table,
        stream=task.source.name,
        contestant=task.contestant,
        kind=find(task.table, task.contestant).kind,
        setting=in_words(setting),
        in_hindsight=bool(setting),
        **values,
    )


def save(results: Results, path: Path) -> None:
    """Write results, a line for each row, so that differences can be read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    head = {name: value for name, value in asdict(results).items() if name != "rows"}
    lines = ",\n".join(json.dumps(asdict(row)) for row in results.rows)
    text = json.dumps(head, indent=1)[:-2] + f',\n "rows": [\n{lines}\n]}}\n'
    path.write_text(text, encoding="utf-8")


def load(path: Path = COMMITTED) -> Results:
    """Read results."""
    read = json.loads(path.read_text(encoding="utf-8"))
    return Results(
        machine=read["machine"],
        cpu_minutes=read["cpu_minutes"],
        cut=read["cut"],
        streams={name: About(**about) for name, about in read["streams"].items()},
        rows=[Row(**row) for row in read["rows"]],
        failed=read["failed"],
    )


def geometric_mean(values: list[float]) -> float:
    """The geometric mean."""
    return math.exp(math.fsum(map(math.log, values)) / len(values))
