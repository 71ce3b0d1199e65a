"""Records as those need them who take features by name and a number each.

An engineer would write something like this by hand for each source. To be kind, it knows the scale
of the numbers in advance, and making features takes no part in anybody's time.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from sklearn.feature_extraction import DictVectorizer, FeatureHasher

from benchmarks.peers.streams import Record, Stream

HASHED = 2**16


def _size(value: Any) -> float | None:
    """The logarithmic size of a number; None for what is no number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return math.copysign(math.log1p(abs(value)), value)


def _time(value: str) -> datetime | None:
    if len(value) < 10 or value[4:5] != "-":
        return None
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        return None


def _scales(records: tuple[Record, ...]) -> dict[str, tuple[float, float]]:
    """Mean and deviation of each column's sizes over the whole stream."""
    sizes: dict[str, list[float]] = {}
    for record in records:
        for column, value in record.items():
            size = _size(value)
            if size is not None:
                sizes.setdefault(column, []).append(size)
    return {
        column: (statistics.fmean(values), statistics.pstdev(values) or 1.0)
        for column, values in sizes.items()
    }


def _named(column: str, value: Any) -> Iterator[str]:
    """The features of what is no number: words, tags, hour and weekday."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        yield f"{column}=missing"
    elif isinstance(value, list | tuple):
        yield from (f"{column}={item}" for item in value)
    elif isinstance(value, str):
        moment = _time(value)
        if moment is None:
            yield from (f"{column}={word}" for word in value.lower().split())
        else:
            yield from (f"{column}=hour {moment.hour}", f"{column}=day {moment.weekday()}")
    else:
        yield f"{column}={value}"


def features(stream: Stream) -> list[dict[str, float]]:
    """Each record as features by name: numbers standardised, all else 1, and a constant."""
    scales, out = _scales(stream.records), []
    for record in stream.records:
        row = {"constant": 1.0}
        for column, value in record.items():
            size = _size(value)
            if size is None:
                row.update(dict.fromkeys(_named(column, value), 1.0))
            else:
                mean, deviation = scales[column]
                row[column] = (size - mean) / deviation
        out.append(row)
    return out


def one_hot(stream: Stream) -> list[tuple[dict[str, float], int]]:
    """Features and labels, for river."""
    return list(zip(features(stream), stream.y.tolist(), strict=True))


def nominal(stream: Stream) -> list[tuple[dict[str, Any], int]]:
    """The same, but single words as they are: river's trees take them."""

    def words(record: Record) -> dict[str, str]:
        texts = {column: value for column, value in record.items() if isinstance(value, str)}
        return {
            column: value
            for column, value in texts.items()
            if len(value.split()) == 1 and _time(value) is None
        }

    rows = zip(features(stream), map(words, stream.records), stream.y.tolist(), strict=True)
    return [
        ({name: value for name, value in row.items() if name.partition("=")[0] not in own} | own, y)
        for row, own, y in rows
    ]


def hashed(stream: Stream) -> list[tuple[Any, Any]]:
    """Sparse rows of one hashed record, for scikit-learn."""
    rows = FeatureHasher(HASHED).transform(features(stream)).tocsr()
    return [(rows[t], stream.y[t : t + 1]) for t in range(stream.n)]


def sparse(stream: Stream) -> Any:
    """A sparse matrix with a column for each feature, for mixable."""
    return DictVectorizer().fit_transform(features(stream)).tocsr()


def lines(stream: Stream) -> list[str]:
    """Features in Vowpal Wabbit's format, which has a constant of its own."""
    clean = str.maketrans({" ": "_", ":": "_", "|": "_", "\n": "_", "\t": "_", "\r": "_"})
    out = []
    for row, label in zip(features(stream), stream.y.tolist(), strict=True):
        del row["constant"]
        words = (f"{name.translate(clean)}:{value!r}" for name, value in row.items())
        out.append(f"{label + 1} | {' '.join(words)}")
    return out
