"""Events, one after the other: `mixable stream` and `mixable serve` without their terminals."""

from mixable.events.model import StreamModel

__all__ = ["StreamModel"]
