"""Logs of decisions: those of `mixable decide`, of Vowpal Wabbit, of the Open Bandit data."""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Hashable, Iterable, Iterator
from pathlib import Path
from typing import Any

from mixable.bandits.evaluation import Logged

Source = str | os.PathLike[str] | Iterable[str]
"""A file by its name, or lines."""


def _lines(source: Source) -> Iterator[tuple[int, str]]:
    """Lines that are not empty, with their numbers."""
    if isinstance(source, (str, os.PathLike)):
        with Path(source).open(encoding="utf-8") as lines:
            yield from _lines(lines)
        return
    for number, line in enumerate(source, 1):
        if line.strip():
            yield number, line


def read_log(source: Source) -> list[Logged]:
    """Read what `mixable decide` wrote: JSON lines of decisions, and of rewards by their id.

    A decision without a reward is left out. Lines that are both, with "context", "action",
    "propensity" and "reward", are read as well: so `mixable export` writes the log of a service.
    """
    waiting: dict[Hashable, dict[str, Any]] = {}
    out: list[tuple[int, Logged]] = []
    for number, line in _lines(source):
        try:
            entry = json.loads(line)
            key = entry.get("id", f"line {number}")
            if "action" in entry:
                waiting[key] = {**_restored(entry), "at": number}
            if entry.get("reward") is not None and key in waiting:
                decision = waiting.pop(key)
                names = ("context", "action", "propensity", "actions", "expected")
                values: dict[str, Any] = {name: decision.get(name) for name in names}
                out.append((decision["at"], Logged(reward=float(entry["reward"]), **values)))
        except (ValueError, TypeError, AttributeError) as error:
            raise ValueError(f"line {number} of the log: {error}") from None
    return [entry for _, entry in sorted(out, key=lambda pair: pair[0])]


def _restored(entry: dict[str, Any]) -> dict[str, Any]:
    """A decision with the actions that could be chosen: others were offered, and not allowed.

    JSON made texts of integers where they are keys.
    """
    action, features = entry["action"], entry.get("actions")
    is_integer = isinstance(action, int)

    def name(each: Any) -> Any:
        return int(each) if is_integer and re.fullmatch(r"-?\d+", str(each)) else each

    chances = {name(key): value for key, value in (entry.get("propensities") or {}).items()}
    actions: Any = list(chances) or features
    if isinstance(features, dict):
        named = {name(key): value for key, value in features.items()}
        actions = {key: named.get(key) for key in chances} if chances else named
    expected = {name(key): value for key, value in (entry.get("expected") or {}).items()}
    return {**entry, "actions": actions, "expected": expected or None}


def read_vw(source: Source) -> Iterator[Logged]:
    """Read Vowpal Wabbit's text for `--cb K`: `action:cost:probability | features`.

    The reward is the cost times -1, so that the default costs are in the range (-1, 0). A feature
    `a:2` is a number, `a` is 1. Names of namespaces stand before those of features. Lines without
    a label are left out.
    """
    for number, line in _lines(source):
        head, *spaces = line.rstrip("\n").split("|")
        labels = [each for each in head.split() if each.count(":") == 2]
        if not labels:
            continue
        context: dict[str, float] = {}
        try:
            action, cost, probability = labels[0].split(":")
            logged = int(action), -float(cost), float(probability)
            for space in spaces:
                prefix = "" if space[:1].isspace() else space.split(None, 1)[0].split(":")[0] + "^"
                words = space.split() if not prefix else space.split()[1:]
                for word in words:
                    name, _, value = word.partition(":")
                    context[prefix + name] = float(value) if value else 1.0
        except (ValueError, IndexError) as error:
            raise ValueError(f"line {number} is not Vowpal Wabbit's --cb: {error}") from None
        yield Logged(context, logged[0], logged[2], logged[1])


def read_open_bandit(source: Source) -> Iterator[Logged]:
    """Read a CSV of the Open Bandit data: item_id, click, propensity_score, user_feature_*.

    The context has the position, the user's features and the user's affinity to items, as far as
    the file has them; with affinities, the actions are the items that have one.
    """
    rows = csv.DictReader(line for _, line in _lines(source))
    names = rows.fieldnames or []
    needed = {"item_id", "click", "propensity_score"}
    if not needed <= set(names):
        raise ValueError(f"the file must have columns {sorted(needed)}, got {names!r:.200}")
    affinities = [name for name in names if name.startswith("user-item_affinity_")]
    actions = list(range(len(affinities))) if affinities else None
    for row in rows:
        context: dict[str, Any] = {
            name: row[name]
            for name in names
            if name.startswith("user_feature_") or name == "position"
        }
        try:
            context.update({name: float(row[name] or 0) for name in affinities})
            chance, click = float(row["propensity_score"]), float(row["click"])
            logged = Logged(context, int(row["item_id"]), chance, click, actions)
        except (ValueError, TypeError) as error:
            raise ValueError(f"line {rows.line_num} of the file: {error}") from None
        yield logged
