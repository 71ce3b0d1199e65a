"""Rows from dictionaries: columns by name, which may come and go, and what is missing."""

from __future__ import annotations

import math
import numbers
from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from mixable import _core
from mixable._types import Array

if TYPE_CHECKING:
    import pandas as pd


_NUMBERS = (numbers.Real, np.bool_)
_PLAIN = {float, int, bool, type(None)}


class Columns(dict[Hashable, int]):
    """The place of each feature in a row; a feature that is missing is NaN there."""

    def new(self, names: Iterable[Hashable]) -> list[Hashable]:
        """Names that have no place yet."""
        return [name for name in names if name not in self]

    def add(self, names: Iterable[Hashable]) -> None:
        """Give new names the next places."""
        for name in names:
            self[name] = len(self)

    def plain_row(self, x: dict[Hashable, Any]) -> Array | None:
        """A row, if x has all features that are known, no others, and each is finite."""
        return _core.plain_row(self, x)

    def row(self, x: dict[Hashable, Any]) -> Array:
        """A row of what is known of x."""
        plain = self.plain_row(x)
        if plain is not None:
            return plain
        check_dictionary(x)
        row = np.full(len(self), math.nan)
        for name, value in x.items():
            place = self.get(name)
            if place is not None:
                row[place] = number(name, value)
        return row

    def table(self, X: pd.DataFrame) -> Array:
        """The rows of a table of columns by name."""
        table = np.full((len(X), len(self)), math.nan)
        for name in X.columns:
            if name in self:
                column = X[name].to_numpy(dtype=np.float64, na_value=math.nan)
                table[:, self[name]] = column
        return finite_or_missing(table)


def finite_or_missing(table: Array) -> Array:
    """Refuse infinite entries."""
    if np.isinf(table).any():
        raise ValueError("X has infinite entries")
    return table


def check_dictionary(x: Any) -> None:
    """Refuse what is not a dictionary."""
    if not isinstance(x, Mapping):
        raise TypeError(f"x must be a dictionary of features, got {type(x).__name__}")


def has_words(x: Mapping[Hashable, Any]) -> bool:
    """Whether a dictionary has something else than numbers: text, categories, lists, times."""
    values = x.values()
    if {*map(type, values)} <= _PLAIN:  # as most are: that is quick
        return False
    return not all(value is None or isinstance(value, _NUMBERS) for value in values)


def number(name: Hashable, value: Any) -> float:
    """The value of a feature; NaN and None count as missing."""
    if value is None:
        return math.nan
    if not isinstance(value, _NUMBERS):
        raise TypeError(
            f"feature {name!r} must be a number, got {value!r:.80}: the first record had numbers "
            "only; declare the kinds of the columns"
        )
    try:
        result = float(value)
    except OverflowError as error:  # a large int
        raise ValueError(f"{error}: feature {name!r}") from None
    if math.isinf(result):
        raise ValueError(f"feature {name!r} is {result}; features must be finite")
    return result


def label(y: Any) -> Hashable:
    """Refuse what cannot be a class: None, NaN, lists."""
    if not isinstance(y, Hashable):
        raise TypeError(f"a label must be hashable, got {y!r:.80}")
    if y is None or y != y:
        raise ValueError(f"a label must be a class, got {y!r}")
    return y
