"""From the record of a context to the inputs of the value models."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mixable import _core, _validate
from mixable._types import Array
from mixable.records import Columns, Encoder, Row

Keys = NDArray[np.uint64]

FIRST_SIZE, MOST_COLUMNS = 64, 128
VIEWS = 2  # columns as they are, and waves of them
MOST_NUMBER = 1e100  # what has no square cannot be standardised
MOST_DEVIATIONS = 5.0  # beyond, a number counts as that many


class Input(NamedTuple):
    """A context as value models see it."""

    x: Array  # (VIEWS * size,): the columns, the first of them 1, then the waves
    keys: Keys  # of the numbers and of all that is not a number
    values: Array


def as_record(context: Any) -> Mapping[Any, Any]:
    """A dictionary of what may be one, a row of numbers, or None."""
    if context is None:
        return {}
    if isinstance(context, Mapping):
        return context
    if isinstance(context, (str, bytes)) or not isinstance(context, (Sequence, np.ndarray)):
        kind = type(context).__name__
        raise TypeError(f"context must be a dictionary, a row of numbers or None, got {kind}")
    numbers = _validate.as_floats(context, "context")
    if numbers.ndim != 1:
        raise ValueError(f"context must be one row, got shape {numbers.shape}")
    return {f"x{i}": value for i, value in enumerate(numbers.tolist())}


class Contexts:
    """Records to inputs: numbers standardised, an indicator for each value, waves of both.

    Numbers, values of categories and words get a column each, in the order they come, at most
    `MOST_COLUMNS` in all; later ones share columns by hash. Waves are cosines of random
    combinations of the columns, whose frequencies depend on `seed` alone.
    """

    def __init__(self, columns: Columns | None, seed: int) -> None:
        self.encoder, self.seed = Encoder(columns), seed
        self.size = FIRST_SIZE
        self.places: dict[int, int] = {}  # the column of each number (-1 - place) and key
        self.moments = np.zeros((3, 0))  # of each number: count, mean, sum of squared deviations
        self.length = 0.0  # of a typical row: the first one's
        self._waves: tuple[int, float, Array, Array] | None = None

    @property
    def in_use(self) -> int:
        """Columns that something is in."""
        return min(len(self.places) + 1, MOST_COLUMNS)

    def encode(self, context: Any) -> tuple[Input, Row]:
        """The input of a context by what was learned before, and what `learn` needs of it."""
        row = self.encoder.encode(as_record(context))
        for numbers in (row.dense, row.values):
            if (np.abs(numbers, dtype=np.float64) > MOST_NUMBER).any():
                raise ValueError(f"context has a number beyond {MOST_NUMBER:g}")
        return self._input(row), row

    def _input(self, row: Row) -> Input:
        z, places = self._standardised(row.dense), self.places
        keys, values = row.keys, row.values
        if len(row.cross_keys):
            keys = np.concatenate([keys, row.cross_keys])
            values = np.concatenate([values, row.cross_values])
        columns = [0.0] * self.size
        for place, value in enumerate(z.tolist(), 1):
            columns[places.get(-place, 0)] += value
        for key, value in zip(keys.tolist(), values.tolist(), strict=True):
            columns[places.get(key, 0)] += value
        columns[0] = 1.0  # what has no column yet went there
        F, phases = self._frequencies()
        x = np.empty(VIEWS * self.size)
        x[: self.size] = columns
        x[self.size :] = math.sqrt(2) * np.cos(x[: self.size] @ F + phases)
        return Input(
            x,
            np.concatenate([np.arange(len(z), dtype=np.uint64), keys]),
            np.concatenate([z, values]),
        )

    def learn(self, row: Row) -> None:
        """Learn a context: columns that are new, and the size of its numbers."""
        if not self.length:
            self.length = math.sqrt(max(len(row.dense) + len(row.keys), 1))
        new = [-1 - place for place in range(self.moments.shape[1], len(row.dense))]
        if new:
            self.moments = np.pad(self.moments, ((0, 0), (0, len(new))))
        for key in [*new, *row.keys.tolist(), *row.cross_keys.tolist()]:
            if key not in self.places and len(self.places) < 100 * MOST_COLUMNS:
                free = len(self.places) + 1
                self.places[key] = free if free < MOST_COLUMNS else 1 + key % (MOST_COLUMNS - 1)
        if len(self.places) >= self.size:
            self.size = MOST_COLUMNS
        known = np.isfinite(row.dense)
        count, mean, squares = self.moments[:, : len(row.dense)]
        count += known
        change = np.where(known, row.dense - mean, 0.0)
        mean += change / np.maximum(count, 1)
        squares += change * np.where(known, row.dense - mean, 0.0)
        self.encoder.commit(row)

    def _standardised(self, dense: Array) -> Array:
        if len(dense) > self.moments.shape[1]:  # of columns that are new, nothing is known
            z = self._standardised(dense[: self.moments.shape[1]])
            return np.concatenate([z, np.zeros(len(dense) - len(z))])
        count, mean, squares = self.moments[:, : len(dense)]
        deviation = np.sqrt(squares / np.maximum(count, 1))
        known = np.isfinite(dense) & (deviation > 0)
        z = np.where(known, dense - mean, 0.0) / np.where(known, deviation, 1.0)
        return np.clip(z, -MOST_DEVIATIONS, MOST_DEVIATIONS)

    def _frequencies(self) -> tuple[Array, Array]:
        """(size, size) frequencies and (size,) phases; a wave stays what it was when more come."""
        length = self.length or 1.0
        if self._waves is None or self._waves[:2] != (self.size, length):
            rng = np.random.default_rng(self.seed)
            phases = rng.uniform(0, 2 * math.pi, MOST_COLUMNS)[: self.size]
            F = rng.normal(size=(MOST_COLUMNS, MOST_COLUMNS))[: self.size, : self.size] / length
            F[0] = 0.0  # the intercept only shifts phases
            F[:, 0], phases[0] = 0.0, 0.0  # a constant among the waves
            self._waves = self.size, length, np.ascontiguousarray(F), phases
        return self._waves[2], self._waves[3]

    def __getstate__(self) -> dict[str, Any]:
        names = ("encoder", "seed", "size", "moments", "length")
        keys = np.array([key % 2**64 for key in self.places], np.uint64)
        return {
            **{name: getattr(self, name) for name in names},
            "keys": keys,
            "is_number": np.array([key < 0 for key in self.places], bool),
            "columns": np.array([*self.places.values()], np.int64),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        keys, columns, is_number = state["keys"], state["columns"], state["is_number"]
        self.encoder, self.seed = state["encoder"], _validate.seed(state["seed"], "seed")
        self.size, self.length = state["size"], float(state["length"])
        self.moments = np.asarray(state["moments"], np.float64)
        is_sound = (
            isinstance(self.encoder, Encoder)
            and self.size in (FIRST_SIZE, MOST_COLUMNS)
            and keys.shape == columns.shape == is_number.shape
            and keys.dtype == np.uint64
            and ((columns > 0) & (columns < self.size)).all()
            and 0 <= self.length <= 1e6
            and self.moments.ndim == 2
            and len(self.moments) == 3
            and bool(np.isfinite(self.moments).all())
            and bool((self.moments[[0, 2]] >= 0).all())
        )
        if not is_sound:
            raise ValueError("the saved contexts do not go together")
        pairs = zip(keys.tolist(), is_number.tolist(), columns.tolist(), strict=True)
        self.places = {key - 2**64 if number else key: column for key, number, column in pairs}
        self._waves = None


def at_size(x: Array, size: int) -> Array:
    """An input that was made when there were fewer columns."""
    views = x.reshape(VIEWS, -1)
    return np.pad(views, ((0, 0), (0, size - views.shape[1]))).ravel()


def action_keys(action: Any, features: Mapping[str, Any] | None) -> tuple[list[int], list[float]]:
    """The keys of an action and its features, and their values."""
    seed = _core.hash_string(f"{type(action).__name__} {action}", 5)
    keys, values = [seed], [1.0]
    for name, value in (features or {}).items():
        own = _core.hash_string(str(name), 6)
        if isinstance(value, (bool, str)) or value is None:
            keys.append(_core.hash_string(str(value), own))
            values.append(1.0)
        else:
            keys.append(own)
            values.append(_validate.real(value, f"actions: {name}", least=-1e6, most=1e6))
    return keys, values
