"""Who runs in benchmarks/regression.py --records, and on what.

Ours see the records. For the others a record is made into features beforehand: an indicator for
each value of a category, word, tag, hour and day, and numbers (0 where one is missing, with an
indicator); LightGBM sees categories as such, words and tags as columns of 0 and 1.
"""

import time
from collections.abc import Callable
from datetime import datetime
from typing import Any

import numpy as np
import pandas as pd
from record_streams import RecordStream
from regression_forecasts import SCORE_FROM, Array, Forecasts, at_target, one_by_one, refitted
from river import linear_model, optim, preprocessing
from vowpalwabbit import Workspace

from mixable.river import GAFRegressor

NUMBERS, CATEGORIES = ("price", "weight"), ("user", "country", "device")
RIVER_RATES = (0.003, 0.01, 0.03, 0.1, 0.3)
VW_RATES = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)  # 0.5 is the default


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
            if t >= SCORE_FROM and (not only_numbers or t % 4 == 0):
                log_density[t], below[t] = at_target(model._learner, model._row(x), y)
            begin = time.process_time()
            model.learn_one(x, y)
            seconds += time.process_time() - begin
        return Forecasts(mean, log_density, below, seconds)

    return run


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

    def made(record: dict[str, Any]) -> dict[str, float]:
        x = _features(record)
        own = {name: x[name] for name in NUMBERS if name in x}
        scaler.learn_one(own)
        return x | scaler.transform_one(own)

    forecasts = one_by_one(model, stream.records, stream.y, made)
    return forecasts._replace(mean=_finite(forecasts.mean))


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
    mean = np.zeros(len(lines))
    for t, line in enumerate(lines):
        example = model.parse(line)
        mean[t] = model.predict(example)
        model.learn(example)
        model.finish_example(example)
    seconds = time.process_time() - begin
    model.finish()
    return Forecasts.of_means(_finite(mean), seconds)


def lightgbm(stream: RecordStream) -> Forecasts:
    """LightGBM, fitted anew at 100, 200, 400, ... records."""
    return refitted(_frame(stream), stream.y)


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
    "LightGBM, refitted": lightgbm,
}
