"""From what is expected of actions to the probability of choosing each.

Foster, D. and Krishnamurthy, A. (2021). Efficient first-order contextual bandits: prediction,
allocation, and triangular discrimination. NeurIPS: FastCB, whose oracle is log loss.
"""

from __future__ import annotations

import math

import numpy as np

from mixable._types import Array

GAMMA = 64.0  # FastCB proves its bound for 16; on the streams that chose, 64 earned more
LEAST = 1e-3  # so that no reward is so sure that nothing is tried


def fastcb(p: Array, steps: int) -> Array:
    """FastCB for expected rewards p in [0, 1]: the larger the gap to the best, the rarer.

    q_a = l / (K l + gamma (p_b - p_a)) with gamma = 64 sqrt(K t); the best action b gets the rest.
    FastCB has l = 1 - p_b, which explores less where losses are small. Log loss bounds errors of
    small rewards as well as of small losses, so l is the smaller of p_b and 1 - p_b.
    """
    K, best = len(p), int(p.argmax())
    small = max(min(float(p[best]), 1 - float(p[best])), LEAST)
    q = small / (K * small + GAMMA * math.sqrt(K * max(steps, 1)) * (p[best] - p))
    q[best] = 0.0
    q[best] = 1.0 - q.sum()
    return np.asarray(q)


def greedy(p: Array) -> Array:
    """The best action; those that tie share."""
    best = p == p.max()
    return np.asarray(best / best.sum())


def of_draws(draws: Array) -> Array:
    """How often each action is the best one of draws (n, actions)."""
    counts = np.bincount(draws.argmax(axis=1), minlength=draws.shape[1])
    return np.asarray(counts / len(draws))


def with_floor(q: Array, floor: float) -> Array:
    """The same, each at least `floor`, or 1 / K where that is not possible."""
    least = min(floor, 1 / len(q))
    return np.asarray(least + (1 - least * len(q)) * q)
