"""Decisions over HTTP: requests, answers to repeated ones, and what the page shows."""

from __future__ import annotations

import json
import uuid
from collections import Counter
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta

from mixable.bandits import Logged, evaluate, read_log
from mixable.bandits.deciding import told
from mixable.events.decisions import AgentOptions
from mixable.events.events import Event, RefusedError
from mixable.events.serve.bodies import Identifier, Plain, Record, check_names, decoded, text_of
from mixable.events.store import Store

MOST, BINS, SHOWN = 1000, 25, 8  # decisions that are evaluated, parts of them, actions
Name = str | int
Context = Annotated[Record | list[float] | None, Meta(description="A record or a row of numbers.")]


class Decide(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The body of /decide."""

    context: Context = None
    actions: list[Name] | dict[str, dict[str, Plain] | None] | None = None
    allowed: list[Name] | None = None
    id: Identifier = None


class Reward(msgspec.Struct, forbid_unknown_fields=True):
    """The body of /reward."""

    id: Annotated[int | float | str, Meta(description="That of the decision.")]
    reward: bool | float


class Decided(msgspec.Struct):
    """What is answered to a context."""

    id: str
    action: Name
    propensity: float
    propensities: dict[str, float]
    expected: dict[str, float]


DECIDE, REWARD = map(msgspec.json.Decoder, (Decide, Reward))


def decision_of(body: bytes) -> Event:
    """The event of a context; without an id, it gets one."""
    given = decoded(body, DECIDE)
    named = given.actions if isinstance(given.actions, dict) else {}
    for each in (given.context, named, *named.values()):
        check_names([""] * len(each) if isinstance(each, list) else each or {})
    features = {"context": given.context, "actions": given.actions, "allowed": given.allowed}
    features = {name: value for name, value in features.items() if value is not None}
    return Event(
        id=text_of(given.id, "id") or uuid.uuid4().hex,
        features={"context": None} | features,
        label=None,
    )


def reward_of(body: bytes) -> Event:
    """The event of a reward."""
    given = decoded(body, REWARD)
    return Event(id=text_of(given.id, "id") or "", features=None, label=repr(float(given.reward)))


def repeated(store: Store, model: int, event: Event) -> dict[str, Any] | None:
    """What an event was answered, if the log has the same one; None if it has not."""
    found = store.rows(
        "SELECT e.features, e.forecast, o.outcome FROM events e LEFT JOIN outcomes o "
        "ON o.event = e.number WHERE e.model = ? AND e.id = ? ORDER BY e.number DESC LIMIT 1",
        model,
        event.id,
    )
    if not found:
        return None
    features, forecast, outcome = found[0]
    if event.features is None:
        same = outcome is not None and outcome == float(str(event.label))
        return {"id": event.id, "learned": False} if same else None
    if json.loads(features) != json.loads(msgspec.json.encode(event.features)):
        return None
    answer = json.loads(forecast)
    return {name: answer[name] for name in Decided.__struct_fields__}


def lines_of(store: Store, model: int, most: int) -> list[str]:
    """The last decisions of the log that have a reward, as `mixable decide` writes them."""
    found = store.rows(
        "SELECT e.features, e.forecast, o.outcome FROM events e JOIN outcomes o "
        "ON o.event = e.number WHERE e.model = ? ORDER BY e.number DESC LIMIT ?",
        model,
        most,
    )
    return [
        json.dumps({**told(json.loads(features)), **json.loads(forecast), "reward": reward})
        for features, forecast, reward in reversed(found)
    ]


def picture(store: Store, name: str, model: int) -> dict[str, Any]:
    """Reward, shares of actions and exploration over the last decisions; "always a" of each a."""
    options = store.options(name)
    if not isinstance(options, AgentOptions):
        raise RefusedError(422, f"{name} is no agent")
    lines = lines_of(store, model, MOST)
    log, entries = read_log(lines), [json.loads(line) for line in lines]
    earned = np.array([each.reward for each in log])
    counts = Counter(each.action for each in log)
    names = [action for action, _ in counts.most_common(SHOWN)]
    parts = np.array_split(np.arange(len(log)), min(BINS, max(len(log) // 20, 1)))
    low, high, note = 0.0, 1.0, ""
    if options.reward == "number" and log:
        low, high = float(earned.min()), float(earned.max())
        note = "Rewards are taken to be within those that came."
    return {
        "note": note,
        "decisions": len(log),
        "reward": float(earned.mean()) if log else None,
        "actions": [str(action) for action in names],
        "parts": [
            {
                "reward": float(earned[part].mean()),
                "explored": float(
                    np.mean([1 - max(entries[i]["propensities"].values()) for i in part])
                ),
                "shares": [sum(log[i].action == a for i in part) / len(part) for a in names],
            }
            for part in parts
            if len(part)
        ],
        "always": [_always(log, a, (low, high)) for a in names if low < high],
    }


def _always(log: list[Logged], action: Any, ends: tuple[float, float]) -> dict[str, Any]:
    """What an action would have earned where it could be chosen, and what was earned there."""
    found = evaluate(log, action, reward_range=ends)
    low, high = found.ips_interval  # which needs no floor
    numbers = {"dr": found.dr, "low": low, "high": high}
    return {"action": str(action), "n": found.n, "logged": found.logged, **numbers}
