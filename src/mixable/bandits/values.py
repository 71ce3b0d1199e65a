"""What each action is worth in a context: experts for each action, one vector of weights for all.

The experts of an action are binary posteriors of GAF (linear ones and ones on waves, four settings
each, two widths), its mean reward, and a sparse softmax on context, action and their crosses that
all actions share. A reward r in [0, 1] is learned as 1 with weight r and as 0 with weight 1 - r.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from mixable import _core
from mixable._types import Array
from mixable.bandits.contexts import VIEWS, Input, Keys, action_keys, at_size
from mixable.experts import AutoGAF, SparseGAF

GRID = ((0.1, 1.0, 0.0), (1.0, 1.0, 0.0), (10.0, 1.0, 0.0), (0.1, 1.0, 1e-3))
ALPHAS = (4.0, math.inf)
OWN = VIEWS * len(GRID) * len(ALPHAS)  # experts that an action has for itself
EXPERTS = OWN + 2
SHARE = 0.002  # of the weight, which is spread evenly at each step
LEAST = 1e-6  # every forecast is at least so far from 0 and from 1
MOST_ARMS = 256  # actions with posteriors of their own; those not chosen for longest lose theirs
PRIOR = 2.0  # rewards of the mean of all actions that the mean of one begins with
SPARSE_FEATURES = 2**18
MOST_CROSSED = 10_000  # keys of one action in a context, crosses and all


def new_arm(size: int) -> AutoGAF:
    """The posteriors of one action."""
    return AutoGAF(
        size,
        2,
        grid=GRID * VIEWS,
        views=[view for view in range(VIEWS) for _ in GRID],
        alphas=ALPHAS,
        fallback=None,
        sleep=False,
        surrogate="tangent",
        scale=1.0,
    )


class Values:
    """Forecasts of the rewards of actions, by their number."""

    def __init__(self) -> None:
        self.arms: dict[int, AutoGAF] = {}  # of actions that were learned; the latest comes last
        self.weights = np.full(EXPERTS, 1 / EXPERTS)
        self.sums = np.zeros((2, 0))  # of each action: rewards, and how many
        self.sparse = SparseGAF(2, max_features=SPARSE_FEATURES)
        self.error, self.steps = 0.25, 0  # squared errors in all
        self.columns = 1  # of contexts
        self.inverses: dict[int, Array] = {}  # (d I + sum x x^T)^-1 of each action, if it is asked

    def predict(self, x: Input, actions: Sequence[int], keys: Keys, values: Array) -> Array:
        """What each expert expects of each action: (actions, experts).

        `keys` and `values` are the rows of the actions (actions, features), of `crossed`.
        """
        P = np.full((len(actions), EXPERTS), 0.5)
        total, n = self.sums.sum(axis=1).tolist()
        begin = PRIOR * (total + 0.5) / (n + 1)
        for row, action in enumerate(actions):
            own, count = self.sums[:, action].tolist() if action < self.sums.shape[1] else (0, 0)
            P[row, OWN] = (own + begin) / (count + PRIOR)
            arm = self.arms.get(action)
            if arm is not None:
                P[row, :OWN] = arm._core.components(x.x)[:, 2]
        starts = np.arange(len(actions) + 1, dtype=np.int64) * keys.shape[1]
        P[:, OWN + 1] = self.sparse._core.predict_many(starts, keys.ravel(), values.ravel())[:, 1]
        np.maximum(P, LEAST, out=P)
        return np.asarray(np.minimum(P, 1 - LEAST, out=P))

    def learn(
        self,
        x: Array,
        action: int,
        keys: Keys,
        values: Array,
        P: Array,
        reward: float,
        *,
        keeps_width: bool,
    ) -> None:
        """Learn the reward of an action, with what was encoded and expected when it was chosen."""
        size = len(x) // VIEWS
        likelihood = np.exp(reward * np.log(P) + (1 - reward) * np.log1p(-P))
        self.error += (reward - float(P @ self.weights)) ** 2
        self.steps += 1
        weights = self.weights * likelihood
        self.weights = (1 - SHARE) * weights / weights.sum() + SHARE / EXPERTS
        arm = self.arms.pop(action, None) or new_arm(size)
        if arm.n_features < size:
            arm.add_features(size - arm.n_features)
        self.arms[action] = arm
        if len(self.arms) > MOST_ARMS:
            del self.arms[next(iter(self.arms))]
        for outcome, weight in ((1, reward), (0, 1 - reward)):
            if weight > 0:
                arm._core.learn(x, outcome, weight)
                self.sparse._core.learn(keys, values, outcome, weight)
        more = action + 1 - self.sums.shape[1]
        if more > 0:
            self.sums = np.pad(self.sums, ((0, 0), (0, more)))
        self.sums[:, action] += reward, 1.0
        if keeps_width:
            V = self._inverse(action, size)
            v = V @ x[:size]
            self.inverses[action] = V - np.outer(v, v) / (1 + x[:size] @ v)

    def deviations(self, x: Input, actions: Sequence[int]) -> Array:
        """How much is not known of the reward of each action: sqrt(B x^T (d I + sum x x^T)^-1 x).

        B is the mean squared error of all forecasts so far.
        """
        z = x.x[: len(x.x) // VIEWS]
        widths = [z @ self._inverse(action, len(z)) @ z for action in actions]
        return np.sqrt(self.error / (1 + self.steps) * np.maximum(widths, 0.0))

    def _inverse(self, action: int, size: int) -> Array:
        V = self.inverses.get(action, np.empty((0, 0)))
        if len(V) < size:
            larger = np.eye(size) / self.columns
            larger[: len(V), : len(V)] = V
            return larger
        return V

    def widen(self, size: int) -> None:
        """Let inputs have so many columns."""
        for arm in self.arms.values():
            if arm.n_features < size:
                arm.add_features(size - arm.n_features)

    def draws(self, x: Input, actions: Sequence[int], n: int, rng: np.random.Generator) -> Array:
        """Draws (n, actions) of the rewards, from the posteriors of the actions."""
        logits = np.zeros((n, len(actions)))
        for row, action in enumerate(actions):
            arm = self.arms.get(action)
            if arm is None:
                logits[:, row] = rng.logistic(size=n)
            else:
                drawn = arm.sample(x.x, n, rng)
                logits[:, row] = drawn[:, 1] - drawn[:, 0]
        return np.asarray(1 / (1 + np.exp(-logits)))

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        n = self.sums.shape[1] if np.ndim(self.sums) == 2 else -1
        is_sound = (
            isinstance(self.arms, dict)
            and all(type(k) is int and 0 <= k < n for k in self.arms)
            and all(isinstance(arm, AutoGAF) and is_arm(arm) for arm in self.arms.values())
            and isinstance(self.sparse, SparseGAF)
            and self.sparse.n_classes == 2
            and self.weights.shape == (EXPERTS,)
            and bool((self.weights > 0).all())
            and abs(float(self.weights.sum()) - 1) < 1e-6
            and len(self.sums) == 2
            and bool(np.isfinite(self.sums).all() and (self.sums >= 0).all())
            and bool((self.sums[0] <= self.sums[1] + 1e-6).all())
            and type(self.steps) is int
            and 0 < self.error <= self.steps + 1 < 2**53
            and type(self.columns) is int
            and self.columns > 0
            and all(is_inverse(V, k, n) for k, V in self.inverses.items())
        )
        if not is_sound:
            raise ValueError("the saved values of actions do not go together")


def is_inverse(V: Any, action: Any, actions: int) -> bool:
    """Whether a saved matrix can be the inverse of an action's."""
    is_matrix = isinstance(V, np.ndarray) and V.ndim == 2 and V.shape[0] == V.shape[1]
    return type(action) is int and 0 <= action < actions and is_matrix and np.isfinite(V).all()


