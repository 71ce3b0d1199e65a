"""Events, one after the other: `mixable stream` and `mixable serve` without their terminals."""

import warnings
from typing import Any

from mixable.events.model import EventModel
from mixable.events.options import ModelOptions

__all__ = ["EventModel", "ModelOptions"]


def __getattr__(name: str) -> Any:
    if name != "StreamModel":
        raise AttributeError(f"module 'mixable.events' has no attribute {name!r}")
    warnings.warn("StreamModel is mixable.events.EventModel now", FutureWarning, stacklevel=2)
    return EventModel
