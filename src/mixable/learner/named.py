"""A learner of dictionaries: features by name, added as they come."""

from __future__ import annotations

import inspect
from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from mixable import _validate
from mixable.learner.columns import Columns, check_dictionary, finite_or_missing, number
from mixable.learner.design import Design
from mixable.learner.learner import Learner

if TYPE_CHECKING:
    import pandas as pd


class NamedLearner:
    """Columns and a learner. The learner is made when the first features come."""

    _columns: Columns
    _learner: Learner | None

    def _design(self) -> Design:
        raise NotImplementedError

    def _labels(self) -> tuple[Hashable, ...] | None:
        raise NotImplementedError

    def _begin(self) -> None:
        self._columns, self._learner = Columns(), None

    def _probabilities(self, x: dict[Hashable, Any]) -> dict[Any, float]:
        """The probability of each class met so far."""
        if self._learner is None or not self._learner.labels:
            return {}
        p = self._learner.predict(self._columns.row(x))
        return dict(zip(self._learner.labels, p.tolist(), strict=True))

    def _add_features(self, names: Iterable[Hashable]) -> Learner | None:
        """Make room for features that are new; None while there is nothing to learn from."""
        new = self._columns.new(names)
        if self._learner is None:
            design = self._design()
            if not new and not design.intercept:
                return None
            self._learner = Learner(design, len(new), self._labels())
        elif new:
            self._learner.add_features(len(new))
        self._columns.add(new)
        return self._learner

    def _learn_one(self, x: dict[Hashable, Any], y: Any, w: float) -> None:
        if not (type(w) is float and w == 1.0):
            w = _validate.example_weight(w, "w")
        row = self._columns.plain_row(x) if self._learner else None
        if row is not None and self._learner is not None:
            return self._learner.learn_one(row, y, w)
        check_dictionary(x)
        for name, value in x.items():
            number(name, value)  # refuse before anything is added
        learner = self._add_features(x)
        if learner is not None:
            learner.learn_one(self._columns.row(x), y, w)

    def _learn_many(self, X: pd.DataFrame, y: Any) -> None:
        if not len(X):
            return
        if len(set(X.columns)) < X.shape[1]:
            raise ValueError("X has two columns of the same name")
        if len(y) != len(X):
            raise ValueError(f"y must have {len(X)} entries to go with X, got {len(y)}")
        # Refuse before anything is added.
        finite_or_missing(X.to_numpy(dtype=np.float64, na_value=np.nan))
        learner = self._add_features(X.columns)
        if learner is not None:
            learner.learn(self._columns.table(X), y)

    def __setstate__(self, state: dict[str, Any]) -> None:
        parameters = inspect.signature(type(self)).parameters
        defaults = {name: each.default for name, each in parameters.items()}
        known = {*defaults, "_columns", "_learner", "_engine"}
        if not state.keys() <= known:
            unknown = sorted(state.keys() - known)
            raise ValueError(f"a {type(self).__name__} has nothing called {unknown!r:.200}")
        self._restore({**defaults, **state})

    def _restore(self, state: dict[str, Any]) -> None:
        """Go on from a saved state, once columns and learner are known to go together."""
        # Version 0.1.0 called a learner an engine.
        if "_learner" in state and "_engine" in state:
            raise ValueError("the saved model has two learners")
        state = {("_learner" if name == "_engine" else name): each for name, each in state.items()}
        places, learner = state["_columns"], state["_learner"]
        if not (isinstance(places, dict) and list(places.values()) == list(range(len(places)))):
            raise ValueError("the saved columns are not numbered")
        if not (learner is None or isinstance(learner, Learner)):
            raise TypeError(f"a saved learner must be a Learner, got {learner!r:.80}")
        if len(places) != (learner.n_features if learner else 0):
            raise ValueError("columns and learner do not go together")
        columns = places if isinstance(places, Columns) else Columns(places)
        self.__dict__.update({**state, "_columns": columns})
        if learner is not None and learner.has_labels != (self._labels() is not None):
            raise ValueError("a classifier was saved with a regressor's learner, or vice versa")
