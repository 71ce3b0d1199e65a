"""Scores of forecasts, of a table or of a stream: log loss, Brier score, accuracy, calibration.

Log loss and accuracy of tables are scikit-learn's business too (`sklearn.metrics.log_loss`,
`accuracy_score`); what is here also accepts labels that the forecaster had never observed, whose
probability is 0: they cost -ln(2.2e-16) = 36 nats, as much as certainty of something else, and
never nothing.

>>> p = np.array([[0.8, 0.2], [0.4, 0.6], [0.9, 0.1]])
>>> y = [0, 1, 1]
>>> round(log_loss(p, y), 3), round(brier(p, y), 3), round(accuracy(p, y), 3)
(1.012, 0.673, 0.667)
>>> stream = Scores()
>>> for row, label in zip(p, y): stream.update(row, label)
>>> round(stream.log_loss, 3), stream.n
(1.012, 3)
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mixable import _validate
from mixable._classwise import Bin as Bin
from mixable._classwise import ClassScore as ClassScore
from mixable._classwise import PerClass, bins_of
from mixable._mergeable import Mergeable
from mixable._types import Array, Labels, Stream, Truths

Weights = ArrayLike | None  # (n,); None is 1 for each
Classes = Sequence[Hashable] | None  # labels of the columns; None is 0..K-1

LEAST = float(np.finfo(np.float64).eps)
"""The least probability that a label is charged for."""

LARGEST_WEIGHT = 1e280
"""Of a forecast: the sums over 2^53 of them are finite, and can be saved."""


class Scores(Mergeable):
    """Scores of a stream of probabilities, updated one forecast at a time, in constant memory.

    Parameters
    ----------
    bins
        Number of equally wide bins of confidence for the calibration error.
    """

    def __init__(self, bins: int = 10) -> None:
        self.bins = _validate.count(bins, "bins")
        self.n = 0
        self._loss = self._square = self._weight = 0.0
        self._count = np.zeros(self.bins, dtype=np.int_)
        self._sure, self._right, self._binned_weight = np.zeros((3, self.bins))
        self._classes = PerClass(self.bins)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_classes": self._classes.state()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        count = state["_count"]
        n = _validate.count(state["n"], "n", least=0, most=_validate.MOST_STEPS)
        bins = _validate.count(state["bins"], "bins")
        is_counts = isinstance(count, np.ndarray) and count.dtype.kind == "i"
        if not is_counts or count.shape != (bins,) or (count < 0).any() or count.sum() != n:
            raise ValueError(f"the saved counts must be those of {n} forecasts in {bins} bins")
        self.__init__(bins)  # type: ignore[misc]
        self.n, self._count = n, count
        for name in ("_loss", "_square", "_weight"):
            setattr(self, name, _validate.real(state[name], name, least=0))
        for name in ("_sure", "_right", "_binned_weight"):
            values = _validate.saved(state[name], (bins,), name, most=1e308)
            if (values < 0).any():
                raise ValueError(f"the saved {name} must be at least 0")
            setattr(self, name, values)
        # A forecast is at most certain, and right or not: no bin has more of either than weight.
        most = 1.001 * self._binned_weight
        with np.errstate(over="ignore"):
            total = float(self._binned_weight.sum())
        fits = (self._sure <= most).all() and (self._right <= most).all()
        if not fits or abs(total - self._weight) > 1e-6 * self._weight:
            raise ValueError("the saved scores of the bins do not go with their weights")
        if "_classes" in state:  # the first scores that were saved did not tell classes apart
            self._classes.restore(state["_classes"])

    def update(self, p: ArrayLike | Mapping[Any, float], y: Hashable, weight: float = 1.0) -> None:
        """Count one forecast: probabilities (K,) or by label, and the label.

        A label without a probability is one that the forecaster did not know.
        """
        weight = _validate.real(weight, "weight", least=0, most=LARGEST_WEIGHT)
        labels: Sequence[Hashable]
        if isinstance(p, Mapping):
            labels = list(p)
            position = labels.index(y) if y in p else -1
            values = np.array([float(p[label]) for label in labels])
        else:
            values = _validate.as_floats(p, "p")
            if values.ndim != 1:
                raise ValueError(f"p must be one row of probabilities, got shape {values.shape}")
            y = position = _validate.label(y, 2**62)
            position = position if position < len(values) else -1
            labels = range(len(values))
        if not _are_probabilities(values[None, :])[0]:
            raise ValueError(
                "p must be probabilities that sum to 1, or all 0 if no class was known"
            )
        weights = np.array([weight])
        self._add(values[None, :], np.array([position]), weights)
        self._classes.add(values[None, :], weights, columns=labels, y=[y])

    def update_many(
        self, p: ArrayLike, y: ArrayLike, weight: Weights = None, *, classes: Classes = None
    ) -> None:
        """Count the forecasts (n, K) of n labels; the columns are for 0..K-1, or for `classes`.

        Other labels count as unknown to the forecaster, and a row of zeros as that of one who knew
        none.
        """
        values, positions = _table(p, y, classes)
        weights = _validate.weights(weight, len(values))
        weights = np.ones(len(values)) if weights is None else weights
        _validate.refuse(weights > LARGEST_WEIGHT, weights, "weight", "at most 1e280 can be summed")
        self._add(values, positions, weights)
        columns = range(values.shape[1]) if classes is None else _plain(classes, "classes")
        self._classes.add(values, weights, columns=columns, y=_plain(y, "y"))

    def _add(self, p: Array, y: Labels, weight: Array) -> None:
        n, K = p.shape
        own = of_labels(p, y)
        self.n += n
        self._weight = _added(self._weight, weight)
        self._loss = _added(self._loss, weight * -np.log(np.maximum(own, LEAST)))
        self._square = _added(self._square, weight * ((p * p).sum(axis=1) - 2 * own + 1))
        sure = p.max(axis=1) if K else np.zeros(n)
        right = (y >= 0) & (p.argmax(axis=1) == y) & (sure > 0) if K else np.zeros(n, dtype=bool)
        bins = np.minimum((sure * self.bins).astype(np.int_), self.bins - 1)
        np.add.at(self._count, bins, 1)
        np.add.at(self._sure, bins, weight * sure)
        np.add.at(self._right, bins, np.where(right, weight, 0.0))
        np.add.at(self._binned_weight, bins, weight)

    @property
    def log_loss(self) -> float:
        """Mean log loss in nats; NaN before the first forecast."""
        return self._mean(self._loss)

    @property
    def brier(self) -> float:
        """Mean Brier score: the squared distance of the probabilities from the outcome, 0 to 2."""
        return self._mean(self._square)

    @property
    def accuracy(self) -> float:
        """How often the most probable label was right."""
        return self._mean(float(self._right.sum()))

    @property
    def calibration_error(self) -> float:
        """Mean distance between how sure the forecasts of a bin were and how often right."""
        return self._mean(float(np.abs(self._sure - self._right).sum()))

    @property
    def classwise_error(self) -> float:
        """The calibration error of each class, averaged over the classes; NaN without any.

        The class-wise expected calibration error of Kull and others (2019): every class counts the
        same, and not only the most probable one of each forecast.
        """
        errors = [score.error for score in self.by_class()]
        return sum(errors) / len(errors) if errors else float("nan")

    @property
    def worst_class(self) -> ClassScore | None:
        """The class whose calibration error is largest for its size; of those that came 30 times.

        None before the first forecast.
        """
        return self._classes.worst()

    def by_class(self) -> list[ClassScore]:
        """For each class, the mean forecast, the rate, and the calibration error."""
        return self._classes.scores()

    def _fresh(self) -> Scores:
        return Scores(self.bins)

    def _shared(self) -> dict[str, Any]:
        return {"bins": self.bins}

    def _combine(
        self, others: Sequence[Scores], base: Scores | None, changes: Sequence[Any] = ()
    ) -> Scores:
        out, before = self._fresh(), base or self._fresh()
        _add_up(out, vars(out).keys() - {"bins", "_classes"}, self, others, before)
        for scores in (self, *others):
            out._classes.include(scores._classes)
        for _ in others:
            out._classes.include(before._classes, -1)
        return out

    def _mean(self, total: float) -> float:
        return total / self._weight if self._weight > 0 else float("nan")

    def reliability(self) -> list[Bin]:
        """The table behind `calibration_error`: a row for each bin that is not empty."""
        return bins_of(self._count, self._binned_weight, sure=self._sure, right=self._right)

    def reliability_of(self, label: Hashable) -> list[Bin]:
        """The same for one class: the means of its forecasts, and how often it came."""
        count, weight, forecast, outcome = self._classes.table(label)
        return bins_of(count, weight, sure=forecast, right=outcome)


class NumberScores(Mergeable):
    """Scores of a stream of forecasts of numbers, each a mean and a standard deviation.

    CRPS and the interval are those of the normal distribution with that mean and deviation.

    Parameters
    ----------
    level
        The probability of the interval whose coverage is counted.

    Examples
    --------
    >>> scores = NumberScores()
    >>> for y in (1.0, 2.0, 6.0): scores.update(2.0, 1.0, y)
    >>> round(scores.rmse, 3), round(scores.crps, 3), round(scores.coverage, 3)
    (2.38, 1.424, 0.667)
    """

    _SUMS = ("_square", "_absolute", "_crps", "_covered")

    def __init__(self, level: float = 0.9) -> None:
        self.level = _validate.real(level, "level", least=0, most=1)
        self.n = 0
        self._square = self._absolute = self._crps = self._covered = 0.0

    def update(
        self, mean: float, std: float, y: float, interval: Sequence[float] | None = None
    ) -> None:
        """Count one forecast, and the number that came; `interval` if it is not the normal's."""
        miss = abs(y - mean)
        self.n += 1
        self._square = min(self._square + miss * miss, 1e300)
        self._absolute += miss
        self._crps += crps(mean, std, y)
        reach = self.quantile * std
        low, high = (mean - reach, mean + reach) if interval is None else interval
        self._covered += low <= y <= high

    @property
    def quantile(self) -> float:
        """How many standard deviations half an interval has."""
        return NormalDist().inv_cdf((1 + self.level) / 2)

    @property
    def rmse(self) -> float:
        """Root of the mean squared error; NaN before the first forecast."""
        return math.sqrt(self._mean(self._square))

    @property
    def mae(self) -> float:
        """Mean distance between the mean of the forecast and the number."""
        return self._mean(self._absolute)

    @property
    def crps(self) -> float:
        """Mean continuous ranked probability score, in the unit of the numbers."""
        return self._mean(self._crps)

    @property
    def coverage(self) -> float:
        """How often the number was within the interval."""
        return self._mean(self._covered)

    def _mean(self, total: float) -> float:
        return total / self.n if self.n else float("nan")

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["level"])  # type: ignore[misc]
        self.n = _validate.count(state["n"], "n", least=0, most=_validate.MOST_STEPS)
        for name in self._SUMS:
            setattr(self, name, _validate.real(state[name], name, least=0))
        if self._covered > self.n:
            raise ValueError("the saved scores cover more numbers than there were")

    def _fresh(self) -> NumberScores:
        return NumberScores(self.level)

    def _shared(self) -> dict[str, Any]:
        return {"level": self.level}

    def _combine(
        self, others: Sequence[NumberScores], base: NumberScores | None, changes: Sequence[Any] = ()
    ) -> NumberScores:
        out = self._fresh()
        _add_up(out, ("n", *self._SUMS), self, others, base or self._fresh())
        return out


