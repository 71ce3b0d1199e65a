"""A user's file: mypy checks it in strict mode (.ci/run), and it runs (test_typed_user).

Wrong calls stand here with the error that mypy must find: a comment that is not needed is an error.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

import mixable as mx

if TYPE_CHECKING:
    from typing_extensions import assert_type

    Table = npt.NDArray[np.float64]


def forecasters(X: Table, y: npt.NDArray[np.int_]) -> float:
    """A forecaster, row by row and by table."""
    f = mx.GAF(X.shape[1], 2, lam=0.1)
    p: Table = f.predict(X[0])
    f.learn(X[0], int(y[0]))
    table: Table = mx.AutoGAF(X.shape[1], 2).run(X, y)
    ridge = mx.AutoRidge(X.shape[1])
    ridge.learn(X[0], 1.0)
    steps: int = f.steps
    return float(table.mean() + p.sum()) + steps + float(mx.metrics.log_loss(table, y))


def estimators(X: Table, y: npt.NDArray[np.int_], path: Path) -> Any:
    """Estimators, saved and loaded."""
    model = mx.GAFClassifier(effort="low", class_weight="balanced", verbose=0)
    p = model.prequential(X, y, classes=[0, 1])
    again = model.fit(X, y)
    mx.save(again, path)
    forecasts = mx.GAFRegressor(effort="low").fit(X, X[:, 0]).predict_interval(X)
    weighed = mx.GAFClassifier(class_weight={0: 1.0, 1: 2.5})
    if TYPE_CHECKING:
        assert_type(p, Table)
        assert_type(again, mx.GAFClassifier)
        assert_type(forecasts, Table)
        assert_type(mx.dumps(weighed), bytes)
    return mx.load(path)


def mistakes(X: Table) -> None:
    """What mypy must refuse; never called."""
    mx.GAF("two", 2)  # type: ignore[arg-type]
    mx.GAF(2, 2, lamda=1.0)  # type: ignore[call-arg]
    mx.GAFClassifier(effort=3)  # type: ignore[arg-type]
    mx.GAFClassifier(class_weight="balance")  # type: ignore[arg-type]
    mx.GAFClassifier(lamda=1.0)  # type: ignore[call-arg]
    mx.river.GAFRegressor(lamda=1.0)  # type: ignore[call-arg]
    mx.save(mx.GAF(2, 2), 3)  # type: ignore[arg-type]
    mx.loads("text")  # type: ignore[arg-type]
    mx.GAF(2, 2).learn(X[0], "yes")  # type: ignore[arg-type]
    mx.GAFClasifier  # type: ignore[attr-defined]  # noqa: B018
