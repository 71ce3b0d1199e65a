"""Pools of experts of several kinds, for tests/fuzz_files.py."""

import numpy as np
import pandas as pd

import mixable as mx

RNG = np.random.default_rng(2)
WIDE, LABELS = RNG.normal(size=(40, 3)), RNG.integers(0, 3, 40)


def resting() -> mx.GAFClassifier:
    """A pool whose other experts rest."""
    model = mx.GAFClassifier(kernel=mx.kernels.Auto(3)).partial_fit(WIDE[:20], LABELS[:20])
    core = model.forecaster_._core
    core.restore({**core.state(), "rest.idle": 2, "rest.left": 32})
    assert model.forecaster_.is_resting
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


FRESH = {"GAFClassifier-resting": resting, "GAFClassifier-records": of_records}
