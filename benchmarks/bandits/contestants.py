"""Who plays: the agent, LinUCB, LinTS, and Vowpal Wabbit at its settings."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from benchmarks.bandits.worlds import World
from mixable.bandits import Agent
from mixable.bandits.contexts import Contexts

Policy = Callable[[dict[str, Any], list[int]], tuple[int, Callable[[float], None]]]
BLOCKS = 20  # of rounds, whose mean rewards are kept


class Played(NamedTuple):
    """What a run gave."""

    blocks: list[float]
    microseconds: float  # of the processor, a decision with its reward

    @property
    def reward(self) -> float:
        """The mean."""
        return float(np.mean(self.blocks))


def play(there: World, policy: Policy, rounds: int | None = None) -> Played:
    """Let a policy decide in all rounds, or in the first ones."""
    earned, begin = [], time.process_time()
    contexts = there.contexts[:rounds]
    for t, context in enumerate(contexts):
        action, learn = policy(context, there.offered(t))
        reward = float(there.rewards[t, action])
        earned.append(reward)
        learn(reward)
    took = (time.process_time() - begin) / len(contexts)
    parts = np.array_split(np.array(earned), BLOCKS)
    return Played([float(f"{part.mean():.6g}") for part in parts], 1e6 * took)


def ours(explore: str, kind: str) -> Policy:
    """The agent as it is."""
    agent = Agent(reward="unit" if kind == "cost" else "binary", explore=explore)

    def choose(context: dict[str, Any], actions: list[int]) -> Any:
        decision = agent.choose(context, actions)
        return decision.action, lambda reward: agent.learn(decision.id, reward)

    return choose


def linear(kind: str, actions: int) -> Policy:
    """LinUCB or LinTS: ridge regression for each action, a bonus or a draw of one deviation."""
    contexts, rng = Contexts(None, 0), np.random.default_rng(0)
    V = [np.eye(128) for _ in range(actions)]
    b = [np.zeros(128) for _ in range(actions)]

    def choose(context: dict[str, Any], offered: list[int]) -> Any:
        x, row = contexts.encode(context)
        contexts.learn(row)
        z = x.x[: len(x.x) // 2] / math.sqrt(max(contexts.in_use, 1))
        z = np.pad(z, (0, 128 - len(z)))
        width = np.array([math.sqrt(max(z @ V[a] @ z, 0)) for a in offered])
        bonus = width if kind == "linucb" else width * rng.normal(size=len(width))
        u = np.array([z @ V[a] @ b[a] for a in offered]) + 0.5 * bonus
        action = offered[int(rng.choice(np.flatnonzero(u == u.max())))]

        def learn(reward: float) -> None:
            v = V[action] @ z
            V[action] -= np.outer(v, v) / (1 + z @ v)
            b[action] += reward * z

        return action, learn

    return choose


DEFAULT = ""  # of Vowpal Wabbit: epsilon .05, no crosses
RULES = (
    "--epsilon 0",
    "--epsilon .05",
    "--squarecb",
    "--squarecb --gamma_scale 1000",
    "--bag 5 --epsilon 0",
    "--cover 3 --epsilon 0",
    "--regcbopt --mellowness .1 --cb_min_cost -1 --cb_max_cost 0",
    "--regcbopt --mellowness .01 --cb_min_cost -1 --cb_max_cost 0",
    "--rnd 3 --epsilon 0",
    "--first 100",
    "--synthcover --epsilon 0",
)
RATES = ("", "-l 2", "-l .1")
CROSSED = [RULES[place] for place in (0, 1, 3, 4, 5, 6)]  # with the crosses of all columns
ROBUST = [RULES[place] for place in (0, 1, 4, 8, 9, 10)]  # by DR; others cannot, or do by default
SETTINGS = [
    *(" ".join(each) for each in product(RULES, ("-q CA",), RATES)),
    *(" ".join(each) for each in product(CROSSED, ("-q ::",), RATES)),
    *(" ".join(each) for each in product(ROBUST, ("-q CA --cb_type dr",), RATES)),
]
CLEAN = str.maketrans({":": "_", "|": "_", " ": "_", "\n": "_", "=": "_"})
WORDS = 4  # a text of so many words is split


def _cells(name: str, value: Any) -> str:
    name = str(name).translate(CLEAN)
    if value is None:
        return ""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return f"{name}:{value}"
    words = str(value).split()
    each = words if len(words) >= WORDS else [str(value)]
    return " ".join(f"{name}={word.translate(CLEAN)}" for word in each)


def vw(setting: str, seed: int) -> Policy:
    """Vowpal Wabbit through its ADF interface."""
    import vowpalwabbit

    model = vowpalwabbit.Workspace(
        f"--cb_explore_adf {setting} --quiet --random_seed {seed + 1}", enable_logging=False
    )
    rng = np.random.default_rng(seed)

    def choose(context: dict[str, Any], actions: list[int]) -> Any:
        shared = "shared |C " + " ".join(_cells(*each) for each in context.items())
        lines = [f"|A a{action}" for action in actions]
        q = np.maximum(model.predict([shared, *lines]), 0)
        place = int(rng.choice(len(q), p=q / q.sum()))

        def learn(reward: float) -> None:
            lines[place] = f"0:{-reward}:{max(q[place], 1e-6)} {lines[place]}"
            model.learn([shared, *lines])

        return actions[place], learn

    return choose


def made(who: str, kind: str, actions: int, seed: int) -> Policy:
    """A contestant by its name."""
    if who in ("linucb", "lints"):
        return linear(who, actions)
    return vw(who[3:], seed) if who.startswith("vw ") else ours(who, kind)
