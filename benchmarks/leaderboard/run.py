"""One peer on one stream, in a process of its own: scores, time and memory of each setting."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import math
import multiprocessing
import time
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

import mixable as mx
from benchmarks.leaderboard.encode import schema
from benchmarks.leaderboard.peers import OURS, Known, Peer, Setting
from benchmarks.leaderboard.streams import Data

Array = NDArray[np.float64]
MIXED_IN = 1e-3
NOT_SCORED = 10  # first targets of a regression
WARM_UP, PIECE = 100, 32
QUANTILE = 1.6448536269514722  # of an interval of 90%


def _kilobytes(name: str) -> float:
    """A line of /proc/self/status; NaN where there is none."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(name):
                return float(line.split()[1])
    return math.nan


def _level_memory() -> float:
    """Give free memory back and let the peak start from here; kilobytes in use."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return _kilobytes("VmRSS")


def fill(p: Array, forecasts: Iterable[Any]) -> None:
    """Write forecasts as they came, dictionaries by code of the label or rows, to p (n, K)."""
    for row, forecast in zip(p, forecasts, strict=True):
        if isinstance(forecast, Mapping):
            row[list(forecast)] = list(forecast.values())
        else:
            row[:] = forecast


def class_losses(p: Array, y: NDArray[np.int_]) -> tuple[Array, Array]:
    """Forecasts that sum to 1, and the log loss of each row.

    A row without a sum above 0, or with NaN, is no forecast: it gives 0 to every class. The log
    loss is that of (1 - 0.001) p + 0.001 / K.
    """
    total = p.sum(axis=1, keepdims=True)
    is_forecast = np.isfinite(total) & (total > 0) & (p >= 0).all(axis=1, keepdims=True)
    p = np.divide(p, total, out=np.zeros_like(p), where=is_forecast)
    own = p[np.arange(len(p)), y]
    return p, -np.log((1 - MIXED_IN) * own + MIXED_IN / p.shape[1])


def deviations(mean: Array, y: Array) -> Array:
    """For who says no deviation: the root mean square of its errors so far but the first."""
    squares = np.cumsum((mean[1:] - y[1:]) ** 2)
    before = squares[:-1] / np.arange(1, len(squares))
    return np.sqrt(np.concatenate([[0.0, 0.0], before])[: len(y)])


def number_scores(
    forecasts: Array, y: Array, first: int = NOT_SCORED
) -> tuple[dict[str, float], Array]:
    """Scores of means (n,), or of means and deviations (n, 2), and the squared errors.

    The first targets are not scored: nobody knows where they lie.
    """
    mean = forecasts if forecasts.ndim == 1 else forecasts[:, 0]
    mean = np.nan_to_num(mean, nan=0.0, posinf=1e12, neginf=-1e12)
    own = deviations(mean, y) if forecasts.ndim == 1 else forecasts[:, 1]
    mean, y = mean[first:], y[first:]
    std = np.where(np.isfinite(own), own, np.std(y))[first:]
    u = (y - mean) / np.maximum(std, 1e-12)
    density = np.exp(-(u**2) / 2) / math.sqrt(2 * math.pi)
    crps = std * (u * (2 * ndtr(u) - 1) + 2 * density - 1 / math.sqrt(math.pi))
    scores = {"crps": float(crps.mean()), "coverage": float((np.abs(u) <= QUANTILE).mean())}
    return scores, (y - mean) ** 2


def scored(forecasts: Array, data: Data) -> tuple[dict[str, Any], Array]:
    """Scores of the first rows, and the loss of each row."""
    y = data.y[: len(forecasts)]
    if data.K:
        p, losses = class_losses(forecasts, y)
        table = mx.metrics.scores(p, y)
        out = {"accuracy": table.accuracy, "calibration": table.calibration_error}
    else:
        out, losses = number_scores(forecasts, y)
    return out, losses


def play(
    peer: Peer, data: Data, known: Known, setting: Setting, seconds: float
) -> tuple[dict[str, Any], Array]:
    """One pass, which ends early when the processor's seconds are over."""
    n = len(data.y)
    y, p = data.y.tolist(), np.zeros((n, data.K or 2))
    p += 0.0  # so that its pages are there before memory is measured
    before, spent, counted, done = _level_memory(), 0.0, 0.0, 0
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # rates that are too large overflow; their loss says so
        begin = time.process_time()
        model = peer.make(known, setting)
        if peer.whole:
            forecasts = model(
                data.records, data.y, lambda f: f * (time.process_time() - begin) > seconds
            )
            counted, done = time.process_time() - begin, len(forecasts)
        else:
            rows: list[Any] = []
            while done < n and spent < seconds:
                end, begin = min(done + PIECE, n), time.process_time()
                pairs = zip(data.records[done:end], y[done:end], strict=True)
                rows += [model(record, label) for record, label in pairs]
                passed = time.process_time() - begin
                spent, counted = spent + passed, counted + (passed if done >= WARM_UP else 0.0)
                done = end
            if data.K:
                fill(p[:done], rows)
                forecasts = p[:done]
            else:
                forecasts = np.array(rows, dtype=float)
    warm = 0 if peer.whole else -(-WARM_UP // PIECE) * PIECE
    result, losses = scored(forecasts, data)
    if done <= warm:
        counted, warm = spent, 0
    megabytes = max(_kilobytes("VmHWM") - before, 0.0) / 1024
    return {
        "setting": setting,
        "rows": done,
        **result,
        "microseconds": 1e6 * counted / max(done - warm, 1),
        "megabytes": megabytes,
    }, losses


def _perform(peer: Peer, data: Data, seconds: float, path: Path) -> None:
    runs, losses, known = [], [], Known(data.K, schema(data.records))
    if peer.kind == OURS:
        seconds = math.inf  # the others are compared on the rows that they had time for
    elif peer.whole:
        seconds *= 6  # to be fitted to many rows is the point of it
    for setting in ({}, *peer.grid):
        try:
            run, own = play(peer, data, known, setting, seconds)
        except Exception as error:  # what goes wrong is part of the result
            run, own = {"setting": setting, "error": f"{type(error).__name__}: {error}"[:300]}, None
        runs.append(run)
        losses.append(own)
    there = [i for i, own in enumerate(losses) if own is not None]
    common = min((len(losses[i]) for i in there), default=0)
    best = min(there, key=lambda i: float(losses[i][:common].mean()), default=None)
    kept = {str(i): [float(f"{x:.4g}") for x in losses[i]] for i in {0, best} & set(there)}
    numbers = len(known.kinds.numbers)
    about = {"whole": data.whole, "rows": len(data.y), "K": data.K, "numbers": numbers,
             "others": len(data.records[0]) - numbers, "deviation": float(np.std(data.y)),
             "kinds": [len(kind) for kind in known.kinds[1:]]}  # fmt: skip
    out = {"peer": peer.name, "about": about, "runs": runs, "best": best, "losses": kept}
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(json.dumps(out), "utf-8")
    part.replace(path)


def perform(peer: Peer, data: Data, seconds: float, path: Path) -> None:
    """Run a peer at all its settings on a stream, and write what comes out to a file."""
    child = multiprocessing.get_context("fork").Process(
        target=_perform, args=(peer, data, seconds, path)
    )
    child.start()
    child.join()
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        gone = {"setting": {}, "error": f"ended with code {child.exitcode}"}
        path.write_text(json.dumps({"peer": peer.name, "runs": [gone], "best": None, "losses": {}}))
