"""Outcomes that come late: a record is learned with the inputs from which its forecast was made.

Otherwise its age at the moment of learning could tell its outcome, which no forecast can know.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mixable._types import Array
from mixable.records.column import Keys, Values
from mixable.records.rows import Rows, at_width, categories_at

NO_KEYS, NO_VALUES = np.empty(0, np.uint64), np.empty(0, np.float32)


@dataclass(slots=True, kw_only=True)
class Kept:
    """The inputs of one forecast."""

    record: dict[Hashable, Any] | None  # what an encoder learns of it
    x: Array  # (d,), its numbers
    z: Array  # what was made of them: numbers scaled, and what the experts of a pool said
    keys: Keys = field(default_factory=lambda: NO_KEYS)
    values: Values = field(default_factory=lambda: NO_VALUES)
    cross_keys: Keys = field(default_factory=lambda: NO_KEYS)
    cross_values: Values = field(default_factory=lambda: NO_VALUES)
    categories: Keys = field(default_factory=lambda: NO_KEYS)

    def as_rows(self, n_features: int, shown: bytes) -> Rows:
        """A table of this row, for a forecaster that may know more numbers by now."""
        empty = Rows.of(np.empty((0, n_features)), np.zeros(1, np.int64), NO_KEYS, NO_VALUES)
        rows = with_kept(empty, [self], n_features)
        assert isinstance(rows, Rows)
        rows.shown = shown
        return rows

    @property
    def bytes(self) -> int:
        """Memory of the arrays."""
        sparse = len(self.keys) + len(self.cross_keys)
        return 8 * (len(self.x) + len(self.z) + len(self.categories)) + 12 * sparse


class Forecasts:
    """The records that one model has forecast and not learned, by what is in them.

    Their inputs are only computed when another record is learned in between; what is forecast and
    then learned costs nothing.
    """

    def __init__(self, most: int = 10_000) -> None:
        self.most = most
        self.forgotten = 0  # records that were dropped, since too many waited
        self._new: OrderedDict[Hashable, Any] = OrderedDict()  # since the last that was learned
        self._kept: OrderedDict[Hashable, Kept] = OrderedDict()

    def note(self, x: dict[Hashable, Any]) -> None:
        """A record was forecast."""
        key = content(x)
        self._new[key] = dict(x)
        if len(self._new) + len(self._kept) > self.most:
            (self._kept or self._new).popitem(last=False)
            self.forgotten += 1

    def before_learning(
        self, x: dict[Hashable, Any], keep: Callable[[dict[Hashable, Any]], Kept]
    ) -> Kept | None:
        """The inputs of the forecast of a record that is learned now, unless they are the same.

        `keep` makes inputs of records; those of all others that wait are kept.
        """
        key = content(x)
        is_new = self._new.pop(key, None) is not None
        kept = self._kept.pop(key, None)
        for other, record in self._new.items():
            self._kept[other] = keep(record)
        self._new.clear()
        return None if is_new else kept

    def __len__(self) -> int:
        return len(self._new) + len(self._kept)


def content(x: dict[Hashable, Any]) -> Hashable:
    """What is in a record, whatever the order."""
    try:
        return frozenset(x.items())
    except TypeError:  # a list of tags
        return repr(sorted(x.items(), key=repr))


class Followed(NamedTuple):
    """What became of some steps."""

    P: Array  # (steps, labels), the forecasts; zeros where a label came late
    done: int
    reason: str | None  # why not all were done
    kept: Callable[[int], Kept]  # the inputs of a row that was forecast and not learned


def with_kept(X: Array | Rows, kept: Sequence[Kept], n_features: int) -> Array | Rows:
    """A table with rows that were kept at its end."""
    if not kept:
        return X
    dense = X.dense if isinstance(X, Rows) else X
    both = [at_width(dense, n_features), *(at_width(each.x[None], n_features) for each in kept)]
    if not isinstance(X, Rows):
        return np.concatenate(both)

    def joined(ends: Any, first: Any, rest: list[Any]) -> tuple[Any, Any]:
        lengths = np.fromiter(map(len, rest), np.int64, len(rest))
        return np.concatenate([ends, ends[-1] + np.cumsum(lengths)]), np.concatenate([first, *rest])

    indptr, keys = joined(X.indptr, X.keys, [each.keys for each in kept])
    cross_indptr, cross_keys = joined(X.cross_indptr, X.cross_keys, [k.cross_keys for k in kept])
    known = [X.categories, *(each.categories[None] for each in kept)]
    width = max(each.shape[1] for each in known)
    return Rows(
        dense=np.concatenate(both),
        indptr=indptr,
        keys=keys,
        values=np.concatenate([X.values, *(each.values for each in kept)]),
        cross_indptr=cross_indptr,
        cross_keys=cross_keys,
        cross_values=np.concatenate([X.cross_values, *(each.cross_values for each in kept)]),
        shown=X.shown,
        categories=np.concatenate([categories_at(each, width) for each in known]),
    )


def kept_row(X: Array | Rows, row: int, z: Array, record: dict[Hashable, Any] | None) -> Kept:
    """The inputs of one row of a table."""
    if not isinstance(X, Rows):
        return Kept(record=record, x=X[row].copy(), z=z[row].copy())
    some = slice(X.indptr[row], X.indptr[row + 1])
    crossed = slice(X.cross_indptr[row], X.cross_indptr[row + 1])
    return Kept(
        record=record,
        x=X.dense[row].copy(),
        z=z[row].copy(),
        keys=X.keys[some].copy(),
        values=X.values[some].copy(),
        cross_keys=X.cross_keys[crossed].copy(),
        cross_values=X.cross_values[crossed].copy(),
        categories=X.categories[row].copy(),
    )


_ARRAYS: dict[str, Any] = {
    "x": np.float64,
    "z": np.float64,
    "keys": np.uint64,
    "values": np.float32,
    "cross_keys": np.uint64,
    "cross_values": np.float32,
    "categories": np.uint64,
}


def saved(kept: Sequence[Kept]) -> dict[str, Any]:
    """Many of them as arrays."""
    texts = [b"" if each.record is None else as_json(each.record) for each in kept]
    rows = {name: [getattr(each, name) for each in kept] for name in _ARRAYS}
    stacks = {name: stacked(each, _ARRAYS[name]) for name, each in rows.items()}
    return {"records": stacked_texts(texts), **stacks}


def restored(state: dict[str, Any], n_features: int, *, has_records: bool) -> list[Kept]:
    """What was saved, once it is known to go with a learner of so many numbers."""
    arrays = {}
    texts = unstacked(state["records"], "u")
    # Files of version 0.2 have no categories.
    state = {"categories": stacked([NO_KEYS] * len(texts), np.uint64), **state}
    for name, kind in _ARRAYS.items():
        arrays[name] = unstacked(state[name], np.dtype(kind).kind)
        arrays[name] = [np.asarray(each, kind) for each in arrays[name]]
    out = []
    for text, *row in zip(texts, *arrays.values(), strict=True):
        record = checked_record(text) if has_records else None
        kept = Kept(record=record, **dict(zip(_ARRAYS, row, strict=True)))
        is_sound = (
            len(kept.x) <= n_features
            and not np.isinf(kept.x).any()
            and len(kept.values) == len(kept.keys)
            and len(kept.cross_values) == len(kept.cross_keys)
            and all(np.isfinite(each).all() for each in (kept.z, kept.values, kept.cross_values))
        )
        if not is_sound:
            raise ValueError("what waits for its label does not go with the learner")
        out.append(kept)
    return out


def as_json(record: Any) -> bytes:
    """A record as it is saved."""
    return json.dumps(record, separators=(",", ":")).encode()


def checked_record(text: NDArray[Any]) -> dict[Hashable, Any]:
    """A record that was saved as JSON."""
    try:
        values = json.loads(bytes(text))
    except RecursionError:
        values = None
    if not isinstance(values, dict):
        raise ValueError("what waits for its label is not a record")
    return values


def stacked(rows: Sequence[NDArray[Any]], dtype: type = np.float64) -> dict[str, Any]:
    """Rows of several lengths, one after the other."""
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    return {"lengths": lengths, "values": np.concatenate([np.empty(0, dtype), *rows])}


def stacked_texts(texts: Any) -> dict[str, Any]:
    """Texts as numbers: there may be too many for the description of a file."""
    return stacked([np.frombuffer(text, np.uint8) for text in texts], np.uint8)


def unstacked(stack: dict[str, Any], kind: str) -> list[NDArray[Any]]:
    """The rows again, whose numbers must be of a kind."""
    lengths, values = stack["lengths"], stack["values"]
    is_sound = lengths.dtype.kind == "i" and ((lengths >= 0) & (lengths <= len(values))).all()
    if not is_sound or lengths.sum() != len(values):
        raise ValueError("what waits for its label has lengths that do not go with it")
    if len(values) and values.dtype.kind != kind:
        raise TypeError(f"what waits for its label is of type {values.dtype}")
    return np.split(values, np.cumsum(lengths)[:-1]) if len(lengths) else []
