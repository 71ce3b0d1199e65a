"""Columns of times: hour of the day and day of the week, and the time since the previous record."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from mixable import _core, _validate
from mixable._types import Array
from mixable.records.cells import ABSENT, instant
from mixable.records.column import (
    ALL,
    NOTHING,
    WITHOUT_BINS,
    Column,
    Draft,
    Ends,
    Formatted,
    Keys,
    Part,
    Votes,
)
from mixable.records.tables import Cells

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
FARTHEST = 1e15  # seconds: beyond, a double does not know the hour
MONDAY = 2 * math.pi * 3 / 7  # 1970 began on a Thursday

Moment = tuple[float, float, int]  # seconds on the wall and in UTC, and a vote


class Time(Formatted):
    """Cycles and the time since the latest record that was learned, dense; indicators, sparse.

    The hour and the day are those on the wall, as the record has them; the time since is in UTC, as
    log(1 + seconds), negative for a record that is older than the latest. Experts on keys have the
    indicators: they see the numbers without bins, and nothing of the cycle of the week.
    """

    kind = "time"
    plain_types = (tuple, str, type(None))
    dense_parts = ("hour sin", "hour cos", "week sin", "week cos", "since")
    saved = (*Formatted.saved, "latest", "shown")
    formats = ("day", "month")
    in_words: ClassVar[dict[str, str]] = {"day": "day first", "month": "month first"}
    either = "dates with the day first or the month first"
    remedy = "day_first=[{name}], month_first=[{name}], or category=[{name}]"

    def __init__(self, name: Any, *, guessed: bool = False) -> None:
        super().__init__(name, guessed=guessed)
        self.latest: float | None = None
        self.shown = (WITHOUT_BINS, WITHOUT_BINS, NOTHING, NOTHING, WITHOUT_BINS)
        self.hours = [_core.join_keys(self.key, 100 + hour) for hour in range(24)]
        self.days = [_core.join_keys(self.key, 200 + day) for day in range(7)]

    def is_unclear(self, word: str) -> bool:
        moment = _core.read_time(word, "")
        return moment is not None and moment[0] != moment[0]

    def plain(self, cell: Any) -> Moment | str | None:
        moment = instant(cell, self.name, self.format)
        if isinstance(moment, tuple) and not abs(moment[0]) < FARTHEST:
            raise ValueError(f"column {self.name!r:.80} is {cell!r:.80}: no time of any calendar")
        return moment

    @property
    def _latest(self) -> float:
        return -math.inf if self.latest is None else self.latest

    def put(self, cell: Moment | str | None, draft: Draft) -> None:
        if not isinstance(cell, tuple):
            return draft.put(self.key_of(cell))
        wall, utc, _ = cell
        since = math.nan if self.latest is None else utc - self.latest
        dense = _dense(np.array([wall]), np.array([since]))  # the bits of a table
        for place, value in zip(self.places, dense[0].tolist(), strict=True):
            draft.dense[place] = value
        hour, day = _clock(wall)
        draft.put(self.hours[hour], self.days[day])

    def learn(self, cell: Any, most: int) -> None:
        super().learn(cell, most)
        if isinstance(cell, str):
            self.learn_words([cell])
        elif cell is not None:
            self.vote_one(cell[2])
            self.latest = max(self._latest, cell[1])

    def _read(self, cells: Cells) -> tuple[Array, Array, Votes, dict[int, str | None]]:
        """Seconds on the wall and in UTC; votes; what has no time, unless absent, by row."""
        if cells.times is not None:
            wall, utc = cells.times
            missing = np.flatnonzero(np.isnan(wall)).tolist()
            return wall, utc, np.empty(0), dict.fromkeys(missing)
        items = cells.items
        if all(type(cell) is str for cell in items):
            moments = _core.read_times(items, self.format)
        else:
            moments = np.full((len(items), 3), math.nan)
        others: dict[int, str | None] = {}
        for row in np.flatnonzero(np.isnan(moments[:, 0])).tolist():
            moment = ABSENT if items[row] is ABSENT else self.plain(items[row])
            if isinstance(moment, tuple):
                moments[row] = moment
            elif moment is not ABSENT:
                others[row] = moment
        wall, utc, votes = moments.T.copy()
        return wall, utc, votes, others

    def stage(self, cells: Cells) -> Part:
        wall, utc, votes, others = self._read(cells)
        known = ~np.isnan(wall)
        before = np.maximum.accumulate(np.concatenate([[self._latest], _or_never(utc)]))[:-1]
        counts = np.where(known, 2, 0)
        counts[list(others)] = 1
        keys: Keys = np.empty(int(counts.sum()), np.uint64)
        begins = np.cumsum(counts) - counts
        there = wall[known]
        hour = np.minimum(there % 86400 // 3600, 23).astype(np.int64)
        keys[begins[known]] = np.array(self.hours, np.uint64)[hour]
        day = ((there // 86400).astype(np.int64) + 3) % 7
        keys[begins[known] + 1] = np.array(self.days, np.uint64)[day]
        for row, word in others.items():
            keys[begins[row]] = self.key_of(word)
        learned = {"wall": wall, "utc": utc, "votes": votes, "others": others}
        return Part(
            counts=counts, keys=keys, dense=_dense(wall, _since(utc, before)), cells=learned
        )

    def correct(self, dense: Array, part: Part, learned: Part | None, before: Ends) -> None:
        """Write the time since the latest record where not all rows of a table are learned.

        Of those that are learned, which may be others, `before` says how many are so before each.
        """
        utc = np.empty(0) if learned is None else learned.cells["utc"]
        latest = np.maximum.accumulate(np.concatenate([[self._latest], _or_never(utc)]))[before]
        dense[:, self.places[-1]] = _logarithm(_since(part.cells["utc"], latest))

    def commit(self, part: Part, rows: int, most: int) -> None:
        there = part.counts[:rows] > 0
        if len(part.cells["votes"]):
            self.vote(part.cells["votes"][:rows][there])
        self.n += int(np.count_nonzero(there))
        words = [word for _, word in self.texts(part, rows)]
        self.missing += len([row for row in part.cells["others"] if row < rows]) - len(words)
        self.learn_words(words)
        latest = float(max(_or_never(part.cells["utc"][:rows]).max(), self._latest))
        self.latest = latest if math.isfinite(latest) else None

    def texts(self, part: Part, rows: int) -> list[tuple[int, str]]:
        others = part.cells["others"].items()
        return [(row, word) for row, word in others if row < rows and word is not None]

    def cell_at(self, part: Part, row: int) -> Moment | str | None:
        if row in part.cells["others"]:
            word: str | None = part.cells["others"][row]
            return word
        return float(part.cells["wall"][row]), float(part.cells["utc"][row]), 0

    def labels(self, cell: Moment | str | None) -> dict[int, str]:
        if not isinstance(cell, tuple):
            return super().labels(cell)
        hour, day = _clock(cell[0])
        return {
            self.hours[hour]: f"{self.name}: hour {hour}",
            self.days[day]: f"{self.name}: {DAYS[day]}",
        }

    def key_names(self) -> dict[int, str]:
        names = super().key_names()
        names.update({key: f"{self.name}: hour {hour}" for hour, key in enumerate(self.hours)})
        names.update({key: f"{self.name}: {DAYS[day]}" for day, key in enumerate(self.days)})
        return names

    def describe(self) -> str:
        return f"no time in {self.words:,}" if self.words else ""

    def combined(
        self, others: Sequence[Any], start: Column | None, base: Column | None, most: int
    ) -> dict[str, Any]:
        latest = [each.latest for each in (self, *others) if each.latest is not None]
        return super().combined(others, start, base, most) | {"latest": max(latest, default=None)}

    def state(self) -> dict[str, Any]:
        return {**super().state(), "shown": list(self.shown)}

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        if state["latest"] is not None:
            most = 2 * FARTHEST
            self.latest = _validate.real(state["latest"], "latest", least=-most, most=most)
        shown = state.get("shown", [ALL] * len(self.dense_parts))  # all, in older files
        if not isinstance(shown, list) or len(shown) != len(self.dense_parts):
            raise ValueError("a saved time says of other numbers what is seen")
        self.shown = tuple(_validate.count(what, "shown", least=0, most=2) for what in shown)


def _or_never(utc: Array) -> Array:
    return np.where(np.isnan(utc), -math.inf, utc)


def _since(utc: Array, latest: Array) -> Array:
    """Seconds since the latest record; NaN if there was none."""
    return np.where(np.isfinite(latest), utc - latest, math.nan)


def _logarithm(since: Array) -> Array:
    return np.copysign(np.log1p(np.abs(since)), since)


def _dense(wall: Array, since: Array) -> Array:
    """Cycles of seconds on the wall, and the seconds since."""
    hour, week = (2 * np.pi * (wall % period) / period for period in (86400, 604800))
    week += MONDAY
    cycles = (np.sin(hour), np.cos(hour), np.sin(week), np.cos(week))
    return np.stack([*cycles, _logarithm(since)], axis=1)


def _clock(wall: float) -> tuple[int, int]:
    """The hour of the day, and the day of the week from Monday.

    The remainder of what is just below 0 is rounded to a whole day.
    """
    return min(int(wall % 86400 // 3600), 23), (int(wall // 86400) + 3) % 7
