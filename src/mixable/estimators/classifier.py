"""GAFClassifier: multiclass logistic regression for scikit-learn, one pass, no parameters."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from mixable._alone import alone
from mixable._types import Array, Untyped
from mixable.estimators.base import StreamEstimator
from mixable.estimators.rows import Table
from mixable.metrics import LEAST
from mixable.model import Learner, class_weights, sampling
from mixable.model.coefficients import deviations
from mixable.model.explaining import Contribution
from mixable.model.outcomes import Labels
from mixable.model.parameters import ClassParameters, estimator

if TYPE_CHECKING:
    from typing_extensions import Self

    class ClassifierMixin(Untyped):
        """Scikit-learn has no types."""
else:
    from sklearn.base import ClassifierMixin

ONE_CLASS = (
    "y has one class only, {!r:.80}: each forecast will be that one, for certain. Give fit rows of "
    "two classes or more; where others come later, use partial_fit or prequential"
)


@estimator
@dataclass(kw_only=True, eq=False, repr=False)
class GAFClassifier(ClassifierMixin, ClassParameters, StreamEstimator):
    """Probabilities you can bet on, from one pass over the data.

    Rows are tables of numbers (NaN is missing), frames of pandas, Polars or Arrow with columns of
    any kind, or matrices of scipy.sparse. Nothing needs tuning: the default pools a linear expert,
    which mixes over lam, beta, alpha and drift (`mixable.AutoGAF`), with nonlinear ones: kernels,
    trees that grow, naive Bayes.

    Attributes
    ----------
    classes_
        The labels, sorted.
    coef_, intercept_
        Weights as in scikit-learn's LogisticRegression, in the units of the caller's columns (where
        the scaling is linear).
    coef_std_
        Their posterior standard deviations. These three are for kernel=None only.
    columns_
        What each column is taken for, by name: "number", "number, decimal comma", "category",
        "text", "tags", "time", "time, day first", "time, month first", "ignored".
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.
    forecaster_
        The forecaster behind.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> order = np.random.default_rng(0).permutation(150)
    >>> model = GAFClassifier()
    >>> p = model.prequential(X[order], y[order])  # each row forecast before its label is learned
    >>> p.shape, bool(model.score(X, y) > 0.9)
    ((150, 3), True)
    """

    @alone
    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn more rows; new classes are added, unless the first call named all `classes`."""
        self._teach(Learner.learn, *self._prepare(X, y, sample_weight, classes))
        return self

    @alone
    def prequential(
        self,
        X: Any,
        y: Any,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Array:
        """Learn more rows; return probabilities (n, n_classes), each made before its label.

        The same as a loop of `predict_proba` and `partial_fit` over the rows, in compiled code (of
        models that `partial_fit` has begun, or without `memory`). Columns are `classes_` as they
        are at the end; a class that had not been observed before a row has 0 there.
        """
        rows, labels, weight = self._prepare(X, y, sample_weight, classes, in_order=True)
        p = self._teach(Learner.run, rows, labels, weight)
        known = self.learner_.codes
        codes = [known[label] for label in labels.tolist()]
        self._score(-np.log(np.maximum(p[np.arange(len(p)), codes], LEAST)), weight)
        return np.ascontiguousarray(p[:, self._order()])

    @alone
    def predict_proba(self, X: Any) -> Array:
        """Probabilities (n, n_classes) of each row, from what was learned; as in `classes_`."""
        check_is_fitted(self, "learner_")
        rows = self._checked_rows(X)
        one = len(rows) == 1 and isinstance(rows, np.ndarray)
        p = np.atleast_2d(self.learner_.predict(rows[0] if one else rows))
        return np.ascontiguousarray(p[:, self._order()])

    @alone
    def sample(self, X: Any, n: int = 1, random_state: Any = None) -> Array:
        """Draws (n, rows, n_classes) of the logits of each row, as in `classes_`.

        A draw is one expert, taken by its weight, with weights of features from its posterior. The
        softmax of a draw are probabilities that the labels so far do not rule out. It changes
        nothing. `random_state` is None, a seed, or a `numpy.random.Generator`.

        >>> X, y = np.random.default_rng(0).normal(size=(200, 2)), np.arange(200) % 2
        >>> model = GAFClassifier(kernel=None).fit(X, y)
        >>> model.sample(X[:3], n=100, random_state=0).shape
        (100, 3, 2)
        """
        check_is_fitted(self, "learner_")
        draws = sampling.sample(self.learner_, self._checked_rows(X), n, random_state)
        return np.ascontiguousarray(draws[..., self._order()])

    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms of `predict_proba`."""
        return np.log(self.predict_proba(X))

    def decision_function(self, X: Any) -> Array:
        """Log-odds of each class against the rest (n, n_classes); of the second of two (n,)."""
        p = self.predict_proba(X)
        if p.shape[1] == 2:
            return np.asarray(np.log(p[:, 1]) - np.log(p[:, 0]))
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(p) - np.log1p(-p))

    @alone
    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each row."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def forecasts(self, X: Any) -> Table:
        """The probabilities of rows as columns with names: `p_LABEL` for each class.

        Any frame library takes them, by Arrow's PyCapsule interface: `polars.DataFrame(...)`,
        `pyarrow.table(...)`, DuckDB's `FROM`; or as a dictionary, as pandas does.
        """
        said = self.predict_proba(X).T
        return Table(zip([f"p_{c}" for c in self.classes_.tolist()], said, strict=True))

    @alone
    def explain(self, x: Any) -> list[Contribution]:
        """What each column of one row does to the log-odds of each class, the most first.

        The row is a table of one row, as `predict_proba` takes it; of frames with text or
        categories, also a dictionary. A column that is missing in the row is left out.
        """
        check_is_fitted(self, "learner_")
        return self._explained(x, self.classes_.tolist())

    @property
    @alone
    def classes_(self) -> NDArray[Any]:
        """The labels, sorted."""
        if not hasattr(self, "learner_"):
            raise AttributeError("classes_ is known after fit or partial_fit")
        return np.array(self.learner_.labels)[self._order()]

    def _order(self) -> NDArray[np.int_]:
        """The learner's columns in the order of `classes_`."""
        return np.argsort(np.array(self.learner_.labels), kind="stable")

    @property
    @alone
    def coef_(self) -> Array:
        """Weights (n_classes, n_features); with two classes (1, n_features), of the log-odds."""
        return self._by_class(self._coefficients()[0])

    @property
    @alone
    def intercept_(self) -> Array:
        """Intercepts (n_classes,), or (1,) if there are two classes."""
        return self._by_class(self._coefficients()[1])

    @property
    @alone
    def coef_std_(self) -> Array:
        """Posterior standard deviations of `coef_`."""
        K = self.forecaster_.n_classes
        contrasts = np.array([[-1.0, 1.0]]) if K == 2 else np.eye(K)[self._order()] - 1 / K
        return deviations(self.learner_, contrasts)

    def _by_class(self, values: Array) -> Array:
        """Rows of the forecaster's classes in the order of `classes_`; the difference of two."""
        if len(values) == 2:
            order = self._order() if len(self.learner_.labels) == 2 else np.arange(2)
            return np.asarray(values[order[[1]]] - values[order[[0]]])
        return np.asarray(values[self._order()])

    def _outcomes(self, y: Any, n: int) -> NDArray[Any]:
        """Check labels: a column of integers, strings or booleans."""
        if y is None:
            raise ValueError(
                "This GAFClassifier estimator requires y to be passed, but the target y is None."
            )
        values: NDArray[Any] = np.asarray(y)
        may_hide = isinstance(y, list | tuple) and values.dtype.kind == "U"  # NaN became "nan"
        if may_hide and any(isinstance(each, float | np.floating) and each != each for each in y):
            raise ValueError("Input y contains NaN or None.")
        if values.ndim != 1 or values.dtype.kind not in "iubU":
            values = column_or_1d(y, warn=True)
            if values.dtype.kind == "f" and not np.isfinite(values).all():
                raise ValueError("Input y contains NaN or infinity.")
            if values.dtype == object and any(item is None or item != item for item in values):
                raise ValueError("Input y contains NaN or None.")
            if values.dtype == object and len(values):
                check_kinds(values.tolist(), values[0])
            check_classification_targets(values)
        if len(values) != n:
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: [{n}, {len(values)}]"
            )
        return values

    def _begun(
        self, rows: Any, outcomes: NDArray[Any], classes: Any, *, whole: bool, in_order: bool
    ) -> Learner:
        weights = class_weights.checked(self.class_weight)
        if whole:
            labels = np.unique(outcomes).tolist()
            if len(labels) == 1:
                warnings.warn(ONE_CLASS.format(*labels), stacklevel=5)
            class_weights.refuse_unknown(weights, labels)
            return self._new_learner(rows, labels, in_order=False, whole=True)
        known = None
        if classes is not None:
            known = np.unique(column_or_1d(np.asarray(classes))).tolist()
        if not hasattr(self, "learner_"):
            closed = known is not None
            learner = self._new_learner(rows, known or (), in_order=in_order, closed=closed)
        else:
            learner = self.learner_
            if known is not None and set(known) != set(learner.labels):
                raise ValueError(
                    f"classes={known!r} are not those of the first call: "
                    f"{sorted(learner.labels, key=str)!r}"
                )
        values = outcomes.tolist()
        check_kinds(values[:1], (learner.labels or values)[0])
        if isinstance(weights, Mapping):
            check_kinds(list(weights), (learner.labels or values)[0], "class_weight")
        unknown = learner.unknown(values)
        if unknown:
            rest = "name all in the first call, or none: then new ones are added"
            raise ValueError(f"y has labels that are not in classes: {unknown!r}; {rest}")
        return learner

    def _weighing(
        self, outcomes: Any, weight: Array | None, *, whole: bool
    ) -> AbstractContextManager[Array | None]:
        """Each example is weighed by its class."""

        def known() -> tuple[class_weights.Tally, int]:
            learner = self.learner_
            assert isinstance(learner.outcomes, Labels)
            return learner.outcomes.tally, learner.forecaster.steps

        return class_weights.weighing(self.class_weight, outcomes, weight, known, whole=whole)

    def _check_saved(self, learner: Any, n_features: Any, names: Any) -> None:
        super()._check_saved(learner, n_features, names)
        labels = learner.labels if learner.has_labels else []
        kinds = (str, numbers.Number, np.bool_)
        if not labels or not all(isinstance(label, kinds) for label in labels):
            raise ValueError("the saved labels must be numbers, texts, or True and False")
        check_kinds(labels, labels[0])


def check_kinds(labels: list[Any], known: Any, name: str = "y") -> None:
    """Refuse labels that are not of the same kind as one that is known."""
    for label in labels:
        if type(label) is not type(known) and _kind(label) is not _kind(known):
            raise ValueError(
                f"{name} must have labels of one kind: {label!r:.80} is {_called(label)}, and "
                f"{known!r:.80} is {_called(known)}; convert them, for instance by "
                f"{'y = y.astype(str)' if name == 'y' else 'str(label)'}"
            )


def _kind(label: Any) -> type:
    """What a label is, as far as labels can be compared: truth, number, or its own type."""
    if isinstance(label, bool):
        return bool
    return numbers.Number if isinstance(label, numbers.Number) else type(label)


def _called(label: Any) -> str:
    kinds = {bool: "True or False", numbers.Number: "a number", str: "text"}
    return kinds.get(_kind(label), f"a {type(label).__name__}")
