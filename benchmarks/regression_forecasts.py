"""What contestants of benchmarks/regression.py share: forecasts, ours at the target, LightGBM."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import lightgbm
import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtr

from mixable.experts.densities import log_densities

Array = NDArray[np.float64]
SCORE_FROM = 200  # rows before are not scored


class Forecasts(NamedTuple):
    """Of each row: the mean; log density and distribution function at the target, NaN if none."""

    mean: Array
    log_density: Array
    below: Array
    seconds: float

    @classmethod
    def of_means(cls, mean: Array, seconds: float) -> "Forecasts":
        """Without a distribution."""
        nothing = np.full(len(mean), np.nan)
        return cls(mean, nothing, nothing, seconds)


def at_target(learner: Any, row: Any, y: float) -> tuple[float, float]:
    """The log density of a learner's forecast at the target, and its distribution function."""
    left = y - learner.outcomes.offset
    parts = learner.pool._components(learner._rows(row))[0]
    weight, mean, scale, thin = parts
    u, t = (left - mean[0]) / scale[0], thin > 0
    cdf = ndtr(u)
    cdf[t] = stdtr(1 / thin[t], u[t])
    return float(log_densities(parts, np.array([left]))[0]), float(weight @ cdf)


def one_by_one(model: Any, rows: Any, y: Array, made: Callable[[Any], Any]) -> Forecasts:
    """Dictionaries `made` of rows, through river's interface; making them is part of the time."""
    mean, begin = np.zeros(len(y)), time.process_time()
    for t, (row, target) in enumerate(zip(rows, y.tolist(), strict=True)):
        x = made(row)
        mean[t] = model.predict_one(x)
        model.learn_one(x, target)
    return Forecasts.of_means(mean, time.process_time() - begin)


def refitted(X: Any, y: Array) -> Forecasts:
    """LightGBM, fitted anew at 100, 200, 400, ... rows; before, the mean of the targets."""
    n, begin, fitted = len(y), time.process_time(), 100
    mean = np.zeros(n)
    mean[1:fitted] = (np.cumsum(y) / np.arange(1, n + 1))[: min(fitted, n) - 1]
    while fitted < n:
        model = lightgbm.LGBMRegressor(n_jobs=1, verbose=-1).fit(X[:fitted], y[:fitted])
        rows = slice(fitted, min(2 * fitted, n))
        mean[rows], fitted = model.predict(X[rows]), 2 * fitted
    return Forecasts.of_means(mean, time.process_time() - begin)
