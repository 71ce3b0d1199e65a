"""Who runs in benchmarks/regression.py --records, and on what.

Ours see the records. For the others a record is made into features beforehand: an indicator for
each value of a category, word, tag, hour and day, and numbers (0 where one is missing, with an
indicator); LightGBM sees categories as such, words and tags as columns of 0 and 1.
"""

import time
from collections.abc import Callable
from datetime import datetime
from typing import Any, NamedTuple

import lightgbm
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from record_streams import RecordStream
from river import linear_model, optim, preprocessing
from scipy.special import ndtr, stdtr
from vowpalwabbit import Workspace

from mixable.forecasters.densities import log_densities
from mixable.river import GAFRegressor

Array = NDArray[np.float64]
NUMBERS, CATEGORIES = ("price", "weight"), ("user", "country", "device")
RIVER_RATES = (0.003, 0.01, 0.03, 0.1, 0.3)
VW_RATES = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)  # 0.5 is the default


class Forecasts(NamedTuple):
    """Of each record: the mean; log density and distribution function at the target, or NaN."""

    mean: Array
    log_density: Array
    below: Array
    seconds: float


def ours(kernel: str | None, *, only_numbers: bool = False) -> Callable[[RecordStream], Forecasts]:
    def run(stream: RecordStream) -> Forecasts:
        model, n, seconds = GAFRegressor(kernel=kernel), len(stream.y), 0.0
        mean, log_density, below = np.zeros(n), np.full(n, np.nan), np.full(n, np.nan)
        for t, (x, y) in enumerate(zip(stream.records, stream.y.tolist(), strict=True)):
            if only_numbers:
                x = {name: x[name] for name in NUMBERS if name in x}
            begin = time.process_time()
            mean[t] = model.predict_one(x)
            seconds += time.process_time() - begin
            # Densities take longer than forecasts; those of the numbers alone, at every fourth.
            if t >= 200 and (not only_numbers or t % 4 == 0):
                log_density[t], below[t] = _at_target(model, x, y)
            begin = time.process_time()
            model.learn_one(x, y)
            seconds += time.process_time() - begin
        return Forecasts(mean, log_density, below, seconds)

    return run


def _at_target(model: GAFRegressor, x: dict[Any, Any], y: float) -> tuple[float, float]:
    """The log density of the forecast at the target, and its distribution function there."""
    learner = model._learner
    assert learner is not None
    forecaster, left = learner.forecaster, y - learner.outcomes.offset
    row = learner.inputs.transform(model._row(x))
    if hasattr(forecaster, "head"):
        ((row, middle),) = forecaster._pieces(row)
        forecaster, left = forecaster.head, left - float(middle[0])
    row = np.atleast_2d(row)
    has_parts = hasattr(forecaster, "_components")
    parts = forecaster._components(row)[0] if has_parts else forecaster.components(row)
    weight, mean, scale, thin = parts
    u, t = (left - mean[0]) / scale[0], thin > 0
    cdf = ndtr(u)
    cdf[t] = stdtr(1 / thin[t], u[t])
    return float(log_densities(parts, np.array([left]))[0]), float(weight @ cdf)


def _features(record: dict[str, Any]) -> dict[str, float]:
    """Indicators and numbers of a record."""
    out: dict[str, float] = {}
    for name, value in record.items():
        if name in NUMBERS:
            out[name if value is not None else f"{name}=missing"] = 1.0 if value is None else value
        elif name in CATEGORIES:
            out[f"{name}={value}"] = 1.0
        elif name == "time":
            when = datetime.fromisoformat(value)
            out[f"hour={when.hour}"] = out[f"day={when.weekday()}"] = 1.0
        else:
            for word in value.split() if name == "text" else value:
                out[f"{name}={word}"] = out.get(f"{name}={word}", 0.0) + 1.0
    return out


def river_linear(stream: RecordStream) -> Forecasts:
    """LinearRegression at the best of five rates, numbers and targets scaled."""
    return _best([_river(stream, rate) for rate in RIVER_RATES], stream.y)


