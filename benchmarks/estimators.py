"""What the estimators add to the time of the forecaster behind them: microseconds per row, one row
at a time, and their peers'.

    python benchmarks/estimators.py

Needs river (`pip install ".[river]"`). All four parameters are given, so that the forecaster is a
GAF, whose own time is small and steady: what is beyond it is what scaling, labels and checks take.
Medians over rounds in which all take their turn.
"""

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import time
from collections.abc import Callable

import numpy as np
from river.linear_model import SoftmaxRegression
from sklearn.linear_model import SGDClassifier

import mixable as mx

N, ROUNDS = 1000, 7
FIXED = {"lam": 0.1, "beta": 1.0, "alpha": 4.0, "drift": 0.0}


def microseconds(action: Callable[[], None]) -> float:
    """Time of one call, divided by the rows that it handles."""
    start = time.perf_counter()
    action()
    return (time.perf_counter() - start) / N * 1e6


def main() -> None:
    """Print the table."""
    print(
        "    d   K   forecaster   GAFClassifier  beyond   SGDClassifier      river.GAFClassifier  "
        "beyond   river SoftmaxRegression"
    )
    for d, K in [(18, 4), (9, 7), (36, 6)]:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(N, d))
        y = (X @ rng.normal(size=(d, K)) + rng.gumbel(size=(N, K))).argmax(axis=1)
        labels, classes = y.tolist(), np.arange(K)
        dictionaries = [dict(enumerate(row)) for row in X.tolist()]
        rows = [(X[t : t + 1], y[t : t + 1]) for t in range(N)]

        estimator = mx.GAFClassifier(**FIXED).partial_fit(X[:50], y[:50], classes=classes)
        design = estimator.learner_.design
        peer = SGDClassifier(loss="log_loss").partial_fit(X[:50], y[:50], classes=classes)

        def alone(d=d, K=K, design=design, X=X, labels=labels) -> None:
            scaled = design.inputs(d).stage(X)[0]
            forecaster = design.forecaster(d, K)
            for z, label in zip(scaled, labels, strict=True):
                forecaster.predict(z)
                forecaster.learn(z, label)

        def facade(rows=rows, classes=classes) -> None:
            model = mx.GAFClassifier(**FIXED)
            for t, (x, label) in enumerate(rows):
                if t:
                    model.predict_proba(x)
                model.partial_fit(x, label, classes=classes if t == 0 else None)

        def theirs(peer=peer, rows=rows) -> None:
            for x, label in rows:
                peer.predict_proba(x)
                peer.partial_fit(x, label)

        def ours_in_river(dictionaries=dictionaries, labels=labels) -> None:
            model = mx.river.GAFClassifier(**FIXED)
            for x, label in zip(dictionaries, labels, strict=True):
                model.predict_proba_one(x)
                model.learn_one(x, label)

        def rivers_own(dictionaries=dictionaries, labels=labels) -> None:
            model = SoftmaxRegression()
            for x, label in zip(dictionaries, labels, strict=True):
                model.predict_proba_one(x)
                model.learn_one(x, label)

        actions = (alone, facade, theirs, ours_in_river, rivers_own)
        own, sk, sgd, river, softmax = np.median(
            [[microseconds(action) for action in actions] for _ in range(ROUNDS)], axis=0
        )
        print(
            f"{d:5}{K:4}{own:13.1f}{sk:16.1f}{sk - own:8.1f}{sgd:16.1f}"
            f"{river:25.1f}{river - own:8.1f}{softmax:26.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
