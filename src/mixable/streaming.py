"""What `mixable.events` was called before version 0.3.0."""

import warnings
from typing import Any

from mixable import events


def __getattr__(name: str) -> Any:
    warnings.warn("mixable.streaming is mixable.events now", FutureWarning, stacklevel=2)
    return getattr(events, name)
