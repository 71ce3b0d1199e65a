"""What is saved of an encoder, and the checks when it is read."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import numpy as np

from mixable import _validate
from mixable.records.category import Category
from mixable.records.declaration import checked_name
from mixable.records.registry import CLASSES, with_shown
from mixable.records.state import State


def saved(state: State) -> dict[str, Any]:
    """All of an encoder as dictionaries, lists and arrays."""
    registry = state.registry
    return {
        "declared": state.declared,
        "limits": asdict(state.limits),
        "n": state.n,
        "columns": [column.state() for column in registry.columns.values()],
        "places": list(registry.places),
        "indicators": registry.indicators,
        "bag": registry.bag,
        "names": list(state.names.values()),
        "keys": np.array(list(state.names), np.uint64),
    }


def restore(state: State, saved: dict[str, Any]) -> None:
    """Go on from what was saved; ValueError or TypeError if that cannot be."""
    state.n = _validate.count(saved["n"], "n", least=0, most=_validate.MOST_STEPS)
    registry, places = state.registry, saved["places"]
    if not isinstance(places, list) or not all(isinstance(place, str) for place in places):
        raise TypeError("the saved places must be a list of texts")
    registry.places, registry.bag = places, _validate.flag(saved["bag"], "bag")
    used: list[int] = []
    for each in saved["columns"]:
        column = CLASSES[each["kind"]](checked_name(each["name"]))
        column.restore(each)
        if isinstance(column, Category):
            if len(column.known) > state.limits.values:
                raise ValueError("a saved column has more values than the limit")
        elif len(column.places) != len(column.dense_parts):
            raise ValueError(f"a saved {column.kind} has other places than its kind")
        used += column.places
        registry.columns[column.name] = column
    if len(registry.columns) != len(saved["columns"]) or len(set(used)) != len(used):
        raise ValueError("two saved columns have the same name, or the same place")
    if used and max(used) >= len(places):
        raise ValueError("a saved place is beyond the dense part")
    registry.blank = [math.nan] * len(places)
    for column in registry.columns.values():
        for place in column.places if isinstance(column, Category) else ():
            registry.blank[place] = 0.0
        registry.shown = with_shown(registry.shown, column)
    if len(registry.columns) > state.limits.columns:
        raise ValueError("the saved encoder has more columns than its limit")
    registry.indicators = _validate.count(
        saved["indicators"], "indicators", least=0, most=len(places)
    )
    state.names = _names(saved)
    if len(state.names) > state.limits.values:
        raise ValueError("the saved encoder has more names than its limit")


def _names(saved: dict[str, Any]) -> dict[int, str]:
    """Names by key; in older files they are pairs."""
    keys, names = saved.get("keys"), saved["names"]
    if keys is None:
        keys, names = [key for key, _ in names], [name for _, name in names]
    elif isinstance(keys, np.ndarray) and keys.dtype == np.uint64 and keys.ndim == 1:
        keys = keys.tolist()
    else:
        raise TypeError("the saved keys must be an array of uint64")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise TypeError("a saved name must be text")
    if len(set(keys)) < len(names) or len(keys) != len(names):
        raise ValueError("saved names and keys do not go together")
    checked = [_validate.count(key, "key", least=0, most=2**64 - 1) for key in keys]
    return dict(zip(checked, names, strict=True))
