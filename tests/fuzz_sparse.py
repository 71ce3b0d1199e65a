"""What fuzz_files.py does with saved forecasters of sparse rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from make_fixtures import learned

import mixable as mx

ROWS = [{t % 7: 1.0} for t in range(40)]
FRESH: dict[str, Callable[[], Any]] = {
    "SparseGAF-two": lambda: learned(mx.SparseGAF(2), ROWS, [0, 1] * 20),
    "SparseGAF-full": lambda: learned(mx.SparseGAF(3, max_features=2), ROWS, [0, 1, 2, 1] * 10),
    "SparseGAF-new": lambda: mx.SparseGAF(2, grid=[(1.0, 0.0)] * 9),
}


def use(model: Any, attempt: Callable[[Callable[[], Any], str], Any]) -> None:
    """Predict, learn, run and grow, each by way of `attempt`."""
    K = model.n_classes
    rows = [{key: 1.0, 5 * key: 0.5 * key, 2**60 + key: -1e3} for key in range(20)]
    attempt(lambda: model.predict(rows[0]), "predict_proba")
    attempt(lambda: model.learn(rows[0], K - 1), "learn")
    attempt(lambda: model.run(rows, np.arange(20) % K), "predict_proba by run")
    attempt(lambda: model.learn({0: 1e50, 3: -1e9}, 0, 1e6), "learn")
    attempt(lambda: model.predict({0: 1e50, 3: -1e9}), "predict_proba")
    for name in ("coef_of", "coef_std_of"):
        attempt(lambda name=name: getattr(model, name)([0, 3, 10**9]), name)
    attempt(lambda: [*model.intercept, *model.expert_weights], "intercept and weight")
    attempt(lambda: model.report() and None, "report")
    if K < 20:
        attempt(model.add_class, "add_class")
        attempt(lambda: model.predict(rows), "predict_proba")
