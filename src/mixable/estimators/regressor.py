"""GAFRegressor: regression for scikit-learn, one pass, no parameters, with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted, column_or_1d

from mixable import _validate
from mixable._alone import alone
from mixable._types import Array, Untyped
from mixable.estimators.base import StreamEstimator
from mixable.estimators.rows import Table
from mixable.model import Learner, sampling
from mixable.model.coefficients import deviations
from mixable.model.explaining import NumberContribution
from mixable.model.parameters import NumberParameters, estimator

if TYPE_CHECKING:
    from typing_extensions import Self

    class RegressorMixin(Untyped):
        """Scikit-learn has no types."""
else:
    from sklearn.base import RegressorMixin


@estimator
@dataclass(kw_only=True, eq=False, repr=False)
class GAFRegressor(RegressorMixin, NumberParameters, StreamEstimator):
    """Means, standard deviations and intervals, from one pass over the data.

    Rows are tables of numbers (NaN is missing), frames of pandas, Polars or Arrow with columns of
    any kind, or matrices of scipy.sparse.

    `mixable.AutoRidge` behind, twice: a mixture of Bayesian regressions over regularisation, drift
    and noise, on the columns and on kernel features of them. Whichever predicts better has the
    weight;
    kernel features that do not help are not computed for long. The noise may have heavy tails.
    Text, categories, times and sparse rows go through regressions on sparse features first: their
    numbers are always scaled, and `lam` and `drift` are mixed over.

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

    @alone
    def partial_fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn more rows."""
        self._teach(Learner.learn, *self._prepare(X, y, sample_weight))
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
        mean, std = self._teach(Learner.run, rows, targets, weight)
        self._score((mean - targets) ** 2, weight)
        return (mean, std) if return_std else mean

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

    def forecasts(self, X: Any) -> Table:
        """Means and standard deviations of rows as columns with names: `mean` and `std`.

        Any frame library takes them, by Arrow's PyCapsule interface: `polars.DataFrame(...)`,
        `pyarrow.table(...)`, DuckDB's `FROM`; or as a dictionary, as pandas does.
        """
        return Table(zip(("mean", "std"), self.predict(X, return_std=True), strict=True))

    @alone
    def explain(self, x: Any) -> list[NumberContribution]:
        """What each column of one row does to the mean of its forecast, the most first.

        The row is a table of one row, as `predict` takes it; of frames with text or categories,
        also a dictionary. A column that is missing in the row is left out.
        """
        check_is_fitted(self, "learner_")
        return self._explained(x)

    @property
    @alone
    def coef_(self) -> Array:
        """Weights (n_features,)."""
        return np.asarray(self._coefficients()[0][0])

    @property
    @alone
    def intercept_(self) -> float:
        """The intercept."""
        return float(self._coefficients()[1][0])

    @property
    @alone
    def coef_std_(self) -> Array:
        """Posterior standard deviations of `coef_`."""
        check_is_fitted(self, "learner_")
        return np.asarray(deviations(self.learner_, np.ones((1, 1)))[0])

    def _outcomes(self, y: Any, n: int) -> Array:
        """Check targets: a column of n finite numbers."""
        if y is None:
            raise ValueError(
                "This GAFRegressor estimator requires y to be passed, but the target y is None."
            )
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
        _validate.targets_in_range(targets, "y")
        return targets

    def _begun(
        self, rows: Any, outcomes: NDArray[Any], classes: Any, *, whole: bool, in_order: bool
    ) -> Learner:
        is_new = not hasattr(self, "learner_")
        if not is_new:
            return self.learner_
        return self._new_learner(rows, None, in_order=in_order, whole=whole)

    def _check_saved(self, learner: Any, n_features: Any, names: Any) -> None:
        super()._check_saved(learner, n_features, names)
        if learner.has_labels:
            raise ValueError("the saved learner is that of a classifier")
