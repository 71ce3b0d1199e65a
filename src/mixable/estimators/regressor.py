"""GAFRegressor: regression for scikit-learn, one pass, no parameters, with intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d

from mixable import _validate
from mixable._alone import alone
from mixable._spelling import names_its_parameters
from mixable._types import Array
from mixable.estimators import advice
from mixable.estimators.any_rows import AnyRows
from mixable.learner import Design, Learner, design_of_numbers, sampling
from mixable.learner.coefficients import coefficients, deviations
from mixable.records import Columns


# Scikit-learn is not typed.
class GAFRegressor(RegressorMixin, AnyRows):  # type: ignore[misc]
    """Means, standard deviations and intervals, from one pass over the data.

    Rows are tables of numbers (NaN is missing), frames of pandas, Polars or Arrow with columns of
    any kind, or matrices of scipy.sparse.

    `mixable.AutoRidge` behind, twice: a mixture of Bayesian regressions over regularisation, drift
    and noise, on the columns and on kernel features of them. Whichever predicts better is trusted;
    kernel features that do not help are not computed for long. The noise may have heavy tails.
    Parameters left at None are mixed over; given ones are fixed, in units of the scaled inputs.
    Text, categories, times and sparse rows go through regressions on sparse features first; their
    numbers are always scaled.

    Parameters
    ----------
    lam, drift
        Regularisation and process noise of the linear posteriors, as in `mixable.AutoRidge`; for
        tables of numbers only.
    effort
        How much time a forecast may take: "low" is one posterior, "high" keeps all awake.
    kernel
        "auto" mixes linear and curved posteriors; it is linear where effort is "low". None is
        linear, with `coef_`. "rbf" is as in `GAFClassifier`.
    n_components
        Kernel features of each width, at most.
    columns
        What is declared of the columns of a frame: `mixable.records.Columns`. The kinds of the
        others are guessed.
    standardize, fit_intercept, n_jobs, gamma, method, shuffle, random_state, verbose
        As in `GAFClassifier`.

    Attributes
    ----------
    coef_, intercept_
        Weights (n_features,) and a number, in the units of the caller's columns (where the scaling
        is linear).
    coef_std_
        Posterior standard deviations of the weights. These three are for kernel=None only.
    columns_
        What each column is taken for, by name: "number", "number, decimal comma", "category",
        "text", "tags", "time", "time, day first", "time, month first", "ignored".
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.
    forecaster_
        The forecaster behind.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2)) * [1, 1000]
    >>> y = X @ [1.0, 0.002] + 5 + 0.1 * rng.normal(size=300)
    >>> model = GAFRegressor().fit(X, y)
    >>> mean, std = model.predict(X[:1], return_std=True)
    >>> bool(abs(mean[0] - y[0]) < 4 * std[0]), model.predict_interval(X[:3]).shape
    (True, (3, 2))
    """

    @names_its_parameters
    def __init__(
        self,
        *,
        lam: float | None = None,
        drift: float | None = None,
        effort: str = "auto",
        standardize: bool = True,
        fit_intercept: bool = True,
        n_jobs: int | None = None,
        kernel: str | None = "auto",
        n_components: int = 200,
        gamma: float | None = None,
        method: str = "fourier",
        columns: Columns | None = None,
        shuffle: bool = True,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.lam = lam
        self.drift = drift
        self.effort = effort
        self.standardize = standardize
        self.fit_intercept = fit_intercept
        self.n_jobs = n_jobs
        self.kernel = kernel
        self.n_components = n_components
        self.gamma = gamma
        self.method = method
        self.columns = columns
        self.shuffle = shuffle
        self.random_state = random_state
        self.verbose = verbose

    @alone
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> GAFRegressor:
        """Forget everything, then learn the rows, in a random order if `shuffle`."""
        self._begin_fit()
        examples = self._prepare(X, y, sample_weight, fit=True)
        steps = np.diff(examples[1])
        self._fit_rows(X, examples, is_sorted=bool((steps >= 0).all() or (steps <= 0).all()))
        return self

    @alone
    def partial_fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> GAFRegressor:
        """Learn more rows."""
        self._teach(Learner.learn, self._prepare(X, y, sample_weight))
        return self

    @alone
    def prequential(
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None, *, return_std: bool = False
    ) -> Array | tuple[Array, Array]:
        """Learn more rows; return the means (n,) of forecasts, each made before its target.

        With `return_std`, the deviations too. The same as a loop of `predict` and `partial_fit`
        over the rows, in compiled code.
        """
        rows, targets, weight = self._prepare(X, y, sample_weight)
        mean, std = self._teach(Learner.run, (rows, targets, weight))
        self._score((mean - targets) ** 2, weight)
        return (mean, std) if return_std else mean

    def _prepare(
        self, X: Any, y: Any, sample_weight: ArrayLike | None, *, fit: bool = False
    ) -> tuple[Any, Array, Array | None]:
        """Check everything, and make a learner if there is none."""
        first = not hasattr(self, "learner_")
        try:
            rows = self._checked_rows(X, reset=first)
            targets = _checked_targets(y, len(rows))
            _validate.targets_in_range(targets, "y")
            weight = self._weights(sample_weight, rows, fit=fit)
            with advice.about_rows(self, X):
                learner = self._new_learner(rows, None, whole=fit) if first else self.learner_
        except BaseException:
            if first:
                self._forget()
            raise
        self.learner_ = learner
        return rows, targets, weight

    def _check_saved(self, learner: Any, n_features: Any, names: Any) -> None:
        super()._check_saved(learner, n_features, names)
        if learner.has_labels:
            raise ValueError("the saved learner is that of a classifier")

    @property
    def _is_mixed(self) -> bool:
        return self.lam is None and self.drift is None

    def _design(self) -> Design:
        fixed = {"lam": self.lam, "drift": self.drift}
        return design_of_numbers(
            fixed, kernel=self.kernel, features=self._features, **self._options()
        )

    @alone
    def predict(self, X: Any, return_std: bool = False) -> Array | tuple[Array, Array]:
        """The mean (n,) of each row's forecast; with `return_std`, also its deviation.

        The deviation is that of a target to come, noise and all.
        """
        check_is_fitted(self, "learner_")
        rows = self._checked_rows(X)
        mean = self.learner_.predict(rows)
        return (mean, self.learner_.deviation(rows)) if return_std else mean

    @alone
    def sample(self, X: Any, n: int = 1, random_state: Any = None) -> Array:
        """Draws (n, rows) of the mean of each row's target, noise not included.

        A draw is one expert, taken by its weight, with weights of features from its posterior.
        It changes nothing. `random_state` is None, a seed, or a `numpy.random.Generator`.
        """
        check_is_fitted(self, "learner_")
        return sampling.sample(self.learner_, self._checked_rows(X), n, random_state)

    @alone
    def predict_interval(self, X: Any, level: float = 0.9) -> Array:
        """The ends (n, 2) of the interval that holds each target with probability `level`."""
        check_is_fitted(self, "learner_")
        return np.column_stack(self.learner_.interval(self._checked_rows(X), level))

    @property
    @alone
    def coef_(self) -> Array:
        """Weights (n_features,)."""
        check_is_fitted(self, "learner_")
        return np.asarray(coefficients(self.learner_)[0][0])

    @property
    @alone
    def intercept_(self) -> float:
        """The intercept."""
        check_is_fitted(self, "learner_")
        return float(coefficients(self.learner_)[1][0])

    @property
    @alone
    def coef_std_(self) -> Array:
        """Posterior standard deviations of `coef_`."""
        check_is_fitted(self, "learner_")
        return np.asarray(deviations(self.learner_, np.ones((1, 1)))[0])


def _checked_targets(y: Any, n: int) -> Array:
    """Check targets: a column of n finite numbers."""
    if y is None:
        raise ValueError(
            "This GAFRegressor estimator requires y to be passed, but the target y is None."
        )
    with advice.about_outcomes(y, n):
        try:
            targets = np.ascontiguousarray(column_or_1d(y, warn=True), dtype=np.float64)
        except OverflowError:
            text = "Input y contains a number too large for double precision."
            raise ValueError(text) from None
        if len(targets) != n:
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: [{n}, {len(targets)}]"
            )
        if not np.isfinite(targets).all():
            raise ValueError("Input y contains NaN or infinity.")
    return targets
