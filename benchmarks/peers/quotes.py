"""Numbers that documents quote, by name.

A name is that of a number below, such as `online-most`, or `table/stream/contestant/measure`, with
`least`, `most` or `mean` in place of a stream, and `/at best` after the measure for the setting
that was chosen in hindsight: `curves/most/mixable, one by one/microseconds`.
"""

from __future__ import annotations

from benchmarks.peers.contest import BASELINE, OURS, REFITTED
from benchmarks.peers.results import Results, Row, geometric_mean
from benchmarks.peers.text import markdown_table, number

OVER_STREAMS = {"least": min, "most": max, "mean": geometric_mean}


def value(results: Results, name: str) -> str:
    """A number of the table, as text."""
    table, stream, contestant, measure, *rest = name.split("/")
    at_best = rest == ["at best"]
    names = results.streams_of(table) if stream in OVER_STREAMS else [stream]
    found = [getattr(results.row(table, each, contestant, at_best), measure) for each in names]
    one = OVER_STREAMS[stream](found) if stream in OVER_STREAMS else found[0]
    return number(measure, one)


def ratios(
    results: Results, tables: list[str], kinds: set[str], *, at_best: bool = True
) -> list[float]:
    """On each stream the least log loss of the peers of some kinds over mixable's."""
    out = []
    for stream in results.streams_of(tables[0]):
        ours = results.reference(tables[0], stream).log_loss
        theirs = [
            row.log_loss
            for table in tables
            for row in results.of(table, stream)
            if row.kind in kinds and (at_best or not row.in_hindsight)
        ]
        out.append(min(theirs) / ours)
    return out


def _range(name: str, values: list[float]) -> dict[str, str]:
    won = len([each for each in values if each > 1])
    return {
        f"{name}-least": f"{min(values):.2f}",
        f"{name}-most": f"{max(values):.2f}",
        f"{name}-won": str(won),
        f"{name}-of": str(len(values)),
    }


def quotes(results: Results) -> dict[str, str]:
    """The named numbers.

    `-least` and `-most` are the best peer's loss over mixable's on the stream where it is smallest
    and largest; `-won` counts the streams on which mixable's is less, of `-of`.
    """
    all_kinds = {row.kind for row in results.rows} - {OURS, BASELINE}
    online = all_kinds - {REFITTED}
    out: dict[str, str] = {}
    have = results.tables()
    if "numbers" in have:
        out |= _range("linear", ratios(results, ["numbers"], online))
        out |= _range("linear-defaults", ratios(results, ["numbers"], online, at_best=False))
    if "curves" in have and "numbers" in have:
        pair = ["curves", "numbers"]
        out |= _range("online", ratios(results, pair, online))
        out |= _range("online-defaults", ratios(results, pair, online, at_best=False))
        out |= _range("refitted", ratios(results, pair, {REFITTED}))
    if "records" in have:
        out |= _range("records", ratios(results, ["records"], all_kinds))
        out |= _range("records-defaults", ratios(results, ["records"], all_kinds, at_best=False))
        out["records-best"] = _best(results, "records", "shop").contestant
    return out


def _best(results: Results, table: str, stream: str) -> Row:
    """The peer with the least log loss on a stream, at its best."""
    others = [row for row in results.of(table, stream) if row.kind not in (OURS, BASELINE)]
    return min(others, key=lambda row: row.log_loss)


def told(results: Results) -> str:
    """What the race says, in sentences; for the head of the page."""
    q = quotes(results)
    lines = []
    if "online-won" in q:
        lines += [
            f"- **Online learners.** `GAFClassifier()` has the least log loss on {q['online-won']} "
            f"of {q['online-of']} streams. The best other online learner, at the best setting of "
            f"its grid, has {q['online-least']} to {q['online-most']} times its loss. At their "
            f"defaults the best has {q['online-defaults-least']} to {q['online-defaults-most']} "
            "times its loss.",
            "- **Refitted models.** The better of random forest and LightGBM, refitted after 100, "
            f"200, 400, ... rows, has {q['refitted-least']} to {q['refitted-most']} times its "
            "loss.",
        ]
    if "linear-won" in q:
        lines.append(
            "- **Linear models.** `GAFClassifier(kernel=None)` has less loss than every linear "
            f"peer on {q['linear-won']} of {q['linear-of']} streams. The best linear peer, at the "
            f"best setting of its grid, has {q['linear-least']} to {q['linear-most']} times its "
            "loss."
        )
    if "records-won" in q:
        lines.append(
            f"- **Records.** The best peer at the best setting of its grid, {q['records-best']}, "
            f"has {q['records-least']} times the loss of `GAFClassifier()`. The best peer at its "
            f"defaults has {q['records-defaults-least']} times."
        )
    return "\n".join(lines)


def times(results: Results) -> str:
    """How long mixable and Vowpal Wabbit take an example, on the fastest and the slowest stream."""
    found: dict[tuple[str, ...], None] = {}
    for table in results.tables():
        what = "records" if table == "records" else "numbers"
        for row in results.of(table):
            if row.is_ours or row.kind == "Vowpal Wabbit":
                name = f"{table}/{{}}/{row.contestant}/microseconds"
                ends = [value(results, name.format(each)) for each in ("least", "most")]
                found[(what, row.contestant, *ends)] = None
    return markdown_table(["streams", "", "least µs", "most µs"], [list(line) for line in found])
