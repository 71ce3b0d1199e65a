"""The exact kernel forecaster, and what approaches it."""

import numpy as np
import pytest
from kernel_data import rings, stopped_at

import mixable as mx
from mixable import KernelGAF
from mixable.kernels import Fourier, Nystroem, effective_dimension, rbf
from mixable.losses import Logistic, Squared


@pytest.mark.parametrize("K", [2, 3])
def test_exact_with_a_linear_kernel_is_gaf(K, rng):
    X, y = rng.normal(size=(120, 3)), rng.integers(0, K, 120)
    parameters = {"lam": 0.3, "beta": 0.7, "alpha": 2.0}
    weight = rng.random(120)
    exact = KernelGAF(Logistic(K), 3, gamma=None, **parameters)
    np.testing.assert_allclose(
        exact.run(X, y, weight),
        mx.GenericGAF(Logistic(K), 3, **parameters).run(X, y, weight),
        atol=1e-8,
    )
    if K == 2:
        exact = KernelGAF(Logistic(K), 3, gamma=None, **parameters)
        np.testing.assert_allclose(
            exact.run(X, y), mx.GAF(3, K, mu=0.0, **parameters).run(X, y), atol=1e-8
        )


def test_exact_with_squared_loss_is_the_same_as_explicit_features(rng):
    X = rng.normal(size=(80, 2))
    y = np.sin(X[:, 0])
    exact = KernelGAF(Squared(), 2, gamma=None, lam=0.5).run(X, y)
    np.testing.assert_allclose(exact, mx.GenericGAF(Squared(), 2, lam=0.5).run(X, y), atol=1e-8)


@pytest.mark.parametrize("causally", [False, True])
@pytest.mark.parametrize("gamma", [0.5, 50.0])
def test_nystroem_with_all_points_as_landmarks_is_exact(causally, gamma):
    X, y = rings(300)
    exact = KernelGAF(Logistic(2), 2, gamma=gamma, lam=0.1).run(X, y)
    features, all_of_them = Nystroem(2, 300, gamma=gamma, tolerance=1e-10).learn(X)
    assert (
        gamma < 1 or len(all_of_them.landmarks) == 300
    )  # a smooth kernel has no more than some 130 directions in double precision
    phi = features if causally else all_of_them.transform(X)
    p = mx.GAF(300, 2, lam=0.1, mu=0.0).run(phi, y)
    np.testing.assert_allclose(np.log(p), np.log(exact), atol=1e-5 if causally else 1e-6)


def test_fourier_forecasts_approach_the_exact_ones_as_the_square_root():
    X, y = rings(500)
    exact = np.log(KernelGAF(Logistic(2), 2, gamma=0.5, lam=0.1).run(X, y))
    sizes, errors = [32, 128, 512, 2000], []
    for m in sizes:
        seeds = range(8 if m < 500 else 3)
        runs = [
            mx.GAF(m, 2, lam=0.1, mu=0.0).run(Fourier(2, m, gamma=0.5, seed=seed).transform(X), y)
            for seed in seeds
        ]
        errors.append(np.mean([np.abs(np.log(p) - exact).mean() for p in runs]))
    slope = np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    assert -0.65 < slope < -0.35, (slope, errors)
    assert errors[-1] < 0.03


def test_a_landmark_that_was_kept_room_for_is_as_good_as_one_that_add_features_makes_room_for():
    X, y = rings(200)
    features, _ = Nystroem(2, 30, gamma=0.5).learn(X)
    reserved = mx.GAF(30, 2, lam=0.1).run(features, y)
    seen = (
        np.maximum.accumulate(np.where(features != 0, 1, 0).cumsum(axis=1).argmax(axis=1)) + 1
    )  # landmarks at each row
    grown, p = mx.GAF(1, 2, lam=0.1), []
    for phi, label, r in zip(features, y, seen, strict=True):
        if r > grown.n_features:
            grown.add_features(int(r) - grown.n_features)
        p.append(grown.predict(phi[:r]))
        grown.learn(phi[:r], label)
    np.testing.assert_allclose(p, reserved, atol=1e-9)


def test_effective_dimension_along_the_stream():
    X, _ = rings(60)
    K = rbf(X, X, 0.5)
    by_hand = [
        np.trace(K[:t, :t] @ np.linalg.inv(K[:t, :t] + 0.1 * np.eye(t))) for t in range(1, 61)
    ]
    np.testing.assert_allclose(effective_dimension(K, 0.1), by_hand, atol=1e-9)
    f = KernelGAF(Logistic(2), 2, gamma=0.5, lam=0.1)
    f.run(X, [0, 1] * 30)
    np.testing.assert_allclose(f.effective_dimension(), by_hand, atol=1e-9)
    with pytest.raises(ValueError, match="square"):
        effective_dimension(K[:3], 0.1)


def test_an_exact_forecaster_that_is_stopped_goes_on():
    X, y = rings(12)
    expected, line, stops = KernelGAF(Logistic(2), 2, lam=0.1).run(X, y), 0, [0]
    while stops:
        line += 1
        f = KernelGAF(Logistic(2), 2, lam=0.1)
        f.run(X[:10], y[:10])
        with stopped_at(KernelGAF._absorb.__code__.co_filename, line) as stops:
            f.learn(X[10], y[10])
        if len(f._X) == 10:
            f.learn(X[10], y[10])
        np.testing.assert_allclose(f.predict(X[11]), expected[11], atol=1e-12)
    assert line > 15


def test_the_exact_forecaster_refuses_what_double_precision_or_memory_cannot_hold():
    with pytest.raises(ValueError, match="lam"):
        KernelGAF(Logistic(2), 2, lam=1e-9)
    with pytest.raises(ValueError, match="beta"):
        KernelGAF(Logistic(2), 2, beta=1e308)
    with pytest.raises(MemoryError, match="KernelGAF with 3000000 examples"):
        KernelGAF(Logistic(2), 1).run(np.zeros((3_000_000, 1)), np.zeros(3_000_000, dtype=int))


@pytest.mark.parametrize("beta", [1.0, 1e12, 2.0**53])
def test_however_steep_it_was_learned_what_was_saved_is_loaded(beta, rng):
    f, X = KernelGAF(Logistic(3), 3, beta=beta), rng.normal(size=(21, 3))
    f.run(X[:20], np.arange(20) % 3)
    assert np.array_equal(mx.loads(mx.dumps(f)).predict(X[20]), f.predict(X[20]))
