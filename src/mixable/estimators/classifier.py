"""GAFClassifier: multiclass logistic regression for scikit-learn, one pass, no parameters."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d

from mixable._alone import alone
from mixable._spelling import names_its_parameters
from mixable._types import Array
from mixable.estimators import advice
from mixable.estimators.any_rows import AnyRows
from mixable.estimators.explaining import Explains
from mixable.estimators.labels import ONE_CLASS, are_sorted, check_kinds, checked_labels
from mixable.estimators.linear import LinearByClass
from mixable.learner import Design, Learner, class_weights, design_of_classes, sampling
from mixable.learner.class_weights import ClassWeight
from mixable.learner.outcomes import Labels
from mixable.metrics import LEAST
from mixable.records import Columns


# Scikit-learn is not typed.
class GAFClassifier(Explains, ClassifierMixin, AnyRows, LinearByClass):  # type: ignore[misc]
    """Probabilities you can bet on, from one pass over the data.

    Rows are tables of numbers (NaN is missing), frames of pandas, Polars or Arrow with columns of
    any kind, or matrices of scipy.sparse. Parameters left at None are mixed over
    (`mixable.AutoGAF`): nothing needs tuning. Given ones are fixed, in units of the scaled inputs.

    Parameters
    ----------
    lam, beta, alpha, drift
        Of the linear part, as in `mixable.GAF`: it mixes over the rest. With kernel=None and all
        four given it is GAF.
    structure
        What its posteriors keep, as in `mixable.GAF`. None chooses by size; see docs/no-tuning.md.
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
        Threads that share whole tables, as scikit-learn counts them. None: as many as OpenBLAS has,
        up to four. Forecasts do not depend on it.
    kernel
        "auto" pools a linear forecaster with curved ones (three with kernel features, one with
        bins, one with leaves of random trees), unless the effort is low or there is another
        `forecaster`: then, and with None, it is linear. "rbf" mixes linear posteriors and
        posteriors with features of the kernel exp(-gamma |x - x'|^2), x the scaled inputs.
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
    class_weight
        None, a dictionary of labels and weights (1 for labels that are not named), or "balanced":
        n / (n_classes * n_c), as in scikit-learn, n_c the examples of class c. `fit` counts the
        whole table. `partial_fit` and `prequential` count the examples so far, the present one
        included: no weight depends on a later label. Probabilities are then those of classes that
        come as often as their weights say, no longer those of the stream.
    shuffle
        Whether `fit` learns the rows in a random order; so it does not matter how a table is
        sorted. A frame with a column of times keeps its order. `partial_fit` and `prequential`
        always do.
    random_state
        Of that order: the same for each fit if it is a number, as everywhere in scikit-learn.
    verbose
        1 shows the progress of tables of more than one row, on standard error, and what the columns
        of a frame are taken for; 0 shows nothing.

    Attributes
    ----------
    classes_
        The labels, sorted.
    coef_, intercept_
        Weights as in scikit-learn's LogisticRegression, in the units of the caller's columns (where
        the scaling is linear).
    coef_std_
        Their posterior standard deviations. With a kernel there are none of these three.
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

    @names_its_parameters
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
        class_weight: ClassWeight = None,
        shuffle: bool = True,
        random_state: Any = 0,
        verbose: int = 0,
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
        self.class_weight = class_weight
        self.shuffle = shuffle
        self.random_state = random_state
        self.verbose = verbose

    @alone
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> GAFClassifier:
        """Forget everything, then learn the rows, in a random order if `shuffle`."""
        self._begin_fit()
        try:
            rows = self._checked_rows(X, reset=True)
            with advice.about_outcomes(y, len(rows)):
                labels = checked_labels(y, len(rows))
            weight = self._weights(sample_weight, rows, fit=True)
            known = np.unique(labels).tolist()
            if len(known) == 1:
                warnings.warn(ONE_CLASS.format(*known), stacklevel=2)
            class_weights.refuse_unknown(class_weights.checked(self.class_weight), known)
            self.learner_ = self._new_learner(rows, known, whole=True)
        except BaseException:
            self._forget()
            raise
        self._fit_rows(X, (rows, labels, weight), is_sorted=are_sorted(labels, len(known)))
        return self

    @alone
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

    @alone
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
        rows, labels, weight = self._prepare(X, y, sample_weight, classes)
        p = self._teach(Learner.run, (rows, labels, weight))
        codes = [self.learner_.codes[label] for label in labels]
        self._score(-np.log(np.maximum(p[np.arange(len(p)), codes], LEAST)), weight)
        return np.ascontiguousarray(p[:, self._order()])

    def _prepare(
        self, X: Any, y: Any, sample_weight: ArrayLike | None, classes: ArrayLike | None
    ) -> tuple[Array, list[Any], Array | None]:
        """Check rows, labels and weights, and make a learner if there is none; all or nothing."""
        first = not hasattr(self, "learner_")
        try:
            rows = self._checked_rows(X, reset=first)
            with advice.about_outcomes(y, len(rows)):
                labels = checked_labels(y, len(rows))
            weight = self._weights(sample_weight, rows)
            known = None
            if classes is not None:
                known = np.unique(column_or_1d(np.asarray(classes))).tolist()
            learner = None if first else self.learner_
            if learner is None:
                learner = self._new_learner(rows, known or (), closed=known is not None)
            elif known is not None and set(known) != set(learner.labels):
                raise ValueError(
                    f"classes={known!r} are not those of the first call: "
                    f"{sorted(learner.labels, key=str)!r}"
                )
            values = labels.tolist()
            check_kinds(values[:1], (learner.labels or values)[0])
            wanted = class_weights.checked(self.class_weight)
            if isinstance(wanted, Mapping):
                check_kinds(list(wanted), (learner.labels or values)[0], "class_weight")
            unknown = learner.unknown(values)
            if unknown:
                rest = "name all in the first call, or none: then new ones are added"
                raise ValueError(f"y has labels that are not in classes: {unknown!r}; {rest}")
        except BaseException:
            if first:
                self._forget()
            raise
        self.learner_ = learner
        return rows, values, weight

    def _teach(
        self, teach: Callable[..., Any], examples: tuple[Any, ...], *, whole: bool = False
    ) -> Any:
        """Let the learner learn, each example weighed by its class."""

        def weighing(learner: Learner, rows: Any, labels: Any, weight: Any, advance: Any) -> Any:
            def known() -> tuple[class_weights.Tally, int]:
                assert isinstance(learner.outcomes, Labels)
                return learner.outcomes.tally, learner.forecaster.steps

            examples = self.class_weight, labels, weight, known
            with class_weights.weighing(*examples, whole=whole) as own:
                return teach(learner, rows, labels, own, advance)

        return super()._teach(weighing, examples, whole=whole)

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
    @alone
    def classes_(self) -> NDArray[Any]:
        """The labels, sorted."""
        if not hasattr(self, "learner_"):
            raise AttributeError("classes_ is known after fit or partial_fit")
        return np.array(self.learner_.labels)[self._order()]

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
