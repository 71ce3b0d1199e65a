"""What the promises' tests share: data, bits, one entry changed."""

import pickle

import numpy as np
from streams import logistic_stream

D, K, N = 5, 3, 60
X, Y = logistic_stream(N, D, K)


def fingerprint(f):
    """Everything a forecaster has learned, to the bit."""
    return pickle.dumps(f)


def changed(array, where, value):
    out = (
        array.astype(np.result_type(array, type(value)))
        if isinstance(value, float)
        else array.copy()
    )
    out[where] = value
    return out
