"""Estimators for river (https://riverml.xyz): dictionaries in, dictionaries out. This module alone imports river.

New features, missing features and new classes may turn up at any time.

>>> from river import datasets, evaluate, metrics
>>> model = GAFClassifier()
>>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.LogLoss())  # doctest: +ELLIPSIS
LogLoss: 0.2...
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from river import base

from mixable import _validate
from mixable._engine import Design, Engine
from mixable.kernels import KernelPlan

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]


class _Dictionaries:
    """Rows of numbers from dictionaries of features, which may come and go; a feature that is missing is NaN."""

    _columns: dict[Hashable, int]
    _engine: Engine | None
    standardize: bool
    fit_intercept: bool
    kernel: str | None = None  # these four also of models that were saved before there were kernels
    n_components: int = 200
    gamma: float | None = None
    method: str = "fourier"

    def _kernel(self) -> KernelPlan | None:
        return KernelPlan.of(self.kernel, self.n_components, self.gamma, self.method)

    def _design(self) -> Design:
        raise NotImplementedError

    def _labels(self) -> tuple[Hashable, ...] | None:
        raise NotImplementedError

    def _begin(self) -> None:
        self._columns, self._engine = {}, None

    def _plain_row(self, x: dict[Hashable, Any]) -> Array | None:
        """Make a row of x if it has all features that are known, no others, and each a finite float."""
        if len(x) != len(self._columns):
            return None
        try:
            values = [x[name] for name in self._columns]
        except KeyError:
            return None
        if not all(type(value) is float for value in values) or not math.isfinite(sum(values)):
            return None
        return np.array(values)

    def _row(self, x: dict[Hashable, Any]) -> Array:
        """Make a row of what is known of x."""
        plain = self._plain_row(x)
        if plain is not None:
            return plain
        row = np.full(len(self._columns), math.nan)
        for name, value in x.items():
            column = self._columns.get(name)
            if column is not None:
                row[column] = _number(name, value)
        return row

    def _take_in(self, names: Any) -> Engine | None:
        """Make room for features that are new; None while there is nothing to learn from."""
        new = [name for name in names if name not in self._columns]
        if self._engine is None:
            if not new and not self.fit_intercept:
                return None
            self._engine = Engine(self._design(), len(new), self._labels())
        elif new:
            self._engine.add_features(len(new))
        for name in new:
            self._columns[name] = len(self._columns)
        return self._engine

    def _learn_one(self, x: dict[Hashable, Any], y: Any, w: float) -> None:
        if w != 1.0:
            w = _validate.weight(w)
        row = self._plain_row(x) if self._engine else None
        if row is not None and self._engine is not None:
            return self._engine.learn_row(row, y, w)
        for name, value in x.items():
            _number(name, value)  # refuse before anything is taken in
        engine = self._take_in(x)
        if engine is not None:
            engine.learn_row(self._row(x), y, w)

    def _learn_many(self, X: pd.DataFrame, y: Any) -> None:
        if not len(X):
            return
        if len(set(X.columns)) < X.shape[1]:
            raise ValueError("X has two columns of the same name")
        if len(y) != len(X):
            raise ValueError(f"y must have {len(X)} entries to go with X, got {len(y)}")
        _finite_or_missing(X.to_numpy(dtype=np.float64, na_value=math.nan))  # refuse before anything is taken in
        engine = self._take_in(X.columns)
        if engine is not None:
            engine.learn(self._table(X), y)

    def _table(self, X: pd.DataFrame) -> Array:
        """The same for a table: columns of known features, NaN for those that are missing."""
        table = np.full((len(X), len(self._columns)), math.nan)
        for name in X.columns:
            if name in self._columns:
                table[:, self._columns[name]] = X[name].to_numpy(dtype=np.float64, na_value=math.nan)
        return _finite_or_missing(table)


def _finite_or_missing(table: Array) -> Array:
    if np.isinf(table).any():
        raise ValueError("X has infinite entries")
    return table


def _number(name: Hashable, value: Any) -> float:
    """The value of a feature; NaN and None count as missing."""
    if value is None:
        return math.nan
    if not isinstance(value, (numbers.Real, np.bool_)):
        raise TypeError(f"feature {name!r} must be a number, got {value!r:.80}; encode it first, say with preprocessing.OneHotEncoder")
    number = float(value)
    if math.isinf(number):
        raise ValueError(f"feature {name!r} is {number}; features must be finite")
    return number


def _label(y: Any) -> Hashable:
    """Refuse what cannot be a class: None, NaN, lists."""
    if not isinstance(y, Hashable):
        raise TypeError(f"a label must be hashable, got {y!r:.80}")
    if y is None or y != y:
        raise ValueError(f"a label must be a class, got {y!r}")
    return y


class GAFClassifier(_Dictionaries, base.MiniBatchClassifier):
    """Probabilities you can bet on, one dictionary at a time; nothing to tune.

    Parameters left at None are mixed over (`mixable.AutoGAF`); given ones are fixed. Features are scaled as they come, so that no
    `preprocessing.StandardScaler` is needed. A missing feature counts as its running mean; new features and new classes are taken in.

    Parameters
    ----------
    lam
        Regularisation, as in `mixable.GAF`.
    beta
        Curvature of the surrogates, likewise.
    alpha
        Hedge width, likewise.
    drift
        Process noise, likewise.
    forecaster
        Another multiclass forecaster class of the package to be used instead, with those of the four that are given.
    standardize
        Whether to scale each feature by its running mean and standard deviation.
    fit_intercept
        Whether to add a constant feature.
    kernel
        None for a linear model, "rbf" for kernel features beside the linear ones; this and the next three as in `mixable.GAFClassifier`.
    n_components
        Number of kernel features.
    gamma
        The kernel's inverse squared width; None mixes over three.
    method
        "fourier" or "nystroem".

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> evaluate.progressive_val_score(datasets.ImageSegments(), GAFClassifier(), metrics.CrossEntropy())  # doctest: +ELLIPSIS
    CrossEntropy: 0.22...

    """

    def __init__(
        self,
        lam: float | None = None,
        beta: float | None = None,
        alpha: float | None = None,
        drift: float | None = None,
        forecaster: type | None = None,
        standardize: bool = True,
        fit_intercept: bool = True,
        kernel: str | None = None,
        n_components: int = 200,
        gamma: float | None = None,
        method: str = "fourier",
    ) -> None:
        self.lam = lam
        self.beta = beta
        self.alpha = alpha
        self.drift = drift
        self.forecaster = forecaster
        self.standardize = standardize
        self.fit_intercept = fit_intercept
        self.kernel = kernel
        self.n_components = n_components
        self.gamma = gamma
        self.method = method
        self._begin()

    @property
    def _multiclass(self) -> bool:
        return True

    def _design(self) -> Design:
        fixed = {"lam": self.lam, "beta": self.beta, "alpha": self.alpha, "drift": self.drift}
        return Design.for_classes(self.forecaster, fixed, self.standardize, self.fit_intercept, 1, self._kernel())

    def _labels(self) -> tuple[Hashable, ...]:
        return ()

    def learn_one(self, x: dict[Hashable, Any], y: Hashable, w: float = 1.0) -> None:
        """Learn one example, its loss multiplied by `w`."""
        self._learn_one(x, _label(y), w)

    def predict_proba_one(self, x: dict[Hashable, Any], **kwargs: Any) -> dict[Any, float]:
        """The probability of each class met so far."""
        if self._engine is None or not self._engine.labels:
            return {}
        return dict(zip(self._engine.labels, self._engine.look(self._row(x)).tolist(), strict=True))

    def learn_many(self, X: pd.DataFrame, y: pd.Series) -> None:
        """Learn the rows of a table in turn."""
        self._learn_many(X, [_label(label) for label in y.tolist()])

    def predict_proba_many(self, X: pd.DataFrame) -> pd.DataFrame:
        """The probability of each class met so far, for each row."""
        import pandas as pd

        if self._engine is None or not self._engine.labels or not len(X):
            return pd.DataFrame(index=X.index)
        return pd.DataFrame(self._engine.look(self._table(X)), index=X.index, columns=self._engine.labels)


class GAFRegressor(_Dictionaries, base.MiniBatchRegressor):
    """Linear regression, one dictionary at a time; nothing to tune, and honest about its uncertainty.

    `mixable.AutoRidge` behind. Features are scaled as they come, missing ones count as their running mean, new ones are taken in.

    Parameters
    ----------
    lam
        Regularisation; None mixes over it.
    drift
        Process noise; None mixes over it.
    standardize
        Whether to scale each feature by its running mean and standard deviation.
    fit_intercept
        Whether to add a constant feature.
    kernel
        None for a linear model, "rbf" for kernel features beside the linear ones; this and the next three as in `mixable.GAFRegressor`.
    n_components
        Number of kernel features.
    gamma
        The kernel's inverse squared width; None mixes over three.
    method
        "fourier" or "nystroem".

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), GAFRegressor(), metrics.MAE())  # doctest: +ELLIPSIS
    MAE: 0.229...

    """

    def __init__(
        self,
        lam: float | None = None,
        drift: float | None = None,
        standardize: bool = True,
        fit_intercept: bool = True,
        kernel: str | None = None,
        n_components: int = 200,
        gamma: float | None = None,
        method: str = "fourier",
    ) -> None:
        self.lam = lam
        self.drift = drift
        self.standardize = standardize
        self.fit_intercept = fit_intercept
        self.kernel = kernel
        self.n_components = n_components
        self.gamma = gamma
        self.method = method
        self._begin()

    def _design(self) -> Design:
        return Design.for_numbers({"lam": self.lam, "drift": self.drift}, self.standardize, self.fit_intercept, 1, self._kernel())

    def _labels(self) -> None:
        return None

    def learn_one(self, x: dict[Hashable, Any], y: float, w: float = 1.0) -> None:
        """Learn one example, its loss multiplied by `w`."""
        self._learn_one(x, _validate.target(y), w)

    def predict_one(self, x: dict[Hashable, Any]) -> float:
        """The mean of the forecast."""
        return 0.0 if self._engine is None else float(self._engine.look(self._row(x)))

    def predict_interval_one(self, x: dict[Hashable, Any], level: float = 0.9) -> tuple[float, float]:
        """The interval that holds the target with probability `level`; all numbers before anything was learned."""
        if self._engine is None:
            return -math.inf, math.inf
        return self._engine.interval(self._row(x), level)

    def learn_many(self, X: pd.DataFrame, y: pd.Series) -> None:
        """Learn the rows of a table in turn."""
        self._learn_many(X, _validate.targets(y, len(X)) if len(X) else np.empty(0))

    def predict_many(self, X: pd.DataFrame) -> pd.Series:
        """The mean of the forecast for each row."""
        import pandas as pd

        values = np.zeros(len(X)) if self._engine is None or not len(X) else self._engine.look(self._table(X))
        return pd.Series(values, index=X.index, dtype=np.float64)
