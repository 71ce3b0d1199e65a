"""Regret: the best model in hindsight, certified."""

import numpy as np
import pytest
from scipy.optimize import minimize
from streams import best_loss_in_ball, logistic_stream

from mixable import GAF, regret
from mixable.losses import log_loss


@pytest.mark.parametrize("radius", [0.3, 2.0, 50.0])
@pytest.mark.parametrize("K", [2, 4])
def test_logistic_agrees_with_slsqp(K, radius):
    """At 0.3 the constraint is active, at 50 it is not."""
    X, y = logistic_stream(150, 3, K)
    best = regret.best_in_hindsight(X, y, radius, n_classes=K)
    assert best.loss == pytest.approx(best_loss_in_ball(X, y, K, radius), abs=1e-6)
    assert best.gap <= 1e-8 * max(1, best.loss)
    assert np.linalg.norm(best.coef) <= radius * (1 + 1e-12)
    z = X @ best.coef.T
    assert best.loss == pytest.approx((np.log(np.exp(z).sum(axis=1)) - z[np.arange(150), y]).sum())
    assert (np.linalg.norm(best.coef) > 0.999 * radius) == (radius < 1 or (K == 4 and radius < 10))


def test_logistic_on_separable_data_uses_the_whole_ball():
    X, _ = logistic_stream(80, 3, 3)
    y = (X @ np.array([[2.0, 0, 0], [0, 2.0, 0], [0, 0, 2.0]]).T).argmax(axis=1)
    best = regret.best_in_hindsight(X, y, 8.0)
    assert np.linalg.norm(best.coef) == pytest.approx(8.0)
    assert best.loss == pytest.approx(best_loss_in_ball(X, y, 3, 8.0), abs=1e-6)
    far = regret.best_in_hindsight(X, y, 1000.0)
    assert far.loss < best.loss
    assert far.gap <= 1e-6


@pytest.mark.parametrize("radius", [0.2, 100.0])
@pytest.mark.parametrize("rank", [2, 4])
def test_squared_agrees_with_slsqp(radius, rank):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, rank)) @ rng.normal(size=(rank, 4))
    y = rng.normal(size=60)
    best = regret.best_in_hindsight(X, y, radius, loss="squared")
    ball = {"type": "ineq", "fun": lambda w: radius**2 - w @ w, "jac": lambda w: -2 * w}
    fit = minimize(
        lambda w: ((X @ w - y) ** 2).sum(),
        np.zeros(4),
        jac=lambda w: 2 * X.T @ (X @ w - y),
        method="SLSQP",
        constraints=[ball],
        options={"ftol": 1e-13},
    )
    assert best.loss == pytest.approx(fit.fun, abs=1e-6)
    assert best.gap < 1e-6


def test_bad_arguments():
    X, y = logistic_stream(20, 3, 3)
    with pytest.raises(ValueError, match="radius"):
        regret.best_in_hindsight(X, y, 0.0)
    with pytest.raises(ValueError, match="loss must be"):
        regret.best_in_hindsight(X, y, 1.0, loss="hinge")
    with pytest.raises(ValueError, match=r"X\[3, 1\] is nan"):
        regret.best_in_hindsight(np.where(np.arange(60).reshape(20, 3) == 10, np.nan, X), y, 1.0)
    with pytest.raises(ValueError, match="same length"):
        regret.curve(np.ones(5), X, y, 1.0)
    for times in ([0, 5], [1.5], [], [21]):
        with pytest.raises(ValueError, match="times"):
            regret.curve(np.ones(20), X, y, 1.0, times=times)
    with pytest.raises(ValueError, match="same length"):
        regret.curve(np.ones((20, 3)), X, y, 1.0)
    with pytest.raises(ValueError, match=r"losses\[3\] is nan"):
        regret.curve(np.where(np.arange(20) == 3, np.nan, 1.0), X, y, 1.0)
    for wrong in (y.astype(float), y.astype(str)):
        with pytest.raises(TypeError, match="y must be"):
            regret.best_in_hindsight(X, wrong, 1.0)
    with pytest.raises(ValueError, match=r"X must have shape \(n, d\)"):
        regret.best_in_hindsight(X[0], y, 1.0)
    with pytest.raises(ValueError, match=r"X\[0\] is too large"):
        regret.best_in_hindsight(X * 1e150, y, 1.0)


