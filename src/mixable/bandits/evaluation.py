"""What another policy would have earned, from the log of one that chose with known probabilities.

Dudik, M., Langford, J. and Li, L. (2011). Doubly robust policy evaluation and learning. ICML.
Waudby-Smith, I. and Ramdas, A. (2024). Estimating means of bounded random variables by betting.
JRSS B. Waudby-Smith, I., Wu, L., Ramdas, A., Karampatziakis, N. and Mineiro, P. (2024).
Anytime-valid off-policy inference for contextual bandits. ACM/IMS JDS 1.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from mixable import _validate
from mixable._types import Array
from mixable.bandits.agent import Actions, Agent

GRID = 501  # means in [0, 1] that are bet against
BOLDEST = 0.75  # of a gambler's capital that may be lost in one step
SUSPICIOUS = 4.0  # deviations of the mean weight from 1

Policy = Callable[[Any, list[Any]], Any] | Agent | Hashable
"""A function of the context and of the list of actions that returns an action or the probability
of each; an agent that learns as it goes; or one action, for "always this one"."""


@dataclass(frozen=True, slots=True)
class Logged:
    """A decision of a log: with which probability it was chosen, and what came of it."""

    context: Any
    action: Any
    propensity: float
    reward: float
    actions: Actions | None = None
    """All that could have been chosen; None: those of the whole log."""
    expected: Mapping[Any, float] | None = None
    """The reward that was expected of each of them before; a model for DR."""


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """What a policy would have earned a decision; `str` of it is a report."""

    n: int
    logged: float
    """The mean reward in the log."""
    ips: float
    """Inverse propensity scores: unbiased."""
    snips: float
    """The same, divided by the mean weight: nearly unbiased, less variance."""
    dr: float
    """Doubly robust: forecasts of rewards, corrected by weighted errors; unbiased."""
    interval: tuple[float, float]
    """Holds the true value at all times with probability `level`, by betting on DR."""
    ips_interval: tuple[float, float]
    """The same by betting on IPS; it needs no smallest propensity."""
    normal: tuple[float, float]
    """The usual interval of DR, for one look at the end; it is approximate."""
    level: float
    path: Array
    """(n, 2), `interval` after each decision."""
    scores: Array
    """(n,), DR of each decision: `dr` is their mean. Those of two policies can be subtracted."""
    mean_weight: float
    """About 1 if the propensities are right."""
    largest_weight: float
    effective: float
    """Decisions of the policy itself that tell as much: (sum w)^2 / sum w^2."""
    clipped: int
    """Weights that were cut by `clip`."""
    problems: tuple[str, ...]
    """What is wrong with the log, in words."""

    def __str__(self) -> str:
        low, high = self.interval
        lines = [
            f"{self.n} decisions, mean reward {self.logged:.4g} in the log.",
            f"The policy: DR {self.dr:.4g}, SNIPS {self.snips:.4g}, IPS {self.ips:.4g}.",
            f"{self.level:.0%} intervals: {low:.4g} to {high:.4g} (by betting on DR, at all "
            f"times), {self.ips_interval[0]:.4g} to {self.ips_interval[1]:.4g} (on IPS), "
            f"{self.normal[0]:.4g} to {self.normal[1]:.4g} (normal, for one look).",
            f"Weights: mean {self.mean_weight:.3g}, largest {self.largest_weight:.3g}, as good as "
            f"{self.effective:.0f} decisions of its own; {self.clipped} were clipped.",
        ]
        return "\n".join([*lines, *(f"Problem: {each}." for each in self.problems)])


def evaluate(
    log: Iterable[Logged | Mapping[str, Any]],
    policy: Policy,
    *,
    reward_range: tuple[float, float] = (0.0, 1.0),
    level: float = 0.95,
    clip: float | None = None,
    least: float | None = None,
    model: Agent | None = None,
) -> Evaluation:
    """Say what a policy would have earned, from the log of another one.

    Parameters
    ----------
    log
        Decisions in their order, as `Logged` or as dictionaries with the same names. `read_log`,
        `read_vw` and `read_open_bandit` read files.
    policy
        A function of context and actions that returns an action or a dictionary of probabilities;
        or one action, for "always this one" in the rows where it could be chosen. It must not have
        learned from this log. An `Agent` decides and then learns, row by row.
    reward_range
        The least and the largest possible reward; the intervals need them.
    level
        Of the intervals.
    clip
        Weights beyond are cut: less variance, and IPS is too low then. Intervals by betting stay
        valid; DR and its intervals take no part.
    least
        The smallest probability that the logging policy can give an action; the bets on DR are
        limited by it. None: the smallest in the log, with which validity is approximate.
    model
        Forecasts the rewards for DR, each before it is learned: an `Agent` that has not seen this
        log. None: what the log expected, if it says so for all actions of each row; else a fresh
        agent.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> def entry():
    ...     action = "ab"[rng.integers(2)]
    ...     return Logged(None, action, 0.5, float(rng.random() < (0.3 if action == "a" else 0.6)))
    >>> found = evaluate([entry() for _ in range(2000)], "b", least=0.5)
    >>> round(found.dr, 1), found.interval[0] < 0.6 < found.interval[1]
    (0.6, True)
    """
    if not isinstance(log, Iterable):
        raise TypeError(f"log must be a list of decisions, got {type(log).__name__}")
    entries = [_checked(each, row) for row, each in enumerate(log)]
    if not entries:
        raise ValueError("log is empty")
    every, all_of_log = list(dict.fromkeys(each.action for each in entries)), len(entries)
    if not callable(policy) and not isinstance(policy, Agent):
        entries = [e for e in entries if policy in (every if e.actions is None else e.actions)]
        if not entries:
            raise ValueError(f"policy: no row of the log could have {policy!r:.80}")
    if model is not None and not isinstance(model, Agent):
        raise TypeError(f"model must be an Agent or None, got {type(model).__name__}")
    if not isinstance(reward_range, Sequence) or len(reward_range) != 2:
        raise TypeError(f"reward_range must be two numbers, got {reward_range!r:.80}")
    low, high = (_validate.real(each, "reward_range") for each in reward_range)
    if not low < high:
        raise ValueError(f"reward_range must be increasing, got ({low:g}, {high:g})")
    level = _validate.real(level, "level", above=0, most=1 - 1e-9)
    rewards = np.array([each.reward for each in entries])
    if rewards.min() < low or rewards.max() > high:
        found = f"{rewards.min():g} to {rewards.max():g}"
        raise ValueError(f"rewards of the log are {found}, outside of reward_range")
    rewards = (rewards - low) / (high - low)
    propensities = np.array([each.propensity for each in entries])
    limit = float(propensities.min())
    if least is not None:
        limit = _validate.real(least, "least", above=0, most=1)
        if propensities.min() < limit:
            raise ValueError(f"least is {limit:g}, and the log has {propensities.min():g}")
    offered = [list(every if each.actions is None else each.actions) for each in entries]
    agent = model
    if model is None and not all(map(_is_expected, entries, offered)):
        agent = Agent(reward="unit")
    if isinstance(policy, Agent):
        if policy is model:
            raise ValueError("model must be another agent than policy: both learn the log")
        for t, each in enumerate(entries):
            policy.check_reward(each.reward, f"row {t} of the log: ")
    if clip is not None:
        clip = _validate.real(clip, "clip", above=0)
    learners = [each for each in (agent, policy) if isinstance(each, Agent)]
    w, direct, own = np.empty((3, len(entries)))
    with _all_or_nothing(learners):
        for t, (each, reward) in enumerate(zip(entries, rewards.tolist(), strict=True)):
            actions: Any = offered[t] if each.actions is None else each.actions
            chances = _chances(policy, each.context, actions, t)
            w[t] = chances.get(each.action, 0.0) / each.propensity
            if agent is not None:
                expected: Any = agent.expected(each.context, actions)
            else:  # bets need forecasts in the range of rewards
                expected = {a: (v - low) / (high - low) for a, v in (each.expected or {}).items()}
                expected = {a: min(max(v, 0.0), 1.0) for a, v in expected.items()}
            direct[t] = sum(chance * expected[a] for a, chance in chances.items())
            own[t] = expected[each.action]
            for learner in learners:
                given = reward if learner is agent else each.reward
                learner.observe(each.context, each.action, given, actions)
    cut = w if clip is None else np.minimum(w, clip)
    robust = direct + w * (rewards - own)
    alpha = 1 - level
    of_ips = _sequence(cut * rewards, cut * (1 - rewards), 0.0, alpha)
    of_dr = _sequence(robust, 1 - robust, 1 / limit, alpha)
    n, mean = len(w), float(robust.mean())
    half = NormalDist().inv_cdf(1 - alpha / 2) * float(robust.std()) / math.sqrt(n)

    def scaled(value: float) -> float:
        return low + (high - low) * value

    def both(ends: Any) -> tuple[float, float]:
        return scaled(float(ends[0])), scaled(float(ends[1]))

    total = float(cut.sum())
    return Evaluation(
        n=n,
        logged=scaled(float(rewards.mean())),
        ips=scaled(float((cut * rewards).mean())),
        snips=scaled(float((cut * rewards).sum()) / total) if total > 0 else math.nan,
        dr=scaled(mean),
        interval=both(of_dr[-1]),
        ips_interval=both(of_ips[-1]),
        normal=both((mean - half, mean + half)),
        level=level,
        path=low + (high - low) * of_dr,
        scores=low + (high - low) * robust,
        mean_weight=float(w.mean()),
        largest_weight=float(w.max()),
        effective=total**2 / float((cut**2).sum()) if total > 0 else 0.0,
        clipped=int((cut < w).sum()),
        problems=_problems(w, all_of_log - len(entries)),
    )


def _checked(entry: Any, row: int) -> Logged:
    if isinstance(entry, Mapping):
        try:
            entry = Logged(**{str(name): value for name, value in entry.items()})
        except TypeError as error:
            raise TypeError(f"row {row} of the log: {error}") from None
    if not isinstance(entry, Logged):
        raise TypeError(f"row {row} of the log must be Logged, got {type(entry).__name__}")
    _validate.real(entry.propensity, f"row {row} of the log: propensity", above=0, most=1)
    _validate.real(entry.reward, f"row {row} of the log: reward")
    if entry.expected is not None and not isinstance(entry.expected, Mapping):
        raise TypeError(f"row {row} of the log: expected must be a dictionary")
    for value in (entry.expected or {}).values():
        _validate.real(value, f"row {row} of the log: expected")
    if entry.actions is not None and entry.action not in entry.actions:
        raise ValueError(f"row {row} of the log: {entry.action!r:.80} is not one of its actions")
    return entry


@contextmanager
def _all_or_nothing(agents: Sequence[Agent]) -> Iterator[None]:
    """After an error, agents are what they were."""
    before = copy.deepcopy(agents)
    try:
        yield
    except BaseException:
        for agent, was in zip(agents, before, strict=True):
            vars(agent).update(vars(was))
        raise


def _is_expected(entry: Logged, actions: list[Any]) -> bool:
    return entry.expected is not None and all(a in entry.expected for a in actions)


def _chances(policy: Policy, context: Any, actions: Any, row: int) -> dict[Any, float]:
    """The probability of each action under a policy."""
    if isinstance(policy, Agent):
        return policy.propensities(context, actions)
    chosen = policy(context, list(actions)) if callable(policy) else policy
    chances = dict(chosen) if isinstance(chosen, Mapping) else {chosen: 1.0}
    for action, chance in chances.items():
        if action not in actions:
            raise ValueError(f"policy chose {action!r:.80}, not an action of row {row}")
        _validate.real(chance, f"policy: the probability of {action!r:.40}", least=0, most=1 + 1e-9)
    if abs(sum(chances.values()) - 1) > 1e-6:
        raise ValueError(f"policy: probabilities sum to {sum(chances.values()):g} in row {row}")
    return chances


def _problems(w: Array, left_out: int) -> tuple[str, ...]:
    out = []
    if left_out:
        out.append(f"{left_out} rows where it could not be chosen are left out")
    n, mean = len(w), float(w.mean())
    error = max(float(w.std()), 1e-12) / math.sqrt(n)
    if abs(mean - 1) > SUSPICIOUS * error and n >= 20:
        out.append(
            f"the weights have mean {mean:.3g} +- {error:.2g} where 1 is right: the propensities "
            "are wrong, or the policy takes actions that the log could not"
        )
    if not w.any():
        out.append("the log never took an action of the policy")
    return tuple(out)


def _sequence(X: Array, Y: Array, below: float, alpha: float) -> Array:
    """(n, 2): where the mean of X is, after each step; Y is 1 - X in the mean.

    Both are at least -`below`. Gamblers bet that the mean of X is above v, and that of Y above
    1 - v, for each v of a grid: a v against which one has won 2 / alpha is excluded for good
    (Ville). A bet depends on the steps before alone, not on the present context.
    """
    lower = _lower(X, below, alpha / 2)
    upper = 1 - _lower(Y, below, alpha / 2)
    return np.stack([np.minimum(lower, upper), np.maximum(lower, upper)], axis=1)


def _lower(X: Array, below: float, alpha: float) -> Array:
    """(n,): a lower end for the mean of X >= -below, valid at all times."""
    grid = np.linspace(0, 1, GRID)
    wealth, alive = np.zeros(GRID), np.ones(GRID, bool)
    most = BOLDEST / (grid + below + 1e-12)
    out, end = np.empty(len(X)), 0
    total, squares = 0.5, 0.25  # one row with mean 1/2 and variance 1/4 begins
    for t, x in enumerate(X.tolist()):
        mean = total / (t + 1)
        variance = max(squares / (t + 1), 1e-4)
        gap = np.maximum(mean - grid, 0.0)
        bet = np.minimum(gap / (variance + gap * gap), most)
        wealth += np.log1p(bet * (x - grid))
        alive &= wealth < math.log(1 / alpha)
        while end < GRID - 1 and not alive[end]:
            end += 1
        out[t] = grid[max(end - 1, 0)]
        squares += (x - mean) * (x - (total + x) / (t + 2))
        total += x
    return out
