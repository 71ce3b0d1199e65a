"""Estimators for river (https://riverml.xyz). This module alone imports river.

New features, missing features and new classes may turn up at any time.

>>> from river import datasets, metrics
>>> from river.evaluate import progressive_val_score
>>> data, score = datasets.Phishing(), metrics.LogLoss()
>>> progressive_val_score(data, GAFClassifier(), score)  # doctest: +ELLIPSIS
LogLoss: 0.2...
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

try:
    from river import base
except ModuleNotFoundError as error:
    if error.name != "river":
        raise
    raise ModuleNotFoundError(
        'mixable.river needs river: pip install "mixable[river]"', name="river"
    ) from None

from mixable import _validate, records
from mixable._alone import alone
from mixable._spelling import names_its_parameters
from mixable._types import Array
from mixable.learner import (
    Design,
    NamedLearner,
    design_of_classes,
    design_of_numbers,
    label,
    sampling,
)
from mixable.learner.class_weights import ClassWeight, checked
from mixable.learner.late import Forecasts

if TYPE_CHECKING:
    import pandas as pd


class _Estimator(NamedLearner):
    """What the two estimators share: how their inputs are made."""

    standardize: bool
    fit_intercept: bool
    kernel: str | None
    n_components: int
    gamma: float | None
    method: str
    effort: str
    columns: records.Columns | None

    def _declared(self) -> records.Columns | None:
        return self.columns

    def _begin(self) -> None:
        super()._begin()
        self._forecasts = Forecasts()

    @property
    def forgotten(self) -> int:
        """Records whose forecast is forgotten: more than 10,000 waited for their outcome."""
        assert self._forecasts is not None
        return self._forecasts.forgotten

    def _note(self, x: dict[Hashable, Any]) -> None:
        """A record was forecast: its outcome is learned with the inputs of now."""
        if self._learner is not None and self._forecasts is not None:
            self._forecasts.note(x)

    def _sample(self, x: dict[Hashable, Any], n: int, random_state: Any) -> Array | None:
        """Draws of the logits of a record, or of its number; None before the first example."""
        if self._learner is None:
            return None
        row = self._row(x)
        row = row[None] if isinstance(row, np.ndarray) else row
        return np.asarray(sampling.sample(self._learner, row, n, random_state)[:, 0])

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_forecasts"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._forecasts = Forecasts()
        super().__setstate__(state)

    def _options(self) -> dict[str, Any]:
        return {
            "standardize": self.standardize,
            "intercept": self.fit_intercept,
            "effort": self.effort,
        }

    @property
    def _features(self) -> tuple[Any, Any, Any]:
        """The kernel's features: how many, of which width, by which method."""
        return self.n_components, self.gamma, self.method


