"""Posteriors with structure: the compiled core against the NumPy one, whatever build, block and
mode; and against closed forms.
"""

from functools import lru_cache
from itertools import pairwise

import numpy as np
import pytest
from streams import logistic_stream

from mixable.paper.structured import STRUCTURES, StructuredGAF

LAM, BETA = 0.1, 0.7


def make(core, d, K, structure, *, alpha=4.0, drift=0.0, block=0, period=0):
    return core.StructuredGAF(d, K, structure, LAM, BETA, alpha, 0.0, drift, block, period)


def stream(d, K, n=300):
    X, y = logistic_stream(n, d, K)
    return X, y, np.random.default_rng(1).choice([0.0, 0.5, 1.0, 3.0], size=n)


def loop(forecaster, X, y, weight):
    out = []
    for t in range(len(X)):
        out.append(forecaster.predict(X[t]))
        forecaster.learn(X[t], int(y[t]), float(weight[t]))
    return np.array(out)


@lru_cache(maxsize=64)
def specification(d, K, structure, alpha=4.0, drift=0.0, n=300):
    """Predictions, weights and variances of the NumPy implementation."""
    f = StructuredGAF(d, K, structure, lam=LAM, beta=BETA, alpha=alpha, drift=drift)
    p = loop(f, *stream(d, K, n))
    S = f.posterior.S[:1] if structure == "shared" else f.posterior.S
    return p, f.W, S.reshape(-1, d)


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("d", [1, 5, 40])
@pytest.mark.parametrize("K", [2, 3, 7, 12])
def test_compiled_equals_reference(core, d, K, structure):
    p, W, S = specification(d, K, structure)
    f = make(core, d, K, structure)
    np.testing.assert_allclose(f.run(*stream(d, K)), p, rtol=0, atol=1e-9)
    np.testing.assert_allclose(f.mean(), W, rtol=0, atol=1e-9)
    np.testing.assert_allclose(f.covariance(), S, rtol=0, atol=1e-9 * S.max())


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize(("alpha", "drift"), [(np.inf, 0.0), (1.0, 0.0), (1.0, 1e-3), (16.0, 0.05)])
def test_compiled_equals_reference_tempered_and_drifting(core, alpha, drift, structure):
    p, W, S = specification(5, 4, structure, alpha, drift)
    f = make(core, 5, 4, structure, alpha=alpha, drift=drift)
    np.testing.assert_allclose(f.run(*stream(5, 4)), p, rtol=0, atol=1e-9)
    np.testing.assert_allclose(f.mean(), W, rtol=0, atol=1e-9)
    np.testing.assert_allclose(f.covariance(), S, rtol=0, atol=1e-9 * S.max())


