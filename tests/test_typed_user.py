"""The typed user's file also runs. `.ci/run` lets mypy read it, with the package itself."""

import numpy as np
from streams import logistic_stream
from typed_user import estimators, forecasters


def test_what_mypy_accepts_runs(tmp_path):
    X, y = logistic_stream(60, 2, 2)
    assert np.isfinite(forecasters(X, y))
    assert estimators(X, y, tmp_path / "model").predict(X).shape == (60,)
