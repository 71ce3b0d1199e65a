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
    Cells,
    Column,
    Draft,
    Ends,
    Keys,
    Limits,
    Part,
)
from mixable.records.formats import Formatted, Votes, is_unclear_time

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
FARTHEST = 1e15  # seconds: beyond, a double does not know the hour


class Time(Formatted):
    """Cycles and the time since the latest record that was learned, dense; indicators, sparse.

    The hour and the day are those on the wall, as the record has them; the time since is in UTC, as
    log(1 + seconds), negative for a record that is older than the latest. Experts on keys have the
    indicators: they see the numbers without bins, and nothing of the cycle of the week.
    """

    kind = "time"
    plain_types = (tuple, str, type(None))
    dense_parts = ("hour sin", "hour cos", "week sin", "week cos", "since")
    formats = ("day", "month")
    in_words: ClassVar[dict[str, str]] = {"day": "day first", "month": "month first"}
    either = "dates with the day first or the month first"
    remedy = "day_first=[{name}], month_first=[{name}], or category=[{name}]"

    def __init__(self, name: Any, *, guessed: bool = False) -> None:
        super().__init__(name, guessed=guessed)
        self.latest: float | None = None
        self.shown = (WITHOUT_BINS, WITHOUT_BINS, NOTHING, NOTHING, WITHOUT_BINS)

    def _seeds(self) -> None:
        super()._seeds()
        self.hours = [_core.join_keys(self.key, 100 + hour) for hour in range(24)]
        self.days = [_core.join_keys(self.key, 200 + day) for day in range(7)]

    def is_unclear(self, word: str) -> bool:
        return not self.format and is_unclear_time(word)

    def plain(self, cell: Any) -> tuple[float, float, int] | str | None:
        moment = instant(cell, self.name, self.format)
        if isinstance(moment, tuple) and not abs(moment[0]) < FARTHEST:
            raise ValueError(f"column {self.name!r:.80} is {cell!r:.80}: no time of any calendar")
        return moment

    def put(self, cell: tuple[float, float, int] | str | None, draft: Draft) -> None:
        if not isinstance(cell, tuple):
            key = self.missing_key if cell is None else _core.hash_string(cell, self.key)
            draft.keys.append(key)
            draft.values.append(1.0)
            return
        wall, utc, _ = cell
        since = math.nan if self.latest is None else utc - self.latest
        dense = _dense(np.array([wall]), np.array([since]))  # the bits of a table
        for place, value in zip(self.places, dense[0].tolist(), strict=True):
            draft.dense[place] = value
        draft.keys += (self.hours[_hour(wall)], self.days[_day(wall)])
        draft.values += (1.0, 1.0)

    def learn(self, cell: Any, limits: Limits) -> list[Any]:
        super().learn(cell, limits)
        if isinstance(cell, str):
            self.learn_word(cell)
        elif cell is not None:
            self.vote_one(cell[2])
            self.latest = cell[1] if self.latest is None else max(self.latest, cell[1])
        return []

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
            cell = items[row]
            if cell is None or cell == "":
                others[row] = None
                continue
            moment = ABSENT if cell is ABSENT else self.plain(cell)
            if isinstance(moment, tuple):
                moments[row] = moment
            elif moment is not ABSENT:
                others[row] = moment
        wall, utc, votes = moments.T.copy()
        return wall, utc, votes, others

    def stage(self, cells: Cells) -> Part:
        wall, utc, votes, others = self._read(cells)
        n, known = len(wall), ~np.isnan(wall)
        first = -math.inf if self.latest is None else self.latest
        latest = np.maximum.accumulate(np.where(known, utc, -math.inf))
        before = np.maximum(np.concatenate([[-math.inf], latest])[:n], first)
        since = np.where(known & np.isfinite(before), utc - before, math.nan)
        dense = _dense(wall, since)
        counts = np.where(known, 2, 0)
        counts[list(others)] = 1
        keys: Keys = np.empty(int(counts.sum()), np.uint64)
        begins = np.cumsum(counts) - counts
        spoken = wall[known]
        hours = np.array(self.hours, np.uint64)[
            np.minimum(spoken % 86400 // 3600, 23).astype(np.int64)
        ]
        days = np.array(self.days, np.uint64)[((spoken // 86400).astype(np.int64) + 3) % 7]
        keys[begins[known]], keys[begins[known] + 1] = hours, days
        for row, word in others.items():
            key = self.missing_key if word is None else _core.hash_string(word, self.key)
            keys[begins[row]] = key
        learned = {"wall": wall, "utc": utc, "votes": votes, "others": others, "counts": counts}
        return Part(counts=counts, keys=keys, dense=dense, cells=learned)

    def correct(self, dense: Array, part: Part, learned: Part | None, before: Ends) -> None:
        """Write the time since the latest record where not all rows of a table are learned.

        Of those that are learned, which may be others, `before` says how many are so before each.
        """
        utc = np.empty(0) if learned is None else learned.cells["utc"]
        first = -math.inf if self.latest is None else self.latest
        known = np.where(np.isnan(utc), -math.inf, utc)
        latest = np.maximum.accumulate(np.concatenate([[first], known]))[before]
        since = np.where(np.isfinite(latest), part.cells["utc"] - latest, math.nan)
        dense[:, self.places[-1]] = np.copysign(np.log1p(np.abs(since)), since)

    def commit(self, part: Part, rows: int, limits: Limits) -> None:
        others = [word for row, word in part.cells["others"].items() if row < rows]
        if len(part.cells["votes"]):
            self.vote(part.cells["votes"][:rows][part.counts[:rows] > 0])
        self.n += int(np.count_nonzero(part.counts[:rows]))
        self.missing += others.count(None)
        for word in others:
            if word is not None:
                self.learn_word(word)
        moments = part.cells["utc"][:rows]
        if not np.isnan(moments).all():
            latest = float(np.nanmax(moments))
            self.latest = latest if self.latest is None else max(self.latest, latest)

    def texts(self, part: Part, rows: int) -> list[tuple[int, str]]:
        others = part.cells["others"].items()
        return [(row, word) for row, word in others if row < rows and word is not None]

    def cell_at(self, part: Part, row: int) -> tuple[float, float, int] | str | None:
        if row in part.cells["others"]:
            word: str | None = part.cells["others"][row]
            return word
        return float(part.cells["wall"][row]), float(part.cells["utc"][row]), 0

    def labels(self, cell: tuple[float, float, int] | str | None) -> dict[int, str]:
        if cell is None:
            return super().labels(cell)
        if isinstance(cell, str):
            return {_core.hash_string(cell, self.key): f"{self.name}={cell:.80}"}
        day, hour = _day(cell[0]), _hour(cell[0])
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
        self, others: Sequence[Any], start: Column | None, base: Column | None, limits: Limits
    ) -> dict[str, Any]:
        latest = [each.latest for each in (self, *others) if each.latest is not None]
        return super().combined(others, start, base, limits) | {"latest": max(latest, default=None)}

    def state(self) -> dict[str, Any]:
        return {**super().state(), "latest": self.latest, "shown": list(self.shown)}

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        latest = state["latest"]
        if latest is not None:
            latest = _validate.real(latest, "latest", least=-2 * FARTHEST, most=2 * FARTHEST)
        self.latest = latest
        shown = state.get("shown", [ALL] * len(self.dense_parts))  # all, in older files
        if not isinstance(shown, list) or len(shown) != len(self.dense_parts):
            raise ValueError("a saved time says of other numbers what is seen")
        self.shown = tuple(_validate.count(what, "shown", least=0, most=2) for what in shown)


MONDAY = 2 * math.pi * 3 / 7  # 1970 began on a Thursday


def _dense(wall: Array, since: Array) -> Array:
    """Cycles of seconds on the wall, and the seconds since."""
    hour, week = (2 * np.pi * (wall % period) / period for period in (86400, 604800))
    week += MONDAY
    since = np.copysign(np.log1p(np.abs(since)), since)
    return np.stack([np.sin(hour), np.cos(hour), np.sin(week), np.cos(week), since], axis=1)


def _day(wall: float) -> int:
    """The day of the week, from Monday."""
    return (int(wall // 86400) + 3) % 7


def _hour(wall: float) -> int:
    """The hour of the day; the remainder of what is just below 0 is rounded to a whole day."""
    return min(int(wall % 86400 // 3600), 23)
