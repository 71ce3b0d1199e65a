"""What GAFClassifier and GAFRegressor share: what they accept, and the learner behind them."""

from __future__ import annotations

import copy
import numbers
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from joblib.parallel import get_active_backend
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_random_state, estimator_html_repr
from sklearn.utils import shuffle as shuffled
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from mixable import _validate
from mixable._alone import Alone, alone
from mixable._mergeable import Mergeable
from mixable._natural import Change
from mixable._types import Array
from mixable.estimators import advice, html, progress, tables
from mixable.learner import Design, Learner, combining, takes_features
from mixable.learner.coefficients import kernel_widths
from mixable.learner.parts import InOrder
from mixable.learner.record_inputs import RecordInputs
from mixable.learner.saved import with_defaults

NAN = "allow-nan"  # what is missing; infinite numbers are refused
FEW = 20  # rows of a table with times that may be sorted by chance


class StreamEstimator(Alone, Mergeable, BaseEstimator):  # type: ignore[misc]  # scikit-learn is not typed
    """Tables in, a learner behind."""

    standardize: bool
    fit_intercept: bool
    n_jobs: int | None
    kernel: str | None
    n_components: int
    gamma: float | None
    method: str
    effort: str
    shuffle: bool
    random_state: Any
    verbose: int
    n_features_in_: int
    learner_: Learner

    def _design(self) -> Design:
        raise NotImplementedError

    def _options(self) -> dict[str, Any]:
        """Options of the design that both estimators have."""
        return {
            "standardize": self.standardize,
            "intercept": self.fit_intercept,
            "threads": self._threads,
            "effort": self.effort,
        }

    def _fresh(self) -> Any:
        made = copy.copy(self)
        made._forget()
        return made

    def _shared(self) -> dict[str, Any]:
        sizes = {"number of features": self.n_features_in_} if hasattr(self, "learner_") else {}
        return {**self.get_params(deep=False), **sizes}

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
    def _features(self) -> tuple[Any, Any, Any]:
        """The kernel's features: how many, of which width, by which method."""
        return self.n_components, self.gamma, self.method

    @property
    def _threads(self) -> int | None:
        if self.n_jobs is not None and not isinstance(self.n_jobs, numbers.Integral):
            raise TypeError(f"n_jobs must be None or an integer, got {self.n_jobs!r:.80}")
        threads = int(effective_n_jobs(self.n_jobs))
        # Within a worker of joblib, the other workers need the other processors.
        is_free = threads == 1 and not get_active_backend()[0].nesting_level
        return None if self.n_jobs is None and is_free else threads

    def _checked_rows(self, X: Any, *, reset: bool = False) -> Any:
        """Rows as the learner takes them; where they are refused, what to do next."""
        with advice.about_rows(self, X):
            return self._rows(X, reset=reset)

    def _rows(self, X: Any, *, reset: bool = False) -> Array:
        """X as a float64 table, columns in the order of the first call; errors scikit-learn's."""
        if not reset and not hasattr(self, "feature_names_in_"):
            plain = tables.plain_rows(X, self.n_features_in_)
            if plain is not None:
                return plain
        names = tables.column_names(X)
        if not reset and names is not None:
            X = self._in_order(X, names)
        if names is None:
            matrix = tables.as_matrix(X)
            options: dict[str, Any] = {"dtype": np.float64, "order": "C"}
            rows = validate_data(self, matrix, reset=reset, ensure_all_finite=NAN, **options)
            if reset:  # scikit-learn finds no number in what only has __array__
                self.n_features_in_ = rows.shape[1]
            return np.ascontiguousarray(rows)
        validate_data(self, X, reset=reset, skip_check_array=True)  # the names and their number
        options = {"dtype": np.float64, "order": "C", "estimator": self, "input_name": "X"}
        return np.ascontiguousarray(
            check_array(tables.as_matrix(X), ensure_all_finite=NAN, **options)
        )

    def _in_order(self, X: Any, names: list[str]) -> Any:
        """A table whose columns are those of the first call, in the order of that call."""
        known = list(getattr(self, "feature_names_in_", names))
        return X if names == known or sorted(names) != sorted(known) else tables.in_order(X, known)

    def _weights(self, sample_weight: Any, X: Array, *, fit: bool = False) -> Array | None:
        """Check the weights of the rows, None if there are none; a `fit` needs one above 0."""
        if sample_weight is None:
            return None
        if np.isscalar(sample_weight):
            sample_weight = np.full(len(X), sample_weight, dtype=np.float64)
        out: Array = np.ascontiguousarray(column_or_1d(sample_weight), dtype=np.float64)
        if len(out) != len(X):
            raise ValueError(
                f"sample_weight.shape == {out.shape}, expected {(len(X),)}! Each row of X needs one"
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

    def _teach(
        self, teach: Callable[..., Any], examples: tuple[Any, ...], *, whole: bool = False
    ) -> Any:
        """Let the learner learn, and return what it does.

        If that fails and nothing (or, of a `whole`, not everything) was learned, forget all.
        """
        try:
            with progress.shown(self, len(examples[0])) as advance:
                return teach(self.learner_, *examples, advance)
        except BaseException:
            if whole or self.learner_.forecaster.steps == 0:
                self._forget()
            raise

    def _begin_fit(self) -> None:
        """Forget everything; refuse orders that there are not."""
        self._forget()
        _validate.flag(self.shuffle, "shuffle")
        check_random_state(self.random_state)

    def _fit_rows(
        self, X: Any, examples: tuple[Any, NDArray[Any], Array | None], *, is_sorted: bool
    ) -> None:
        """Learn a whole table, in random order if that is wanted.

        X is what the rows of the examples were made from. A table with a column of times keeps its
        order, since the time from row to row is part of it; not if it `is_sorted` by outcomes.
        """
        rows, outcomes, weight = examples
        inputs, n = self.learner_.inputs, len(outcomes)
        has_times = isinstance(inputs, RecordInputs) and "time" in inputs.encoder.kinds.values()
        if self.shuffle and (not has_times or (is_sorted and n >= FEW)):
            if isinstance(rows, np.ndarray):
                order = shuffled(np.arange(n), random_state=self.random_state)
                rows = InOrder(rows, order)
            else:
                X, order = shuffled(X, np.arange(n), random_state=self.random_state)
                rows = self._checked_rows(X)
            outcomes = outcomes[order]
            weight = None if weight is None else weight[order]
        values = outcomes.tolist() if self.learner_.has_labels else outcomes
        self._teach(Learner.learn, (rows, values, weight), whole=True)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

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
        return text + html.table(self) if hasattr(self, "learner_") else text

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        return {**bundle, "text/html": self._repr_html_inner()} if "text/html" in bundle else bundle

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_loss"}

    def _forget(self) -> None:
        """Drop what was learned."""
        for name in ("learner_", "n_features_in_", "feature_names_in_", "_loss"):
            if hasattr(self, name):
                delattr(self, name)

    @alone
    def report(self) -> str:
        """What it has settled on, in words and numbers."""
        check_is_fitted(self, "learner_")
        forecaster = self.learner_.forecaster
        text: str = forecaster.report() if hasattr(forecaster, "report") else repr(forecaster)
        design = self.learner_.design
        if design.kernel is not None:
            trust = []
            for view, (gamma, share) in enumerate(kernel_widths(self.learner_)):
                width = "linear" if gamma is None else f"gamma {gamma:.3g}"
                trust.append(f"{share:.0%} in view {view} ({width})")
            features = f"{design.kernel.n_components} of the rbf kernel ({design.kernel.method})"
            text += f"\nBeside the linear features there are {features}. "
            text += f"Trust in posteriors by what they see: {', '.join(trust)}."
        scaled = "standardised by running mean and deviation"
        text += f"\nInputs are {scaled if design.standardize else 'as they come'}"
        return text + (", with an intercept." if design.intercept else ".")

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore what was saved; parameters that did not exist then have their defaults."""
        state = dict(state)
        if "engine_" in state:  # what version 0.1.0 called it
            state["learner_"] = state.pop("engine_")
        known = {"learner_", "n_features_in_", "feature_names_in_", "_sklearn_version"}
        state = with_defaults(type(self), state, known)
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

    @property
    def forecaster_(self) -> Any:
        """The forecaster behind the estimator."""
        check_is_fitted(self, "learner_")
        return self.learner_.forecaster
