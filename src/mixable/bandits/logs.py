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
    "propensity" and "reward", are read as well.
    """
    waiting: dict[Hashable, dict[str, Any]] = {}
    out: list[tuple[int, Logged]] = []
    for number, line in _lines(source):
        try:
            entry = json.loads(line)
            if "action" in entry:
                actions = _allowed(entry.get("actions"), entry.get("propensities"))
                entry["actions"] = _restored(actions, entry["action"])
                waiting[entry.get("id", f"line {number}")] = {**entry, "at": number}
            key = entry.get("id", f"line {number}")
            if "reward" in entry and key in waiting:
                decision = waiting.pop(key)
                names = ("context", "action", "propensity", "actions")
                values: dict[str, Any] = {name: decision.get(name) for name in names}
                out.append((decision["at"], Logged(reward=float(entry["reward"]), **values)))
        except (ValueError, TypeError, AttributeError) as error:
            raise ValueError(f"line {number} of the log: {error}") from None
    return [entry for _, entry in sorted(out, key=lambda pair: pair[0])]


def _allowed(actions: Any, propensities: Any) -> Any:
    """Those that could be chosen: others were offered, and not allowed."""
    if not propensities or actions is None:
        return list(propensities or ()) or None
    if isinstance(actions, dict):
        return {name: actions[name] for name in actions if str(name) in propensities}
    return [name for name in actions if str(name) in propensities]


def _restored(actions: Any, action: Any) -> Any:
    """Actions that are integers, after JSON made texts of them as keys."""
    if isinstance(action, int) and isinstance(actions, list):
        return [int(each) if re.fullmatch(r"-?\d+", str(each)) else each for each in actions]
    return actions


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
        context.update({name: float(row[name] or 0) for name in affinities})
        yield Logged(
            context,
            int(row["item_id"]),
            float(row["propensity_score"]),
            float(row["click"]),
            actions,
        )
