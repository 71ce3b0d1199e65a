"""Why a forecast is as it is, and which columns matter: by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixable._types import Array
from mixable.experts import SparseGAF
from mixable.model.inputs import Inputs, ScaledInputs
from mixable.model.learner import Learner
from mixable.model.shapes import ShapedInputs
from mixable.records import Rows

Named = tuple[Hashable, Any, Any]  # a column, its value, and the rest of the record


@dataclass(frozen=True, kw_only=True)
class Contribution:
    """What one column of a record does to the forecast, beside the record without it.

    `log_odds` says for each class by how much the column raises the log-odds of the class against
    the rest, `deviation` how uncertain that is: the standard deviation of the column's weights in
    the expert that is always active. It is NaN where weights do not belong to columns, or have no
    posterior. `without` is the forecast without the column.
    """

    column: Hashable
    value: Any
    log_odds: dict[Any, float]
    deviation: dict[Any, float]
    without: dict[Any, float]

    @property
    def size(self) -> float:
        """The largest change of a log-odds, up or down."""
        return max((abs(each) for each in self.log_odds.values()), default=0.0)


@dataclass(frozen=True, kw_only=True)
class NumberContribution:
    """What one column of a record does to the forecast of a number, beside the record without it.

    `change` is the mean of the forecast less that of the forecast without the column, in the unit
    of the targets. `deviation` says how uncertain that is, by the column's weight in the linear
    expert; NaN where weights do not belong to columns. `without` is the mean without the column.
    """

    column: Hashable
    value: Any
    change: float
    deviation: float
    without: float

    @property
    def size(self) -> float:
        """The change, up or down."""
        return abs(self.change)


def explained(
    learner: Learner, record: Any, columns: Iterable[Named], names: list[Any] | None = None
) -> list[Any]:
    """What each column does to the forecast of a record, the most first.

    Those are `Contribution` or, of numbers, `NumberContribution`. Records are as `Learner.predict`
    takes them: one record of a list, one row of an array, or rows. `names` are the labels, if they
    are to be in another order than the learner's.
    """
    p, features = _forecast(learner, record), _features(learner, record)
    labels = learner.labels if learner.has_labels else None
    order = [] if labels is None else [labels.index(name) for name in names or labels]
    out: list[Contribution | NumberContribution] = []
    for column, value, rest in columns:
        q, without = _forecast(learner, rest), _features(learner, rest)
        if labels is None:
            change, deviation = p[0] - q[0], _deviation_of_mean(learner, features, without)
            numbers = {"change": change, "deviation": deviation, "without": q[0]}
            known = {name: float(each) for name, each in numbers.items()}
            out.append(NumberContribution(column=column, value=value, **known))
            continue
        changes = log_odds(p) - log_odds(q), _deviation(learner, features, without, p), q
        by_label = [{labels[c]: float(values[c]) for c in order} for values in changes]
        out.append(
            Contribution(
                column=column,
                value=value,
                log_odds=by_label[0],
                deviation=by_label[1],
                without=by_label[2],
            )
        )
    return sorted(out, key=lambda each: -each.size)


def log_odds(p: Array) -> Array:
    """Of each class against all others. With two classes they are each other's negative."""
    others = np.array([np.delete(p, c).sum() for c in range(len(p))])
    least = np.finfo(float).tiny
    return np.asarray(np.log(np.maximum(p, least)) - np.log(np.maximum(others, least)))


def _forecast(learner: Learner, record: Any) -> Array:
    """Probabilities (K,), or a mean (1,)."""
    p = np.asarray(learner.predict(record), dtype=np.float64)
    return p.reshape(-1, p.shape[-1])[0] if learner.has_labels else p.reshape(-1)


def first_expert(learner: Learner) -> tuple[Any, Inputs]:
    """The expert that is always active, with its inputs."""
    return learner.pool.experts[0], learner.pool.inputs[0]


