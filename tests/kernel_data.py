"""What the tests of kernels share."""

import contextlib
import sys

import numpy as np

import mixable as mx
from mixable.kernels import Fourier, Nystroem

MAPS = {"fourier": Fourier, "nystroem": Nystroem}


def rings(n, seed=0):
    """Two classes, noisy in a way that no linear model sees."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, (np.abs(X).sum(axis=1) + 0.3 * rng.normal(size=n) > 1.5).astype(int)


@contextlib.contextmanager
def stopped_at(module, line):
    """Raise KeyboardInterrupt at the `line`-th line of a module that is executed; tells afterwards
    whether it came to that.
    """
    seen, former = [0], sys.gettrace()

    def each(frame, event, _):
        if frame.f_code.co_filename != module:
            return None
        if event == "line":
            seen[0] += 1
            if seen[0] == line:
                raise KeyboardInterrupt
        return each

    stops = []
    sys.settrace(each)
    try:
        yield stops
    except KeyboardInterrupt:
        stops.append(line)
    finally:
        sys.settrace(former)


def small(method, kind=mx.GAFClassifier, gamma=None, **more):
    return kind(kernel=mx.kernels.RBF(10, gamma=gamma, method=method), **more)
