"""One call of a model at a time: calls from other threads wait until it has ended.

So a call that raises has learned nothing, and one that returns has learned everything. The
forecasters below (`mixable.GAF` and so on) do not wait: they refuse a second thread.
"""

from __future__ import annotations

import copy
import functools
import os
import threading
import warnings
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

from mixable._config import __version__

Verb = TypeVar("Verb", bound=Callable[..., Any])


# The lock of each model, by its id. They are no part of models: those are saved, sent and copied.
_locks: dict[int, threading.RLock] = {}
_making = threading.RLock()


def _made(model: Any) -> threading.RLock:
    """The lock of a model that may have none yet."""
    key = id(model)
    with _making:
        lock = _locks.get(key)
        if lock is None:
            lock = _locks[key] = threading.RLock()
            # Before its id is anyone else's.
            weakref.finalize(model, _locks.pop, key, None).atexit = False
    return lock


def _forget() -> None:
    """In a process that was forked, nobody will release what threads of its parent hold."""
    global _making
    _locks.clear()
    _making = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def alone(verb: Verb) -> Verb:
    """Let a method have its model to itself; from within, other methods may be called."""

    @functools.wraps(verb)
    def locked(self: Any, *values: Any, **options: Any) -> Any:
        with _locks.get(id(self)) or _made(self):
            return verb(self, *values, **options)

    return locked  # type: ignore[return-value]  # it has the same signature


class Alone:
    """A model whose verbs are `alone`. Pickle and copies get it as it is between two calls."""

    @alone
    def __reduce_ex__(self, protocol: Any) -> Any:
        # What it refers to goes on learning while pickle writes it.
        make, values, *rest = copy.deepcopy(tuple(super().__reduce_ex__(protocol)))
        return _written_by, (__version__, make, values), *rest

    def __deepcopy__(self, memo: Any) -> Any:
        return copy.copy(self)


def _written_by(version: str, make: Callable[..., Any], values: tuple[Any, ...]) -> Any:
    """What pickle makes of a model; it warns of another version's."""
    if version != __version__:
        warnings.warn(
            f"this pickle was written by mixable {version}, and this is {__version__}: it may not "
            "go on as it did. Files of mixable.save are read by all later versions",
            UserWarning,
            stacklevel=2,
        )
    return make(*values)


def call_alone(model: Any, work: Callable[[Any], Any]) -> Any:
    """What `work` makes of a model, while nobody else uses it."""
    return alone(work)(model) if isinstance(model, Alone) else work(model)
