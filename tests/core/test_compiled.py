"""The compiled core against the executable specification: same coefficients, precision and
probabilities, whatever the build, block and mode.
"""

from functools import lru_cache
from itertools import pairwise

import numpy as np
import pytest
from streams import logistic_stream

from mixable.integrals import Sobol, helmert
from mixable.losses import Logistic
from mixable.paper.reference import GenericGAF

LAM, BETA = 0.1, 0.7


def ladder(K):
    return Sobol(128).rungs(K - 1, 0)


def make(core, d, K, *, alpha=1.0, drift=0.0, block=0, period=0):
    return core.GAF(d, K, LAM, BETA, alpha, 0.0, drift, ladder(K), block, period)


def loop(forecaster, X, y, weight=None):
    out = []
    for t in range(len(X)):
        out.append(forecaster.predict(X[t]))
        forecaster.learn(X[t], int(y[t]), 1.0 if weight is None else float(weight[t]))
    return np.array(out)


def stream(d, K, n=300):
    X, y = logistic_stream(n, d, K)
    return X, y, np.random.default_rng(1).choice([0.0, 0.5, 1.0, 3.0], size=n)


@lru_cache(maxsize=64)
def specification(d, K, alpha=1.0, drift=0.0, n=300):
    """Predictions, coefficients (K, d) and precision (K d, K d) of reference.py, in the paper's K
    blocks.
    """
    X, y, weight = stream(d, K, n)
    f = GenericGAF(Logistic(K, Sobol(128)), d, lam=LAM, beta=BETA, alpha=alpha, drift=drift)
    return f.run(X, y, weight), f.coef, f.precision()


def expand(f, d, K, drift=0.0):
    """Coefficients and precision in K blocks from the core's K - 1."""
    Q = np.kron(helmert(K), np.eye(d))
    reduced = np.linalg.inv(f.covariance()) if drift else f.precision()
    along_ones = 1 / (1 / LAM + drift * f.steps)
    return helmert(K) @ f.mean(), Q @ reduced @ Q.T + np.kron(
        np.full((K, K), along_ones / K), np.eye(d)
    )


@pytest.mark.parametrize("d", [1, 5, 40])
@pytest.mark.parametrize("K", [2, 3, 7, 12])
def test_compiled_equals_reference(core, d, K):
    n = 300 if d * K < 200 else 60  # the specification takes long
    X, y, weight = stream(d, K, n)
    p, coef, precision = specification(d, K, n=n)
    f = make(core, d, K)
    np.testing.assert_allclose(f.run(X, y, weight), p, rtol=0, atol=1e-9)
    got_coef, got_precision = expand(f, d, K)
    np.testing.assert_allclose(got_coef, coef, rtol=0, atol=1e-9)
    np.testing.assert_allclose(
        got_precision, precision, rtol=1e-9, atol=1e-9 * np.abs(precision).max()
    )
    np.testing.assert_allclose(
        f.covariance() @ f.precision(), np.eye((K - 1) * d), rtol=0, atol=1e-8
    )


@pytest.mark.parametrize(("alpha", "drift"), [(np.inf, 0.0), (4.0, 0.0), (1.0, 1e-3), (16.0, 0.05)])
def test_compiled_equals_reference_tempered_and_drifting(core, alpha, drift):
    d, K = 5, 4
    X, y, weight = stream(d, K)
    p, coef, precision = specification(d, K, alpha, drift)
    f = make(core, d, K, alpha=alpha, drift=drift)
    np.testing.assert_allclose(f.run(X, y, weight), p, rtol=0, atol=1e-9)
    got_coef, got_precision = expand(f, d, K, drift)
    np.testing.assert_allclose(got_coef, coef, rtol=0, atol=1e-9)
    np.testing.assert_allclose(
        got_precision, precision, rtol=0, atol=1e-9 * np.abs(precision).max()
    )


