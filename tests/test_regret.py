"""Best in hindsight against independent solvers, regret curves, online-to-batch, bounds on streams
where they mean something.
"""

import numpy as np
import pytest
from scipy.optimize import minimize
from streams import best_loss_in_ball, logistic_stream

from mixable import AIOLI, GAF, OGD, ONS, VAW, Folklore, Foster, bounds, online_to_batch, regret
from mixable.datasets import make_hazan
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


def test_make_hazan_has_the_stated_distribution():
    n, eps = 200_000, 0.04
    for chi in (-1, 1):
        X, y = make_hazan(n, chi, seed=3, eps=eps)
        B = np.log(n)
        chance = np.sqrt(eps) / (2 * B) + chi * eps / B
        assert abs(y.mean() - chance) < 4 * np.sqrt(chance / n)
        np.testing.assert_allclose(X[y == 1], 1 - np.sqrt(eps) / (2 * B))
        np.testing.assert_allclose(X[y == 0], np.sqrt(eps) / B)
    for wrong in ({"chi": 0}, {"chi": 1, "eps": 0.0}, {"chi": 1, "n": 1}):
        with pytest.raises(ValueError, match=r"chi|eps|n must"):
            make_hazan(**{"n": 100, **wrong})


def circle(n, K, B, seed=0):
    """Well-specified: inputs on the unit circle, labels from weights of norm B."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 2 * np.pi, n)
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    W = rng.normal(size=(K, 2))
    W -= W.mean(axis=0)
    W *= B / np.linalg.norm(W)
    return X, (X @ W.T + rng.gumbel(size=(n, K))).argmax(axis=1)


@pytest.mark.parametrize("name", ["OGD", "ONS", "Folklore", "Folklore tight", "AIOLI", "Foster"])
def test_regret_is_under_the_bound_where_predicting_the_uniform_distribution_breaks_it(name):
    B, R = 2.0, 1.0
    K = 2 if name == "AIOLI" else 3
    n = {"OGD": 20_000, "ONS": 40_000, "Foster": 300}.get(name, 20_000)
    if name == "Foster":
        B = 8.0
    X, y = circle(n, K, B)
    if name == "OGD":
        p, bound = OGD.from_theory(2, K, radius=B, bound=R).run(X, y), bounds.ogd(n, 2, K, B, R)
    elif name == "ONS":
        p, bound = ONS.from_theory(2, K, radius=B, bound=R).run(X, y), bounds.ons(n, 2, K, B, R)
    elif name == "AIOLI":
        margin = np.sqrt(2) * B
        f = AIOLI.from_theory(2, radius=margin, bound=R, horizon=n)
        p, bound = f.run(X, y), bounds.aioli(n, 2, margin, R)
    elif name == "Foster":
        p, bound = (
            Foster.from_theory(2, K, radius=B, horizon=n, m=10).run(X, y),
            bounds.foster(n, 2, K, B, R) + 2,
        )
    else:
        kind = "tight" if "tight" in name else "paper"
        p = Folklore.from_theory(2, K, radius=B, bound=R, horizon=n, constants=kind).run(X, y)
        bound = bounds.folklore(n, 2, K, B, R, constants=kind)
    best = regret.best_in_hindsight(X, y, B, n_classes=K).loss
    assert log_loss(p, y).sum() - best <= bound
    assert n * np.log(K) - best > bound


def test_vaw_is_under_both_its_bounds():
    rng = np.random.default_rng(0)
    n, d, B, R, Y = 5000, 3, 1.0, 1.0, 1.0
    X = rng.normal(size=(n, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    theta = np.array([0.8, -0.5, 0.3])
    y = np.clip(X @ theta * B / np.linalg.norm(theta) + 0.1 * rng.normal(size=n), -Y, Y)
    f = VAW.from_theory(d, radius=B, bound=R, target_bound=Y, horizon=n)
    loss = ((f.run(X, y) - y) ** 2).sum()
    best = regret.best_in_hindsight(X, y, B, loss="squared").loss
    assert loss - best <= bounds.vaw(n, d, B, R, Y) < bounds.squared(n, d, B, R, Y)
    assert (y**2).sum() - best > bounds.vaw(n, d, B, R, Y)  # predicting 0 breaks it


@pytest.mark.parametrize("chi", [-1, 1])
def test_every_bound_holds_in_the_hard_regime(chi):
    n = 10_000
    X, y = make_hazan(n, chi, seed=0)
    margin = np.log(n)
    B = margin / np.sqrt(2)  # of the 2 x 1 matrix
    best = regret.best_in_hindsight(X, y, B, n_classes=2).loss
    runs = {
        "GAF": (
            GAF.from_theory(1, 2, radius=B, bound=1.0, horizon=n),
            bounds.gaf(n, 1, 2, B, 1.0, "paper") + 2,
        ),
        "GAF tight": (
            GAF.from_theory(1, 2, radius=B, bound=1.0, horizon=n, constants="tight"),
            bounds.gaf(n, 1, 2, B, 1.0, "tight") + 2,
        ),
        "Folklore": (
            Folklore.from_theory(1, 2, radius=B, bound=1.0),
            bounds.folklore(n, 1, 2, B, 1.0, 1.0, "paper"),
        ),
        "AIOLI": (
            AIOLI.from_theory(1, radius=margin, bound=1.0),
            bounds.aioli(n, 1, margin, 1.0, lam=1.0),
        ),
        "ONS": (ONS.from_theory(1, 2, radius=B, bound=1.0), bounds.ons(n, 1, 2, B, 1.0)),
        "OGD": (OGD.from_theory(1, 2, radius=B, bound=1.0), bounds.ogd(n, 1, 2, B, 1.0)),
    }
    for name, (forecaster, bound) in runs.items():
        assert log_loss(forecaster.run(X, y), y).sum() - best <= bound, name
    few = 150
    X, y = make_hazan(few, chi, seed=0)
    B = np.log(few) / np.sqrt(2)
    p = Foster.from_theory(1, 2, radius=B, horizon=few, m=10).run(X, y)
    assert (
        log_loss(p, y).sum() - regret.best_in_hindsight(X, y, B, n_classes=2).loss
        <= bounds.foster(few, 1, 2, B, 1.0) + 2
    )


def test_bounds_grow_as_table_1_says():
    """Doubling n adds a constant to the logarithmic ones; B enters OGD linearly, ONS exponentially,
    GAF and FOLKLORE polynomially.
    """
    arguments = {"n_features": 5, "n_classes": 3, "bound": 1.0}
    for name in ("gaf", "folklore", "ons", "foster"):
        at = [
            getattr(bounds, name)(n, radius=3.0, **arguments) for n in (10**7, 2 * 10**7, 4 * 10**7)
        ]
        assert at[2] - at[1] == pytest.approx(at[1] - at[0], rel=1e-3), name
    assert bounds.ogd(400, radius=3.0, **arguments) == pytest.approx(
        2 * bounds.ogd(100, radius=3.0, **arguments)
    )
    assert bounds.ons(1000, radius=12.0, **arguments) > 1000 * bounds.ons(
        1000, radius=6.0, **arguments
    )
    assert bounds.gaf(1000, radius=12.0, **arguments) < 5 * bounds.gaf(
        1000, radius=6.0, **arguments
    )
    assert bounds.foster(1000, radius=12.0, **arguments) < 1.5 * bounds.foster(
        1000, radius=6.0, **arguments
    )
    assert bounds.corollary2(1000, radius=3.0, **arguments) > bounds.gaf(
        1000, radius=3.0, **arguments
    )


def test_proposition_3():
    assert bounds.proposition3(10_000, 5, 3, 2.0, 1.0, m=100).regret == np.inf
    several = [
        bounds.proposition3(10_000, 5, 3, 2.0, 1.0, m=m).regret for m in (1e6, 1e9, 1e12, 1e15)
    ]
    assert several == sorted(several, reverse=True)
    assert several[-1] - bounds.gaf(10_000, 5, 3, 2.0, 1.0) < 20
    mu, _ = bounds.proposition3(10_000, 5, 3, 2.0, 1.0, m=1e9, delta=0.1)
    assert mu == pytest.approx((3 * np.log(3e5) / 1e9) ** (1 / 3))
