"""The log of a service for others: export, and what another model would have said."""

from __future__ import annotations

import csv
import json
import math
import os
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import IO, Any

from mixable.bandits.deciding import told
from mixable.events.applying import MOST, Applier
from mixable.events.decisions import AgentOptions
from mixable.events.model import EventModel
from mixable.events.options import ModelOptions
from mixable.events.store import Store

ABOUT = ("number", "time", "id", "outcome", "outcome_time")


def since(text: str | None) -> float:
    """A time as seconds since 1970: a date or time of ISO 8601, UTC unless it says otherwise."""
    if text is None:
        return 0.0
    try:
        found = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        raise ValueError(
            f"--since must be a date or a time such as 2024-03-01T20:15, got {text!r}"
        ) from None
    return (found if found.tzinfo else found.replace(tzinfo=timezone.utc)).timestamp()


def records(store: Store, name: str, begin: float = 0.0) -> Iterator[dict[str, Any]]:
    """The events of a model in their order, from a time on: what is known of each by name.

    Columns of features are called `features.NAME`, those of forecasts `forecast.NAME`.
    """
    is_agent = isinstance(store.options(name), AgentOptions)
    found = store.each(
        f"SELECT {', '.join(ABOUT)}, features, forecast FROM log "
        "WHERE model = ? AND time >= ? AND error IS NULL ORDER BY number",
        name,
        begin,
    )
    for *about, features, forecast in found:
        row = dict(zip(ABOUT, about, strict=True))
        for key in ("time", "outcome_time"):
            if row[key] is not None:
                row[key] = datetime.fromtimestamp(row[key], timezone.utc).isoformat()
        given, said = json.loads(features), json.loads(forecast or "{}")
        if is_agent:  # as `mixable decide` writes it
            reward = row.pop("outcome")
            yield {**row, **told(given), **said, "reward": reward}
            continue
        row |= {f"features.{key}": value for key, value in given.items()}
        yield row | {f"forecast.{key}": value for key, value in _flat(said)}


def _flat(forecast: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in forecast.items():
        if name == "probabilities":
            yield from value.items()
        elif name == "interval":
            yield from zip(("low", "high"), value, strict=True)
        else:
            yield name, value


def export(store: Store, name: str, out: Path | None, begin: float = 0.0) -> int:
    """Write the events of a model as CSV, JSON lines or Parquet, by the name; how many."""
    suffix = "" if out is None else out.suffix.lower()
    if out is not None and suffix == ".parquet":
        return _to_parquet(records(store, name, begin), out)
    write = _to_csv if suffix == ".csv" else _to_lines
    if out is None:
        with os.fdopen(os.dup(1), "w", newline="") as file:
            return write(lambda: records(store, name, begin), file)
    with open(out, "w", newline="", encoding="utf-8") as file:
        return write(lambda: records(store, name, begin), file)


def _to_lines(rows: Callable[[], Iterator[dict[str, Any]]], file: IO[str]) -> int:
    return sum(1 for row in rows() if file.write(json.dumps(row) + "\n"))


def _to_csv(rows: Callable[[], Iterator[dict[str, Any]]], file: IO[str]) -> int:
    """Two passes: the columns of all events are known first."""
    names = dict.fromkeys(ABOUT) | dict.fromkeys(name for row in rows() for name in row)
    writer = csv.DictWriter(file, list(names), restval="")
    writer.writeheader()
    cells = (
        {k: json.dumps(v) if isinstance(v, list | dict) else v for k, v in row.items()}
        for row in rows()
    )
    return sum(1 for row in cells if writer.writerow(row))


def _to_parquet(rows: Iterator[dict[str, Any]], out: Path) -> int:
    import polars as pl

    every = list(rows)
    names = dict.fromkeys(ABOUT) | dict.fromkeys(name for row in every for name in row)
    columns = {name: [row.get(name) for row in every] for name in names}
    pl.DataFrame([_column(pl, name, values) for name, values in columns.items()]).write_parquet(out)
    return len(every)


def _column(pl: Any, name: str, values: list[Any]) -> Any:
    """A column of one type: numbers, lists, or else text."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float} or len(kinds) == 1:
        try:
            return pl.Series(name, values, strict=False)
        except (TypeError, ValueError, pl.exceptions.PolarsError):
            pass
    texts = [v if v is None or isinstance(v, str) else json.dumps(v) for v in values]
    return pl.Series(name, texts, dtype=pl.String)


def replay(
    store: Store, name: str, options: ModelOptions, tick: Callable[[int], None] = lambda _: None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The scores of a model as it was served, and those of another one on the same events.

    Both are over all events of the log. The first are of the forecasts that were answered.
    """
    key, served = store.models()[name], store.options(name)
    assert isinstance(served, ModelOptions)
    first, other = EventModel(served), Applier(EventModel(options))
    forecasts = store.each(
        "SELECT e.forecast, coalesce(o.number, e.number), coalesce(e.outcome, o.outcome) "
        "FROM events e LEFT JOIN outcomes o ON o.event = e.number WHERE e.model = ? AND "
        "e.forecast IS NOT NULL AND coalesce(e.outcome, o.outcome) IS NOT NULL ORDER BY 2",
        key,
    )
    codes: dict[str, int] = {label: code for code, label in enumerate(first.classes or ())}
    for text, _, outcome in forecasts:
        said = json.loads(text)
        if first.options.regression:
            numbers = [said["mean"], said["std"], *said["interval"]]
            first.score([math.inf if each is None else each for each in numbers], float(outcome))
            continue
        for label in (*said["probabilities"], outcome):
            codes.setdefault(label, len(codes))
        p = [said["probabilities"].get(label, 0.0) for label in list(codes)]
        known = len(said["probabilities"])
        first.score(p[:known] if known else [], codes[outcome])
    some: list[Any] = []
    for event in store.since(key):
        some.append(event)
        if len(some) == MOST:
            tick(len(other.apply(some)))
            some = []
    tick(len(other.apply(some)))
    return first.score_figures(), other.model.score_figures()
