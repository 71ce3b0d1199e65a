"""GAFRegressor beside river's regressors and LightGBM: each row is forecast before it is learned.

    pip install ".[bench]" && python benchmarks/regression.py

All run at their defaults. river's regressors and ours see dictionaries, one at a time; LightGBM is
fitted anew at 100, 200, 400, ... rows, and forecasts the mean of the targets before. Linear
regressions of river stand behind its StandardScaler. RMSE is relative to that of the running mean,
over all rows but the first 50; log score (of the density, larger is better) and the coverage of 50%
and 90% intervals are of those that have a distribution, over all rows but the first 200. Times
are of the processor, in one process on one thread.

Prints Markdown: all contestants over the 26 streams of regression_streams.py, RMSE by stream, and
the intervals of GAFRegressor() by stream. With --records, the same of the 28 streams of records of
record_streams.py and the contestants of record_contestants.py.
"""

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import record_contestants
import record_streams
from regression_forecasts import SCORE_FROM, Array, Forecasts, at_target, one_by_one, refitted
from regression_streams import CHOICE, KEPT_OUT, Stream, streams
from river import compose, forest, linear_model, preprocessing
from scipy.special import ndtr

import mixable as mx
from mixable.river import GAFRegressor

RMSE_FROM = 50


def _ours(kernel: str | None) -> Callable[[Stream], Forecasts]:
    def run(stream: Stream) -> Forecasts:
        seconds = _by_name(GAFRegressor(kernel=kernel), stream).seconds
        model, n = mx.GAFRegressor(kernel=kernel), len(stream.y)
        mean, log_density, below = np.zeros(n), np.full(n, np.nan), np.full(n, np.nan)
        for t in range(n):
            row = stream.X[t : t + 1]
            if t:
                mean[t] = model.predict(row)[0]
            if t >= SCORE_FROM:
                log_density[t], below[t] = at_target(model.learner_, row, stream.y[t])
            model.partial_fit(row, stream.y[t : t + 1])
        return Forecasts(mean, log_density, below, seconds)

    return run


def _by_name(model: Any, stream: Stream) -> Forecasts:
    rows = [dict(enumerate(row)) for row in stream.X.tolist()]
    return one_by_one(model, rows, stream.y, lambda row: row)


def _river(make: Callable[[], Any]) -> Callable[[Stream], Forecasts]:
    return lambda stream: _by_name(make(), stream)


def _bayes(stream: Stream) -> Forecasts:
    scaler, model = preprocessing.StandardScaler(), linear_model.BayesianLinearRegression()
    n, begin = len(stream.y), time.process_time()
    mean, log_density, below = np.zeros(n), np.full(n, np.nan), np.full(n, np.nan)
    rows = [dict(enumerate(row)) for row in stream.X.tolist()]
    for t, (x, y) in enumerate(zip(rows, stream.y.tolist(), strict=True)):
        scaler.learn_one(x)
        z = {**scaler.transform_one(x), "one": 1.0}
        forecast = model.predict_one(z, with_dist=True)
        mean[t] = forecast.mu
        u = (y - forecast.mu) / forecast.sigma
        log_density[t] = -0.5 * u**2 - np.log(forecast.sigma * np.sqrt(2 * np.pi))
        below[t] = ndtr(u)
        model.learn_one(z, y)
    return Forecasts(mean, log_density, below, time.process_time() - begin)


def _scaled(model: Any) -> Any:
    return compose.Pipeline(preprocessing.StandardScaler(), model)


CONTESTANTS: dict[str, Callable[[Stream], Forecasts]] = {
    "GAFRegressor()": _ours("auto"),
    "kernel=None": _ours(None),
    "BayesianLinearRegression": _bayes,
    "LinearRegression": _river(lambda: _scaled(linear_model.LinearRegression())),
    "AMFRegressor": _river(lambda: forest.AMFRegressor(seed=0)),
    "ARFRegressor": _river(lambda: forest.ARFRegressor(seed=0)),
    "LightGBM, refitted": lambda stream: refitted(stream.X, stream.y),
}

SHORT = {  # how tables call them
    "GAFRegressor()": "default",
    "kernel=None": "linear",
    "BayesianLinearRegression": "Bayes",
    "LinearRegression": "LR",
    "AMFRegressor": "AMF",
    "ARFRegressor": "ARF",
    "LightGBM, refitted": "LGBM",
    "numbers alone": "numbers",
    "LinearRegression, best rate": "LR, best",
    "VW, best rate": "VW, best",
}


class Score(NamedTuple):
    """Of one contestant on one stream."""

    rmse: float  # over that of the running mean
    log_score: float
    coverage_50: float
    coverage_90: float
    microseconds: float


