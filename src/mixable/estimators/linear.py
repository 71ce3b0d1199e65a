"""Weights by class, as scikit-learn's LogisticRegression has them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from mixable._alone import alone
from mixable._types import Array
from mixable.estimators.base import StreamEstimator
from mixable.learner.coefficients import coefficients, deviations


class LinearByClass(StreamEstimator):
    """A classifier whose weights can be read."""

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
            order = self._order() if len(self.learner_.labels) == 2 else np.arange(2)
            return np.asarray(values[order[[1]]] - values[order[[0]]])
        return np.asarray(values[self._order()])
