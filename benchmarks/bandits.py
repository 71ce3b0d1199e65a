"""Decisions: classification turned into bandits, against Vowpal Wabbit, LinUCB and LinTS.

Run `python benchmarks/bandits.py [FOLDER] --streams magic,adult --kinds plain,noise`: FOLDER has
NAME.csv or NAME.csv.gz, the label in the last column; without it the embedded data sets are used.
An action is a label, its reward 1 if it is right. Kinds: `noise` (30% of the labels are drawn),
`cost` (rewards in [0, 1]), `drift` (all actions change places at half time), `arriving` (an action
more every tenth of the time), `rare` (10% of the rewards count); two worlds are generated whatever
the folder: `hundred` (100 actions) and `percent` (rewards of about 1%).

Vowpal Wabbit runs through its ADF interface with a grid of settings (`--full`: 72, else 12). Its
setting is chosen on the first two shuffles, and everybody is scored on the others. All others run
as they are. `--full` means 5 shuffles and up to 50,000 rounds, and takes days for 25 streams.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import math
import time
import zlib
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mixable import datasets
from mixable.bandits import Agent
from mixable.bandits.contexts import Contexts

CHOOSING = 2  # shuffles on which the setting of Vowpal Wabbit is chosen
EMBEDDED = {"segment": datasets.load_segment, "shuttle": datasets.load_shuttle}
GENERATED = ("hundred", "percent")


class World(NamedTuple):
    """Contexts, the reward of each action in each, and when each action comes."""

    contexts: list[dict[str, Any]]
    rewards: np.ndarray  # (n, K)
    begins: np.ndarray  # (K,)

    def offered(self, t: int) -> list[int]:
        return np.flatnonzero(self.begins <= t).tolist()


Policy = Callable[[dict[str, Any], list[int]], tuple[int, Callable[[float], None]]]


def read(folder: Path | None, name: str) -> tuple[list[dict[str, Any]], np.ndarray]:
    """The records of a stream, and the codes of their labels."""
    if folder is None:
        X, y, _ = EMBEDDED[name]()
        rows = [{f"x{j}": v for j, v in enumerate(row)} for row in X.tolist()]
        return rows, np.unique(y, return_inverse=True)[1]
    path = next(p for p in (folder / f"{name}.csv", folder / f"{name}.csv.gz") if p.exists())
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt") as file:
        table = list(csv.reader(file))
    head, rows = table[0][:-1], table[1:]
    columns = []
    for j in range(len(head)):
        cells = [row[j] for row in rows]
        try:
            columns.append([float(cell) if cell else None for cell in cells])
        except ValueError:
            columns.append([cell or None for cell in cells])
    records = [dict(zip(head, cells, strict=True)) for cells in zip(*columns, strict=True)]
    return records, np.unique([row[-1] for row in rows], return_inverse=True)[1]


def generated(kind: str, n: int, rng: np.random.Generator) -> World:
    """Rewards whose logits are linear in ten numbers."""
    K, size, centre = (100, 0.7, -1.5) if kind == "hundred" else (10, 0.7, -5.0)
    Z = rng.normal(size=(n, 10))
    logits = Z @ rng.normal(size=(10, K)) * size + rng.normal(size=K) + centre
    rewards = (rng.uniform(size=(n, K)) < 1 / (1 + np.exp(-logits))).astype(float)
    contexts = [{f"x{j}": v for j, v in enumerate(row)} for row in Z.tolist()]
    return World(contexts, rewards, np.zeros(K))


def world(stream: Any, name: str, kind: str, n: int, shuffle: int) -> World:
    """A stream in one order, as a bandit of some kind."""
    rng = np.random.default_rng(zlib.crc32(f"{name} {kind} {shuffle}".encode()))
    if kind in GENERATED:
        return generated(kind, n, rng)
    records, y = stream
    order = rng.permutation(len(y))[:n]
    K, n = int(y.max()) + 1, len(order)
    R = np.eye(K)[y[order]]
    begins = np.zeros(K)
    if kind == "noise":
        R = np.where(rng.uniform(size=(n, 1)) < 0.3, np.eye(K)[rng.integers(K, size=n)], R)
    elif kind == "cost":
        R = np.clip(0.2 + 0.5 * R + 0.2 * rng.normal(size=R.shape), 0, 1)
    elif kind == "drift":
        R[n // 2 :] = np.roll(R[n // 2 :], 1, axis=1)
    elif kind == "rare":
        R = R * (rng.uniform(size=(n, 1)) < 0.1)
    elif kind == "arriving":
        begins = np.maximum(np.arange(K) - 1, 0) * n / 10
    return World([records[i] for i in order], R, begins)


def play(there: World, policy: Policy) -> tuple[float, float]:
    """The mean reward of a policy, and its seconds of processor a decision."""
    total, begin = 0.0, time.process_time()
    for t, context in enumerate(there.contexts):
        action, learn = policy(context, there.offered(t))
        reward = float(there.rewards[t, action])
        total += reward
        learn(reward)
    n = len(there.contexts)
    return total / n, (time.process_time() - begin) / n


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
    V: list[np.ndarray] = []
    b: list[np.ndarray] = []

    def choose(context: dict[str, Any], offered: list[int]) -> Any:
        x, row = contexts.encode(context)
        contexts.learn(row)
        z = x.x[: len(x.x) // 2] / math.sqrt(max(contexts.in_use, 1))
        z = np.pad(z, (0, 128 - len(z)))
        while len(V) < actions:
            V.append(np.eye(128))
            b.append(np.zeros(128))
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


RULES = (
    "--epsilon 0",
    "--epsilon .05",
    "--squarecb",
    "--bag 5 --epsilon 0",
    "--cover 3 --epsilon 0",
    "--regcbopt --mellowness .1",
    "--rnd 3 --epsilon 0",
    "--first 100",
    "--synthcover --epsilon 0",
)


def vw_settings(full: bool) -> list[str]:
    """Settings of Vowpal Wabbit."""
    if not full:
        more = [f"{rule} -q CA {rate}" for rule in RULES[:3] for rate in ("", "-l 2")]
        return [*RULES[:3], *more, *(f"{rule} -q CA" for rule in RULES[3:6])]
    rates = ("", "-l 2", "-l .1", "--coin")
    return [" ".join(each) for each in product(RULES, ("-q CA", "-q CA -q CC"), rates)]


def vw(setting: str, seed: int) -> Policy:
    """Vowpal Wabbit through its ADF interface."""
    import vowpalwabbit

    model = vowpalwabbit.Workspace(
        f"--cb_explore_adf {setting} --quiet --random_seed {seed + 1}", enable_logging=False
    )
    rng = np.random.default_rng(seed)

    def cell(name: str, value: Any) -> str:
        name = name.translate(CLEAN)
        if value is None:
            return ""
        text = str(value).translate(CLEAN)
        return f"{name}:{value}" if isinstance(value, float) else f"{name}={text}"

    def choose(context: dict[str, Any], actions: list[int]) -> Any:
        shared = "shared |C " + " ".join(cell(*each) for each in context.items())
        lines = [f"|A a{action}" for action in actions]
        q = np.maximum(model.predict([shared, *lines]), 0)
        place = int(rng.choice(len(q), p=q / q.sum()))

        def learn(reward: float) -> None:
            lines[place] = f"0:{-reward}:{max(q[place], 1e-6)} {lines[place]}"
            model.learn([shared, *lines])

        return actions[place], learn

    return choose


CLEAN = str.maketrans({":": "_", "|": "_", " ": "_", "\n": "_", "=": "_"})


def scores(
    name: str, kind: str, stream: Any, options: Any
) -> Iterator[tuple[str, list[float], list[float]]]:
    """Each contestant with its mean rewards and its seconds, one of each shuffle."""
    worlds = [world(stream, name, kind, options.rounds, s) for s in range(options.shuffles)]
    K = worlds[0].rewards.shape[1]
    makers: dict[str, Callable[[int], Policy]] = {
        **{rule: lambda s, rule=rule: ours(rule, kind) for rule in options.rules.split(",")},
        "linucb": lambda s: linear("linucb", K),
        "lints": lambda s: linear("lints", K),
    }
    if not options.no_vw:
        for each in vw_settings(options.full):
            makers[f"vw {each}"] = lambda s, each=each: vw(each, s)
    for who, make in makers.items():
        played = [play(each, make(s)) for s, each in enumerate(worlds)]
        yield who, [reward for reward, _ in played], [seconds for _, seconds in played]


def main() -> None:
    """Print a row for each stream and kind, then who wins."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--streams", default="segment,shuttle")
    parser.add_argument("--kinds", default="plain")
    parser.add_argument("--rounds", type=int, default=2000)
    parser.add_argument("--shuffles", type=int, default=3)
    parser.add_argument("--rules", default="auto,optimistic,greedy")
    parser.add_argument("--no-vw", action="store_true")
    parser.add_argument("--full", action="store_true")
    options = parser.parse_args()
    if options.full:
        options.rounds, options.shuffles = max(options.rounds, 50_000), 5
    jobs = [(kind, kind) for kind in options.kinds.split(",") if kind in GENERATED]
    kinds = [kind for kind in options.kinds.split(",") if kind not in GENERATED]
    jobs += [(name, kind) for kind in kinds for name in options.streams.split(",") if name]
    rules, gains = options.rules.split(","), []
    others = ["linucb", "lints"] + ([] if options.no_vw else ["vw chosen", "vw default"])
    print(f"{options.rounds} rounds, shuffles: {options.shuffles}, scored: the last ones")
    print("| stream | actions | " + " | ".join([*rules, *others, "us", "over vw"]) + " |")
    print("|" + "---|" * (4 + len(rules) + len(others)), flush=True)
    for name, kind in jobs:
        stream = None if kind in GENERATED else read(options.folder, name)
        rewards, seconds = {}, {}
        for who, own, took in scores(name, kind, stream, options):
            rewards[who], seconds[who] = own, took
        ratio = math.nan
        if not options.no_vw:
            settings = [who for who in rewards if who.startswith("vw ")]
            best = max(settings, key=lambda who: np.mean(rewards[who][:CHOOSING]))
            ratio = float(np.min(seconds[rules[0]]) / np.min(seconds[best]))
            rewards["vw chosen"] = rewards[best]
            rewards["vw default"] = rewards[f"vw {RULES[1]}" if not options.full else settings[0]]
        scored = slice(0 if options.no_vw else CHOOSING, None)
        means = {who: float(np.mean(rewards[who][scored])) for who in [*rules, *others]}
        K = len(world(stream, name, kind, 50, 0).begins)
        cells = [f"{means[who]:.4f}" for who in [*rules, *others]]
        time_of = f"{1e6 * min(seconds[rules[0]]):.0f}"
        label = name if kind in (name, "plain") else f"{name} {kind}"
        print(f"| {label} | {K} | {' | '.join(cells)} | {time_of} | {ratio:.1f} |", flush=True)
        gains.append([[means[rule] - means[other] for other in others] for rule in rules])
    if not gains:
        return
    table = np.array(gains)  # (streams, rules, others)
    print("\n| rule | against | wins | mean | worst | 95% of the mean |\n|---|---|---|---|---|---|")
    for i, rule in enumerate(rules):
        for j, other in enumerate(others):
            gain = table[:, i, j]
            half = 1.96 * gain.std(ddof=1) / math.sqrt(len(gain)) if len(gain) > 1 else math.nan
            print(
                f"| {rule} | {other} | {(gain > 0).sum()} of {len(gain)} | {gain.mean():+.4f} | "
                f"{gain.min():+.4f} | {gain.mean() - half:+.4f} to {gain.mean() + half:+.4f} |"
            )


if __name__ == "__main__":
    main()