def _score(y: Array, forecasts: Forecasts) -> Score:
    n = len(y)
    running = np.concatenate([[0.0], (np.cumsum(y) / np.arange(1, n + 1))[:-1]])
    rmse, base = (
        np.sqrt(np.mean((each - y)[RMSE_FROM:] ** 2)) for each in (forecasts.mean, running)
    )
    known = np.isfinite(forecasts.below)
    known[:SCORE_FROM] = False
    below, log_density = forecasts.below[known], forecasts.log_density[known]
    coverages, log_score = [np.nan, np.nan], np.nan
    if known.any():
        off = np.abs(below - 0.5)
        coverages = [np.count_nonzero(off < level / 2) / len(off) for level in (0.5, 0.9)]
        log_score = float(np.mean(log_density))
    return Score(float(rmse / base), log_score, *coverages, 1e6 * forecasts.seconds / n)


def _tables(scores: dict[str, dict[str, Score]]) -> Iterator[str]:
    """Lines of Markdown; scores are by stream, then by contestant."""
    names = list(next(iter(scores.values())))
    yield "| model | RMSE | best on | log score | in 50% | in 90% | us a row |"
    yield "|---|---|---|---|---|---|---|"
    for name in names:
        each = [by_name[name] for by_name in scores.values()]
        best = [min(by_name, key=lambda who: by_name[who].rmse) for by_name in scores.values()]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # means of no numbers
            rmse = np.exp(np.mean([np.log(score.rmse) for score in each]))
            log_score, low, high = np.nanmean([score[1:4] for score in each], axis=0)
        micro = np.median([score.microseconds for score in each])
        cells = [f"{rmse:.3f}", str(best.count(name))]
        cells += [
            _or_none(log_score, ".2f"),
            _or_none(100 * low, ".0f"),
            _or_none(100 * high, ".0f"),
        ]
        yield f"| {SHORT.get(name, name)} | {' | '.join(cells)} | {micro:.0f} |"
    yield ""
    yield f"| stream | {' | '.join(SHORT.get(name, name) for name in names)} |"
    yield f"|---|{'---|' * len(names)}"
    for stream, by_name in scores.items():
        lowest = min(score.rmse for score in by_name.values())
        cells = []
        for score in by_name.values():
            text = f"{score.rmse:.3f}"
            cells.append(f"**{text}**" if score.rmse == lowest else text)
        yield f"| {stream} | {' | '.join(cells)} |"
    yield ""
    yield "| stream | 50% | 90% | log score | gain over linear |"
    yield "|---|---|---|---|---|"
    for stream, by_name in scores.items():
        if "GAFRegressor()" not in by_name or "kernel=None" not in by_name:
            return
        ours, linear = by_name["GAFRegressor()"], by_name["kernel=None"]
        cells = [_or_none(100 * ours.coverage_50, ".0f"), _or_none(100 * ours.coverage_90, ".0f")]
        cells += [_or_none(ours.log_score, ".2f")]
        cells += [_or_none(ours.log_score - linear.log_score, "+.3f")]
        yield f"| {stream} | {' | '.join(cells)} |"


def _or_none(value: float, form: str) -> str:
    return format(value, form) if np.isfinite(value) else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--only", help="contestants, by their first letters, with commas between")
    parser.add_argument("--half", choices=("choice", "kept-out"), help="which of the streams")
    parser.add_argument("--records", action="store_true", help="streams of records")
    parser.add_argument("--streams", help="only those of these names, with commas between")
    arguments = parser.parse_args()
    starts = tuple(arguments.only.split(",")) if arguments.only else ("",)
    everyone: dict[str, Any] = record_contestants.CONTESTANTS if arguments.records else CONTESTANTS
    chosen = {name: run for name, run in everyone.items() if name.startswith(starts)}
    scores: dict[str, dict[str, Score]] = {}
    for half in [arguments.half] if arguments.half else ["choice", "kept-out"]:
        plain = {"choice": CHOICE, "kept-out": KEPT_OUT}[half]
        for stream in record_streams.streams(half) if arguments.records else streams(plain):
            if arguments.streams and stream.name not in arguments.streams.split(","):
                continue
            scores[stream.name] = {}
            for name, run in chosen.items():
                score = scores[stream.name][name] = _score(stream.y, run(stream))
                print(stream.name, name, f"{score.rmse:.3f}", file=sys.stderr)
    print("\n".join(_tables(scores)))


if __name__ == "__main__":
    warnings.filterwarnings("ignore", message="X does not have valid feature names")
    main()
