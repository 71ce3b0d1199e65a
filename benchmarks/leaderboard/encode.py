"""Records as those need them who take no words, one at a time: this is part of their time.

The columns and their kinds are known in advance, as they are to whoever writes such code by hand.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.leaderboard.streams import Record

TEXT_COLUMNS = 128  # of a matrix, for the words of a text
HASHED = 2**12  # features of those who hash
CLEAN = str.maketrans({mark: "_" for mark in " :|\n\t\r"})


class Schema(NamedTuple):
    """The kinds of columns."""

    numbers: tuple[str, ...]
    categories: dict[str, int]  # and how many values each has
    texts: tuple[str, ...]
    times: tuple[str, ...]


def time_of(value: Any) -> datetime | None:
    """The time that a text says, in the form of ISO 8601."""
    if not isinstance(value, str) or len(value) < 10 or value[4:5] != "-":
        return None
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        return None


def schema(records: list[Record]) -> Schema:
    """Times, texts (three words or more on average), numbers and categories."""
    numbers, categories, texts, times = [], {}, [], []
    for name in records[0]:
        values = [record[name] for record in records if record[name] is not None]
        if all(isinstance(value, int | float) for value in values):
            numbers.append(name)
        elif all(time_of(value) for value in values[:50]):
            times.append(name)
        elif sum(len(str(value).split()) for value in values) >= 3 * len(values):
            texts.append(name)
        else:
            categories[name] = len(set(map(str, values)))
    return Schema(tuple(numbers), categories, tuple(texts), tuple(times))


def parts(record: Record, kinds: Schema) -> Iterator[tuple[str, str | float]]:
    """Pairs of a name and a number, or of a column and one of its words."""
    for name, value in record.items():
        if value is None:
            yield name, "missing"
        elif name in kinds.texts:
            for word in dict.fromkeys(str(value).lower().split()):
                yield name, word
        elif name in kinds.times and (moment := time_of(value)):
            yield name, f"hour{moment.hour}"
            yield name, f"day{moment.weekday()}"
        elif isinstance(value, int | float):
            yield name, float(value)
        elif isinstance(value, list | tuple):
            yield from ((name, str(each)) for each in value)
        else:
            yield name, str(value)


class Scale:
    """Mean and deviation so far of numbers, by name (Welford)."""

    def __init__(self) -> None:
        self.of: dict[str, list[float]] = {}

    def learn(self, name: str, value: float) -> None:
        """Count a number."""
        n, mean, square = self.of.get(name, (0.0, 0.0, 0.0))
        step = (value - mean) / (n + 1)
        self.of[name] = [n + 1, mean + step, square + n * step * (value - mean)]

    def moments(self, name: str) -> tuple[float, float]:
        """Mean and deviation; 0 and 1 at first."""
        n, mean, square = self.of.get(name, (0.0, 0.0, 0.0))
        return mean, (math.sqrt(square / n) if n > 1 and square > 0 else 1.0)


class Features:
    """One-hot features by name, with numbers standardised by what came so far."""

    def __init__(self, kinds: Schema) -> None:
        self.kinds, self.scale = kinds, Scale()

    def __call__(self, record: Record) -> dict[str, float]:
        """The features of a record, which count towards the scales from now on."""
        out = {"constant": 1.0}
        for name, value in parts(record, self.kinds):
            if isinstance(value, str):
                out[f"{name}={value}"] = 1.0
            else:
                self.scale.learn(name, value)
                mean, deviation = self.scale.moments(name)
                out[name] = (value - mean) / deviation
        return out


def nominal(record: Record, kinds: Schema) -> dict[str, Any]:
    """Numbers and words as they are, for river's trees; a text becomes a feature a word."""
    out: dict[str, Any] = {}
    for name, value in parts(record, kinds):
        if isinstance(value, str) and name not in kinds.categories:
            out[f"{name}={value}"] = 1.0
        else:
            out[name] = value
    return out


def line(record: Record, kinds: Schema) -> str:
    """The features in Vowpal Wabbit's format, numbers as they are: it scales them itself."""
    return " ".join(
        f"{name}={value}".translate(CLEAN) if isinstance(value, str)
        else f"{name.translate(CLEAN)}:{value!r}"
        for name, value in parts(record, kinds)
    )  # fmt: skip


class Matrix:
    """Rows of numbers: a category is the place of its first appearance, a text hashed counts."""

    def __init__(self, kinds: Schema) -> None:
        self.kinds, self.codes = kinds, {name: dict[str, int]() for name in kinds.categories}
        names = [*kinds.numbers, *kinds.categories]
        self.place = {name: i for i, name in enumerate(names)}
        for name in kinds.times:
            self.place |= {f"{name} hour": len(self.place), f"{name} day": len(self.place) + 1}
        self.texts = len(self.place)
        self.width = self.texts + (TEXT_COLUMNS if kinds.texts else 0)
        self.categories = list(range(len(kinds.numbers), len(names)))

    def __call__(self, record: Record) -> NDArray[np.float64]:
        """The row of a record; NaN where it has no value."""
        row = np.full(self.width, np.nan)
        row[self.texts :] = 0.0
        for name, value in record.items():
            if value is None:
                continue
            if name in self.codes:
                code = self.codes[name]
                row[self.place[name]] = code.setdefault(str(value), len(code))
            elif name in self.kinds.texts:
                for word in str(value).lower().split():
                    row[self.texts + zlib.crc32(word.encode()) % TEXT_COLUMNS] += 1
            elif name in self.kinds.times:
                moment = time_of(value)
                if moment is not None:
                    row[self.place[f"{name} hour"]] = moment.hour
                    row[self.place[f"{name} day"]] = moment.weekday()
            else:
                row[self.place[name]] = value
        return row