def is_arm(arm: AutoGAF) -> bool:
    """Whether a mixture is one of `new_arm`."""
    wanted = new_arm(1)._parameters
    return all(arm._parameters[name] == wanted[name] for name in wanted if name != "n_features")


class Offered(NamedTuple):
    """Actions that can be chosen, and the keys and values of each (actions, features)."""

    actions: dict[Hashable, Mapping[str, Any] | None]
    keys: Keys
    values: Array

    @classmethod
    def of(cls, actions: dict[Hashable, Mapping[str, Any] | None]) -> Offered:
        """The same of actions by name, with their features."""
        pairs = [action_keys(*each) for each in actions.items()]
        most = max(len(keys) for keys, _ in pairs)
        # Where an action has fewer features than others, the rest is 0.
        keys = np.array([keys + [0] * (most - len(keys)) for keys, _ in pairs], np.uint64)
        return cls(actions, keys, np.array([v + [0.0] * (most - len(v)) for _, v in pairs]))

    def crossed(self, x: Input) -> tuple[Keys, Array]:
        """The keys and values of each action in a context: both, and their crosses; a row each."""
        rows, m = self.keys.shape
        n = len(x.keys)
        if n + m + n * m > MOST_CROSSED or rows * (n + m + n * m) > 100 * MOST_CROSSED:
            what = f"{rows} actions, up to {m - 1} features of each and {n} of the context"
            raise ValueError(f"context and actions are too large together: {what}")
        keys, values = np.empty((rows, n + m + n * m), np.uint64), np.empty((rows, n + m + n * m))
        keys[:, :n], values[:, :n] = x.keys, x.values
        keys[:, n : n + m], values[:, n : n + m] = self.keys, self.values
        ends = np.arange(1, rows + 1)
        left = keys[:, :n].ravel()
        pairs = _core.cross_keys(ends * n, left, ends * m, self.keys.ravel(), 7, n * m)[1]
        keys[:, n + m :] = pairs.reshape(rows, n * m)
        values[:, n + m :] = (x.values[:, None] * self.values[:, None, :]).reshape(rows, n * m)
        return keys, values


def late(x: Array, size: int) -> Array:
    """An input of decision time for posteriors of today's size."""
    return at_size(x, size) if len(x) < VIEWS * size else x
