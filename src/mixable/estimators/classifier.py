"""GAFClassifier: multiclass logistic regression for scikit-learn, one pass, no parameters."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from mixable._types import Array
from mixable.estimators import tables
from mixable.estimators.base import StreamEstimator
from mixable.estimators.explaining import Explains
from mixable.estimators.labels import check_kinds, checked_labels
from mixable.learner import Design, Learner, design_of_classes, design_of_records, takes_features
from mixable.learner.coefficients import coefficients, deviations
from mixable.learner.record_inputs import RecordInputs, records_encoder
from mixable.records import Columns, Rows


# Scikit-learn is not typed.
class GAFClassifier(Explains, ClassifierMixin, StreamEstimator):  # type: ignore[misc]
    """Probabilities you can bet on, from one pass over the data.

    Rows are tables of numbers (NaN is missing), frames of pandas, Polars or Arrow with columns of
    any kind, or matrices of scipy.sparse. Parameters left at None are mixed over
    (`mixable.AutoGAF`): nothing needs tuning. Given ones are fixed, in units of the scaled inputs.

    Parameters
    ----------
    lam, beta, alpha, drift
        As in `mixable.GAF`; with all four given it is GAF, else the mixture over the rest.
    structure
        What posteriors keep, as in `mixable.GAF`. None chooses by size what pays: mostly blocks, a
        shared block where there are many features.
    effort
        How much time a forecast may take: "low" is one posterior with a shared block, "high" is the
        whole mixture with full posteriors, all awake; see docs/performance.md.
    forecaster
        Another multiclass forecaster class of the package, say `mixable.ONS`, to be used instead,
        with those of the four that are given.
    standardize
        Scale each feature by its running mean and standard deviation: of what was learned before,
        and the row itself. No row is ever scaled by a later one. The mixture also sees the features
        on a scale that is logarithmic beyond one standard deviation, and finds out which is better.
    fit_intercept
        Whether to add a constant feature. Without one, standardised features are still measured
        from their means: then `intercept_` says what that amounts to.
    n_jobs
        Threads for whole tables, as scikit-learn counts them.
    kernel
        "auto" pools a linear forecaster with curved ones (three with kernel features, one with
        bins, one with leaves of random trees), unless a parameter above is given or the effort is
        low: then, and with None, it is linear. "rbf" is one mixture of posteriors with features of
        the kernel exp(-gamma |x - x'|^2), x the scaled inputs, beside the linear ones.
    n_components
        Number of kernel features. The cost grows as its square; see docs/guides/kernels.md.
    gamma
        The kernel's inverse squared width; None mixes over three, 1/8, 1 and 16 over the number of
        features (1 with another `forecaster`).
    method
        "fourier": orthogonal random features. "nystroem": kernel values at landmarks that are
        chosen as the stream goes by.
    columns
        What is declared of the columns of a frame: `mixable.records.Columns`. The kinds of the
        others are guessed. Frames with text, categories or times need no declaration.

    Attributes
    ----------
    classes_
        The labels, sorted.
    coef_, intercept_
        Weights as in scikit-learn's LogisticRegression, in the units of the caller's columns (where
        the scaling is linear).
    coef_std_
        Their posterior standard deviations. With a kernel there are none of these three.
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

    def __init__(
        self,
        *,
        lam: float | None = None,
        beta: float | None = None,
        alpha: float | None = None,
        drift: float | None = None,
        structure: str | None = None,
        effort: str = "auto",
        forecaster: type | None = None,
        standardize: bool = True,
        fit_intercept: bool = True,
        n_jobs: int | None = None,
        kernel: str | None = "auto",
        n_components: int = 200,
        gamma: float | None = None,
        method: str = "fourier",
        columns: Columns | None = None,
    ) -> None:
        self.lam = lam
        self.beta = beta
        self.alpha = alpha
        self.drift = drift
        self.structure = structure
        self.effort = effort
        self.forecaster = forecaster
        self.standardize = standardize
        self.fit_intercept = fit_intercept
        self.n_jobs = n_jobs
        self.kernel = kernel
        self.n_components = n_components
        self.gamma = gamma
        self.method = method
        self.columns = columns

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> GAFClassifier:
        """Forget everything, then learn the rows in turn; all labels are known from the start."""
        self._forget()
        try:
            rows = self._rows(X, reset=True)
            labels = checked_labels(y, len(rows))
            weight = self._weights(sample_weight, rows, fit=True)
            self.learner_ = self._new_learner(rows, np.unique(labels).tolist())
        except BaseException:
            self._forget()
            raise
        self._teach(Learner.learn, (rows, labels.tolist(), weight), whole=True)
        return self

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> GAFClassifier:
        """Learn more rows; new classes are added, unless the first call named all `classes`."""
        self._teach(Learner.learn, self._prepare(X, y, sample_weight, classes))
        return self

    def prequential(
        self,
        X: Any,
        y: Any,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Array:
        """Learn more rows; return probabilities (n, n_classes), each made before its label.

        The same as a loop of `predict_proba` and `partial_fit` over the rows, in compiled code.
        Columns are `classes_` as they are at the end; a class that had not been met before a row
        has 0 there.
        """
        p = self._teach(Learner.run, self._prepare(X, y, sample_weight, classes))
        return np.ascontiguousarray(p[:, self._order()])

    def _prepare(
        self, X: Any, y: Any, sample_weight: ArrayLike | None, classes: ArrayLike | None
    ) -> tuple[Array, list[Any], Array | None]:
        """Check rows, labels and weights, and make a learner if there is none; all or nothing."""
        first = not hasattr(self, "learner_")
        try:
            rows = self._rows(X, reset=first)
            labels = checked_labels(y, len(rows))
            weight = self._weights(sample_weight, rows)
            known = None
            if classes is not None:
                known = np.unique(column_or_1d(np.asarray(classes))).tolist()
            learner = None if first else self.learner_
            if learner is None:
                closed = known is not None
                learner = self._new_learner(rows, known or (), closed=closed)
            elif known is not None and set(known) != set(learner.labels):
                raise ValueError(
                    f"classes={known!r} are not those of the first call: "
                    f"{sorted(learner.labels, key=str)!r}"
                )
            values = labels.tolist()
            check_kinds(values[:1], (learner.labels or values)[0])
            unknown = learner.unknown(values)
            if unknown:
                raise ValueError(f"y has labels that are not in classes: {unknown!r}")
        except BaseException:
            if first:
                self._forget()
            raise
        self.learner_ = learner
        return rows, values, weight

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
        validate_data(self, X, reset=reset, skip_check_array=True)  # the names and their number
        if not len(X):
            raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
        return X

    @property
    def _is_sparse(self) -> bool:
        inputs = self.learner_.inputs
        return takes_features(self.learner_) and not isinstance(inputs, RecordInputs)

    def _new_learner(self, rows: Any, labels: Any, *, closed: bool = False) -> Learner:
        """A learner of the kind that takes such rows."""
        design = self._design()
        if isinstance(rows, np.ndarray):
            return Learner(design, rows.shape[1], labels, closed=closed)
        if isinstance(rows, Rows):
            sparse = design_of_records(design, numbers=False)
            return Learner(sparse, 0, labels, closed=closed)
        encoder = records_encoder(self.columns)
        encoder.guess(rows)
        crosses = self.columns is not None and bool(self.columns.cross)
        design = design_of_records(design, crosses=crosses)
        return Learner(design, encoder.n_dense, labels, closed=closed, encoder=encoder)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Where everything is given there is one posterior, on numbers.
        given = (self.lam, self.beta, self.alpha, self.drift)
        is_mixed = self.forecaster is None and any(value is None for value in given)
        is_auto = isinstance(self.kernel, str) and self.kernel == "auto"
        tags.input_tags.sparse = is_mixed and (self.kernel is None or is_auto)
        return tags

    def _check_saved(self, learner: Any, n_features: Any, names: Any) -> None:
        super()._check_saved(learner, n_features, names)
        labels = learner.labels if learner.has_labels else []
        kinds = (str, numbers.Number, np.bool_)
        if not labels or not all(isinstance(label, kinds) for label in labels):
            raise ValueError("the saved labels must be numbers, texts, or True and False")
        check_kinds(labels, labels[0])

    def _design(self) -> Design:
        fixed = {"lam": self.lam, "beta": self.beta, "alpha": self.alpha, "drift": self.drift}
        return design_of_classes(
            self.forecaster,
            fixed,
            kernel=self.kernel,
            features=self._features,
            structure=self.structure,
            **self._options(),
        )

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, sorted."""
        if not hasattr(self, "learner_"):
            raise AttributeError("classes_ is known after fit or partial_fit")
        return np.array(self.learner_.labels)[self._order()]

    def _order(self) -> NDArray[np.int_]:
        """The learner's columns in the order of `classes_`."""
        return np.argsort(np.array(self.learner_.labels), kind="stable")

    def predict_proba(self, X: Any) -> Array:
        """Probabilities (n, n_classes) of each row, from what was learned; as in `classes_`."""
        check_is_fitted(self, "learner_")
        rows = self._rows(X)
        one = len(rows) == 1 and isinstance(rows, np.ndarray)
        p = np.atleast_2d(self.learner_.predict(rows[0] if one else rows))
        return np.ascontiguousarray(p[:, self._order()])

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

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each row."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    @property
    def coef_(self) -> Array:
        """Weights (n_classes, n_features); with two classes (1, n_features), of the log-odds."""
        return self._by_class(self._coefficients()[0])

    @property
    def intercept_(self) -> Array:
        """Intercepts (n_classes,), or (1,) if there are two classes."""
        return self._by_class(self._coefficients()[1])

    @property
    def coef_std_(self) -> Array:
        """Posterior standard deviations of `coef_`."""
        check_is_fitted(self, "learner_")
        K = self.learner_.forecaster.n_classes
        contrasts = np.array([[-1.0, 1.0]]) if K == 2 else np.eye(K)[self._order()] - 1 / K
        return deviations(self.learner_, contrasts)

    def _coefficients(self) -> tuple[Array, Array]:
        check_is_fitted(self, "learner_")
        return coefficients(self.learner_)

    def _by_class(self, values: Array) -> Array:
        """Rows of the forecaster's classes in the order of `classes_`; the difference of two."""
        if len(values) == 2:
            order = self._order() if len(self.classes_) == 2 else np.arange(2)
            return np.asarray(values[order[[1]]] - values[order[[0]]])
        return np.asarray(values[self._order()])
