"""Bounds of the other forecasters: by hand, at their least, and kept."""

import numpy as np
import pytest
from scipy.optimize import root

from mixable import AIOLI, GAF, VAW, Folklore, bounds, regret
from mixable.integrals import helmert, softmax
from mixable.losses import log_loss


@pytest.mark.parametrize("lam", [0.01, 0.3, 7.0])
@pytest.mark.parametrize(
    ("value", "by_hand"),
    [
        (
            lambda lam: bounds.aioli(1000, 3, 2.0, 1.5, lam),
            lambda lam: (
                lam * 4 + (1 + 3 + 2.25 / (16 * lam)) * 3 * np.log(1 + 2250 / (8 * lam * 3 * 4))
            ),
        ),
        (
            lambda lam: bounds.folklore(1000, 3, 4, 2.0, 1.5, lam, "paper"),
            lambda lam: (
                lam * 4
                + ((4 + np.log(4) / 2) / 2 + 2.25 / (16 * lam))
                * 9
                * np.log(1 + 2250 / (24 * lam * (4 + np.log(4) / 2)))
            ),
        ),
        (
            lambda lam: bounds.vaw(1000, 3, 2.0, 1.5, 0.5, lam),
            lambda lam: lam * 4 + 0.25 * 3 * np.log(1 + 2250 / (3 * lam)),
        ),
    ],
    ids=["aioli", "folklore", "vaw"],
)
def test_bounds_of_the_neighbours_by_hand_and_at_their_least(value, by_hand, lam):
    assert value(lam) == pytest.approx(by_hand(lam), rel=1e-12)
    least = value(None)
    assert least == pytest.approx(by_hand(least.lam), rel=1e-12)
    grid = np.geomspace(1e-4, 1e4, 1601)
    assert (least <= by_hand(grid) * (1 + 1e-12)).all()
    assert least == pytest.approx(by_hand(grid).min(), rel=1e-4)


def test_the_remaining_bounds_by_hand():
    """n = 1000, d = 3, K = 4, B = 2, R = 1.5."""
    sizes = (1000, 3, 4, 2.0, 1.5)
    G = np.sqrt(2) * 1.5
    assert bounds.ogd(*sizes) == pytest.approx(3 * 2 * G * np.sqrt(1000))
    inverse = 3 * np.exp(np.sqrt(2) * 3)
    assert bounds.ons(*sizes) == pytest.approx(5 * (inverse + 2 * G * 2) * 9 * np.log(1000))
    assert bounds.foster(*sizes) == pytest.approx(5 * 12 * np.log(3 * 1000 / 12 + np.e))
    beta, lam = 1 / (np.log(4) / 2 + 4), 32 * 12 * 2.25
    expected = lam * 4 + 12 * (0.5 + 2 * np.sqrt(3) / beta) * np.log(
        1 + 1000 * beta * 2.25 / (2 * lam)
    )
    assert bounds.corollary2(*sizes) == pytest.approx(expected)
    assert bounds.folklore(*sizes) == min(
        bounds.folklore(*sizes, constants=kind) for kind in ("paper", "tight")
    )
    least = bounds.squared(
        1000, 3, 2.0, 1.5, 0.5
    )  # alpha = 2, beta = 1, gamma = 4.5; any lam will do
    lams = np.append(least.lam, np.geomspace(1e-3, 1e3, 1201))
    values = lams * 4 + 3 / 2 * (0.5 + 2 * np.sqrt(3)) * np.log(1 + 1000 * 4.5 / (2 * lams))
    assert least == pytest.approx(values[0])
    assert (least <= values * (1 + 1e-12)).all()
    with pytest.raises(ValueError, match="Theorem 1 needs lam"):
        bounds.gaf(*sizes, lam=0.1)
    assert bounds.gaf(*sizes, lam=5.0).constants == "tight"  # the paper's need 108
    for lam in (0.0, -1.0, np.nan):
        with pytest.raises(ValueError, match="lam"):
            bounds.folklore(*sizes, lam=lam)


def test_proposition_3_by_hand():
    """Theorem 1's bound + n eps + 2 mu n, eps = sqrt(K ln(n K / delta) / (mu m)): the union is over
    all labels of all steps.
    """
    sizes = (1000, 3, 4, 2.0, 1.5)
    tail = 4 * np.log(1000 * 4 / 0.1)
    exact = {kind: bounds.gaf(*sizes, kind) for kind in ("paper", "tight")}
    for kind, theorem in exact.items():
        got = bounds.proposition3(*sizes, m=1e7, delta=0.1, mu=0.02, constants=kind)
        assert got.mu == 0.02
        assert got.regret == pytest.approx(
            theorem + 1000 * np.sqrt(tail / (0.02 * 1e7)) + 2 * 0.02 * 1000
        )
        assert (got.regret.lam, got.regret.constants) == (theorem.lam, kind)
    mu = (tail / 1e7) ** (1 / 3)
    assert bounds.proposition3(*sizes, m=1e7, delta=0.1) == pytest.approx(
        (mu, exact["tight"] + 3 * mu * 1000)
    )
    assert bounds.points(1000, 4, 3 * mu * 1000, delta=0.1) == pytest.approx(1e7)
    # eps = 1/2 is the most that the proof allows
    few = 4 * tail / 0.3
    assert np.isfinite(bounds.proposition3(*sizes, m=few * (1 + 1e-9), delta=0.1, mu=0.3).regret)
    assert np.isinf(bounds.proposition3(*sizes, m=few * (1 - 1e-9), delta=0.1, mu=0.3).regret)
    assert bounds.proposition3(*sizes, m=1).mu == 0.5