def _river(stream: RecordStream, rate: float) -> Forecasts:
    scaler = preprocessing.StandardScaler()
    linear = linear_model.LinearRegression(optim.SGD(rate), intercept_lr=rate)
    model = preprocessing.TargetStandardScaler(linear)
    n, begin = len(stream.y), time.process_time()
    mean, nothing = np.zeros(n), np.full(n, np.nan)
    for t, (record, y) in enumerate(zip(stream.records, stream.y.tolist(), strict=True)):
        x = _features(record)
        own = {name: x[name] for name in NUMBERS if name in x}
        scaler.learn_one(own)
        x.update(scaler.transform_one(own))
        mean[t] = model.predict_one(x)
        model.learn_one(x, y)
    return Forecasts(_finite(mean), nothing, nothing, time.process_time() - begin)


def vw_default(stream: RecordStream) -> Forecasts:
    """Vowpal Wabbit, squared loss, as it comes."""
    return _vw(stream, 0.5)


def vw_best(stream: RecordStream) -> Forecasts:
    """At the best of seven rates."""
    return _best([_vw(stream, rate) for rate in VW_RATES], stream.y)


def _vw(stream: RecordStream, rate: float) -> Forecasts:
    lines = []
    for record, y in zip(stream.records, stream.y.tolist(), strict=True):
        pairs = (f"{name}:{value:g}" for name, value in _features(record).items())
        lines.append(f"{y} | {' '.join(pairs)}")
    model = Workspace(f"--quiet -b 20 -l {rate}")
    begin = time.process_time()
    mean, nothing = np.zeros(len(lines)), np.full(len(lines), np.nan)
    for t, line in enumerate(lines):
        example = model.parse(line)
        mean[t] = model.predict(example)
        model.learn(example)
        model.finish_example(example)
    seconds = time.process_time() - begin
    model.finish()
    return Forecasts(_finite(mean), nothing, nothing, seconds)


def refitted(stream: RecordStream) -> Forecasts:
    """LightGBM, fitted anew at 100, 200, 400, ... records."""
    X, y = _frame(stream), stream.y
    n, begin, fitted = len(y), time.process_time(), 100
    mean, nothing = np.zeros(n), np.full(n, np.nan)
    mean[1:fitted] = (np.cumsum(y) / np.arange(1, n + 1))[: min(fitted, n) - 1]
    while fitted < n:
        model = lightgbm.LGBMRegressor(n_jobs=1, verbose=-1).fit(X[:fitted], y[:fitted])
        rows = slice(fitted, min(2 * fitted, n))
        mean[rows], fitted = model.predict(X[rows]), 2 * fitted
    return Forecasts(mean, nothing, nothing, time.process_time() - begin)


def _frame(stream: RecordStream) -> pd.DataFrame:
    whole = pd.DataFrame(stream.records)
    out = {name: whole[name].astype(float) for name in NUMBERS if name in whole}
    for name in CATEGORIES:
        if name in whole:
            out[name] = whole[name].astype("category")
    if "time" in whole:
        when = pd.to_datetime(whole["time"])
        out["hour"] = when.dt.hour + when.dt.minute / 60
        out["day"] = when.dt.dayofweek
    for name in ("text", "tags"):
        if name in whole:
            words = whole[name].str.split() if name == "text" else whole[name]
            for word in sorted({each for cell in words for each in cell}):
                out[f"{name}_{word}"] = [float(word in cell) for cell in words]
    return pd.DataFrame(out)


def _best(forecasts: list[Forecasts], y: Array) -> Forecasts:
    """The one with the least error; the seconds are those of one."""
    return min(forecasts, key=lambda each: float(np.mean((each.mean - y)[50:] ** 2)))


def _finite(mean: Array) -> Array:
    """Forecasts of a model that has diverged count as large."""
    return np.clip(np.nan_to_num(mean, nan=1e9, posinf=1e9, neginf=-1e9), -1e9, 1e9)


CONTESTANTS: dict[str, Callable[[RecordStream], Forecasts]] = {
    "GAFRegressor()": ours("auto"),
    "kernel=None": ours(None),
    "numbers alone": ours("auto", only_numbers=True),
    "LinearRegression, best rate": river_linear,
    "VW": vw_default,
    "VW, best rate": vw_best,
    "LightGBM, refitted": refitted,
}
