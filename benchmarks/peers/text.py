"""The tables of a race in Markdown, where mixable loses first. One number to a cell."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.peers.contest import BASELINE, OURS
from benchmarks.peers.results import REFERENCE, Results, Row, geometric_mean

TITLES = {
    "log_loss": "log loss",
    "second_half": "second half",
    "worst_class": "worst class",
    "microseconds": "µs",
    "megabytes": "MB",
}
Lines = list[str]


def number(measure: str, value: float) -> str:
    """A measure as text."""
    if measure == "microseconds":
        return f"{value:,.0f}"
    return f"{value:.1f}" if measure == "megabytes" else f"{value:.3f}"


def markdown_table(header: Lines, rows: list[Lines]) -> str:
    """A table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def called(row: Row) -> str:
    """A contestant with its setting, if that was chosen in hindsight."""
    return f"{row.contestant} ({row.setting})" if row.in_hindsight else row.contestant


def mean(
    results: Results, table: str, contestant: str, of: Callable[[Row], float], hindsight: bool
) -> float:
    """The geometric mean of something over the streams of a table."""
    streams = results.streams_of(table)
    return geometric_mean([of(results.row(table, name, contestant, hindsight)) for name in streams])


def relative_loss(
    results: Results, table: str, contestant: str, *, hindsight: bool, measure: str = "log_loss"
) -> float:
    """The geometric mean over the streams of a loss as a multiple of mixable's."""
    ours = {
        name: getattr(results.reference(table, name), measure) for name in results.streams_of(table)
    }
    return mean(
        results, table, contestant, lambda row: getattr(row, measure) / ours[row.stream], hindsight
    )


def contestants(results: Results, table: str) -> list[str]:
    """Those that have a row on every stream of a table."""
    streams = results.streams_of(table)
    names = dict.fromkeys(row.contestant for row in results.of(table))
    has = {(row.contestant, row.stream) for row in results.of(table)}
    return [name for name in names if all((name, stream) in has for stream in streams)]


def _kind(results: Results, table: str, contestant: str) -> str:
    return next(row.kind for row in results.of(table) if row.contestant == contestant)


def losses(results: Results, table: str) -> str:
    """Where others are better than mixable: the best of them, by stream and measure."""
    lines = []
    for stream in results.streams_of(table):
        ours = results.reference(table, stream)
        for measure in ("log_loss", "second_half", "worst_class"):
            others = [row for row in results.of(table, stream) if row.kind != OURS]
            if measure == "worst_class":  # rates of classes are calibrated, and tell nothing else
                others = [row for row in others if row.kind != BASELINE]
            best = min(others, key=lambda row: getattr(row, measure))
            lines.append((stream, measure, ours, best))
    out = [
        [stream, TITLES[measure], number(measure, getattr(ours, measure)),
         number(measure, getattr(best, measure)), called(best)]
        for stream, measure, ours, best in lines
        if getattr(best, measure) < getattr(ours, measure)
    ]  # fmt: skip
    for measure in ("microseconds", "megabytes"):
        own = results.reference(table, results.streams_of(table)[0]).contestant

        def value(name: str, measure: str = measure) -> float:
            return mean(results, table, name, lambda row: max(getattr(row, measure), 0.01), False)

        peers = [
            name
            for name in contestants(results, table)
            if _kind(results, table, name) not in (OURS, BASELINE)
        ]
        best_peer = min(peers, key=value)
        if value(best_peer) < value(own):
            cells = [number(measure, value(own)), number(measure, value(best_peer))]
            out.append(["mean", TITLES[measure], *cells, best_peer])
    return markdown_table(["stream", "measure", "mixable", "best other", "who"], out)


def summary(results: Results, table: str) -> str:
    """Each contestant over all streams of a table, the best in hindsight first."""

    def line(name: str) -> tuple[float, Lines]:
        at_best = relative_loss(results, table, name, hindsight=True)
        late = relative_loss(results, table, name, hindsight=True, measure="second_half")
        plain = relative_loss(results, table, name, hindsight=False)
        time = mean(results, table, name, lambda row: row.microseconds, True)
        rows = [results.row(table, each, name, True) for each in results.streams_of(table)]
        worst = max(row.worst_class for row in rows)
        cells = [f"{plain:.2f}", f"{at_best:.2f}", f"{late:.2f}", f"{worst:.2f}"]
        memory = max(row.megabytes for row in rows)
        cells += [number("microseconds", time), number("megabytes", memory)]
        return at_best, [name, *cells]

    rows = sorted(map(line, contestants(results, table)))
    header = ["", "defaults", "at best", "second half", "worst class", "µs", "MB"]
    return markdown_table(header, [cells for _, cells in rows])


def details(results: Results, table: str) -> str:
    """All rows of a table, stream by stream."""
    out = []
    for stream in results.streams_of(table):
        about = results.streams[stream]
        rows = sorted(results.of(table, stream), key=lambda row: row.log_loss)
        cells = [
            [called(row), *(number(name, getattr(row, name)) for name in TITLES)] for row in rows
        ]
        size = f"{about.n:,} examples, {about.d} columns, {about.K} classes"
        out += [f"**{stream}**: {size}", "", markdown_table(["", *TITLES.values()], cells), ""]
    return "\n".join(out[:-1])


def about(results: Results) -> str:
    """What was run where."""
    words = [f"{name} {version}" for name, version in results.machine.items()]
    processor = results.machine["processor"]
    packages = ", ".join(word for word in words if not word.startswith("processor"))
    said = f"{packages}; {processor}; {results.cpu_minutes:.0f} minutes of processor time."
    trial = f" This is a trial: streams were cut after {results.cut} rows." if results.cut else ""
    return said + trial


def all_tables(results: Results) -> str:
    """Everything as text."""
    out = [about(results), ""]
    for table in results.tables():
        out += [f"## {table}: where mixable loses", "", losses(results, table), ""]
    for table in results.tables():
        what = f"log loss as a multiple of that of {REFERENCE[table]!r}, mean over the streams"
        out += [f"## {table}: {what}", "", summary(results, table), "", details(results, table), ""]
    out += [f"failed: {name}: {error}" for name, error in results.failed.items()]
    return "\n".join(out)
