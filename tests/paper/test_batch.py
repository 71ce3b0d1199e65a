"""Online to batch: the mean of snapshots."""

import numpy as np
import pytest
from streams import logistic_stream

from mixable import GAF, VAW, online_to_batch


def test_online_to_batch_averages_snapshots():
    X, y = logistic_stream(120, 3, 3)
    every = online_to_batch(GAF(3, 3), X[:30], y[:30], snapshots=31)
    assert [snapshot.steps for snapshot in every.snapshots] == list(range(31))
    f, expected = GAF(3, 3), []
    for t in range(31):
        expected.append(f.predict(X[40]))
        if t < 30:
            f.learn(X[t], y[t])
    np.testing.assert_allclose(every.predict(X[40]), np.mean(expected, axis=0), rtol=0, atol=1e-12)
    few = online_to_batch(GAF(3, 3), X[:100], y[:100], snapshots=4)
    assert [snapshot.steps for snapshot in few.snapshots] == [0, 33, 67, 100]
    assert few.predict(X[100:]).shape == (20, 3)
    assert online_to_batch(GAF(3, 3), X, y, snapshots=1).snapshots[0].steps == 120
    with pytest.raises(ValueError, match="snapshots"):
        online_to_batch(GAF(3, 3), X, y, snapshots=0)
    f, bad = GAF(3, 3), X.copy()
    bad[97, 1] = np.nan
    for wrong, message in [
        ((bad, y), r"X\[97, 1\] is nan"),
        ((X, y[:-20]), "y must have shape"),
        ((X[:0], y[:0]), "X is empty"),
        ((X, y + 1), r"y\[\d+\] is 3"),
    ]:
        with pytest.raises(ValueError, match=message):
            online_to_batch(f, *wrong)
    assert f.steps == 0
    assert online_to_batch(VAW(3), X, y.astype(float)).predict(X).shape == (120,)