@pytest.mark.parametrize("drift", [0.0, 1e-2])
@pytest.mark.parametrize("block", [1, 2, 5, 8, 17])
@pytest.mark.parametrize("structure", ["blocks", "shared"])
@pytest.mark.parametrize(("d", "K"), [(7, 4), (3, 12), (300, 3)])
def test_run_equals_loop_for_every_block_size(core, d, K, structure, block, drift):
    n = 150 if d < 100 else 60
    X, y, weight = stream(d, K, n)
    cut, one, whole = (make(core, d, K, structure, drift=drift, block=block) for _ in range(3))
    expected = loop(one, X, y, weight)
    np.testing.assert_allclose(whole.run(X, y, weight), expected, rtol=0, atol=1e-9)
    pieces = [cut.run(X[a:b], y[a:b], weight[a:b]) for a, b in pairwise([0, 1, 2, 31, 50, n])]
    np.testing.assert_allclose(np.concatenate(pieces), expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(cut.mean(), one.mean(), rtol=0, atol=1e-9)
    largest = np.abs(one.covariance()).max()
    np.testing.assert_allclose(whole.covariance(), one.covariance(), rtol=0, atol=1e-9 * largest)


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("drift", [0.0, 1e-2])
@pytest.mark.parametrize("d", [6, 280])
def test_predicting_a_table_equals_predicting_its_rows(core, d, drift, structure):
    X, y, weight = stream(d, 4, 29)
    f = make(core, d, 4, structure, drift=drift)
    f.run(X, y, weight)
    rows = np.array([f.predict(x) for x in X])
    np.testing.assert_allclose(f.predict(X), rows, rtol=0, atol=1e-12)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_learning_after_predicting_something_else(core, structure):
    X, y, _ = stream(4, 3, 60)
    plain, distracted = make(core, 4, 3, structure), make(core, 4, 3, structure)
    for t in range(60):
        plain.learn(X[t], int(y[t]))
        distracted.predict(X[t])
        distracted.predict(X[(t + 7) % 60])
        distracted.predict(X[:5])
        distracted.learn(X[t], int(y[t]))
    assert np.array_equal(plain.predict(X), distracted.predict(X))
    assert np.array_equal(plain.mean(), distracted.mean())


@pytest.mark.parametrize("period", [1, 10, 1000])
@pytest.mark.parametrize("structure", ["blocks", "shared"])
def test_refresh_changes_nothing_but_rounding(core, structure, period):
    p, _, _ = specification(5, 3, structure)
    f = make(core, 5, 3, structure, period=period)
    np.testing.assert_allclose(f.run(*stream(5, 3)), p, rtol=0, atol=1e-9)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_zero_and_huge_inputs(core, structure):
    f = make(core, 3, 4, structure)
    np.testing.assert_allclose(f.predict(np.zeros(3)), 0.25)
    f.learn(np.zeros(3), 2)
    np.testing.assert_allclose(f.predict(np.zeros(3)), 0.25)
    for scale in (1e-12, 1e3, 2e6):
        for _ in range(40):
            x = scale * np.random.default_rng(int(f.steps)).normal(size=3)
            f.learn(x, f.steps % 4)
            p = f.predict(x)
            assert np.isfinite(p).all()
            assert (p > 0).all()
            assert abs(p.sum() - 1) < 1e-12
            assert np.isfinite(f.mean()).all()


def test_an_example_that_takes_eleven_digits_leaves_the_width_accurate(core):
    rng = np.random.default_rng(0)
    f = core.StructuredGAF(2, 3, "blocks", 0.1, 1.0, np.inf, 0.0, 0.0, 1)
    for t in range(30):
        f.learn(1e5 * (np.array([1.0, 0.5]) + 1e-3 * rng.normal(size=2)), t % 3)
    A = f.state()["A"].reshape(3, 2, 2)
    assert np.abs(f.covariance().reshape(3, 2, 2) @ A - np.eye(2)).max() < 1e-4


@pytest.mark.parametrize("structure", ["blocks", "shared"])
def test_two_classes_equal_the_full_posterior(core, structure):
    """In one coordinate, or in two that mirror each other: the same forecasts."""
    X, y, weight = stream(6, 2)
    full = core.GAF(6, 2, LAM, BETA, 4.0, 0.0, 1e-3, [("pairwise", np.inf, 0, None, None, 0)])
    f = make(core, 6, 2, structure, drift=1e-3)
    np.testing.assert_allclose(f.run(X, y, weight), full.run(X, y, weight), rtol=0, atol=1e-12)
    np.testing.assert_allclose(f.mean()[0], np.sqrt(0.5) * full.mean()[0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("structure", ["blocks", "shared"])
def test_two_classes_equal_full_folklore(core, structure):
    X, y, weight = stream(6, 2)
    full = core.Folklore(6, 2, LAM, BETA, 1e-3)
    f = core.StructuredFolklore(6, 2, structure, LAM, BETA, 1e-3)
    np.testing.assert_allclose(f.run(X, y, weight), full.run(X, y, weight), rtol=0, atol=1e-12)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_a_stationary_point_of_one_example_in_closed_form(core, structure):
    """After one example from nothing: W = -(weight / 2 lam) (p - e_y) x^T at its own prediction."""
    x, weight = np.array([0.6, -0.3]), 2.0
    f = make(core, 2, 3, structure)
    f.learn(x, 0, weight)
    z = f.mean() @ x
    p = np.exp(z) / np.exp(z).sum()
    expected = -weight / (2 * LAM) * np.outer(p - [1, 0, 0], x)
    np.testing.assert_allclose(f.mean(), expected, rtol=0, atol=1e-12)
