"""The agent: which action, with which probability, and what comes of it later."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mixable import _validate
from mixable._alone import Alone, alone
from mixable._types import Array
from mixable.bandits import exploration
from mixable.bandits.contexts import FIRST_SIZE, MOST_NUMBER, VIEWS, Contexts, Input, Keys
from mixable.bandits.values import EXPERTS, Offered, Values, late
from mixable.records import Columns, Row

REWARDS = ("binary", "unit", "number")
EXPLORE = ("auto", "fastcb", "optimistic", "thompson", "greedy")
DRAWS = 64  # of Thompson sampling: propensities are multiples of one 64th before the floor

Features = Mapping[str, Any]
Actions = Iterable[Hashable] | Mapping[Hashable, Features | None]


@dataclass(frozen=True, slots=True)
class Decision:
    """An action that was chosen, and with which probability."""

    id: Hashable
    action: Any
    propensity: float
    """The probability with which it was chosen."""
    propensities: dict[Any, float]
    """That of each action that could have been chosen."""
    expected: dict[Any, float]
    """The reward that is expected of each of them."""


@dataclass(slots=True)
class _Waiting:
    """What a reward is learned with: the inputs of decision time."""

    action: int
    x: Array
    keys: Keys
    values: Array
    P: Array  # what each expert expected


class Agent(Alone):
    """Choose actions for contexts, and learn from the rewards of those chosen; nothing to tune.

    Parameters
    ----------
    actions
        The actions, by name (a string or an integer), or a dictionary of their features:
        `{"a": {"price": 9.5, "brand": "x"}, "b": ...}`. None: they come with each `choose`.
    reward
        What rewards are: "binary" (0 or 1), "unit" (from 0 to 1), "number" (any; they are measured
        by the smallest and the largest so far).
    explore
        "fastcb": an action is chosen the less often the more it is expected to lose to the best
        one. "optimistic": the same, after a bonus for what is not known of an action.
        "thompson": as often as it is the best in draws from the posteriors. "greedy": always the
        best one. "auto" is "fastcb".
    floor
        The least probability of each action that is allowed; above 0 if a log is to evaluate other
        policies. With K actions it is 1 / K at most.
    columns
        What is declared of the columns of contexts (`mixable.records.Columns`). Others are guessed.
    seed
        Seeds the choices: they depend on it, on the number of the decision and on what was learned.
    max_waiting
        Decisions that may wait for their reward; beyond, the oldest is forgotten.

    Notes
    -----
    A context is a dictionary with numbers, text, categories, lists, times, or a row of numbers. A
    reward may come late, in any order, or never. It is learned with the inputs of decision time.
    No bound on the regret of the decisions is proved; the guide says what is.

    Examples
    --------
    >>> agent = Agent(["red", "blue"])
    >>> likes = {"anna": "red", "ben": "blue"}
    >>> for t in range(200):
    ...     user = ["anna", "ben"][t % 2]
    ...     decision = agent.choose({"user": user})
    ...     agent.learn(decision.id, decision.action == likes[user])
    >>> decision = agent.choose({"user": "ben"})
    >>> decision.action, decision.propensity > 0.9
    ('blue', True)
    """

    def __init__(
        self,
        actions: Actions | None = None,
        *,
        reward: str = "binary",
        explore: str = "auto",
        floor: float = 0.0,
        columns: Columns | None = None,
        seed: int = 0,
        max_waiting: int = 10_000,
    ) -> None:
        for name, value, words in (("reward", reward, REWARDS), ("explore", explore, EXPLORE)):
            if not isinstance(value, str) or value not in words:
                raise ValueError(f"{name} must be one of {words}, got {value!r:.80}")
        self.reward, self.explore = reward, explore
        self.floor = _validate.real(floor, "floor", least=0, most=1)
        self.seed = _validate.count(seed, "seed", least=0)
        self.max_waiting = _validate.count(max_waiting, "max_waiting")
        self.decisions = 0
        self.forgotten = 0
        self._range = (math.inf, -math.inf)
        self._contexts, self._values = Contexts(columns, self.seed), Values()
        self._numbers: dict[Hashable, int] = {}  # of actions, in the order they came
        self._waiting: dict[Hashable, _Waiting] = {}
        self._actions: Offered | None = None
        self._listed: tuple[list[Any], Offered] | None = None  # the last actions that were given
        if actions is not None:
            self._actions = Offered.of(_checked_actions(actions, "actions"))

    @property
    def actions(self) -> list[Any]:
        """The actions of the agent, or, if they come with each decision, those met so far."""
        return list(self._numbers if self._actions is None else self._actions.actions)

    @property
    def waiting(self) -> list[Any]:
        """The ids of decisions whose reward has not come, oldest first."""
        return list(self._waiting)

    def waits(self, id: Hashable) -> bool:
        """Whether a decision waits for its reward."""
        return id in self._waiting

    @property
    def rewards(self) -> int:
        """Number of rewards learned."""
        return self._values.steps

    @alone
    def choose(
        self,
        context: Any = None,
        actions: Actions | None = None,
        allowed: Iterable[Hashable] | None = None,
        id: Hashable = None,
    ) -> Decision:
        """Choose an action for a context.

        Parameters
        ----------
        context
            A dictionary, a row of numbers, or None.
        actions
            The actions of now, as in the constructor; None: those of the agent.
        allowed
            Those of them that may be chosen; None: all.
        id
            What `learn` will know the decision by, a string or an integer: none that waits. None:
            the number of the decision.
        """
        offered = self._offered(actions, allowed)
        free = (number for number in itertools.count(self.decisions) if number not in self._waiting)
        name = next(free) if id is None else _checked_name(id, "id")
        if name in self._waiting:
            raise ValueError(f"id {name!r:.80} waits for its reward already")
        x, row = self._contexts.encode(context)
        P, keys, values, q = self._considered(x, offered)
        place = min(int(np.searchsorted(q.cumsum(), self._uniform(), "right")), len(q) - 1)
        while q[place] == 0:  # the sum may be below 1 by rounding
            place -= 1
        names = list(offered.actions)
        for action in names:
            self._numbers.setdefault(action, len(self._numbers))
        self._meet(row)
        self.decisions += 1
        self._waiting[name] = _Waiting(
            self._numbers[names[place]], x.x, keys[place].copy(), values[place].copy(), P[place]
        )
        if len(self._waiting) > self.max_waiting:
            del self._waiting[next(iter(self._waiting))]
            self.forgotten += 1
        return Decision(
            name,
            names[place],
            float(q[place]),
            dict(zip(names, q.tolist(), strict=True)),
            dict(zip(names, self._as_rewards(P @ self._values.weights), strict=True)),
        )

    @alone
    def learn(self, id: Hashable, reward: float) -> None:
        """Learn the reward of a decision, once; in any order, at any time."""
        value, id = self.check_reward(reward), _checked_name(id, "id")
        if id not in self._waiting:
            raise ValueError(
                f"id {id!r:.80} does not wait for a reward: it was never given, has been learned, "
                f"or is forgotten ({self.forgotten} of more than max_waiting were)"
            )
        self._learn(self._waiting[id], value)
        del self._waiting[id]

    @alone
    def observe(
        self, context: Any, action: Hashable, reward: float, actions: Actions | None = None
    ) -> None:
        """Learn a decision that somebody else took, from a log."""
        offered = self._offered([action] if actions is None else actions, None)
        if action not in offered.actions:
            raise ValueError(f"action {action!r:.80} is not one of actions")
        offered = Offered.of({action: offered.actions[action]})
        value = self.check_reward(reward)
        x, row = self._contexts.encode(context)
        number = self._numbers.setdefault(action, len(self._numbers))
        keys, values = offered.crossed(x)
        P = self._values.predict(x, [number], keys, values)
        self._meet(row)
        self._learn(_Waiting(number, x.x, keys[0], values[0], P[0]), value)

    def expected(
        self,
        context: Any = None,
        actions: Actions | None = None,
        allowed: Iterable[Hashable] | None = None,
    ) -> dict[Any, float]:
        """The reward that is expected of each action; it changes nothing."""
        return self._seen(context, actions, allowed)[0]

    def propensities(
        self,
        context: Any = None,
        actions: Actions | None = None,
        allowed: Iterable[Hashable] | None = None,
    ) -> dict[Any, float]:
        """The probability with which `choose` would choose each action; it changes nothing."""
        return self._seen(context, actions, allowed)[1]

    @alone
    def _seen(self, context: Any, actions: Any, allowed: Any) -> tuple[dict[Any, float], ...]:
        offered = self._offered(actions, allowed)
        P, *_, q = self._considered(self._contexts.encode(context)[0], offered)
        both = self._as_rewards(P @ self._values.weights), q.tolist()
        return tuple(dict(zip(offered.actions, each, strict=True)) for each in both)

    def _meet(self, row: Row) -> None:
        """Learn a context; posteriors get the columns that are new."""
        size = self._contexts.size
        self._contexts.learn(row)
        self._values.columns = self._contexts.in_use
        if self._contexts.size > size:
            self._values.widen(self._contexts.size)

    def _offered(self, actions: Actions | None, allowed: Iterable[Hashable] | None) -> Offered:
        if isinstance(actions, list) and self._listed and actions == self._listed[0]:
            offered = self._listed[1]
        elif actions is not None:
            offered = Offered.of(_checked_actions(actions, "actions"))
            if isinstance(actions, list):
                self._listed = list(actions), offered
        elif self._actions is not None:
            offered = self._actions
        else:
            raise ValueError("actions must be given: the agent has none of its own")
        if allowed is None:
            return offered
        wanted = _checked_actions(allowed, "allowed")
        for action in wanted:
            if action not in offered.actions:
                raise ValueError(f"allowed has {action!r:.80}, which is not one of the actions")
        return Offered.of({a: each for a, each in offered.actions.items() if a in wanted})

    def _considered(self, x: Input, offered: Offered) -> tuple[Array, Keys, Array, Array]:
        """What each expert expects of each action, their keys and values, and propensities."""
        keys, values = offered.crossed(x)
        numbers = [self._numbers.get(action, 2**31) for action in offered.actions]
        P = self._values.predict(x, numbers, keys, values)
        p, explore = P @ self._values.weights, self.explore
        if explore == "greedy":
            q = exploration.greedy(p)
        elif explore == "thompson":
            rng = np.random.default_rng([self.seed, self.decisions])
            q = exploration.of_draws(self._values.draws(x, numbers, DRAWS, rng))
        else:
            if explore == "optimistic":
                p = np.minimum(p + self._values.deviations(x, numbers), 0.999)
            q = exploration.fastcb(p, self.decisions)
        return P, keys, values, exploration.with_floor(q, self.floor)

    def _uniform(self) -> float:
        """A number in [0, 1) for this decision: after a crash it is the same again."""
        text = f"{self.seed} {self.decisions}".encode()
        return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big") / 2**64

    def _learn(self, waiting: _Waiting, reward: float) -> None:
        x = late(waiting.x, self._contexts.size)
        if self.reward == "number":
            low, high = self._range
            self._range = low, high = min(low, reward), max(high, reward)
            reward = (reward - low) / (high - low) if high > low else 0.5
        self._values.learn(
            x, waiting.action, waiting.keys, waiting.values, waiting.P, reward,
            keeps_width=self.explore == "optimistic",
        )  # fmt: skip

    def _as_rewards(self, p: Array) -> list[float]:
        low, high = (0.0, 1.0) if self.reward != "number" else self._range
        return [low + (high - low) * each if low <= high else 0.0 for each in p.tolist()]

    def check_reward(self, reward: Any, where: str = "") -> float:
        """A reward as a number, if it is one that this agent can learn."""
        if self.reward == "number":
            return _validate.real(reward, f"{where}reward", least=-1e100, most=1e100)
        value = float(reward) if isinstance(reward, (bool, np.bool_)) else reward
        value = _validate.real(value, f"{where}reward", least=0, most=1)
        if self.reward == "binary" and value not in (0, 1):
            raise ValueError(f'{where}reward must be 0 or 1 with reward="binary", got {value:g}')
        return value

    def __repr__(self) -> str:
        return (
            f"Agent({len(self.actions)} actions, reward={self.reward!r}, explore={self.explore!r}, "
            f"{self.decisions} decisions, {self.rewards} rewards, {len(self._waiting)} waiting)"
        )

    @alone
    def __getstate__(self) -> dict[str, Any]:
        plain = ("reward", "explore", "floor", "seed", "max_waiting", "decisions", "forgotten")
        waiting = list(self._waiting.values())
        return {
            **{name: getattr(self, name) for name in plain},
            "range": self._range,
            "contexts": self._contexts,
            "values": self._values,
            "numbers": list(self._numbers),
            "actions": None
            if self._actions is None
            else json.dumps([*self._actions.actions.items()]),
            "waiting": list(self._waiting),
            "waiting_actions": np.array([each.action for each in waiting], np.int64),
            "waiting_lengths": np.array(
                [[len(each.x), len(each.keys)] for each in waiting], np.int64
            ).reshape(-1, 2),
            "x": _joined([each.x for each in waiting], np.float64),
            "keys": _joined([each.keys for each in waiting], np.uint64),
            "key_values": _joined([each.values for each in waiting], np.float64),
            "P": np.array([each.P for each in waiting]).reshape(-1, EXPERTS),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        actions = state["actions"]
        if actions is not None:
            actions = dict(json.loads(actions))
        options = ("reward", "explore", "floor", "seed", "max_waiting")
        self.__init__(actions, **{n: state[n] for n in options})  # type: ignore[misc]
        self.decisions = _validate.count(state["decisions"], "decisions", least=0)
        self.forgotten = _validate.count(state["forgotten"], "forgotten", least=0)
        low, high = self._range = tuple(state["range"])
        self._contexts, self._values = state["contexts"], state["values"]
        names = [_checked_name(name, "numbers") for name in state["numbers"]]
        self._numbers = {name: i for i, name in enumerate(names)}
        lengths, P, acted = state["waiting_lengths"], state["P"], state["waiting_actions"]
        n = len(state["waiting"])
        is_sound = (
            isinstance(self._contexts, Contexts)
            and isinstance(self._values, Values)
            and len(self._numbers) == len(names) >= self._values.sums.shape[1]
            and all(type(each) is float for each in self._range)
            and (self._range == (math.inf, -math.inf) or -1e100 <= low <= high <= 1e100)
            and lengths.shape == (n, 2)
            and lengths.dtype == acted.dtype == np.int64
            and acted.shape == (n,)
            and bool(((acted >= 0) & (acted < len(names))).all())
            and bool(
                (lengths >= 0).all() and (lengths <= len(state["x"]) + len(state["keys"])).all()
            )
            and lengths[:, 0].sum() == len(state["x"])
            and lengths[:, 1].sum() == len(state["keys"]) == len(state["key_values"])
            and [state[name].ndim for name in ("x", "keys", "key_values")] == [1, 1, 1]
            and state["keys"].dtype == np.uint64
            and state["x"].dtype == state["key_values"].dtype == np.float64
            and P.shape == (n, EXPERTS)
            and bool(((P > 0) & (P < 1)).all())
            and all(bool((np.abs(state[n]) <= MOST_NUMBER).all()) for n in ("x", "key_values"))
        )
        if is_sound:
            size = self._contexts.size
            is_sound = set(lengths[:, 0].tolist()) <= {VIEWS * FIRST_SIZE, VIEWS * size} and all(
                arm.n_features == size for arm in self._values.arms.values()
            )
        if not is_sound:
            raise ValueError("the saved agent does not go together")
        ends = np.cumsum(lengths, axis=0)[:-1] if n else lengths
        xs = np.split(state["x"], ends[:, 0])
        keys, values = (np.split(state[name], ends[:, 1]) for name in ("keys", "key_values"))
        for i, name in enumerate(state["waiting"]):
            self._waiting[_checked_name(name, "waiting")] = _Waiting(
                int(acted[i]), xs[i], keys[i], values[i], P[i]
            )
        if len(self._waiting) != n:
            raise ValueError("the saved agent has decisions with the same id")


def _joined(pieces: list[Any], dtype: Any) -> Any:
    return np.concatenate([np.empty(0, dtype), *pieces])


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _checked_name(name: Any, what: str) -> Hashable:
    name = _plain(name)
    if not isinstance(name, (str, int)) or isinstance(name, bool):
        raise TypeError(f"{what} must be a string or an integer, got {name!r:.80}")
    return name


def _checked_actions(actions: Any, what: str) -> dict[Hashable, Features | None]:
    if isinstance(actions, (str, bytes)) or not isinstance(actions, Iterable):
        raise TypeError(f"{what} must be a list or a dictionary, got {actions!r:.80}")
    given = actions.items() if isinstance(actions, Mapping) else ((each, None) for each in actions)
    out: dict[Hashable, Features | None] = {}
    texts: set[str] = set()
    for name, features in given:
        if features is not None and not isinstance(features, Mapping):
            raise TypeError(f"{what}: the features of {name!r:.80} must be a dictionary")
        key = _checked_name(name, what)
        if str(key) in texts:  # logs have names as text
            raise ValueError(f"{what} has {name!r:.80} twice")
        texts.add(str(key))
        out[key] = None if features is None else {k: _plain(v) for k, v in features.items()}
    if not out:
        raise ValueError(f"{what} is empty")
    return out