class GAFClassifier(_Estimator, base.MiniBatchClassifier):
    """Probabilities you can bet on, one dictionary at a time; nothing to tune.

    A pool of linear and curved forecasters (`mixable.Pool`). The linear one mixes over those of
    lam, beta, alpha and drift that are not given (`mixable.AutoGAF`). Features are scaled as they
    come, so that no `preprocessing.StandardScaler` is needed. A missing feature counts as its
    running mean; new features and new classes are added.

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
    structure
        What posteriors keep; None chooses by size. This and the next as in `mixable.GAFClassifier`.
    effort
        "low", "auto" or "high": how much time a forecast may take.
    forecaster
        Another multiclass forecaster class of the package to be used instead, with those of the
        four that are given.
    standardize
        Whether to scale each feature by its running mean and standard deviation.
    fit_intercept
        Whether to add a constant feature.
    kernel
        "auto" pools linear and curved forecasters, None is linear, "rbf" is one mixture with kernel
        features; this and the next three as in `mixable.GAFClassifier`.
    n_components
        Number of kernel features.
    gamma
        The kernel's inverse squared width; None mixes over three, 1/8, 1 and 16 over the number of
        columns of the first row.
    method
        "fourier" or "nystroem".
    columns
        What is declared of the columns of records: `mixable.records.Columns`. The kinds of the
        others are guessed. Text, categories, lists and times need no declaration if the first
        record has some.
    class_weight
        None, a dictionary, or "balanced", as in `mixable.GAFClassifier.partial_fit`.

    Examples
    --------
    >>> from river import datasets, metrics
    >>> from river.evaluate import progressive_val_score
    >>> data, score = datasets.ImageSegments(), metrics.CrossEntropy()
    >>> progressive_val_score(data, GAFClassifier(), score)  # doctest: +ELLIPSIS
    CrossEntropy: 0.15...
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
        kernel: str | None = "auto",
        n_components: int = 200,
        gamma: float | None = None,
        method: str = "fourier",
        columns: records.Columns | None = None,
        class_weight: ClassWeight = None,
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
        self.kernel = kernel
        self.n_components = n_components
        self.gamma = gamma
        self.method = method
        self.columns = columns
        self.class_weight = checked(class_weight)
        self._begin()

    @property
    def _multiclass(self) -> bool:
        return True

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

    def _labels(self) -> tuple[Hashable, ...]:
        return ()

    @alone
    def learn_one(self, x: dict[Hashable, Any], y: Hashable, w: float = 1.0) -> None:
        """Learn one example, its loss multiplied by `w`."""
        self._learn_weighed(x, label(y), w, self.class_weight)

    @alone
    def predict_proba_one(self, x: dict[Hashable, Any], **kwargs: Any) -> dict[Any, float]:
        """The probability of each class met so far."""
        p = self._probabilities(x)
        self._note(x)
        return p

    @alone
    def sample(
        self, x: dict[Hashable, Any], n: int = 1, random_state: Any = None
    ) -> dict[Any, Array]:
        """Draws (n,) of the logit of each class met so far, as `mixable.GAFClassifier.sample`."""
        draws = self._sample(x, n, random_state)
        return {} if draws is None else dict(zip(self._learner.labels, draws.T, strict=True))  # type: ignore[union-attr]

    @alone
    def learn_many(self, X: pd.DataFrame, y: pd.Series) -> None:
        """Learn the rows of a table in turn."""
        self._learn_many(X, [label(item) for item in y.tolist()], self.class_weight)

    @alone
    def predict_proba_many(self, X: pd.DataFrame) -> pd.DataFrame:
        """The probability of each class met so far, for each row."""
        import pandas as pd

        if self._learner is None or not self._learner.labels or not len(X):
            return pd.DataFrame(index=X.index)
        p = self._learner.predict(self._table(X))
        return pd.DataFrame(p, index=X.index, columns=self._learner.labels)


class GAFRegressor(_Estimator, base.MiniBatchRegressor):
    """Regression with intervals, curved by default, one dictionary at a time; nothing to tune.

    `mixable.AutoRidge` behind. Features are scaled as they come, missing ones count as their
    running mean, new ones are added. Text, categories, lists and times are taken as they are.

    Parameters
    ----------
    lam, drift
        Regularisation and process noise; None mixes over them. Given, they are for numbers only.
    effort
        "low", "auto" or "high": how much time a forecast may take.
    standardize, fit_intercept
        Whether to scale numbers by their running mean and deviation, and to add a constant feature.
    kernel
        "auto", None or "rbf"; this and the next three as in `mixable.GAFRegressor`.
    n_components
        Number of kernel features of each width.
    gamma
        Of "rbf": the kernel's inverse squared width; None mixes over three.
    method
        Of "rbf": "fourier" or "nystroem".
    columns
        What is declared of the columns of records, as in `GAFClassifier`.

    Examples
    --------
    >>> from river import datasets, metrics
    >>> from river.evaluate import progressive_val_score
    >>> data, score = datasets.TrumpApproval(), metrics.MAE()
    >>> progressive_val_score(data, GAFRegressor(), score)  # doctest: +ELLIPSIS
    MAE: 0.22...
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
        kernel: str | None = "auto",
        n_components: int = 200,
        gamma: float | None = None,
        method: str = "fourier",
        columns: records.Columns | None = None,
    ) -> None:
        self.lam = lam
        self.drift = drift
        self.effort = effort
        self.standardize = standardize
        self.fit_intercept = fit_intercept
        self.kernel = kernel
        self.n_components = n_components
        self.gamma = gamma
        self.method = method
        self.columns = columns
        self._begin()

    def _design(self) -> Design:
        fixed = {"lam": self.lam, "drift": self.drift}
        return design_of_numbers(
            fixed, kernel=self.kernel, features=self._features, **self._options()
        )

    def _labels(self) -> None:
        return None

    @alone
    def learn_one(self, x: dict[Hashable, Any], y: float, w: float = 1.0) -> None:
        """Learn one example, its loss multiplied by `w`."""
        self._learn_one(x, _validate.target_in_range(y, "y"), w)

    @alone
    def predict_one(self, x: dict[Hashable, Any]) -> float:
        """The mean of the forecast."""
        if self._learner is None:
            return 0.0
        mean = float(np.ravel(self._learner.predict(self._row(x)))[0])
        self._note(x)
        return mean

    @alone
    def predict_interval_one(
        self, x: dict[Hashable, Any], level: float = 0.9
    ) -> tuple[float, float]:
        """The interval that holds the target with probability `level`; at first, all numbers."""
        if self._learner is None:
            return -math.inf, math.inf
        low, high = np.ravel(self._learner.interval(self._row(x), level)).tolist()
        return low, high

    @alone
    def sample(self, x: dict[Hashable, Any], n: int = 1, random_state: Any = None) -> Array:
        """Draws (n,) of the mean of the target, as `mixable.GAFRegressor.sample`; at first, 0."""
        draws = self._sample(x, n, random_state)
        return np.zeros(_validate.count(n, "n")) if draws is None else draws

    @alone
    def learn_many(self, X: pd.DataFrame, y: pd.Series) -> None:
        """Learn the rows of a table in turn."""
        targets = _validate.targets(y, len(X)) if len(X) else np.empty(0)
        _validate.targets_in_range(targets, "y")
        self._learn_many(X, targets)

    @alone
    def predict_many(self, X: pd.DataFrame) -> pd.Series:
        """The mean of the forecast for each row."""
        import pandas as pd

        values = np.zeros(len(X))
        if self._learner is not None and len(X):
            values = self._learner.predict(self._table(X))
        return pd.Series(values, index=X.index, dtype=np.float64)
