"""Inputs: scales that are held, and forged ones."""

import numpy as np
import pytest

from mixable import _core


def test_a_scale_that_is_held(rng):
    """Rows are scaled by it while the statistics go on; after it is let go, a row ends it."""
    X = rng.normal(size=(60, 3))
    X[:20, 2] = 1.0  # nothing varies yet
    scaler, free = _core.Scaler(3, True, True, 2), _core.Scaler(3, True, True, 2)
    for each in (scaler, free):
        each.learn(X[:20])
    mean, sd = scaler.moments()
    scaler.hold()
    Z = scaler.learn(X[20:])
    free.learn(X[20:])
    np.testing.assert_array_equal(scaler.moments(), free.moments())
    np.testing.assert_allclose(Z[:, 1:3], (X[20:, :2] - mean[:2]) / sd[:2], rtol=1e-12)
    assert not Z[:, 3].any()
    again = _core.Scaler(3, True, True, 2)
    again.restore(scaler.state())
    np.testing.assert_array_equal(again.transform(X), scaler.transform(X))
    larger = _core.Scaler(4, True, True, 2)
    larger.adopt(scaler)
    wide = larger.transform(np.hstack([X, X[:, :1]]))
    np.testing.assert_array_equal(wide[:, 1:4], scaler.transform(X)[:, 1:4])
    assert not wide[:, 4].any()
    for each in (scaler, again, larger):
        each.release()
    np.testing.assert_array_equal(scaler.transform(X), free.transform(X))
    assert scaler.state()["held"].tolist() == [mean.tolist(), sd.tolist(), [0.0] * 3]
    scaler.learn(X[0])
    assert "held" not in scaler.state()
    free.release()  # of what is not held
    assert "held" not in free.state()


@pytest.mark.parametrize(
    "held",
    [
        [[0.0], [-1.0], [1.0]],
        [[0.0], [1.0], [0.5]],
        [[np.nan], [1.0], [1.0]],
        [[0.0], [np.inf], [1.0]],
        [[0.0], [1.0], [np.nan]],
        [[1e200], [1.0], [1.0]],
        [[0.0], [1.0]],
    ],
)
def test_a_forged_scale_is_refused(held):
    scaler = _core.Scaler(1, True, True, 1)
    scaler.learn(np.ones((3, 1)))
    with pytest.raises(ValueError, match=r"statistics|held"):
        scaler.restore({**scaler.state(), "held": np.array(held)})
    assert "held" not in scaler.state()


def test_the_second_view_is_linear_up_to_its_bend(rng):
    """And logarithmic beyond."""
    X = rng.normal(size=(500, 1))
    X[-1] = 8.0
    for bend in (1.0, 2.0):
        first, second = _core.Scaler(1, False, True, 2, bend=bend).learn(X).T
        size = np.abs(first)
        np.testing.assert_array_equal(second[size <= bend], first[size <= bend])
        beyond = size > bend
        assert beyond.sum() > 5
        bent = np.sign(first[beyond]) * (bend + np.log1p(size[beyond] - bend))
        np.testing.assert_allclose(second[beyond], bent, rtol=1e-12)
