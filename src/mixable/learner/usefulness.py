"""Whether a curved forecaster is worth its time, beside a linear one."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from mixable import _validate

PERIOD = 1024  # steps between two reviews
PATIENCE = 2  # reviews in a row without a gain, after which it rests
LEAST_GAIN = 0.005  # nats for an example
SHORTEST, LONGEST = 32, 512  # reviews that a rest lasts: twice as many each time


@dataclass(kw_only=True)
class Usefulness:
    """What it has gained since the last review, and how long it still rests."""

    gain: float = 0.0  # nats
    idle: int = 0  # reviews in a row without a gain
    left: int = 0  # reviews to come before the next trial; 0 if it is awake

    def __post_init__(self) -> None:
        _validate.real(self.gain, "gain", least=-1e9, most=1e9)
        for name, most in (("idle", 64), ("left", LONGEST)):
            _validate.count(getattr(self, name), name, least=0, most=most)

    def note(self, gain: float) -> None:
        """Note the nats by which a forecast was better with it than without."""
        self.gain += gain

    def review(self) -> None:
        """Decide whether it rests; to be called every PERIOD steps."""
        if self.left:
            self.left -= 1
        else:
            self.idle = min(self.idle + 1, 64) if self.gain < LEAST_GAIN * PERIOD else 0
            if self.idle >= PATIENCE:
                self.left = min(SHORTEST * 2 ** (self.idle - PATIENCE), LONGEST)
        self.gain = 0.0

    def state(self) -> dict[str, Any]:
        """All that it knows."""
        return asdict(self)
