"""Pool: GAF on the experts' logarithms, against the paper's rule in NumPy, and its bound."""

import copy

import numpy as np
import pytest
from streams import logistic_stream

import mixable as mx
from mixable import _core
from mixable.integrals import softmax
from mixable.losses import log_loss


class Saying:
    """An expert that says what it is told to."""

    n_features = 1

    def __init__(self, rows):
        self.rows, self.steps, self.n_classes = np.asarray(rows), 0, np.shape(rows)[1]

    def predict(self, x):
        return self.rows[self.steps]

    def learn(self, x, y, weight=1.0):
        self.steps += 1


def said(n, N, K, sharp, seed=0):
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.full(K, sharp), size=(n, N)) + 1e-9
    P /= P.sum(axis=2, keepdims=True)
    return P, np.array([rng.choice(K, p=p) for p in P[:, :2].mean(axis=1)])


def minimum(A, w, Phi, y, weight):
    """The minimum of (u - w) A (u - w) + weight * loss, by plain damped Newton."""

    def value(u):
        z = Phi.T @ u
        return (u - w) @ A @ (u - w) + weight * (np.logaddexp.reduce(z) - z[y])

    u = w.copy()
    for _ in range(200):
        q = softmax(Phi.T @ u)
        gradient = 2 * A @ (u - w) + weight * (Phi @ q - Phi[:, y])
        H = 2 * A + weight * ((Phi * q) @ Phi.T - np.outer(Phi @ q, Phi @ q))
        step, size = np.linalg.solve(H, gradient), 1.0
        while value(u - size * step) > value(u) + 1e-13 and size > 1e-9:
            size /= 2
        u = u - size * step
        if np.abs(step).max() < 1e-13:
            break
    return u


def reference(P, y, weight, drift, tie=0.0, lam=1.0, first=()):
    """Weights of the pool after all examples, and its plain forecasts."""
    n, N, K = P.shape
    w, A, out = np.array(first or [1 / N] * N), lam * (np.eye(N) + tie / N), []
    for t in range(n):
        Phi = np.log(0.999 * P[t] + 0.001 / K)
        Phi -= Phi.mean(axis=1, keepdims=True)
        out.append(softmax(Phi.T @ w))
        w = minimum(A, w, Phi, y[t], weight[t])
        q = softmax(Phi.T @ w)
        A = A + 0.5 * weight[t] * ((Phi * q) @ Phi.T - np.outer(Phi @ q, Phi @ q))
        A = np.linalg.inv(np.linalg.inv(A) + drift * np.eye(N))
    return w, np.array(out)


@pytest.mark.parametrize("tie", [0.0, 50.0])
@pytest.mark.parametrize(("N", "K", "sharp"), [(1, 2, 1.0), (2, 4, 1.0), (3, 5, 0.1), (5, 20, 0.3)])
def test_the_weights_are_those_of_the_papers_rule(core, N, K, sharp, tie):
    P, y = said(60, max(N, 2), K, sharp)
    P = P[:, :N]
    weight = np.random.default_rng(1).choice([0.5, 1.0, 3.0], size=60)
    judge = core.Judge(N, K, 1.0, 1e-4, 1e-3, 1e-3, tie=tie)
    before = judge.state()
    np.testing.assert_allclose(before["0.S"] @ before["0.A"], np.eye(N), atol=1e-12)
    judge.run(np.ascontiguousarray(P.reshape(60, -1)), y.astype(np.int_), weight)
    for row, drift in zip(judge.mean(), (0.0, 1e-4), strict=True):
        np.testing.assert_allclose(row, reference(P, y, weight, drift, tie)[0], rtol=0, atol=1e-7)


def test_a_pool_that_learns_quickly_and_weights_to_begin_with(core):
    P, y = said(60, 3, 4, 1.0)
    first, rows = [0.5, 0.4, 0.1], np.ascontiguousarray(P.reshape(60, -1))
    judge = core.Judge(3, 4, 5.0, 1e-4, 1e-3, 1e-3, tie=2.0, quick=0.5, first=first)
    np.testing.assert_array_equal(judge.mean(), [first, first])
    judge.run(rows, y.astype(np.int_), None)
    for row, drift, lam in zip(judge.mean(), (0.0, 1e-4), (5.0, 0.5), strict=True):
        w, _ = reference(P, y, np.ones(60), drift, 2.0, lam=lam, first=first)
        np.testing.assert_allclose(row, w, rtol=0, atol=1e-7)
    with pytest.raises(ValueError, match="N weights"):
        core.Judge(3, 4, 1.0, 1e-4, 1e-3, 1e-3, first=[0.5, 0.5])


def test_its_loss_is_near_that_of_the_best_of_pools_and_experts():
    """At every step, ln(2 (N + 4)) and no more above the plain pool and every expert."""
    P, y = said(250, 3, 4, 1.0)
    pool = mx.Pool([Saying(P[:, i]) for i in range(3)])
    loss = log_loss(pool.run(np.zeros((250, 1)), y), y).cumsum()
    _, plain = reference(P, y, np.ones(250), 0.0)
    for p in (plain, *P.transpose(1, 0, 2)):
        assert (loss <= log_loss(p, y).cumsum() + np.log(14) + 1e-9).all()


def test_it_beats_experts_that_see_different_columns():
    X, y = logistic_stream(3000, 6, 3)
    halves = [slice(0, 3), slice(3, 6)]
    alone = [log_loss(mx.GAF(3, 3).run(X[:, half], y), y).mean() for half in halves]
    mixed = log_loss(
        np.mean([mx.GAF(3, 3).run(X[:, half], y) for half in halves], axis=0), y
    ).mean()
    pool = mx.Pool([mx.GAF(3, 3), mx.GAF(3, 3)], apart=True)
    loss = log_loss(pool.run(X, y), y).mean()
    assert loss < 0.9 * min(alone)
    assert loss < 0.9 * mixed
    assert "Pool of 2 experts after 3000 examples" in pool.report()
    assert pool.expert_weights.sum() == pytest.approx(1)


