"""How often intervals of evaluations hold the true value, and how wide they are.

A log is drawn from the rows of a stream, with replacement, so that the true value of a policy is
known: its mean over all rows. The log's policy learns: it takes the label that has earned most so
far with probability .7, else any, and expects of each its mean so far, which DR uses. The policy
that is evaluated takes, for each quarter or value of the first column, the label that is most
frequent there.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.bandits.worlds import Job, stream_of
from mixable.bandits import Logged, evaluate

STREAMS = ("satimage", "splice", "phone churn", "jobs", "votes")
ROUNDS, EXPLORED, FIRST_LOOK = 300, 0.3, 30
Z = 1.959963984540054


class Drawn(NamedTuple):
    """What repetitions said of one stream, in the mean."""

    truth: float
    betting: float  # coverage at all times
    betting_ips: float
    normal: float  # coverage at the end
    watched: float  # of the normal interval, from the 30th decision on
    width: float
    width_ips: float
    width_normal: float
    snips_bias: float
    dr_bias: float


def _policy(records: list[Any], y: np.ndarray) -> Callable[[Any], int]:
    """The label for a context."""
    name = next(iter(records[0]))
    column = [record.get(name) for record in records]
    numbers = [value for value in column if isinstance(value, (int, float))]
    cuts = np.quantile(numbers, (0.25, 0.5, 0.75)) if numbers else np.empty(0)

    def part(value: Any) -> Any:
        if isinstance(value, (int, float)):
            return int(np.searchsorted(cuts, value))
        return value

    counts: dict[Any, Counter[int]] = defaultdict(Counter)
    for value, label in zip(column, y.tolist(), strict=True):
        counts[part(value)][label] += 1
    best = {key: found.most_common(1)[0][0] for key, found in counts.items()}
    return lambda context: best[part(context.get(name))]


def _log(records: list[Any], y: np.ndarray, rng: np.random.Generator) -> Iterator[Logged]:
    K = int(y.max()) + 1
    earned, tried = np.full(K, 0.5), np.ones(K)
    for row in rng.integers(len(y), size=ROUNDS).tolist():
        q = np.full(K, EXPLORED / K)
        q[int((earned / tried).argmax())] += 1 - EXPLORED
        action = int(rng.choice(K, p=q))
        expected = dict(enumerate((earned / tried).tolist()))
        reward = float(rng.random() < (0.9 if y[row] == action else 0.1))
        earned[action] += reward
        tried[action] += 1
        yield Logged(records[row], action, float(q[action]), reward, list(range(K)), expected)


def drawn(name: str, repetitions: int, cache: Path) -> Drawn:
    """The mean of so many repetitions on a stream."""
    stream = stream_of(Job(name, "plain"), None, cache)
    assert stream is not None
    records, y = stream
    policy = _policy(records, y)
    right = [policy(record) == label for record, label in zip(records, y.tolist(), strict=True)]
    truth = 0.1 + 0.8 * float(np.mean(right))
    K, found = int(y.max()) + 1, []
    for repetition in range(repetitions):
        log = _log(records, y, np.random.default_rng([repetition, len(y)]))
        one = evaluate(log, lambda context, _: policy(context), least=EXPLORED / K)
        count = np.arange(1, one.n + 1)
        mean = one.scores.cumsum() / count
        squares = (one.scores**2).cumsum() / count
        half = Z * np.sqrt(np.maximum(squares - mean**2, 0) / count)
        within = (np.abs(mean - truth) <= half)[FIRST_LOOK - 1 :]
        found.append(
            (
                truth,
                ((one.path[:, 0] <= truth) & (truth <= one.path[:, 1])).all(),
                one.ips_interval[0] <= truth <= one.ips_interval[1],
                one.normal[0] <= truth <= one.normal[1],
                within.all(),
                one.interval[1] - one.interval[0],
                one.ips_interval[1] - one.ips_interval[0],
                one.normal[1] - one.normal[0],
                one.snips - truth,
                one.dr - truth,
            )
        )
    return Drawn(*np.mean(np.array(found, float), axis=0).tolist())


def text(rows: dict[str, Drawn], repetitions: int) -> str:
    """The table."""
    error = math.sqrt(0.05 * 0.95 / repetitions)
    out = [
        f"{repetitions} logs of {ROUNDS} decisions for each stream, intervals of 95%; chance alone "
        f"moves a coverage by {2 * error:.3f}. Betting: at all times; watched: the normal interval "
        f"at each decision from number {FIRST_LOOK} on.",
        "",
        "| stream | true value | betting | betting on IPS | normal, at the end | normal, watched "
        "| width | width, IPS | width, normal | bias of SNIPS | bias of DR |",
        "|" + "---|" * 11,
    ]
    for name, row in rows.items():
        shares = [f"{share:.3f}" for share in row[:8]]
        out.append(f"| {name} | {' | '.join(shares)} | {row[8]:+.4f} | {row[9]:+.4f} |")
    return "\n".join(out)
