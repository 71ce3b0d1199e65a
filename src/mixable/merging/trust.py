"""The trust in experts: sums of losses add, what forgets is made anew."""

from __future__ import annotations

import math

import numpy as np

from mixable._types import Array
from mixable.merging.gaussians import State

SMALLEST, LEAST_JUDGE = 1e-300, 1e-10  # as in core/weights.hpp
LOST = 1e-280


def merged(
    start: State | None, every: list[State], before: State | None, grown: list[int], share: float
) -> State:
    """The two vectors of weights of core/weights.hpp, and their judge.

    Weights by Bayes' rule, and the judge's odds, are sums of losses, and add. Weights with a share
    are not: none falls below the share, and adding their logarithms would put experts so far below
    it that they cannot come back when they should. They are what those of `start` become by the
    losses of all, with the share given once. How far each model is from that by its own losses, for
    the order of its rows, is averaged by steps.
    """
    N = every[0]["weight"].size
    even = np.full((1, N), 1.0 / N)
    new: State = {"weight": even, "bayes": even, "judge": 0.5}
    begin, old = (new if state is None else state for state in (start, before))
    logs = [np.log(each["bayes"]) for each in (begin, old, *every)]
    total = logs[0] + sum(each - logs[1] for each in logs[2:])
    total = total - total.max() - math.log(np.exp(total - total.max()).sum())

    def gained(after: Array, before: Array) -> Array:
        """What experts gained over the mean; 0 where weights are so small that losses are lost."""
        return np.where(before > math.log(LOST), after - before, 0.0)

    def tracked(weights: Array, gain: Array) -> Array:
        logs = np.log(weights) + gain
        moved = np.exp(logs - logs.max())
        moved = (1 - share) * moved / moved.sum() + share / N
        return np.asarray(np.log(np.maximum(moved, SMALLEST)))

    rest = [
        np.log(each["weight"]) - tracked(old["weight"], gained(after, logs[1]))
        for each, after in zip(every, logs[2:], strict=True)
    ]
    mean = np.average(rest, axis=0, weights=grown if any(grown) else None)
    odds = [log_odds(each["judge"]) - log_odds(old["judge"]) for each in every]
    return {
        "weight": _normal(tracked(begin["weight"], gained(total, logs[0])) + mean),
        "bayes": _normal(total),
        "judge": _judge(log_odds(begin["judge"]) + sum(odds)),
    }


def log_odds(p: float) -> float:
    """log(p / (1 - p))."""
    return math.log(p / (1 - p))


def _judge(odds: float) -> float:
    most = -log_odds(LEAST_JUDGE)
    trust = 1 / (1 + math.exp(-min(max(odds, -most), most)))
    return min(max(trust, LEAST_JUDGE), 1 - LEAST_JUDGE)


def _normal(logs: Array) -> Array:
    """Weights that sum to 1, by their logarithms."""
    weights = np.maximum(np.exp(logs - logs.max()), SMALLEST)
    return np.asarray(np.maximum(weights / weights.sum(), SMALLEST))


def added_weights(start: Array | None, every: list[Array], before: Array | None) -> Array:
    """Weights whose logarithms, relative to those of before, are added; None is all the same."""
    logs = np.zeros_like(every[0]) if start is None else np.log(start)
    for weights in every:
        logs = logs + np.log(weights) - (0.0 if before is None else np.log(before))
    return _normal(logs)