@pytest.mark.parametrize("drift", [0.0, 1e-2])
@pytest.mark.parametrize(
    ("d", "K", "block"),
    [
        *((d, K, block) for d, K in [(7, 4), (1, 2), (3, 12)] for block in (1, 2, 3, 5, 8, 17, 64)),
        # Large enough for BLAS: more than 400 numbers, 1,200 where K > 2.
        *((d, K, block) for d, K in [(450, 2), (410, 4)] for block in (1, 5, 64)),
    ],
)
def test_run_equals_loop_for_every_block_size(core, d, K, block, drift):
    n = 150 if d < 80 else 70
    X, y, weight = stream(d, K, n)
    run, one, whole = (make(core, d, K, drift=drift, block=block) for _ in range(3))
    expected = loop(one, X, y, weight)
    whole_p = whole.run(X, y, weight)
    np.testing.assert_allclose(whole_p, expected, rtol=0, atol=1e-9)
    cuts = [0, 1, 2, 31, 32, 50, n]
    pieces = [run.run(X[a:b], y[a:b], weight[a:b]) for a, b in pairwise(cuts)]
    np.testing.assert_allclose(np.concatenate(pieces), expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(run.mean(), one.mean(), rtol=0, atol=1e-9)
    np.testing.assert_allclose(
        whole.covariance(), one.covariance(), rtol=0, atol=1e-9 * np.abs(one.covariance()).max()
    )


def test_block_sizes_agree_with_each_other(core):
    X, y, weight = stream(6, 5)
    results = [make(core, 6, 5, block=block).run(X, y, weight) for block in (1, 2, 4, 7, 32)]
    for p in results[1:]:
        np.testing.assert_allclose(p, results[0], rtol=0, atol=1e-9)


def test_small_models_give_the_same_bits_however_the_stream_is_cut(core):
    X, y, weight = stream(9, 4)
    cut, whole = make(core, 9, 4), make(core, 9, 4)
    pieces = [cut.run(X[a : a + 7], y[a : a + 7], weight[a : a + 7]) for a in range(0, 300, 7)]
    assert np.array_equal(np.concatenate(pieces), whole.run(X, y, weight))
    assert np.array_equal(cut.mean(), whole.mean())


@pytest.mark.parametrize("period", [1, 10, 1000])
def test_refresh_changes_nothing_but_rounding(core, period):
    X, y, weight = stream(5, 3)
    p, _, _ = specification(5, 3)
    np.testing.assert_allclose(
        make(core, 5, 3, period=period).run(X, y, weight), p, rtol=0, atol=1e-9
    )


@pytest.mark.parametrize("drift", [0.0, 1e-2])
@pytest.mark.parametrize(("d", "K"), [(6, 4), (430, 2), (300, 6)])
def test_predicting_a_table_equals_predicting_its_rows(core, d, K, drift):
    n = 70 if d < 100 else 13
    X, y, _ = stream(d, K, n)
    f = make(core, d, K, drift=drift)
    f.run(X, y, None)
    rows = np.array([f.predict(x) for x in X])
    np.testing.assert_allclose(f.predict(X), rows, rtol=0, atol=1e-12)


def test_learning_after_predicting_something_else(core):
    X, y, _ = stream(4, 3, 60)
    plain, distracted = make(core, 4, 3), make(core, 4, 3)
    for t in range(60):
        plain.learn(X[t], int(y[t]))
        distracted.predict(X[t])
        distracted.predict(X[(t + 7) % 60])
        distracted.predict(X[:5])
        distracted.learn(X[t], int(y[t]))
    assert np.array_equal(plain.predict(X), distracted.predict(X))
    assert np.array_equal(plain.mean(), distracted.mean())


def test_zero_and_huge_inputs(core):
    f = make(core, 3, 4)
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


def test_wide_inputs_keep_the_width_accurate(core):
    """|x|^2 / lam = 1e11: A^-1 loses eleven digits in a step, which an early refresh gives back."""
    rng = np.random.default_rng(0)
    f = core.GAF(2, 2, 0.1, 1.0, np.inf, 0.0, 0.0, ladder(2), 1)
    for t in range(30):
        f.learn(1e5 * (np.array([1.0, 0.5]) + 1e-3 * rng.normal(size=2)), t % 2)
    A = f.precision()
    np.testing.assert_allclose(f.covariance() @ A, np.eye(2), atol=1e-6)


@pytest.mark.parametrize(("d", "K"), [(1, 60), (2, 120)])
def test_many_classes_equal_the_reference(core, d, K):
    X, y = logistic_stream(25, d, K)
    expected = GenericGAF(Logistic(K, Sobol(128)), d, lam=LAM, beta=BETA)
    f = make(core, d, K)
    np.testing.assert_allclose(f.run(X, y, None), expected.run(X, y), rtol=0, atol=1e-9)
    np.testing.assert_allclose(helmert(K) @ f.mean(), expected.coef, rtol=0, atol=1e-9)


def test_compiled_theta_is_stationary(core):
    """2 A_t theta_{t+1} + b_t = 0, with b rebuilt from the path of the compiled forecaster."""
    d, K = 4, 5
    X, y, weight = stream(d, K)
    f = make(core, d, K)
    loss, b = Logistic(K), np.zeros(K * d)
    for t in range(300):
        f.learn(X[t], int(y[t]), float(weight[t]))
        coef, A = expand(f, d, K)
        z = coef @ X[t]
        b += np.kron(weight[t] * (loss.gradient(z, y[t]) - BETA * loss.hessian(z, y[t]) @ z), X[t])
        assert np.abs(2 * A @ coef.ravel() + b).max() < 1e-10


def test_a_million_fold_weight_pins_the_example(core):
    f = make(core, 2, 3)
    f.learn(np.array([1.0, 1.0]), 1, 1e6)
    p = f.predict(np.array([1.0, 1.0]))
    assert p.argmax() == 1
    assert np.isfinite(f.covariance()).all()


def test_weight_multiplies_the_loss(core):
    """The mean minimises lam |theta|^2 + 2 loss: its stationarity condition in closed form."""
    x = np.array([0.6, -0.3])
    f = make(core, 2, 2)
    f.learn(x, 0, 2.0)
    u = float(f.mean()[0] @ x)
    g = -np.sqrt(2) / (1 + np.exp(np.sqrt(2) * u))
    assert abs(2 * LAM * u / (x @ x) + 2.0 * g) < 1e-12
