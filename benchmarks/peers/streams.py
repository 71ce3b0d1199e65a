"""The streams of the race, in the order in which all contestants see them."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.preprocessing import StandardScaler

import mixable as mx

Record = dict[str, Any]
SHOP_ROWS = 10_000


@dataclass(frozen=True, kw_only=True)
class Stream:
    """Labels 0..K-1 with either rows (n, d), standardised, or records."""

    name: str
    y: NDArray[np.int_]
    names: tuple[str, ...]  # of the labels
    X: NDArray[np.float64] | None = None
    records: tuple[Record, ...] = ()

    @property
    def K(self) -> int:  # noqa: N802
        """Number of classes."""
        return len(self.names)

    @property
    def n(self) -> int:
        """Number of examples."""
        return len(self.y)

    @property
    def d(self) -> int:
        """Number of columns."""
        if self.X is not None:
            return self.X.shape[1]
        return len({column for record in self.records for column in record})

    @property
    def rows(self) -> NDArray[np.float64]:
        """The rows of a stream of numbers."""
        assert self.X is not None, f"{self.name} is a stream of records"
        return self.X


def _of_numbers(name: str, X: Any, y: Any, K: int) -> Stream:
    scaled = StandardScaler().fit_transform(np.asarray(X, dtype=np.float64))
    return Stream(name=name, X=scaled, y=np.asarray(y), names=tuple(map(str, range(K))))


def _shuffled(name: str, X: Any, y: Any, rows: int | None) -> Stream:
    order = np.random.default_rng(0).permutation(len(y))[:rows]
    return _of_numbers(name, X[order], y[order], int(y.max()) + 1)


def _vehicle() -> Stream:
    return _shuffled("vehicle", *mx.datasets.load_vehicle()[:2], rows=None)


def _shuttle() -> Stream:
    return _shuffled("shuttle", *mx.datasets.load_shuttle()[:2], rows=10_000)


def _segment() -> Stream:
    return _shuffled("segment", *mx.datasets.load_segment()[:2], rows=None)


def _digits() -> Stream:
    digits = load_digits()
    return _shuffled("digits", digits.data, digits.target, rows=None)


def _slow_drift() -> Stream:
    X, y = mx.datasets.make_drift(5000, kind="slow")
    return _of_numbers("slow drift", X, y, int(y.max()) + 1)


def _jumps() -> Stream:
    X, y = mx.datasets.make_drift(5000, kind="jump")
    return _of_numbers("jumps", X, y, int(y.max()) + 1)


def _shop() -> Stream:
    shop = mx.datasets.make_shop(SHOP_ROWS)
    return of_records("shop", shop.records, shop.labels)


def of_records(name: str, records: list[Record], labels: list[Any]) -> Stream:
    """A stream of records; labels of any kind count as text."""
    words = [str(label) for label in labels]
    names = sorted(set(words))
    code = {word: k for k, word in enumerate(names)}
    y = np.array([code[word] for word in words])
    return Stream(name=name, y=y, names=tuple(names), records=tuple(records))


def from_file(path: Path, target: str) -> Stream:
    """The records of a file: CSV, or JSON lines if its name ends in .jsonl or .ndjson."""
    if {".jsonl", ".ndjson"} & set(path.suffixes):
        import gzip

        opened = gzip.open if path.suffix == ".gz" else open
        with opened(path, "rt", encoding="utf-8") as lines:
            records = [json.loads(line) for line in lines]
    else:
        import pandas as pd

        frame = pd.read_csv(path)
        records = frame.astype(object).where(frame.notna(), None).to_dict("records")
    if any(record.get(target) is None for record in records):
        raise SystemExit(f"{path}: every record needs a label in the column {target!r}")
    labels = [record.pop(target) for record in records]
    return of_records(path.name, records, labels)


NUMBERS: dict[str, Callable[[], Stream]] = {
    "vehicle": _vehicle,
    "shuttle": _shuttle,
    "segment": _segment,
    "digits": _digits,
    "slow drift": _slow_drift,
    "jumps": _jumps,
}


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where a stream comes from: a name of this module, or a file and its target."""

    name: str
    rows: int | None = None  # cut after so many
    file: str = ""
    target: str = ""

    def load(self) -> Stream:
        """Make or read the stream."""
        if self.file:
            stream = from_file(Path(self.file), self.target)
        else:
            stream = _shop() if self.name == "shop" else NUMBERS[self.name]()
        X = None if stream.X is None else stream.X[: self.rows]
        return Stream(
            name=self.name,
            X=X,
            y=stream.y[: self.rows],
            names=stream.names,
            records=stream.records[: self.rows],
        )


@functools.lru_cache(maxsize=1)
def loaded(source: Source) -> Stream:
    """The stream of a source; the last one is kept."""
    return source.load()
