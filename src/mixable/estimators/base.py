"""What GAFClassifier and GAFRegressor share: what they accept, and the learner behind them."""

from __future__ import annotations

import copy
import numbers
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import effective_n_jobs
from joblib.parallel import get_active_backend
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse
from sklearn.utils import check_array, check_random_state, estimator_html_repr
from sklearn.utils import shuffle as shuffled
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from mixable import _validate
from mixable._alone import Alone, alone
from mixable._mergeable import Mergeable
from mixable._natural import Change
from mixable._types import Array, Untyped
from mixable.estimators import callbacks, shown
from mixable.estimators import rows as tables
from mixable.model import Learner, combining, design_of_records, takes_features
from mixable.model.coefficients import coefficients, kernel_widths
from mixable.model.explaining import explained, without_each, without_each_entry, without_each_key
from mixable.model.importance import importance
from mixable.model.parameters import TableParameters, with_defaults
from mixable.model.parts import InOrder
from mixable.model.record_inputs import RecordInputs, rows_of
from mixable.records import Encoder, Rows

if TYPE_CHECKING:
    from typing_extensions import Self

    class BaseEstimator(Untyped):
        """Scikit-learn has no types."""

        def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]: ...
        def __sklearn_tags__(self) -> Any: ...
        def __getstate__(self) -> dict[str, Any]: ...
        def __setstate__(self, state: dict[str, Any]) -> None: ...
else:
    from sklearn.base import BaseEstimator

NAN = "allow-nan"  # what is missing; infinite numbers are refused
LEARNED = ("learner_", "n_features_in_", "feature_names_in_")


