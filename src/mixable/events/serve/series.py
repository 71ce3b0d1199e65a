"""What a model was asked, and how well it forecast, over clock time: by minute and by hour."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from typing import Any

MINUTE, HOUR = 60, 3600
# Seconds for which counts of so many seconds are kept, each with the largest bin of a picture.
KEPT = {MINUTE: 25 * HOUR, HOUR: 31 * 24 * HOUR}
MOST_HOURS = 30 * 24
BINS = 72  # of a picture, or a few less
STEP = 1.25  # of the times that are told apart; a percentile is right up to this ratio
LOSSES = ("outcomes", "loss", "baseline")
TOOK = "seconds "  # and the largest time of those that are counted together

Counts = defaultdict[str, float]
Counted = dict[tuple[int, int], Counts]  # by the number of a model, and when the minute began


def minute(now: float) -> int:
    """When the minute began."""
    return int(now) // MINUTE * MINUTE


class Series:
    """What has been counted since it was last written; nothing if nobody `writes` it."""

    def __init__(self, *, writes: bool = True) -> None:
        self._new: Counted = {}
        self._writes = writes

    def add(self, model: int, what: str, value: float = 1.0, when: int | None = None) -> None:
        """Count something, in this minute or in the one that began then."""
        key = model, minute(time.time()) if when is None else when
        if self._writes:
            self._new.setdefault(key, _counts())[what] += value

    def request(self, model: int, status: int, seconds: float | None) -> None:
        """Count a request; `seconds` is how long it took, if that says anything."""
        self.add(model, "requests")
        if status >= 400:
            self.error(model, status)
        elif seconds is not None:
            self.add(model, _took(math.ceil(math.log(max(seconds, 1e-6), STEP))))

    def error(self, model: int, status: int) -> None:
        """Count what was refused, or failed."""
        self.add(model, "refused" if status < 500 else "failed")

    def take(self) -> Counted:
        """All that is not written yet; if it cannot be, it is to be given back."""
        taken, self._new = self._new, {}
        return taken

    def give_back(self, taken: Counted) -> None:
        """Keep what could not be written."""
        for (model, when), counts in taken.items():
            for what, value in counts.items():
                self.add(model, what, value, when)

    def of(self, model: int) -> list[tuple[int, str, float]]:
        """What is not written yet of a model: time, what, value."""
        return [
            (when, what, value)
            for (key, when), counts in self._new.items()
            if key == model
            for what, value in counts.items()
        ]


@cache
def _took(exponent: int) -> str:
    return f"{TOOK}{STEP**exponent:.3g}"


def _counts() -> Counts:
    return defaultdict(float)


def widths(hours: int) -> tuple[int, int]:
    """Of a picture: the width of the counts that it is made of, and that of its bins, in seconds.

    >>> widths(1), widths(24), widths(720)
    ((60, 60), (60, 1200), (3600, 36000))
    """
    width = MINUTE if hours <= 24 else HOUR
    return width, width * math.ceil(hours * HOUR / BINS / width)


def picture(rows: Iterable[tuple[int, str, float]], hours: int, now: float) -> dict[str, Any]:
    """What was counted in the last hours: `time` is when bins began; `whole` is all of them.

    >>> rows = [(0, "requests", 3), (60, "requests", 2), (60, "outcomes", 2), (60, "loss", 1.0)]
    >>> made = picture(rows, 1, 119.0)
    >>> made["time"][-2:], made["requests"][-2:], made["loss"][-2:], made["whole"]["requests"]
    ([0, 60], [3.0, 2.0], [None, 0.5], 5.0)
    """
    _, bin_width = widths(hours)
    last = int(now) // bin_width * bin_width
    times = range(last - bin_width * (hours * HOUR // bin_width - 1), last + 1, bin_width)
    bins: defaultdict[int, Counts] = defaultdict(_counts)
    whole = _counts()
    for when, what, value in rows:
        if when >= times[0]:
            for counts in (bins[when // bin_width * bin_width], whole):
                counts[what] += value
    each = [_figures(bins[when]) for when in times]
    return {
        "seconds": bin_width,
        "now": now,
        "time": list(times),
        **{name: [point[name] for point in each] for name in each[0]},
        "whole": _figures(whole),
    }


def _figures(counts: Counts) -> dict[str, float | None]:
    n = counts["outcomes"]
    times = sorted(
        (float(what.removeprefix(TOOK)), value)
        for what, value in counts.items()
        if what.startswith(TOOK)
    )
    return {
        **{name: counts[name] for name in ("requests", "refused", "failed", "outcomes")},
        "p50": _percentile(times, 0.5),
        "p99": _percentile(times, 0.99),
        "loss": counts["loss"] / n if n else None,
        "baseline": counts["baseline"] / n if n else None,
    }


def _percentile(times: list[tuple[float, float]], share: float) -> float | None:
    rest = share * sum(n for _, n in times)
    for edge, n in times:
        rest -= n
        if rest <= 0:
            return edge
    return None
