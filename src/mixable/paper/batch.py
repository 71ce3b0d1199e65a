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
    """Run `forecaster` over (X, y); return the average of it at evenly spaced moments.

    There are `snapshots` of them, first and last included. By convexity of the loss in the
    prediction, on i.i.d. data the expected excess risk of the average over *all* n + 1 moments is
    at most the expected regret divided by n + 1; `snapshots=n + 1` is that. Fewer cost less memory
    and time and lose little, since neighbours predict much the same. The forecaster has learned
    everything afterwards.

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