@pytest.mark.parametrize("radius", [1e-3, 1.0, 1e3, 1e5])
def test_logistic_is_certified_for_any_radius_and_scale(radius):
    X, y = logistic_stream(100, 2, 3)
    best = regret.best_in_hindsight(X * [10.0, 1.0], y, radius)
    assert best.gap <= 1e-9 * max(1, best.loss)
    separable = regret.best_in_hindsight(X, (X[:, 0] > 0).astype(int), radius)
    assert separable.gap <= 1e-9 * max(1, separable.loss)


@pytest.mark.parametrize("radius", [1.5, 2.5])
@pytest.mark.parametrize("K", [2, 4])
def test_the_gap_is_the_frank_wolfe_gap_and_covers_what_is_missing(K, radius):
    """With a tolerance so large that the search stops far from the best."""
    X, y = logistic_stream(150, 3, K)
    early = regret.best_in_hindsight(X, y, radius, n_classes=K, tolerance=1e9)
    z = X @ early.coef.T
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    p[np.arange(150), y] -= 1
    g = p.T @ X  # (K, d)
    most = (g * early.coef).sum() + radius * np.linalg.norm(
        g
    )  # the most that a linear function falls within the ball
    assert early.gap == pytest.approx(min(most, early.loss))
    missing = early.loss - best_loss_in_ball(X, y, K, radius)
    assert 0.5 < missing <= early.gap < early.loss


def test_a_loss_is_never_negative_so_the_gap_is_at_most_the_loss():
    X = np.array([[1.0, 0.2], [-1.0, 0.3]])
    far = regret.best_in_hindsight(X, [0, 1], 1000.0, tolerance=1e9)
    z = X @ far.coef.T
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    g = (p - np.eye(2)).T @ X
    assert (g * far.coef).sum() + 1000 * np.linalg.norm(g) > far.loss == far.gap


def test_a_gap_above_the_tolerance_is_said(monkeypatch):
    X, y = logistic_stream(60, 3, 3)
    with monkeypatch.context() as broken:
        broken.setattr(
            regret, "fit", lambda values, labels, w, nu, V: V
        )  # a solver that stays where it is
        with pytest.warns(RuntimeWarning, match="only known to within"):
            best = regret.best_in_hindsight(X, y, 1.0)
    assert best.gap > 1
    times = [20, 60]
    gaps = regret.curve(np.ones(60), X, y, 1.0, times=times).gap
    assert gaps == pytest.approx(
        [regret.best_in_hindsight(X[:t], y[:t], 1.0, n_classes=3).gap for t in times]
    )


def test_squared_loss_keeps_small_directions():
    z = np.random.default_rng(0).normal(size=(100, 2))
    best = regret.best_in_hindsight(z * [1.0, 1e-8], z[:, 0] + 0.5 * z[:, 1], 1e9, loss="squared")
    assert best.loss < 1e-12


def test_curve_is_the_difference_it_says():
    X, y = logistic_stream(200, 3, 3)
    losses = log_loss(GAF(3, 3).run(X, y), y)
    got = regret.curve(losses, X, y, 3.0, times=[1, 50, 200])
    for t, value, best, _ in zip(*got, strict=True):
        expected = regret.best_in_hindsight(X[:t], y[:t], 3.0, n_classes=3).loss
        assert best == pytest.approx(expected, abs=1e-6)
        assert value == pytest.approx(losses[:t].sum() - expected, abs=1e-6)
    assert regret.curve(losses, X, y, 3.0).times[-1] == 200
