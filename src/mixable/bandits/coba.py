"""The agent as a learner of coba (https://github.com/VowpalWabbit/coba).

This module alone knows coba, and does not import it: a learner of coba is a class with these
methods.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from mixable.bandits.agent import Agent


class Learner:
    """An `Agent` for experiments of coba; parameters are those of `Agent`.

    Actions of coba may be names, rows of numbers or dictionaries; the latter two become features.
    Rewards are any numbers, unless `reward` says that they are in [0, 1].
    """

    def __init__(self, *, reward: str = "number", **options: Any) -> None:
        self._options = {"reward": reward, **options}
        self._agent = Agent(**self._options)

    @property
    def params(self) -> dict[str, Any]:
        """What an experiment knows the learner by."""
        return {"family": "mixable", **self._options}

    def score(self, context: Any, actions: Sequence[Any], action: Any) -> float:
        """The probability with which an action would be chosen."""
        offered = _actions(actions)
        return self._agent.propensities(_context(context), offered)[_name(action)]

    def predict(self, context: Any, actions: Sequence[Any]) -> tuple[Any, float, dict[str, Any]]:
        """An action, its probability, and what `learn` needs."""
        decision = self._agent.choose(_context(context), _actions(actions))
        names = [_name(action) for action in actions]
        return actions[names.index(decision.action)], decision.propensity, {"id": decision.id}

    def learn(
        self, context: Any, action: Any, reward: float, probability: float, id: Hashable = None
    ) -> None:
        """Learn a reward; one without an id is of a decision that somebody else took."""
        if id is None:
            self._agent.observe(_context(context), _name(action), reward, _actions([action]))
        else:
            self._agent.learn(id, reward)


def _context(context: Any) -> Any:
    """A record: coba has rows of anything, names, dictionaries and None."""
    if context is None or isinstance(context, Mapping):
        return context
    if isinstance(context, (str, int, float)):
        return {"context": context}
    return {f"x{i}": value for i, value in enumerate(context)}


def _name(action: Any) -> Hashable:
    if isinstance(action, (str, int)) and not isinstance(action, bool):
        return action
    return repr(dict(action) if isinstance(action, Mapping) else action)


def _actions(actions: Sequence[Any]) -> dict[Hashable, dict[str, Any] | None]:
    return {_name(action): _features(action) for action in actions}


def _features(action: Any) -> dict[str, Any] | None:
    if isinstance(action, Mapping):
        return {str(name): value for name, value in action.items()}
    if isinstance(action, (str, int, float)) or action is None:
        return None
    # Of categories, coba has 0 and 1.
    return {f"a{i}": value for i, value in enumerate(action)}