def test_one_of_two_that_say_the_same_is_not_counted_twice():
    P, y = said(2000, 2, 3, 2.0)
    y = np.array([np.random.default_rng(t).choice(3, p=P[t, 0]) for t in range(2000)])
    pool = mx.Pool([Saying(P[:, 0]), Saying(P[:, 0].copy())])
    pool.run(np.zeros((2000, 1)), y)
    assert pool.weights.sum() == pytest.approx(1, abs=0.15)


@pytest.mark.parametrize("K", [2, 5, 30])
def test_forecasts_are_hedged_as_in_closed_form(core, K):
    """Up to 12 classes with the variance of each pair, beyond with its mean."""
    P, _ = said(3, 2, K, 0.5)
    judge = core.Judge(2, K, 1e-2, 1e-4, 1e-3, 1e-3)
    Phi = np.log(0.999 * P[0] + 0.001 / K)
    Phi -= Phi.mean(axis=1, keepdims=True)
    m, G = Phi.T @ [0.5, 0.5], Phi.T @ Phi / 1e-2
    pairs = np.diag(G)[:, None] + np.diag(G)[None, :] - 2 * G
    if K > 12:
        pairs = np.full((K, K), pairs.sum() / (K * (K - 1)))
    z = (m[None, :] - m[:, None]) / np.sqrt(1 + np.pi / 8 * pairs / 8)
    hedged = 1 / np.exp(z).sum(axis=1)
    hedged /= hedged.sum()
    # At first the plain and the hedged pools have two parts each, and so has each expert one.
    expected = (2 * softmax(m) + 2 * hedged + P[0].sum(axis=0)) / 6
    np.testing.assert_allclose(judge.predict(P[0].ravel()), expected, rtol=0, atol=1e-12)


class Interrupting(mx.GAF):
    """Gets Ctrl-C when it has learned, or before."""

    def learn(self, x, y, weight=1.0):
        if self.steps == 3:
            super().learn(x, y, weight)
            raise KeyboardInterrupt
        super().learn(x, y, weight)

    def run(self, X, y, weight=None):
        raise KeyboardInterrupt


def test_ctrl_c_leaves_all_in_step():
    X, y = logistic_stream(80, 3, 3)
    pool = mx.Pool([mx.GAF(3, 3), Interrupting(3, 3), mx.GAF(3, 3)])
    for t in range(3):
        pool.learn(X[t], y[t])
    with pytest.raises(KeyboardInterrupt):
        pool.learn(X[3], y[3])
    assert [expert.steps for expert in pool.experts] == [4, 4, 4]
    assert pool.steps == 4
    with pytest.raises(KeyboardInterrupt):
        pool.run(X, y)
    assert [expert.steps for expert in pool.experts] == [4, 4, 4]
    assert pool.steps == 4


def test_growth_keeps_the_weights():
    X, y = logistic_stream(200, 3, 3)
    pool = mx.Pool([mx.GAF(3, 3), mx.Folklore(3, 3)])
    pool.run(X, y)
    before = copy.copy(pool)
    pool.add_class()
    pool.add_features(2)
    np.testing.assert_array_equal(pool.weights, before.weights)
    np.testing.assert_array_equal(pool.expert_weights, before.expert_weights)
    assert (pool.n_classes, pool.n_features, pool.steps) == (4, 5, 200)
    assert pool.predict(np.zeros(5)).shape == (4,)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mx.Pool([]), "a pool needs at least one expert"),
        (lambda: mx.Pool([mx.VAW(2)]), "these predict numbers"),
        (lambda: mx.Pool([mx.GAF(2, 3), mx.GAF(2, 2)]), "the same n_classes"),
        (lambda: mx.Pool([mx.GAF(2, 3), mx.GAF(3, 3)]), "the same n_features"),
        (lambda: mx.Pool([mx.GAF(2, 3)], lam=0.0), "lam"),
        (lambda: mx.Pool([mx.OGD(2, 3) for _ in range(65)]), "at most 64 experts"),
        (lambda: mx.Pool([mx.GAF(2, 3)], share=1.0), "share"),
    ],
)
def test_bad_arguments(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_damaged_state_is_refused():
    pool = mx.Pool([mx.GAF(2, 3), mx.GAF(2, 3, lam=1.0)])
    state = pool._core.state()
    for name, value in (("0.A", -np.eye(2)), ("1.S", np.full((2, 2), 7.0)), ("0.w", [[1e9, 0.0]])):
        with pytest.raises(ValueError, match="contents"):
            _core.Judge(2, 3, 1.0, 1e-4, 1e-3, 1e-3).restore({**state, name: np.array(value)})


def test_huge_weights_leave_a_state_that_can_be_restored():
    for seed in range(20):
        P, y = said(6, 5, 3, 0.3, seed)
        judge = _core.Judge(5, 3, 1.0, 1e-4, 1e-3, 1e-3)
        weight = np.array([1e12, 1.0, 1e12, 1e6, 1e12, 1e12])
        judge.run(P.reshape(6, -1), y.astype(np.int_), weight)
        state = judge.state()
        _core.Judge(5, 3, 1.0, 1e-4, 1e-3, 1e-3).restore(state)
        A, S = state["0.A"], state["0.S"]
        np.testing.assert_allclose(np.trace(A @ S), 5, rtol=1e-3)
        assert np.linalg.eigvalsh(S)[0] > 0