@pytest.mark.parametrize("name", ["GAF", "Folklore", "AIOLI"])
@pytest.mark.parametrize("B", [0.4, 3.0])
def test_the_forecaster_of_the_least_bound_stays_under_it(name, B):
    """On labels from weights of norm B, where predicting 1/2 breaks it; against an adversary."""
    n, d, K, R = 20_000, 2, 2, 1.0
    rng = np.random.default_rng(2)
    angle = rng.uniform(0, 2 * np.pi, n)
    X = R * np.column_stack([np.cos(angle), np.sin(angle)])
    W = B / np.sqrt(2) * np.array([[0.6, -0.8], [-0.6, 0.8]])
    y = (X @ W.T + rng.gumbel(size=(n, K))).argmax(axis=1)

    def made(steps):
        if name == "AIOLI":
            margin = np.sqrt(2) * B
            value = bounds.aioli(steps, d, margin, R)
            return AIOLI.from_theory(d, radius=margin, bound=R, horizon=steps), value, value
        if name == "GAF":
            value = bounds.gaf(steps, d, K, B, R)
            f = GAF.from_theory(d, K, radius=B, bound=R, horizon=steps, constants=value.constants)
            return f, value, value + 2
        value = bounds.folklore(steps, d, K, B, R)
        f = Folklore.from_theory(d, K, radius=B, bound=R, horizon=steps, constants=value.constants)
        return f, value, value

    f, value, most = made(n)
    assert f.lam == value.lam
    best = regret.best_in_hindsight(X, y, B).loss
    assert log_loss(f.run(X, y), y).sum() - best <= most < n * np.log(2) - best
    few = 1500
    f, _, most = made(few)
    labels, total = np.empty(few, dtype=int), 0.0
    for t in range(few):
        p = f.predict(X[t // 30])
        labels[t] = p.argmin()
        total += -np.log(p[labels[t]])
        f.learn(X[t // 30], int(labels[t]))
    assert total - regret.best_in_hindsight(X[np.arange(few) // 30], labels, B).loss <= most


def test_the_regression_of_the_least_bound_stays_under_it():
    n, d, B, R, Y = 3000, 3, 0.7, 2.0, 1.5
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, d))
    X *= R / np.linalg.norm(X, axis=1, keepdims=True)
    y = np.clip(X @ (B / np.sqrt(d) * np.ones(d)) + rng.normal(size=n), -Y, Y)
    value = bounds.vaw(n, d, B, R, Y)
    f = VAW.from_theory(d, radius=B, bound=R, target_bound=Y, horizon=n)
    assert f.lam == value.lam
    best = regret.best_in_hindsight(X, y, B, loss="squared").loss
    assert ((f.run(X, y) - y) ** 2).sum() - best <= value < (y**2).sum() - best


def hedged(mean, G, K):
    """Folklore's point in K - 1 coordinates, by its definition."""
    Q = helmert(K)
    start = mean + Q.T @ np.diag(Q @ G @ Q.T) / 4
    return root(lambda u: u - start + 0.5 * G @ Q.T @ softmax(Q @ u), mean, tol=1e-13).x


@pytest.mark.parametrize("width", [1e-3, 1.0, 30.0])
@pytest.mark.parametrize("K", [2, 3, 6])
def test_a_step_of_folklore_costs_a_quarter_of_the_trace_at_most(K, width):
    """Its loss less the gain of the least of the quadratic: docs: Proofs, and nearly all of it
    where the posterior is narrow.
    """
    rng, Q, c = np.random.default_rng(K), helmert(K), 0.2
    for _ in range(20):
        L = rng.normal(size=(K - 1, K - 1))
        mean, G = 3 * rng.normal(size=K - 1), width * (L @ L.T + 0.1 * np.eye(K - 1))
        u = hedged(mean, G, K)
        p = softmax(Q @ u)
        S = Q.T @ (np.diag(p) - np.outer(p, p)) @ Q
        after = np.linalg.inv(np.linalg.inv(G) + c * S)
        shift = np.linalg.solve(G, u - mean)
        costs = []
        for y in range(K):
            slope = Q.T @ (p - np.eye(K)[y]) + 2 * shift
            costs.append(slope @ after @ slope / 4 - (u - mean) @ shift)
        assert max(costs) <= 0.25 * np.trace(G @ S) * (1 + 1e-9)
        assert width > 0.01 or max(costs) > 0.24 * np.trace(G @ S)


@pytest.mark.parametrize("G", [1e-3, 1.0, 30.0])
def test_a_step_of_aioli_costs_half_of_the_trace_at_most(G):
    for mean in np.linspace(-8, 8, 33):
        s = root(lambda s, mean=mean: s - mean + 0.5 * G * np.tanh(s / 2), mean, tol=1e-13).x[0]
        p = 1 / (1 + np.exp(-s))
        for label in (0, 1):
            slope = p - label + 2 * (s - mean) / G
            cost = slope**2 * G / 4 - (s - mean) ** 2 / G
            assert cost <= 0.5 * G * p * (1 - p) * (1 + 1e-9)
