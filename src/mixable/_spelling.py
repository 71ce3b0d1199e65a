"""Names that were not found: which one was meant?"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Any, TypeVar

Init = TypeVar("Init", bound=Callable[..., None])


def did_you_mean(name: Any, known: Iterable[str]) -> str:
    """A question that names what is spelled alike, or nothing.

    >>> did_you_mean("lamda", ["lam", "beta"]), did_you_mean("zip", ["city", "Zip code"])
    ("; did you mean 'lam'?", "; did you mean 'Zip code'?")
    """
    wanted, there = str(name).lower(), {each.lower(): each for each in known}
    alike = [there[each] for each in get_close_matches(wanted, list(there), n=1)]
    alike = alike or [each for lower, each in there.items() if wanted and wanted in lower]
    return f"; did you mean {alike[0]!r}?" if alike else ""


def names_its_parameters(init: Init) -> Init:
    """Let a constructor that takes everything by name say what it takes when a name is unknown."""
    known = [name for name in inspect.signature(init).parameters if name != "self"]

    @functools.wraps(init)
    def checked(self: Any, *values: Any, **options: Any) -> None:
        for name in options:
            if name not in known:
                raise TypeError(
                    f"{type(self).__name__} has no parameter {name!r:.80}"
                    f"{did_you_mean(name, known)} (its parameters are {', '.join(known)})"
                )
        init(self, *values, **options)

    return checked  # type: ignore[return-value]  # it has the same signature
