"""OGD against its definition, and what overflows."""

import numpy as np
import pytest
from streams import logistic_stream

from mixable import OGD
from mixable.integrals import softmax


@pytest.mark.parametrize("fixed", [False, True])
def test_ogd_equals_its_definition(fixed):
    d, K, step, radius = 5, 4, 0.8, 1.5
    X, y = logistic_stream(200, d, K)
    weight = np.random.default_rng(0).random(200) * 2
    f = OGD(d, K, step=step, fixed=fixed, radius=radius)
    p = f.run(X, y, weight)
    W = np.zeros((K, d))
    for t in range(200):
        q = softmax(W @ X[t])
        np.testing.assert_allclose(p[t], q, rtol=0, atol=1e-10)
        W -= (
            weight[t]
            * (step if fixed else step / np.sqrt(t + 1))
            * np.outer(q - np.eye(K)[y[t]], X[t])
        )
        W *= min(1.0, radius / np.linalg.norm(W))
    np.testing.assert_allclose(f.coef, W, rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    ("parameters", "scale", "weight"),
    [
        ({}, 1e139, 1e300),
        ({}, 1.0, 1e308),
        ({}, 1e100, 1e60),
        ({"step": 1e300}, 1e130, 1.0),
        ({"step": 1e160, "fixed": True}, 1.0, 1.0),
        ({"radius": 1.0}, 1e139, 1e300),
        ({"radius": 1.0}, 1e100, 1e60),
    ],
)
def test_ogd_refuses_examples_that_overflow_and_forgets_them(parameters, scale, weight):
    X, y = logistic_stream(20, 2, 3)
    weights = np.ones(20)
    if "step" in parameters:
        X, weights = 1e-20 * X, np.full(20, 1e-280)
    f, same = OGD(2, 3, **parameters), OGD(2, 3, **parameters)
    f.run(X[:10], y[:10], weights[:10])
    same.run(X[:10], y[:10], weights[:10])
    for _ in range(2):
        with pytest.raises(ValueError, match="cannot be learned in double precision"):
            f.learn([scale, -scale], 1, weight)
    bad = (
        np.insert(X[10:], 3, [scale, -scale], axis=0),
        np.insert(y[10:], 3, 1),
        np.insert(weights[10:], 3, weight),
    )
    with pytest.raises(ValueError, match="cannot be learned in double precision"):
        f.run(*bad)
    assert f.steps == 13
    same.run(X[10:13], y[10:13], weights[10:13])
    assert np.array_equal(
        f.run(X[13:], y[13:], weights[13:]), same.run(X[13:], y[13:], weights[13:])
    )
    assert np.isfinite(f.predict([1e139, -1e139])).all()
    assert np.isfinite(f.coef).all()
