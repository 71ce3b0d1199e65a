"""What a service takes, and how it says no."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

from mixable import _validate


class RefusedError(Exception):
    """A request that is answered with a status of HTTP and a reason, and changes nothing."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


@dataclass(frozen=True, kw_only=True)
class ModelLimits:
    """What one model takes. The journal keeps these: its entries are to be learned once more
    under the limits under which they were learned at first.
    """

    features: int = 2000
    classes: int = 100
    waiting: int = 10_000
    waiting_bytes: int = 2**26
    text: int = 1000  # characters of a name, a label or an identifier

    def __post_init__(self) -> None:
        """Refuse what is no number of things."""
        for name, value in asdict(self).items():
            _validate.count(value, name, least=0)

    @classmethod
    def from_json(cls, values: Any) -> ModelLimits:
        """The limits that a journal has kept."""
        if not isinstance(values, dict) or values.keys() != {each.name for each in fields(cls)}:
            raise ValueError(f"limits must have their names, got {values!r:.80}")
        return cls(**values)


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What the service takes."""

    model: ModelLimits = ModelLimits()
    body: int = 2**20  # bytes of a request, and of a line of /events
    bulk: int = 2**24  # bytes of the body of /events whose length is announced
    models: int = 1000
    in_memory: int = 100  # models
    queue: int = 2000  # events that may wait for the disk
    requests: int = 256  # at one time
    streams: int = 8  # of /events, and as many pages that watch, at one time
    seconds: float = 30.0  # that a request may take to arrive


def busy(what: str) -> RefusedError:
    """Say that there is too much to do at the moment."""
    return RefusedError(503, f"{what}; try again in a second")
