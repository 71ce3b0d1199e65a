"""An agent in the log of a service: a decision is an event, its reward is the outcome."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from mixable.bandits import Agent
from mixable.bandits.deciding import as_json, told
from mixable.events.applying import Applied, Applier
from mixable.events.events import Event, RefusedError
from mixable.events.model import EventModel
from mixable.events.options import ModelOptions


@dataclass(frozen=True)
class AgentOptions:
    """What an agent is told; `Agent` says what it means."""

    actions: list[str | int] | dict[str, dict[str, Any] | None] | None = None
    reward: str = "binary"
    explore: str = "auto"
    floor: float = 0.0
    seed: int = 0
    max_waiting: int = 10_000
    regression: ClassVar[bool] = True  # outcomes are numbers

    def __post_init__(self) -> None:
        """Refuse what no agent can be told."""
        try:
            self.agent()
        except TypeError as error:
            raise ValueError(str(error)) from None

    def agent(self) -> Agent:
        """A new agent."""
        return Agent(**vars(self))

    def to_json(self) -> dict[str, Any]:
        """What differs from the defaults, and that it is an agent."""
        every = [(each.name, getattr(self, each.name), each.default) for each in fields(self)]
        return {"kind": "agent", **{name: value for name, value, usual in every if value != usual}}


Options = ModelOptions | AgentOptions


def options_of(given: Any) -> Options:
    """The options of an object of JSON: those of an agent if its kind is one."""
    if not isinstance(given, dict) or "kind" not in given:
        return ModelOptions.from_json(given)
    if given["kind"] != "agent":
        raise ValueError(f"kind must be agent, or not be there, got {given['kind']!r:.80}")
    names = [each.name for each in fields(AgentOptions)]
    for name in given:
        if name not in (*names, "kind"):
            raise ValueError(f"agents have no option {name!r:.80} (there are {', '.join(names)})")
    return AgentOptions(**{name: value for name, value in given.items() if name != "kind"})


class Decisions(Applier):
    """An agent, and by which events of the log its decisions are known.

    What is refused teaches it nothing.

    >>> decisions = Decisions(AgentOptions(["a"]))
    >>> event = Event(id="7", features={"context": {"hour": 9}}, label=None)
    >>> decisions.one(event)["propensity"]
    1.0
    >>> decisions.one(Event(id="7", features=None, label="1"))
    {'id': '7', 'learned': True, 'step': 1}
    """

    def __init__(self, options: AgentOptions) -> None:
        self.options, self.agent = options, options.agent()
        self.numbers: dict[str, int] = {}  # of the events of decisions, the oldest first
        self.seen = (0.0, 0.0, 0.0)  # losses over time: agents have none

    def apply(self, events: Sequence[Event]) -> list[Applied]:
        """Apply events; what became of each."""
        return [self._became(event) for event in events]

    def _became(self, event: Event) -> Applied:
        try:
            if event.id is None or (event.features is None) == (event.label is None):
                what = "decisions have features and an id, rewards a label and the id"
                raise RefusedError(422, f"this model is an agent: {what}")
            return self._reward(event) if event.features is None else self._decide(event)
        except RefusedError as refused:
            return Applied(refused)
        except (ValueError, TypeError) as error:
            return Applied(RefusedError(422, f"{error!s:.500}"))

    def _decide(self, event: Event) -> Applied:
        agent, key = self.agent, str(event.id)
        if key in self.numbers:
            raise RefusedError(409, f"there is a decision {key!r:.80} already")
        given, number = told({**(event.features or {}), "id": key}), agent.decisions
        answer = as_json(agent.choose(**given))
        self.numbers[key] = event.number
        if len(self.numbers) > 3 * agent.max_waiting:
            done = [key for key in self.numbers if not agent.waits(key)]
            for old in done[: -agent.max_waiting]:
                del self.numbers[old]
        return Applied(answer, {**answer, "seed": agent.seed, "decision": number}, changed=True)

    def _reward(self, event: Event) -> Applied:
        agent, key = self.agent, str(event.id)
        if not agent.waits(key):
            raise RefusedError(409, f"the decision {key!r:.80} does not wait for a reward")
        agent.learn(key, float(str(event.label)))
        answer = {"id": key, "learned": True, "step": agent.rewards}
        return Applied(answer, None, True, self.numbers[key])

    @property
    def progress(self) -> Decisions:
        """Who counts losses."""
        return self

    @property
    def waiting(self) -> list[Any]:
        """The ids of decisions without a reward."""
        return self.agent.waiting

    @property
    def counts(self) -> dict[str, int]:
        """How many of what."""
        n, forgotten = self.agent.rewards, self.agent.forgotten
        return {"events": self.agent.decisions, "learned": n, "late": n, "forgotten": forgotten}

    def score_figures(self) -> dict[str, Any]:
        """Scores of forecasts: there are none."""
        return {}

    def __getstate__(self) -> dict[str, Any]:
        return {"options": self.options.to_json(), "agent": self.agent, "numbers": self.numbers}

    def __setstate__(self, state: dict[str, Any]) -> None:
        options, agent, numbers = options_of(state["options"]), state["agent"], state["numbers"]
        if not (
            isinstance(options, AgentOptions)
            and isinstance(agent, Agent)
            and isinstance(numbers, dict)
            and all(type(k) is str and type(n) is int for k, n in numbers.items())
            and all(0 <= n < 2**63 for n in numbers.values())
            and _is_told(agent, options)
            and all(key in numbers for key in agent.waiting)
        ):
            raise ValueError("the saved decisions do not go together")
        self.__init__(options)  # type: ignore[misc]
        self.agent, self.numbers = agent, numbers


Model = EventModel | Decisions


def made(options: Options) -> Model:
    """A new model."""
    return Decisions(options) if isinstance(options, AgentOptions) else EventModel(options)


def applier_of(model: Model) -> Applier:
    """Who applies events to a model."""
    return model if isinstance(model, Decisions) else Applier(model)


def _is_told(agent: Agent, options: AgentOptions) -> bool:
    """Whether an agent is one that was made by these options."""
    new, names = options.agent(), ("reward", "explore", "floor", "seed", "max_waiting")
    same = all(getattr(agent, name) == getattr(new, name) for name in names)
    return same and (options.actions is None or agent.actions == new.actions)
