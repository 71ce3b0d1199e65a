"""Streams as bandits, and worlds that are generated."""

from __future__ import annotations

import csv
import gzip
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.leaderboard.streams import STREAMS, Record, load

LEAST_ROWS, MOST_ROWS = 2_000, 20_000
# Held out of the leaderboard's choices, too, and with so many rows.
JUDGING = (
    *("abalone19", "page-blocks0", "poker-8-9_vs_5", "elec", "weather", "sea_stream", "jobs"),
    *("late flights", "covid tests", "football", "credit", "developers", "lending", "arrests"),
    *("votes", "phone churn", "email", "ratings", "penbased", "phoneme", "mushroom", "twonorm"),
    *("moving_squares", "satimage", "splice", "tweets", "cells", "texture", "kr-vs-k", "letter"),
    "rodents",
)
KINDS = {
    "noise": ("splice", "phone churn"),
    "cost": ("credit", "jobs"),
    "drift": ("mushroom", "phoneme"),
    "arriving": ("penbased", "satimage"),
}
GENERATED = {"hundred": 100, "percent": 10}  # actions
LONG = {"percent": 50_000}


class World(NamedTuple):
    """Contexts, the reward of each action in each, and when each action comes."""

    contexts: list[Record]
    rewards: np.ndarray  # (n, K)
    begins: np.ndarray  # (K,)

    def offered(self, t: int) -> list[int]:
        """The actions of a round."""
        return np.flatnonzero(self.begins <= t).tolist()


class Job(NamedTuple):
    """A stream as a bandit of some kind."""

    stream: str
    kind: str
    chooses: bool = False

    @property
    def label(self) -> str:
        """What the table says."""
        return self.stream if self.kind in ("plain", self.stream) else f"{self.stream}, {self.kind}"


def read_file(folder: Path, name: str) -> tuple[list[Record], np.ndarray]:
    """The records of a file, and the codes of its labels."""
    path = next(p for p in (folder / f"{name}.csv", folder / f"{name}.csv.gz") if p.exists())
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt") as file:
        table = list(csv.reader(file))
    head, rows = table[0][:-1], table[1:]
    columns: list[list[Any]] = []
    for j in range(len(head)):
        cells = [row[j] for row in rows]
        try:
            columns.append([float(cell) if cell else None for cell in cells])
        except ValueError:
            columns.append([cell or None for cell in cells])
    records = [dict(zip(head, cells, strict=True)) for cells in zip(*columns, strict=True)]
    return records, np.unique([row[-1] for row in rows], return_inverse=True)[1]


def stream_of(job: Job, folder: Path | None, cache: Path) -> tuple[list[Record], np.ndarray] | None:
    """Records and codes of labels; None of what is generated."""
    if job.kind in GENERATED:
        return None
    if job.chooses:
        assert folder is not None
        return read_file(folder, job.stream)
    data = load(STREAMS[job.stream], cache, MOST_ROWS)
    return data.records, data.y


def generated(kind: str, n: int, rng: np.random.Generator) -> World:
    """Rewards whose logits are linear in ten numbers."""
    K, centre = GENERATED[kind], -1.5 if kind == "hundred" else -7.5  # a percent of all
    Z = rng.normal(size=(n, 10))
    logits = 0.7 * Z @ rng.normal(size=(10, K)) + rng.normal(size=K) + centre
    rewards = (rng.uniform(size=(n, K)) < 1 / (1 + np.exp(-logits))).astype(float)
    contexts = [{f"x{j}": v for j, v in enumerate(row)} for row in Z.tolist()]
    return World(contexts, rewards, np.zeros(K))


def world(job: Job, stream: Any, n: int, shuffle: int) -> World:
    """A stream in one order, as a bandit of some kind."""
    name, kind = job.stream, job.kind
    rng = np.random.default_rng(zlib.crc32(f"{name} {kind} {shuffle}".encode()))
    if kind in GENERATED:
        return generated(kind, LONG.get(kind, n), rng)
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
    elif kind == "arriving":
        begins = np.maximum(np.arange(K) - 1, 0) * n / 10
    return World([records[i] for i in order], R, begins)


def jobs_of(folder: Path | None, streams: list[str], kinds: list[str]) -> list[Job]:
    """Those that choose (files of the folder), or those that judge, by streams and kinds."""
    if folder is not None:
        return [Job(name, kind, True) for kind in kinds or ["plain"] for name in streams]
    jobs = [Job(name, "plain") for name in JUDGING[:25]]
    jobs += [Job(name, kind) for kind, names in KINDS.items() for name in names]
    jobs += [Job(kind, kind) for kind in GENERATED]
    jobs += [Job(name, "plain") for name in JUDGING[25:]]  # those that take longest
    return [
        job
        for job in jobs
        if (not streams or job.stream in streams) and (not kinds or job.kind in kinds)
    ]
