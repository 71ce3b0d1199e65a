"""Online-to-batch conversion: a fixed predictor from a pass of an online forecaster.

Helmbold, D. P. and Warmuth, M. K. (1995). On weak learning. Journal of Computer and System Sciences
50.
"""

from __future__ import annotations

import copy
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from mixable import _validate
from mixable._types import Array


class Online(Protocol):
    """What `online_to_batch` needs of a forecaster; one without `n_classes` learns numbers."""

    @property
    def n_features(self) -> int: ...
    def predict(self, x: ArrayLike) -> Any: ...
    def run(self, X: ArrayLike, y: ArrayLike) -> Array: ...


class BatchPredictor:
    """The average of a forecaster's predictions at several moments; it does not learn."""

    def __init__(self, snapshots: list[Online]) -> None:
        self.snapshots = snapshots

    def predict(self, x: ArrayLike) -> Array:
        """The mean prediction for one input, or one row each for a table."""
        return np.asarray(np.mean([snapshot.predict(x) for snapshot in self.snapshots], axis=0))


def online_to_batch(
    forecaster: Online, X: ArrayLike, y: ArrayLike, snapshots: int = 16
) -> BatchPredictor:
    """Turn one pass over a table into a predictor that does not change any more.

    It averages what the forecaster would have predicted at evenly spaced moments of the pass, first
    and last included. By convexity of the loss in the prediction, on i.i.d. data the expected
    excess risk of the average over *all* n + 1 moments is at most the expected regret divided by
    n + 1. Fewer lose little, since neighbours predict much the same.

    Parameters
    ----------
    forecaster
        What learns: any forecaster of labels or of numbers. It has learned the table afterwards.
    X, y
        Inputs (n, n_features) in the order of the pass, and labels or numbers (n,).
    snapshots
        How many moments are averaged, 16 by default. Each is a copy of the forecaster, so that
        memory and the time of a prediction grow with it; n + 1 are all.

    Examples
    --------
    >>> import mixable as mx
    >>> X, y, _ = mx.datasets.load_vehicle()
    >>> X = (X - X.mean(axis=0)) / X.std(axis=0)
    >>> fixed = online_to_batch(mx.GAF(18, 4), X[:600], y[:600])
    >>> fixed.predict(X[600:]).shape
    (246, 4)
    """
    snapshots = _validate.count(snapshots, "snapshots")
    X = _validate.table(X, forecaster.n_features)
    n = len(X)
    classes = getattr(forecaster, "n_classes", None)
    y = _validate.targets(y, n) if classes is None else _validate.labels(y, classes, n)
    moments = np.array([n])
    if snapshots > 1:
        moments = np.unique(np.linspace(0, n, snapshots).round().astype(int))
    kept: list[Online] = []
    done = 0
    for moment in moments:
        if moment > done:
            forecaster.run(X[done:moment], y[done:moment])
            done = int(moment)
        kept.append(copy.deepcopy(forecaster))
    if done < n:
        forecaster.run(X[done:], y[done:])
    return BatchPredictor(kept)
