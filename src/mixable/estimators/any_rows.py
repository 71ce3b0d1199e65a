"""Rows of any kind: numbers, frames of records, sparse matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.utils.validation import check_is_fitted, validate_data

from mixable._alone import alone
from mixable.estimators import advice, html, progress, tables
from mixable.estimators.base import StreamEstimator
from mixable.learner import Learner, design_of_records, takes_features
from mixable.learner.record_inputs import RecordInputs, rows_of
from mixable.records import Columns, Encoder, Rows


class AnyRows(StreamEstimator):
    """An estimator with a learner of the kind that its first rows need."""

    columns: Columns | None

    @property
    def _is_mixed(self) -> bool:
        """Whether enough parameters are left to be mixed over, as records need."""
        given = [getattr(self, name) for name in ("lam", "beta", "alpha", "drift")]
        is_pooled = isinstance(self.kernel, str) and self.kernel == "auto" and self.effort != "low"
        # Where everything is given and nothing else pooled there is one posterior, on numbers.
        is_free = is_pooled or any(each is None for each in given)
        return getattr(self, "forecaster", None) is None and is_free

    def _rows(self, X: Any, *, reset: bool = False) -> Any:
        """Rows as the learner takes them: an array, a frame of records, or sparse rows."""
        if reset:
            is_sparse, has_encoder = issparse(X), False
        else:
            is_sparse = self._is_sparse
            has_encoder = takes_features(self.learner_) and not is_sparse
        if is_sparse:
            options: dict[str, Any] = {"accept_sparse": "csr", "dtype": np.float64}
            return tables.sparse_rows(csr_array(validate_data(self, X, reset=reset, **options)))
        names = tables.column_names(X)
        is_new = reset and names is not None
        if is_new and (self.columns is not None or tables.has_records(X)):
            has_encoder = True
        if not has_encoder:
            return super()._rows(X.toarray() if issparse(X) else X, reset=reset)
        if names is None:
            raise ValueError("X must be a frame with the columns of the first call")
        if reset and self.columns is not None:
            self.columns.refuse_unknown(names, "X")
        if not reset:
            X = self._in_order(X, names)
        validate_data(self, X, reset=reset, skip_check_array=True)  # the names and their number
        if not len(X):
            raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
        return X

    @property
    @alone
    def columns_(self) -> dict[Any, str]:
        """What each column is taken for: its kind, and how its values are read if that matters."""
        check_is_fitted(self, "learner_")
        names = getattr(self, "feature_names_in_", None)
        inputs = self.learner_.inputs
        if isinstance(inputs, RecordInputs):
            assert names is not None
            known = inputs.encoder.taken_for
            return {name: known.get(name, "no value so far") for name in names.tolist()}
        return dict.fromkeys(range(self.n_features_in_) if names is None else names, "number")

    def _teach(
        self, teach: Callable[..., Any], examples: tuple[Any, ...], *, whole: bool = False
    ) -> Any:
        """Let the learner learn; the first table says what its columns are, if that is wanted."""
        is_first = self.learner_.forecaster.steps == 0
        result = super()._teach(teach, examples, whole=whole)
        inputs = self.learner_.inputs
        if isinstance(inputs, RecordInputs):
            if whole:  # there may be no more
                inputs.encoder.ask(least=0)
            if is_first:
                progress.say(self, len(examples[0]), "columns are " + html.columns(self))
        return result

    @property
    def _is_sparse(self) -> bool:
        inputs = self.learner_.inputs
        return takes_features(self.learner_) and not isinstance(inputs, RecordInputs)

    def _new_learner(
        self, rows: Any, labels: Any, *, closed: bool = False, whole: bool = False
    ) -> Learner:
        """A learner of the kind that takes such rows.

        If they are the whole of a table, kinds of columns go by its first hundred values; else by
        the first one, since each row is predicted before the next is known.
        """
        design = self._design()
        if isinstance(rows, np.ndarray):
            with advice.about_rows(self, rows):
                return Learner(design, rows.shape[1], labels, closed=closed)
        if isinstance(rows, Rows):
            sparse = design_of_records(design, numbers=False)
            return Learner(sparse, 0, labels, closed=closed)
        encoder = Encoder(self.columns)
        encoder.guess(rows if whole else rows_of(rows, slice(0, 1)))
        crosses = self.columns is not None and bool(self.columns.cross)
        design = design_of_records(design, crosses=crosses)
        return Learner(design, encoder.n_dense, labels, closed=closed, encoder=encoder)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        is_auto = isinstance(self.kernel, str) and self.kernel == "auto"
        tags.input_tags.sparse = self._is_mixed and (self.kernel is None or is_auto)
        return tags
