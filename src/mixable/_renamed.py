"""Names of version 0.2 that still work, with a FutureWarning."""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def warn(old: str, new: str, stacklevel: int = 3) -> None:
    """Say by which name something goes now."""
    warnings.warn(f"{old} is called {new} now", FutureWarning, stacklevel=stacklevel)


def attribute(old: str, new: str) -> Any:
    """A property by its old name."""

    def get(self: Any) -> Any:
        warn(old, new)
        return getattr(self, new)

    return property(get, doc=f"The old name of `{new}`.")


def arguments(**names: str) -> Callable[[F], F]:
    """Let a function take keyword arguments by their old names: ``old="new"``."""

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def renamed(*args: Any, **given: Any) -> Any:
            for old in names.keys() & given.keys():
                if names[old] in given:
                    raise TypeError(f"{old} is called {names[old]} now: give one of them")
                warn(old, names[old])
                given[names[old]] = given.pop(old)
            return function(*args, **given)

        return renamed  # type: ignore[return-value]

    return decorate


def names(module: str, **old: str) -> Callable[[str], Any]:
    """A module's `__getattr__`, for functions by their old names: ``old="new"``."""

    def get(name: str) -> Any:
        if name not in old:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        warn(f"{module}.{name}", old[name])
        return getattr(sys.modules[module], old[name])

    return get
