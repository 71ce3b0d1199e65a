"""Explaining what a classifier forecasts, and what it goes by."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mixable import _validate
from mixable._alone import alone
from mixable.estimators import tables
from mixable.learner import Learner
from mixable.learner.explaining import (
    Contribution,
    explained,
    without_each,
    without_each_entry,
    without_each_key,
)
from mixable.learner.importance import importance
from mixable.learner.record_inputs import RecordInputs
from mixable.records import Rows


class Explains:
    """What `GAFClassifier` has for it."""

    learner_: Learner
    n_features_in_: int
    classes_: Any
    _rows: Any

    @alone
    def explain(self, x: Any) -> list[Contribution]:
        """What each column of one row does to the log-odds of each class, the most first.

        The row is a table of one row, as `predict_proba` takes it; of frames with text or
        categories, also a dictionary. A column that is missing in the row is left out.
        """
        check_is_fitted(self, "learner_")
        learner, labels = self.learner_, self.classes_.tolist()
        if isinstance(learner.inputs, RecordInputs):
            record = x if isinstance(x, dict) else tables.only_record(self._rows(x))
            known = learner.inputs.encoder.kinds
            parts = without_each(record, lambda name: known.get(name) != "ignore")
            rows = ((name, value, [rest]) for name, value, rest in parts)
            return explained(learner, [record], rows, labels)
        row = self._rows(np.atleast_2d(x) if isinstance(x, np.ndarray | list) else x)
        if len(row) != 1:
            raise ValueError(f"explain takes one row, got {len(row)}")
        if isinstance(row, Rows):
            return explained(learner, row, without_each_key(row, self._names()), labels)
        return explained(learner, row[0], without_each_entry(row[0], self._names()), labels)

    @alone
    def important(self, n: int = 20) -> dict[Any, float]:
        """The n columns that matter most, and how far each usually moves a log-odds."""
        check_is_fitted(self, "learner_")
        sizes = importance(self.learner_, self._names())
        return dict(list(sizes.items())[: _validate.count(n, "n")])

    def _names(self) -> Any:
        """The names of the columns; numbers, if they have none."""
        names = getattr(self, "feature_names_in_", None)
        return range(self.n_features_in_) if names is None else names.tolist()
