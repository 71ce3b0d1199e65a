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
from dataclasses import dataclass
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

from mixable import _validate
from mixable._alone import alone
from mixable._types import Array, Untyped
from mixable.model import NamedLearner, class_weights, label, sampling
from mixable.model.late import Forecasts
from mixable.model.parameters import (
    ClassParameters,
    NumberParameters,
    Parameters,
    estimator,
    with_defaults,
)
from mixable.records import Columns

if TYPE_CHECKING:
    import pandas as pd

    class MiniBatchClassifier(Untyped):
        """River has no types."""

    class MiniBatchRegressor(Untyped):
        """Likewise."""
else:
    MiniBatchClassifier, MiniBatchRegressor = base.MiniBatchClassifier, base.MiniBatchRegressor


class _Estimator(NamedLearner, Parameters):
    """What the two estimators share: outcomes that come late, and what is saved."""

    _shared = Parameters._shared

    def __post_init__(self) -> None:
        self._begin()

    def _declared(self) -> Columns | None:
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
        self._restore(with_defaults(type(self), state, {"_columns", "_learner", "_engine"}))


@estimator
@dataclass(kw_only=True, eq=False, repr=False)
class GAFClassifier(ClassParameters, _Estimator, MiniBatchClassifier):
    """Probabilities you can bet on, one dictionary at a time; nothing to tune.

    A pool of linear and nonlinear experts (`mixable.Pool`). The linear one mixes over those of lam,
    beta, alpha and drift that are not given (`mixable.AutoGAF`). Features are scaled as they come,
    so that no `preprocessing.StandardScaler` is needed. A missing feature counts as its running
    mean; new features and new classes are added. Parameters mean what they do for
    `mixable.GAFClassifier`.

    Examples
    --------
    >>> from river import datasets, metrics
    >>> from river.evaluate import progressive_val_score
    >>> data, score = datasets.ImageSegments(), metrics.CrossEntropy()
    >>> progressive_val_score(data, GAFClassifier(), score)  # doctest: +ELLIPSIS
    CrossEntropy: 0.1...
    """

    def __post_init__(self) -> None:
        class_weights.checked(self.class_weight)
        super().__post_init__()

    @property
    def _multiclass(self) -> bool:
        return True

    def _labels(self) -> tuple[Hashable, ...]:
        return ()

    @alone
    def learn_one(self, x: dict[Hashable, Any], y: Hashable, w: float = 1.0) -> None:
        """Learn one example, its loss multiplied by `w`."""
        self._learn_weighed(x, label(y), w, self.class_weight)

    @alone
    def predict_proba_one(self, x: dict[Hashable, Any], **kwargs: Any) -> dict[Any, float]:
        """The probability of each class observed so far."""
        p = self._probabilities(x)
        self._note(x)
        return p

    @alone
    def sample(
        self, x: dict[Hashable, Any], n: int = 1, random_state: Any = None
    ) -> dict[Any, Array]:
        """Draws (n,) of the logit of each class so far, as `mixable.GAFClassifier.sample`."""
        draws = self._sample(x, n, random_state)
        if draws is None or self._learner is None:
            return {}
        return dict(zip(self._learner.labels, draws.T, strict=True))

    @alone
    def learn_many(self, X: pd.DataFrame, y: pd.Series) -> None:
        """Learn the rows of a table in turn."""
        self._learn_many(X, [label(item) for item in y.tolist()], self.class_weight)

    @alone
    def predict_proba_many(self, X: pd.DataFrame) -> pd.DataFrame:
        """The probability of each class observed so far, for each row."""
        import pandas as pd

        if self._learner is None or not self._learner.labels or not len(X):
            return pd.DataFrame(index=X.index)
        p = self._learner.predict(self._table(X))
        return pd.DataFrame(p, index=X.index, columns=self._learner.labels)


@estimator
@dataclass(kw_only=True, eq=False, repr=False)
class GAFRegressor(NumberParameters, _Estimator, MiniBatchRegressor):
    """Regression with intervals, nonlinear by default, one dictionary at a time; nothing to tune.

    `mixable.AutoRidge` behind. Features are scaled as they come, missing ones count as their
    running mean, new ones are added. Text, categories, lists and times are taken as they are; `lam`
    and `drift` are for numbers only. Parameters mean what they do for `mixable.GAFRegressor`.

    Examples
    --------
    >>> from river import datasets, metrics
    >>> from river.evaluate import progressive_val_score
    >>> data, score = datasets.TrumpApproval(), metrics.MAE()
    >>> progressive_val_score(data, GAFRegressor(), score)  # doctest: +ELLIPSIS
    MAE: 0.2...
    """

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
