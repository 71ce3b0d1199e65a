"""Pools of experts of several kinds, for tests/fuzz_files.py."""

import numpy as np
import pandas as pd

import mixable as mx

RNG = np.random.default_rng(2)
WIDE, LABELS = RNG.normal(size=(40, 3)), RNG.integers(0, 3, 40)


def inactive() -> mx.GAFClassifier:
    """A pool whose other experts are inactive."""
    model = mx.GAFClassifier(kernel=mx.kernels.Auto(3)).partial_fit(WIDE[:20], LABELS[:20])
    core = model.forecaster_._core
    left = np.array([[0.0, *[32.0] * (len(model.forecaster_.experts) - 1)]])
    core.restore({**core.state(), "activity.left": left, "activity.level": 1e9 * left})
    assert model.forecaster_.active == [0]
    return model.partial_fit(WIDE[:5], LABELS[:5])


def of_records() -> mx.GAFClassifier:
    """A model of records: text, categories, numbers that may be missing."""
    names = ["a", "b", None]
    records = [
        {"name": names[t % 3], "text": f"word{t % 5} and", "number": None if t % 4 else float(t)}
        for t in range(40)
    ]
    return mx.GAFClassifier(kernel=mx.kernels.Auto(3)).partial_fit(
        pd.DataFrame(records), LABELS[:40]
    )


FRESH = {"GAFClassifier-inactive": inactive, "GAFClassifier-records": of_records}
