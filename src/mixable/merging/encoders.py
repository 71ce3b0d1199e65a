"""Merging encoders of records: columns and their dictionaries are united, counts add."""

from __future__ import annotations

from typing import Any

import numpy as np

from mixable.records import Encoder
from mixable.records.category import Category, Sketch
from mixable.records.column import Column, Formatted
from mixable.records.time import Time

COUNTS = ("n", "missing", "words", "unclear", "cut")


def combine(onto: Encoder | None, terms: list[Encoder], base: Encoder | None) -> Encoder:
    """onto + the sum of (term - base); None stands for one without records."""
    begin = [each for each in (onto, base) if each is not None]
    every = [*begin, *terms]
    places = _same_places(terms)
    old = list(begin[0].registry.columns) if begin else []
    new = {name for each in terms for name in each.registry.columns} - set(old)
    names = [*old, *sorted(new, key=repr)]
    columns = [_column(name, onto, terms, base) for name in names]
    known: dict[int, str] = {}
    for each in begin:
        known.update(each.names)
    rest = {key: name for each in terms for key, name in each.names.items() if key not in known}
    known.update(sorted(rest.items()))
    state, most = terms[0].__getstate__(), terms[0].limits.values
    state.update(
        n=_sum(onto.n if onto else 0, [each.n for each in terms], base.n if base else 0),
        columns=[each for each in columns if each is not None],
        places=places,
        bag=any(each.registry.bag for each in every),
        keys=np.array(list(known)[:most], dtype=np.uint64),
        names=list(known.values())[:most],
    )
    made = Encoder.__new__(Encoder)
    made.__setstate__(state)
    return made


def _sum(start: int, terms: list[int], before: int) -> int:
    return start + sum(term - before for term in terms)


def _same_places(terms: list[Encoder]) -> list[str]:
    """What the places of the dense part hold: the same in all, as far as they go."""
    longest = max((each.registry.places for each in terms), key=len)
    for each in terms:
        own = each.registry.places
        for mine, theirs in zip(own, longest, strict=False):
            if mine != theirs:
                raise ValueError(
                    f"models have columns of numbers in other orders ({mine!r:.80} where "
                    f"{theirs!r:.80} is): let them start from a common model (base) that has met "
                    "them all"
                )
    return list(longest)


def _column(
    name: Any, onto: Encoder | None, terms: list[Encoder], base: Encoder | None
) -> dict[str, Any] | None:
    """The state of one column; None where all have found that it is none."""
    own = [each.registry.columns[name] for each in terms if name in each.registry.columns]
    if not own:
        return None
    first = own[0]
    for each in own[1:]:
        if each.kind != first.kind or each.places != first.places:
            raise ValueError(
                f"column {name!r:.80} is a {first.kind} in one model and a {each.kind} in another: "
                "declare its kind, or let them start from a common model (base) that knows it"
            )
    start, before = (
        None if each is None else each.registry.columns.get(name) for each in (onto, base)
    )
    out = first.state()
    for count in COUNTS:
        if count in out or hasattr(first, count):
            out[count] = _sum(
                _count(start, first, count),
                [getattr(each, count) for each in own],
                _count(before, first, count),
            )
    out["guessed"] = all(each.guessed for each in own) if start is None else start.guessed
    out["was"] = next((each.was for each in own if each.was is not None), None)
    if isinstance(first, Formatted):
        out.update(_format(start, own, before))
    if isinstance(first, Time):
        latest = [each.latest for each in own if isinstance(each, Time) and each.latest is not None]
        out["latest"] = max(latest, default=None)
    if isinstance(first, Category):
        out.update(_values(start, own, before, terms[0].limits.values))
    return out


def _format(start: Column | None, own: list[Any], before: Column | None) -> dict[str, Any]:
    """How texts are read, and the votes for it."""
    known = {each.format for each in own} - {""}
    if len(known) > 1:
        raise ValueError(
            f"models read column {own[0].name!r:.80} in two ways ({' and '.join(sorted(known))}): "
            "declare how"
        )
    begin, old = (
        each.votes if isinstance(each, Formatted) and each.kind == own[0].kind else (0, 0)
        for each in (start, before)
    )
    votes = [_sum(begin[i], [each.votes[i] for each in own], old[i]) for i in (0, 1)]
    return {"format": "".join(known), "votes": votes}


def _count(column: Column | None, like: Column, name: str) -> int:
    """A count of a column; what was counted under another kind is forgotten, but for records."""
    if column is None or (column.kind != like.kind and name not in ("n", "missing")):
        return 0
    return int(getattr(column, name))


def _values(
    start: Column | None, own: list[Any], before: Column | None, most: int
) -> dict[str, Any]:
    """The dictionary of a category; values beyond the limit are only sketched."""

    def counts(column: Column | None) -> dict[Any, int]:
        if not isinstance(column, Category) or column.kind != own[0].kind:
            return {}
        return dict(zip(column.known, column.counts, strict=True))

    begin, old = counts(start), counts(before)
    total = dict(begin)
    for each in own:
        for value, n in counts(each).items():
            total[value] = total.get(value, 0) + n - old.get(value, 0)
    new = [value for value in total if value not in begin]
    new.sort(key=lambda value: (-total[value], value is None, value or ""))
    values = [*begin, *new]
    sketches = [each.sketch.registers for each in own if each.sketch is not None]
    registers = None
    if sketches or len(values) > most:
        sketch = Sketch()
        for each in own:
            sketch.add(np.array(each.keys, np.uint64))
        registers = np.max([sketch.registers, *sketches], axis=0)
    kept = values[:most]
    return {
        "values": kept,
        "counts": np.array([max(total[value], 1) for value in kept], np.int64),
        "place_of": np.full(len(kept), -1, np.int64),
        "places": [],  # encoders of learners give values none
        "registers": registers,
    }
