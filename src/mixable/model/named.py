"""A learner of dictionaries: features by name, added as they come."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mixable import _validate, records
from mixable._alone import Alone, alone
from mixable._mergeable import Mergeable
from mixable._natural import Change
from mixable._types import Array
from mixable.model import class_weights, combining
from mixable.model.class_weights import ClassWeight, Tally
from mixable.model.columns import Columns, check_dictionary, finite_or_missing, has_words, number
from mixable.model.design import Design
from mixable.model.explaining import explained, without_each
from mixable.model.importance import importance
from mixable.model.late import Forecasts, Kept
from mixable.model.learner import Learner
from mixable.model.outcomes import Labels
from mixable.model.pooled import design_of_records, takes_records
from mixable.model.record_inputs import RecordInputs
from mixable.records.registry import EARLY, FEW
from mixable.records.tables import refuse_twice

if TYPE_CHECKING:
    import pandas as pd


_LEARNED = ("_columns", "_learner", "_forecasts")


class NamedLearner(Alone, Mergeable):
    """Columns and a learner. The learner is made when the first features come.

    If the first record has text, categories, lists or times, or columns are declared, records go
    through an encoder (`mixable.records`) in place of the columns.
    """

    _columns: Columns
    _learner: Learner | None
    _forecasts: Forecasts | None = None  # of models whose callers have no identifiers

    def _design(self) -> Design:
        raise NotImplementedError

    def _labels(self) -> tuple[Hashable, ...] | None:
        raise NotImplementedError

    def _declared(self) -> records.Columns | None:
        """What is declared of the columns."""
        return None

    def _shared(self) -> dict[str, Any]:
        """What models must have in common to be merged."""
        return {name: each for name, each in vars(self).items() if name not in _LEARNED}

    def _fresh(self) -> Any:
        made = copy.copy(self)
        made._begin()
        return made

    def _combine(self, others: Sequence[Any], base: Any, changes: Sequence[Change]) -> Any:
        before = self._fresh() if base is None else base
        columns = Columns(before._columns)
        for other in others:
            columns.add(columns.new(other._columns))
        has_encoder = {other.encoder is not None for other in others}
        if len(has_encoder) > 1:
            raise ValueError("models of records, and models of numbers only, cannot be merged")
        places = None
        if has_encoder == {False}:
            places = [[columns[name] for name in other._columns] for other in others]
        made, learners = copy.copy(others[0]), [other._learner for other in others]
        made._columns, made._learner = (
            columns,
            combining.combine(
                self._learner, learners, before._learner, places=places, weight=changes[0].weight
            ),
        )
        made._combine_rest(self, others, before)
        return made

    def _combine_rest(self, start: Any, others: Sequence[Any], base: Any) -> None:
        """Let start + the sum of (other - base) have the rest of a model, too."""

    def _begin(self) -> None:
        self._columns, self._learner = Columns(), None

    @property
    def encoder(self) -> records.Encoder | None:
        """What makes rows of records; None where records have numbers only."""
        inputs = None if self._learner is None else self._learner.inputs
        return inputs.encoder if isinstance(inputs, RecordInputs) else None

    @property
    def _is_new(self) -> bool:
        """Whether it knows no columns yet."""
        learner = self._learner
        return learner is None or (
            self.encoder is None and not learner.n_features and not learner.forecaster.steps
        )

    @property
    def _steps(self) -> int:
        """Examples learned."""
        return 0 if self._learner is None else int(self._learner.forecaster.steps)

    @property
    def _tally(self) -> Tally:
        """The weight of the examples of each label, where classes are balanced."""
        outcomes = None if self._learner is None else self._learner.outcomes
        return outcomes.tally if isinstance(outcomes, Labels) else {}

    def begin_records(self, first: Any) -> None:
        """Take records of any kind from now on; the kinds of their columns are guessed."""
        declared = self._declared()
        encoder = records.Encoder(declared)
        encoder.guess(first)
        crosses = declared is not None and bool(declared.cross)
        design = design_of_records(self._design(), crosses=crosses)
        self._learner = Learner(design, encoder.n_dense, self._labels(), encoder=encoder)
        self._columns = Columns()

    def _probabilities(self, x: dict[Hashable, Any]) -> dict[Any, float]:
        """The probability of each class observed so far."""
        learner = self._learner
        if learner is None or not learner.labels:
            check_dictionary(x)
            return {}
        p = learner.predict(self._row(x))
        return dict(zip(learner.labels, p.tolist() if p.ndim == 1 else p[0].tolist(), strict=True))

    def _row(self, x: dict[Hashable, Any]) -> Any:
        """A record as the learner takes it."""
        if self._columns or self.encoder is None:
            return self._columns.row(x)
        check_dictionary(x)
        return [x]

    def _table(self, X: pd.DataFrame) -> Any:
        """A table of records as the learner takes it."""
        return self._columns.table(X) if self.encoder is None else X

    @alone
    def explain(self, x: dict[Hashable, Any]) -> list[Any]:
        """What each column of a record does to the forecast, the most first.

        That is to the log-odds of each class, or to the mean.
        """
        check_dictionary(x)
        learner = self._learner
        if learner is None or (learner.has_labels and not learner.labels):
            return []
        if self.encoder is not None:
            known = self.encoder.kinds
            parts = without_each(x, lambda name: known.get(name) != "ignore")
            rows = ((name, value, [rest]) for name, value, rest in parts)
            return explained(learner, [x], rows)
        columns = self._columns
        names = [name for name in columns if name in x]
        parts = without_each({name: x[name] for name in names}, columns.__contains__)
        return explained(
            learner, columns.row(x), ((name, v, columns.row(rest)) for name, v, rest in parts)
        )

    @alone
    def important(self, n: int = 20) -> dict[Hashable, float]:
        """The n columns that matter most, and how far each usually moves a log-odds or the mean.

        As `important` of the estimators for scikit-learn.
        """
        n = _validate.count(n, "n")
        if self._learner is None:
            return {}
        sizes = importance(self._learner, list(self._columns))
        return dict(list(sizes.items())[:n])

    def _add_features(self, names: Iterable[Hashable]) -> Learner | None:
        """Make room for features that are new; None while there is nothing to learn from."""
        new, learner = self._columns.new(names), self._learner
        # The widths of kernels go by the columns that come first.
        if learner is None or (self._is_new and new):
            design = self._design()
            if not new and not design.intercept:
                return None
            self._learner = Learner(design, len(new), self._labels())
        elif new:
            learner.add_features(len(new))
        self._columns.add(new)
        return self._learner

    def _kept(self, x: dict[Hashable, Any]) -> Kept:
        """The inputs of a forecast, as they are now."""
        assert self._learner is not None
        return self._learner.kept(self._row(x))

    def _learn_one(self, x: dict[Hashable, Any], y: Any, w: float) -> None:
        if not (type(w) is float and w == 1.0):
            w = _validate.example_weight(w, "w")
        if self._forecasts and isinstance(x, dict) and self._learner is not None:
            kept = self._forecasts.before_learning(x, self._kept)
            if kept is not None:
                return self._learner.learn_kept(kept, y, w)
        row = self._columns.plain_row(x) if self._columns else None
        if row is not None and self._learner is not None:
            return self._learner.learn_one(row, y, w)
        check_dictionary(x)
        if self._begins_records(x):
            self._begin_with(x, y, w)
            return
        if self.encoder is not None and self._learner is not None:
            self._learner.learn([x], [y], np.array([w]))
            return
        for name, value in x.items():
            number(name, value)  # refuse before anything is added
        if self._is_bag(x):
            self._begin_with(x, y, w)
            return
        # Sorted: the order of a dictionary says nothing.
        learner = self._add_features(sorted(x, key=repr))
        if learner is not None:
            learner.learn_one(self._columns.row(x), y, w)

    def _begins_records(self, x: dict[Hashable, Any]) -> bool:
        """Whether this is the first record, and of any kind.

        What is missing says nothing of a kind: a model that can take records does so.
        """
        if not self._is_new:
            return False
        if self._declared() is not None or has_words(x):
            return True
        return None in x.values() and takes_records(self._design())

    def _begin_with(self, x: dict[Hashable, Any], y: Any, w: float) -> None:
        """Take records from this one on, and learn it; if it is refused, nothing has changed."""
        before = self._columns, self._learner
        try:
            self._turn(x)
            assert self._learner is not None
            self._learner.learn([x], [y], np.array([w]))
        except BaseException:
            self._columns, self._learner = before
            raise

    def _turn(self, x: dict[Hashable, Any]) -> None:
        """Take records from this one on.

        If there were others before, this is the first that is known to be a bag. What was learned
        of the few before counts no more, only their labels stay.
        """
        columns, learner = self._columns, self._learner
        self.begin_records([{n: v for n, v in x.items() if not columns or n in columns}])
        assert self._learner is not None
        assert self.encoder is not None
        self.encoder.registry.bag = bool(columns)
        has_labels = learner is not None and learner.has_labels
        for label in learner.labels if learner and has_labels and columns else ():
            if label not in self._learner.codes:
                self._learner.add_label(label)

    def _learn_weighed(
        self, x: dict[Hashable, Any], y: Hashable, w: float, class_weight: ClassWeight
    ) -> None:
        """Learn one example, weighed by its class."""
        if class_weight is None:
            return self._learn_one(x, y, w)
        weight = np.array([_validate.example_weight(w, "w")])
        with class_weights.weighing(class_weight, [y], weight, self._known) as own:
            assert own is not None
            self._learn_one(x, y, float(own[0]))

    def _known(self) -> tuple[Tally, int]:
        return self._tally, self._steps

    def _is_bag(self, x: dict[Hashable, Any]) -> bool:
        """Whether numbers are counts of many names, such as words, of which a record has few."""
        learner, known = self._learner, self._columns
        if learner is None or learner.forecaster.steps > EARLY:
            return False
        absent = len([name for name in known if name not in x])
        if not self._takes_new_columns or len(known) < FEW or 2 * absent < len(known):
            return False
        return bool(known.new(x)) and takes_records(self._design())

    @property
    def _takes_new_columns(self) -> bool:
        return True

    def _learn_many(self, X: pd.DataFrame, y: Any, class_weight: ClassWeight = None) -> None:
        if not len(X):
            return
        refuse_twice(list(X.columns))
        if len(y) != len(X):
            raise ValueError(f"y must have {len(X)} entries to go with X, got {len(y)}")
        with class_weights.weighing(class_weight, y, None, self._known) as weight:
            self._learn_table(X, y, weight)

    def _learn_table(self, X: pd.DataFrame, y: Any, weight: Array | None) -> None:
        has_others = any(kind.kind not in "biuf" for kind in X.dtypes)
        declared = self._declared()
        if self._is_new and (declared is not None or has_others):
            if declared is not None:
                declared.refuse_unknown(X.columns, "X")
            self.begin_records(X.iloc[:1])
        if self.encoder is not None and self._learner is not None:
            self._learner.learn(X, y, weight)
            return
        # Refuse before anything is added.
        finite_or_missing(X.to_numpy(dtype=np.float64, na_value=np.nan))
        learner = self._add_features(sorted(X.columns, key=repr))
        if learner is not None:
            learner.learn(self._columns.table(X), y, weight)

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
        has_encoder = learner is not None and isinstance(learner.inputs, RecordInputs)
        if len(places) != (learner.n_features if learner and not has_encoder else 0):
            raise ValueError("columns and learner do not go together")
        columns = places if isinstance(places, Columns) else Columns(places)
        self.__dict__.update({**state, "_columns": columns})
        if learner is not None and learner.has_labels != (self._labels() is not None):
            raise ValueError("a classifier was saved with a regressor's learner, or vice versa")
