"""Combining encoders: columns and dictionaries are united, counts add."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mixable.records.declaration import Name


def combined(start: Any, others: Sequence[Any], base: Any) -> dict[str, Any]:
    """The state of start + the sum of (other - base), of encoders."""
    places = _same_places(others)
    old = list(start.registry.columns or base.registry.columns)
    new = {name for each in others for name in each.registry.columns} - set(old)
    names = {**start.names, **base.names}
    rest = {key: name for each in others for key, name in each.names.items()}
    names |= dict(sorted((key, name) for key, name in rest.items() if key not in names))
    every, most = [start, base, *others], start.limits.values
    state: dict[str, Any] = others[0].__getstate__()
    columns = [_column(start, name, others, base) for name in (*old, *sorted(new, key=repr))]
    state.update(
        n=start.n + sum(each.n - base.n for each in others),
        columns=[column for column in columns if column is not None],
        places=places,
        bag=any(each.registry.bag for each in every),
        orders=list(dict.fromkeys(name for each in every for name in each.registry.orders)),
        keys=np.array(list(names)[:most], dtype=np.uint64),
        names=list(names.values())[:most],
    )
    return state


def _column(start: Any, name: Name, others: Sequence[Any], base: Any) -> Any:
    """The state of one column; None where all have found that it is none."""
    own = [each.registry.columns[name] for each in others if name in each.registry.columns]
    for column in own[1:]:
        if column.kind != own[0].kind or column.places != own[0].places:
            raise ValueError(
                f"column {name!r:.80} is a {own[0].kind} in one model and a {column.kind} in "
                "another: declare its kind, or let them start from a common model (base) that "
                "knows it"
            )
    first, before = (each.registry.columns.get(name) for each in (start, base))
    return own[0].combined(own[1:], first, before, start.limits.values) if own else None


def _same_places(encoders: Sequence[Any]) -> list[str]:
    """What the places of the dense part hold: the same in all, as far as they go."""
    longest = max((each.registry.places for each in encoders), key=len)
    for each in encoders:
        for mine, theirs in zip(each.registry.places, longest, strict=False):
            if mine != theirs:
                raise ValueError(
                    f"models have columns of numbers in other orders ({mine!r:.80} where "
                    f"{theirs!r:.80} is): let them start from a common model (base) that has met "
                    "them all"
                )
    return list(longest)