def _features(learner: Learner, record: Any) -> Any:
    """What the first expert sees: values by key, or scaled numbers; None if it has no such."""
    forecaster, inputs = first_expert(learner)
    rows: Any = learner._rows(record)
    if isinstance(inputs, ShapedInputs):
        x = np.ascontiguousarray(rows.dense[0] if isinstance(rows, Rows) else np.ravel(rows))
        values: dict[int, float] = {}
        keys, numbers = inputs.shapes.features(x, inputs.transform(x)[len(x) :])
        pairs = [*zip(keys, numbers, strict=True)]
        if isinstance(rows, Rows):
            pairs += zip(rows.keys.tolist(), rows.values.tolist(), strict=True)
        for key, value in pairs:
            values[key] = values.get(key, 0.0) + value
        return values
    has_stage = learner.pool.stage is not None  # its expert sees what regressions say
    if (
        isinstance(inputs, ScaledInputs)
        and hasattr(forecaster, "feature_covariances")
        and not has_stage
    ):
        z = inputs.transform(np.ascontiguousarray(np.ravel(record)))
        return z[: forecaster.feature_covariances().shape[0]]
    return None


def _deviation(learner: Learner, features: Any, rest: Any, p: Array) -> Array:
    """The standard deviation of the change in each log-odds that the features make."""
    forecaster, K = first_expert(learner)[0], len(p)
    if features is None or forecaster.n_classes != K:
        return np.full(K, math.nan)
    # A log-odds changes with each class's linear prediction like this, at the forecast p.
    others = np.maximum(1 - p, np.finfo(float).tiny)
    contrasts = np.eye(K) - (1 - np.eye(K)) * p / others[:, None]
    if isinstance(forecaster, SparseGAF):
        keys = [key for key in features.keys() | rest.keys() if features.get(key) != rest.get(key)]
        keys.sort()
        change = np.array([features.get(key, 0.0) - rest.get(key, 0.0) for key in keys])
        each = forecaster.coef_std_of(keys) * change  # (K, keys)
        if K == 2:  # the weights of the classes are each other's negative
            return np.asarray(np.sqrt((each.sum(axis=0) ** 2).sum()) * np.ones(2))
        return np.asarray(np.sqrt(contrasts**2 @ (each**2).sum(axis=1)))
    change = features - rest
    covariance = np.einsum("l,lij->ij", change**2, forecaster.feature_covariances())
    variances = np.einsum("ci,ij,cj->c", contrasts, covariance, contrasts)
    return np.asarray(np.sqrt(np.maximum(variances, 0.0)))


def _deviation_of_mean(learner: Learner, features: Any, rest: Any) -> float:
    """The standard deviation of the change in the mean that the features make."""
    if features is None:
        return math.nan
    variances = first_expert(learner)[0].feature_covariances()[:, 0, 0]
    return math.sqrt(max(float((features - rest) ** 2 @ variances), 0.0))


def without_each(
    x: dict[Hashable, Any], known: Callable[[Hashable], bool]
) -> Iterable[tuple[Hashable, Any, dict[Hashable, Any]]]:
    """Each column of a dictionary that is known, its value, and the others."""
    for name, value in x.items():
        if known(name):
            yield name, value, {other: v for other, v in x.items() if other != name}


def without_each_entry(row: NDArray[Any], names: Iterable[Hashable]) -> Iterable[Named]:
    """The same of a row of numbers; what is missing is no column of the record."""
    for place, name in enumerate(names):
        if not math.isnan(row[place]):
            rest = row.copy()
            rest[place] = math.nan
            yield name, float(row[place]), rest


def without_each_key(rows: Rows, names: Sequence[Hashable]) -> Iterable[Named]:
    """The same of a row of a sparse matrix; what is 0 is no column of the record."""
    for place, (key, value) in enumerate(zip(rows.keys.tolist(), rows.values, strict=True)):
        others = np.arange(len(rows.keys)) != place
        keys = rows.keys[others]
        rest = Rows.of(rows.dense, np.array([0, len(keys)]), keys, rows.values[others])
        yield names[key], float(value), rest
