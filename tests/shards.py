"""Models of the parts of a stream, and how far the forecasts of two models are from each other."""

import copy

import numpy as np
from streams import logistic_stream

import mixable as mx

PARTS = (slice(0, 150), slice(150, 350), slice(350, 600))
X, Y = logistic_stream(600, 4, 3)
X = X + np.array([0.0, 1.0, -2.0, 0.5])
TWO = Y % 2
NUMBERS = X @ [1.0, -2.0, 0.5, 0.0] + 30 + np.random.default_rng(1).normal(size=600)

MODELS = {
    **{
        f"GAF {structure} {drift}": (
            lambda structure=structure, drift=drift: mx.GAF(4, 3, structure=structure, drift=drift)
        )
        for structure in ("full", "blocks", "shared", "diagonal")
        for drift in (0.0, 1e-3)
    },
    "Folklore": lambda: mx.Folklore(4, 3),
    "ONS": lambda: mx.ONS(4, 3),
    "OGD": lambda: mx.OGD(4, 3),
    "AIOLI": lambda: mx.AIOLI(4),
    "VAW": lambda: mx.VAW(4),
    "GenericGAF": lambda: mx.GenericGAF(mx.losses.Logistic(3), 4),
    "AutoGAF": lambda: mx.AutoGAF(4, 3),
    "AutoRidge": lambda: mx.AutoRidge(4),
    "Mixture": lambda: mx.Mixture([mx.GAF(4, 3), mx.Folklore(4, 3)], share=0.01),
    "Pool": lambda: mx.Pool([mx.GAF(4, 3), mx.GAF(4, 3, structure="diagonal")]),
    "linear": lambda: mx.GAFClassifier(kernel=None),
    "low": lambda: mx.GAFClassifier(kernel=None, effort="low"),
    "fourier": lambda: mx.GAFClassifier(kernel=mx.kernels.RBF(10)),
    "regressor": lambda: mx.GAFRegressor(kernel=None),
}


def outcomes(name):
    """The labels or numbers that a model learns."""
    return {"VAW": NUMBERS, "AutoRidge": NUMBERS, "regressor": NUMBERS, "AIOLI": TWO}.get(name, Y)


def taught(model, name, rows):
    """The model itself, after some rows; of the slow one, few."""
    if name == "GenericGAF":
        rows = slice(rows.start, rows.start + (rows.stop - rows.start) // 10)
    teach = model.partial_fit if hasattr(model, "partial_fit") else model.run
    teach(X[rows], outcomes(name)[rows])
    return model


def shards(name, base=None, parts=PARTS):
    begin = base or MODELS[name]()
    return [taught(copy.deepcopy(begin), name, part) for part in parts]


def distance(a, b, rows=X[:40]):
    """The largest difference of two models' forecasts."""
    forecast = [getattr(m, "predict_proba", None) or m.predict for m in (a, b)]
    return np.abs(np.asarray(forecast[0](rows)) - np.asarray(forecast[1](rows))).max()
