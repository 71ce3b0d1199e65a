"""Names that were not found: which one was meant?"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any


def did_you_mean(name: Any, known: Iterable[str]) -> str:
    """A question that names what is spelled alike, or nothing.

    >>> did_you_mean("lamda", ["lam", "beta"]), did_you_mean("zip", ["city", "Zip code"])
    ("; did you mean 'lam'?", "; did you mean 'Zip code'?")
    """
    wanted, there = str(name).lower(), {each.lower(): each for each in known}
    alike = [there[each] for each in get_close_matches(wanted, list(there), n=1)]
    alike = alike or [each for lower, each in there.items() if wanted and wanted in lower]
    return f"; did you mean {alike[0]!r}?" if alike else ""
