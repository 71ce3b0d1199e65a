"""What `mixable.events` was called before version 0.3.0."""

import warnings
from typing import Any

from mixable import events


def __getattr__(name: str) -> Any:
    if name not in ("StreamModel", *events.__all__):
        raise AttributeError(f"module 'mixable.streaming' has no attribute {name!r}")
    warnings.warn("mixable.streaming is mixable.events now", FutureWarning, stacklevel=2)
    return getattr(events, name)
