"""What the estimators that take dictionaries of features share: columns by name, which may come and go, and what is missing.

It knows neither river nor streams; `_engine` does the learning.
"""

from __future__ import annotations

import inspect
import math
import numbers
from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mixable import _validate
from mixable._engine import LARGEST_WEIGHT, Design, Engine

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]


class Dictionaries:
    """Rows of numbers from dictionaries of features, which may come and go; a feature that is missing is NaN."""

    _columns: dict[Hashable, int]
    _engine: Engine | None

    def _design(self) -> Design:
        raise NotImplementedError

    def _labels(self) -> tuple[Hashable, ...] | None:
        raise NotImplementedError

    def _begin(self) -> None:
        self._columns, self._engine = {}, None

    def __setstate__(self, state: dict[str, Any]) -> None:
        defaults = {name: each.default for name, each in inspect.signature(type(self)).parameters.items()}
        known = {*defaults, *vars(Dictionaries)["__annotations__"]}
        if not state.keys() <= known:
            raise ValueError(f"a {type(self).__name__} has nothing called {sorted(state.keys() - known)!r:.200}")
        self._take_over({**defaults, **state})

    def _take_over(self, state: dict[str, Any]) -> None:
        """Take over what was saved, once columns and engine are known to be sound."""
        columns, engine = state["_columns"], state["_engine"]
        if not (isinstance(columns, dict) and list(columns.values()) == list(range(len(columns)))):
            raise ValueError("the saved columns are not numbered")
        if not (engine is None or isinstance(engine, Engine)) or len(columns) != (engine.n_features if engine else 0):
            raise ValueError("columns and engine do not go together")
        self.__dict__.update(state)
        if engine is not None and (engine.labels is None) != (self._labels() is None):
            raise ValueError("the engine of a classifier was saved with a regressor, or the other way round")

    def _plain_row(self, x: dict[Hashable, Any]) -> Array | None:
        """Make a row of x if it has all features that are known, no others, and each a finite float."""
        if len(x) != len(self._columns):
            return None
        try:
            values = [x[name] for name in self._columns]
        except KeyError:
            return None
        if not all(type(value) is float for value in values) or not math.isfinite(sum(values)):
            return None
        return np.array(values)

    def _row(self, x: dict[Hashable, Any]) -> Array:
        """Make a row of what is known of x."""
        plain = self._plain_row(x)
        if plain is not None:
            return plain
        _check_dictionary(x)
        row = np.full(len(self._columns), math.nan)
        for name, value in x.items():
            column = self._columns.get(name)
            if column is not None:
                row[column] = number(name, value)
        return row

    def _probabilities(self, x: dict[Hashable, Any]) -> dict[Any, float]:
        """The probability of each class met so far."""
        if self._engine is None or not self._engine.labels:
            return {}
        return dict(zip(self._engine.labels, self._engine.look(self._row(x)).tolist(), strict=True))

    def _take_in(self, names: Iterable[Hashable]) -> Engine | None:
        """Make room for features that are new; None while there is nothing to learn from."""
        new = [name for name in names if name not in self._columns]
        if self._engine is None:
            design = self._design()
            if not new and not design.intercept:
                return None
            self._engine = Engine(design, len(new), self._labels())
        elif new:
            self._engine.add_features(len(new))
        for name in new:
            self._columns[name] = len(self._columns)
        return self._engine

    def _learn_one(self, x: dict[Hashable, Any], y: Any, w: float) -> None:
        if w != 1.0:
            w = _validate.real(w, "w", least=0, most=LARGEST_WEIGHT)
        row = self._plain_row(x) if self._engine else None
        if row is not None and self._engine is not None:
            return self._engine.learn_row(row, y, w)
        _check_dictionary(x)
        for name, value in x.items():
            number(name, value)  # refuse before anything is taken in
        engine = self._take_in(x)
        if engine is not None:
            engine.learn_row(self._row(x), y, w)

    def _learn_many(self, X: pd.DataFrame, y: Any) -> None:
        if not len(X):
            return
        if len(set(X.columns)) < X.shape[1]:
            raise ValueError("X has two columns of the same name")
        if len(y) != len(X):
            raise ValueError(f"y must have {len(X)} entries to go with X, got {len(y)}")
        _finite_or_missing(X.to_numpy(dtype=np.float64, na_value=math.nan))  # refuse before anything is taken in
        engine = self._take_in(X.columns)
        if engine is not None:
            engine.learn(self._table(X), y)

    def _table(self, X: pd.DataFrame) -> Array:
        """The same for a table: columns of known features, NaN for those that are missing."""
        table = np.full((len(X), len(self._columns)), math.nan)
        for name in X.columns:
            if name in self._columns:
                table[:, self._columns[name]] = X[name].to_numpy(dtype=np.float64, na_value=math.nan)
        return _finite_or_missing(table)


def _finite_or_missing(table: Array) -> Array:
    if np.isinf(table).any():
        raise ValueError("X has infinite entries")
    return table


def _check_dictionary(x: Any) -> None:
    if not isinstance(x, Mapping):
        raise TypeError(f"x must be a dictionary of features, got {type(x).__name__}")


def number(name: Hashable, value: Any) -> float:
    """The value of a feature; NaN and None count as missing."""
    if value is None:
        return math.nan
    if not isinstance(value, (numbers.Real, np.bool_)):
        raise TypeError(f"feature {name!r} must be a number, got {value!r:.80}; encode it first, say with preprocessing.OneHotEncoder")
    result = float(value)
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