def _add_up(out: Any, names: Iterable[str], start: Any, others: Sequence[Any], base: Any) -> None:
    """Sums over forecasts: those of start + the sum of (other - base)."""
    for name in names:
        added = sum(getattr(other, name) - getattr(base, name) for other in others)
        setattr(out, name, getattr(start, name) + added)


def crps(mean: float, std: float, y: float) -> float:
    """Continuous ranked probability score of a normal distribution; of std 0, the distance."""
    if not std > 0:
        return abs(y - mean)
    z = (y - mean) / std
    density = math.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
    return std * (z * math.erf(z / math.sqrt(2)) + 2 * density - 1 / math.sqrt(math.pi))


def of_labels(p: Array, y: Labels) -> Array:
    """The probability of each label, by its column; 0 for those without one, -1."""
    if not p.shape[1]:
        return np.zeros(len(p))
    return np.where(y >= 0, p[np.arange(len(p)), np.maximum(y, 0)], 0.0)


def _added(total: float, values: Array) -> float:
    """A sum one by one, so that it does not depend on how forecasts arrive in tables."""
    return float(np.cumsum(np.concatenate([[total], values]))[-1])


def scores(
    p: ArrayLike, y: ArrayLike, *, weight: Weights = None, classes: Classes = None, bins: int = 10
) -> Scores:
    """All scores of a table of forecasts. The other functions here return one of them.

    Parameters
    ----------
    p
        Probabilities (n, K): a row for each forecast, a column for each class. A row of zeros is a
        forecast of a model that knew no class yet.
    y
        The labels (n,) that came: 0 to K - 1, or those of `classes`. A label without a column has
        the probability 0.
    weight
        How much each forecast counts (n,). None: 1 each.
    classes
        The labels of the columns. None: 0 to K - 1.
    bins
        How many bins of equal width from 0 to 1 calibration is measured in.

    Examples
    --------
    >>> found = scores([[0.8, 0.2], [0.4, 0.6]], ["no", "yes"], classes=["no", "yes"])
    >>> round(found.log_loss, 2), found.accuracy
    (0.37, 1.0)
    """
    out = Scores(bins)
    out.update_many(p, y, weight, classes=classes)
    return out