class StreamEstimator(
    Alone, Mergeable, TableParameters, callbacks.CallbackSupportMixin, BaseEstimator
):
    """Tables in, a learner behind, of the kind that the first rows need."""

    n_features_in_: int
    learner_: Learner

    def _outcomes(self, y: Any, n: int) -> NDArray[Any]:
        """Check the outcomes of n rows: a column of them."""
        raise NotImplementedError

    def _begun(
        self, rows: Any, outcomes: NDArray[Any], classes: Any, *, whole: bool, in_order: bool
    ) -> Learner:
        """The learner, or a new one, once it is known to take such examples."""
        raise NotImplementedError

    def _weighing(
        self, outcomes: Any, weight: Array | None, *, whole: bool
    ) -> AbstractContextManager[Array | None]:
        """The weights of examples, while they are learned."""
        return nullcontext(weight)

    def _shared(self) -> dict[str, Any]:
        sizes = {"number of features": self.n_features_in_} if hasattr(self, "learner_") else {}
        return {**TableParameters._shared(self), **sizes}

    def _fresh(self) -> Any:
        made = copy.copy(self)
        made._forget()
        return made

    def _combine(self, others: Sequence[Any], base: Any, changes: Sequence[Change]) -> Any:
        begun = [] if base is None else [base]
        names = [getattr(each, "feature_names_in_", None) for each in (*begun, *others)]
        for other in names[1:]:
            if not np.array_equal(np.asarray(other), np.asarray(names[0])):
                raise ValueError(f"models must have the same columns, got {names[0]} and {other}")
        made, learners = copy.copy(others[0]), [other.learner_ for other in others]
        start, before = (getattr(each, "learner_", None) for each in (self, base))
        made.learner_ = combining.combine(start, learners, before, weight=changes[0].weight)
        return made

    @property
    def _threads(self) -> int | None:
        if self.n_jobs is not None and not isinstance(self.n_jobs, numbers.Integral):
            raise TypeError(f"n_jobs must be None or an integer, got {self.n_jobs!r:.80}")
        threads = int(effective_n_jobs(self.n_jobs))
        # Within a worker of joblib, the other workers need the other processors.
        is_free = threads == 1 and not get_active_backend()[0].nesting_level
        return None if self.n_jobs is None and is_free else threads

    @alone
    @callbacks.with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Forget everything, then learn the rows, in a random order if `shuffle`."""
        self._forget()
        _validate.flag(self.shuffle, "shuffle")
        check_random_state(self.random_state)
        X = tables.of_known_library(X)
        rows, outcomes, weight = self._prepare(X, y, sample_weight, fit=True)
        n = len(outcomes)
        tasks = callbacks.tasks(self, n, X, y, sample_weight)
        if self.shuffle:
            if isinstance(rows, np.ndarray):
                order = shuffled(np.arange(n), random_state=self.random_state)
                rows = InOrder(rows, order)
            else:
                X, order = shuffled(X, np.arange(n), random_state=self.random_state)
                rows = self._checked_rows(X)
            outcomes = outcomes[order]
            weight = None if weight is None else weight[order]
        self._teach(Learner.fit, rows, outcomes, weight, whole=True, tasks=tasks)
        if tasks is not None:
            tasks.end()
        return self

    def _prepare(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        classes: Any = None,
        *,
        fit: bool = False,
        in_order: bool = False,
    ) -> tuple[Any, NDArray[Any], Array | None]:
        """Check examples, and make a learner if there is none; all or nothing.

        They are `in_order` if each is learned before the next is forecast.
        """
        first = not hasattr(self, "learner_")
        try:
            rows = self._checked_rows(X, reset=first)
            with tables.about_outcomes(y, len(rows)):
                outcomes = self._outcomes(y, len(rows))
            weight = self._weights(sample_weight, len(rows), fit=fit)
            learner = self._begun(rows, outcomes, classes, whole=fit, in_order=in_order)
        except BaseException:
            if first:
                self._forget()
            raise
        self.learner_ = learner
        return rows, outcomes, weight

    def _teach(
        self,
        teach: Callable[..., Any],
        rows: Any,
        outcomes: NDArray[Any],
        weight: Array | None,
        *,
        whole: bool = False,
        tasks: callbacks.Tasks | None = None,
    ) -> Any:
        """Let the learner learn, and return what it does.

        If that fails and nothing (or, of a `whole` table, not everything) was learned, forget all.
        """
        learner, n = self.learner_, len(rows)
        is_first = learner.forecaster.steps == 0
        values = outcomes.tolist() if learner.has_labels else outcomes
        try:
            with (
                shown.progress(self, n) as advance,
                self._weighing(values, weight, whole=whole) as own,
            ):
                result = teach(learner, rows, values, own, callbacks.both(advance, tasks))
        except callbacks.StoppedError:
            learner.pool.finish()
            result = None
        except BaseException:
            if whole or learner.forecaster.steps == 0:
                self._forget()
            raise
        if isinstance(learner.inputs, RecordInputs):
            if whole:  # there may be no more
                learner.inputs.encoder.ask(least=0)
            if is_first:
                shown.say(self, n, "columns are " + shown.columns(self))
        return result

    def _new_learner(
        self, rows: Any, labels: Any, *, in_order: bool, closed: bool = False, whole: bool = False
    ) -> Learner:
        """A learner of the kind that takes such rows.

        If they are the whole of a table, kinds of columns go by its first hundred values; else by
        the first one, since each row is predicted before the next is known.
        """
        with tables.about_rows(self, rows):
            design = self._design() if in_order else self._table_design()
            if isinstance(rows, np.ndarray):
                return Learner(design, rows.shape[1], labels, closed=closed)
            if isinstance(rows, Rows):
                return Learner(design_of_records(design, numbers=False), 0, labels, closed=closed)
            encoder = Encoder(self.columns)
            encoder.guess(rows if whole else rows_of(rows, slice(0, 1)))
            crosses = self.columns is not None and bool(self.columns.cross)
            design = design_of_records(design, crosses=crosses)
            return Learner(design, encoder.n_dense, labels, closed=closed, encoder=encoder)

    def _checked_rows(self, X: Any, *, reset: bool = False) -> Any:
        """Rows as the learner takes them; where they are refused, what to do next."""
        with tables.about_rows(self, X):
            return self._rows(tables.of_known_library(X), reset=reset)

    def _rows(self, X: Any, *, reset: bool = False) -> Any:
        """Rows as the learner takes them: a float64 array, a frame of records, or sparse rows.

        Columns are in the order of the first call; errors are scikit-learn's.
        """
        inputs = None if reset else self.learner_.inputs
        has_encoder = isinstance(inputs, RecordInputs)
        is_sparse = issparse(X) if reset else takes_features(self.learner_) and not has_encoder
        if is_sparse:
            options: dict[str, Any] = {"accept_sparse": "csr", "dtype": np.float64}
            return tables.sparse_rows(csr_array(validate_data(self, X, reset=reset, **options)))
        if not (reset or has_encoder or hasattr(self, "feature_names_in_")):
            plain = tables.plain_rows(X, self.n_features_in_)
            if plain is not None:
                return plain
        names = tables.column_names(X)
        if reset and names is not None:
            has_encoder = self.columns is not None or tables.has_records(X)
        options = {"dtype": np.float64, "order": "C", "ensure_all_finite": NAN}
        if names is None:
            if has_encoder:
                raise ValueError("X must be a frame with the columns of the first call")
            matrix = X.toarray() if issparse(X) else tables.as_matrix(X)
            rows = validate_data(self, matrix, reset=reset, **options)
            if reset:  # scikit-learn finds no number in what only has __array__
                self.n_features_in_ = rows.shape[1]
            return np.ascontiguousarray(rows)
        if reset and has_encoder and self.columns is not None:
            self.columns.refuse_unknown(names, "X")
        known = list(getattr(self, "feature_names_in_", names))
        if not reset and names != known and sorted(names) == sorted(known):
            X = tables.in_order(X, known)
        validate_data(self, X, reset=reset, skip_check_array=True)  # the names and their number
        if not has_encoder:
            matrix = tables.as_matrix(X)
            return np.ascontiguousarray(
                check_array(matrix, estimator=self, input_name="X", **options)
            )
        if not len(X):
            raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
        return X

    def _weights(self, sample_weight: Any, n: int, *, fit: bool) -> Array | None:
        """Check the weights of n rows, None if there are none; a `fit` needs one above 0."""
        if sample_weight is None:
            return None
        if np.isscalar(sample_weight):
            sample_weight = np.full(n, sample_weight, dtype=np.float64)
        out: Array = np.ascontiguousarray(column_or_1d(sample_weight), dtype=np.float64)
        if len(out) != n:
            raise ValueError(
                f"sample_weight.shape == {out.shape}, expected {(n,)}! Each row of X needs one"
            )
        if not np.isfinite(out).all():
            raise ValueError(
                "Input sample_weight contains NaN or infinity. A row of weight 0 is left out"
            )
        if (out < 0).any():
            raise ValueError(
                "Negative values in data passed to `sample_weight`. A row of weight 0 is left out"
            )
        if fit and not out.any():
            raise ValueError("Sample weights must contain at least one non-zero number.")
        _validate.example_weights(out, "sample_weight")
        return out

    @property
    @alone
    def columns_(self) -> dict[Any, str]:
        """What each column is taken for: its kind, and how its values are read if that matters.

        Of a category it says how many values have a column of 0 and 1 of their own (indicators).
        """
        check_is_fitted(self, "learner_")
        inputs, names = self.learner_.inputs, self._names()
        if not isinstance(inputs, RecordInputs):
            return dict.fromkeys(names, "number")
        taken = self.learner_.taken_for
        return {name: taken.get(name, "no value so far") for name in names}

    def _names(self) -> Any:
        """The names of the columns; numbers, if they have none."""
        names = getattr(self, "feature_names_in_", None)
        return range(self.n_features_in_) if names is None else names.tolist()

    @property
    def forecaster_(self) -> Any:
        """The forecaster behind the estimator."""
        check_is_fitted(self, "learner_")
        return self.learner_.forecaster

    def _explained(self, x: Any, labels: list[Any] | None = None) -> list[Any]:
        """What each column of one row does to the forecast."""
        learner = self.learner_
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
        """The n columns that matter most, and how far each usually moves a log-odds, or a mean.

        That is how far the forecast moves (root mean square) if the column has the value of another
        record, divided by sqrt(2): for a linear model the weight times the deviation of the column.
        Of `kernel="auto"`, records that the trees keep are forecast again, which takes up to about
        half a second; texts and lists, which they do not keep, go by weights, as in linear models.
        """
        check_is_fitted(self, "learner_")
        sizes = importance(self.learner_, self._names())
        return dict(list(sizes.items())[: _validate.count(n, "n")])

    @property
    @alone
    def feature_importances_(self) -> Array:
        """How far each column usually moves the forecast, by `important`: shares (n_features_in_,).

        They sum to 1, or are all 0 if nothing is known. Each access takes as long as `important`.
        For models that `important` knows nothing of there is no such attribute.
        """
        check_is_fitted(self, "learner_")
        if self.learner_.design.kernel is not None:
            raise AttributeError("feature_importances_ needs kernel='auto' or None")
        sizes = importance(self.learner_, self._names())
        each = np.array([sizes.get(name, 0.0) for name in self._names()])
        return np.asarray(each / max(each.sum(), np.finfo(float).tiny))

    def _coefficients(self) -> tuple[Array, Array]:
        """Weights and intercepts of each class, or of the one target."""
        check_is_fitted(self, "learner_")
        return coefficients(self.learner_)

    @alone
    def report(self) -> str:
        """What it has chosen, in words and numbers."""
        forecaster = self.forecaster_
        text: str = forecaster.report() if hasattr(forecaster, "report") else repr(forecaster)
        design = self.learner_.design
        if design.kernel is not None:
            shares = []
            for view, (gamma, share) in enumerate(kernel_widths(self.learner_)):
                width = "linear" if gamma is None else f"gamma {gamma:.3g}"
                shares.append(f"{share:.0%} in view {view} ({width})")
            features = f"{design.kernel.n_components} of the rbf kernel ({design.kernel.method})"
            text += f"\nBeside the linear features there are {features}. "
            text += f"Weight of posteriors by what they see: {', '.join(shares)}."
        scaled = "standardised by running mean and deviation"
        text += f"\nInputs are {scaled if design.standardize else 'as they come'}"
        return text + (", with an intercept." if design.intercept else ".")

    @property
    def _scored(self) -> tuple[float, float]:
        """The weight of the forecasts of `prequential`, and their loss; not saved nor copied."""
        scored: tuple[float, float] = self.__dict__.get("_loss", (0.0, 0.0))
        return scored

    def _score(self, losses: Array, weight: Array | None) -> None:
        """Add the losses of forecasts that were made before the outcome was learned."""
        n, total = self._scored
        own = np.ones(len(losses)) if weight is None else weight
        self._loss = n + float(own.sum()), total + float(own @ losses)

    @alone
    def _repr_html_inner(self) -> str:
        text: str = estimator_html_repr(self)
        return text + shown.table(self) if hasattr(self, "learner_") else text

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle = super()._repr_mimebundle_(**kwargs)
        return {**bundle, "text/html": self._repr_html_inner()} if "text/html" in bundle else bundle

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = self._is_mixed and (self.kernel is None or self._is_auto)
        return tags

    def _forget(self) -> None:
        """Drop what was learned."""
        for name in (*LEARNED, "_loss"):
            self.__dict__.pop(name, None)

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        return {
            name: value for name, value in state.items() if name not in ("_loss", *callbacks.OWN)
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore what was saved; parameters that did not exist then have their defaults."""
        state = dict(state)
        if "engine_" in state:  # what version 0.1.0 called it
            state["learner_"] = state.pop("engine_")
        state = with_defaults(type(self), state, {*LEARNED, "_sklearn_version"})
        if "learner_" in state:
            names = state.get("feature_names_in_")
            self._check_saved(state["learner_"], state["n_features_in_"], names)
        super().__setstate__(state)

    def _check_saved(self, learner: Any, n_features: Any, names: Any) -> None:
        """Refuse what does not go together."""
        is_number = isinstance(n_features, int) and n_features > 0
        has_own = isinstance(learner, Learner) and takes_features(learner)
        fits = isinstance(learner, Learner) and (has_own or learner.n_features == n_features)
        if not is_number or not fits:
            raise ValueError("the saved learner has another number of features")
        if names is None:
            return
        is_column = isinstance(names, np.ndarray) and names.shape == (n_features,)
        if not is_column or not all(isinstance(name, str) for name in names):
            raise ValueError(f"the saved names of the features must be {n_features} texts")