def log_loss(
    p: ArrayLike, y: ArrayLike, weight: Weights = None, *, classes: Classes = None
) -> float:
    """Mean of -ln(the probability of what came), in nats; parameters as in `scores`.

    `losses.log_loss` has one for each row.
    """
    return scores(p, y, weight=weight, classes=classes).log_loss


def brier(p: ArrayLike, y: ArrayLike, weight: Weights = None, *, classes: Classes = None) -> float:
    """Mean squared distance of probabilities from the outcome, 0 to 2; see `scores`."""
    return scores(p, y, weight=weight, classes=classes).brier


def accuracy(
    p: ArrayLike, y: ArrayLike, weight: Weights = None, *, classes: Classes = None
) -> float:
    """How often the most probable label was right; parameters as in `scores`."""
    return scores(p, y, weight=weight, classes=classes).accuracy


def calibration_error(
    p: ArrayLike, y: ArrayLike, *, weight: Weights = None, classes: Classes = None, bins: int = 10
) -> float:
    """Expected calibration error; parameters as in `scores`.

    Forecasts are put into bins by the probability of their most probable label. It is the mean
    distance between how sure those of a bin were and how often they were right.
    """
    return scores(p, y, weight=weight, classes=classes, bins=bins).calibration_error


def classwise_error(
    p: ArrayLike, y: ArrayLike, *, weight: Weights = None, classes: Classes = None, bins: int = 10
) -> float:
    """The calibration error of each class, averaged over the classes; see `scores`.

    Every class counts the same, and not only the most probable one of each forecast.
    """
    return scores(p, y, weight=weight, classes=classes, bins=bins).classwise_error


def reliability(
    p: ArrayLike, y: ArrayLike, *, weight: Weights = None, classes: Classes = None, bins: int = 10
) -> list[Bin]:
    """The table behind `calibration_error`: a row for each bin that is not empty."""
    return scores(p, y, weight=weight, classes=classes, bins=bins).reliability()


def _are_probabilities(p: Array) -> Truths:
    """Which rows are at least 0 and sum to 1, or to 0 where no class was known."""
    total = p.sum(axis=1)
    is_total = (np.abs(total - 1) < 1e-6) | (total == 0)
    return np.asarray(np.isfinite(p).all(axis=1) & (p >= 0).all(axis=1) & is_total)


def _table(p: ArrayLike, y: ArrayLike, classes: Classes) -> Stream:
    """Check a table of probabilities, and find the columns of the labels, -1 for none."""
    values = _validate.as_floats(p, "p")
    if values.ndim != 2 or not len(values):
        raise ValueError(f"p must be a table (n, K), at least one row, got shape {values.shape}")
    bad = np.flatnonzero(~_are_probabilities(values))
    if len(bad):
        raise ValueError(f"p[{bad[0]}] is not a row of probabilities that sum to 1, nor all 0")
    n, K = values.shape
    if classes is None:
        labels = _validate.labels(y, 2**62, n)
        return values, np.where(labels < K, labels, -1)
    columns = {label: column for column, label in enumerate(_plain(classes, "classes"))}
    if len(columns) != K or len(classes) != K:
        raise ValueError(
            f"classes must be the {K} different labels of the columns of p, got {classes!r:.80}"
        )
    given = _plain(y, "y")
    if len(given) != n:
        raise ValueError(f"y must have {n} labels to go with p, got {len(given)}")
    return values, np.array([columns.get(label, -1) for label in given], dtype=np.int_)


def _plain(labels: Any, name: str) -> list[Hashable]:
    """Labels as a list, each as it is."""
    out = labels.tolist() if hasattr(labels, "tolist") else list(labels)
    is_codes = isinstance(labels, np.ndarray) and labels.ndim == 1 and labels.dtype.kind == "i"
    if not is_codes and not all(isinstance(label, Hashable) for label in out):
        raise ValueError(f"{name} must be a column of labels, got {out!r:.80}")
    return out
