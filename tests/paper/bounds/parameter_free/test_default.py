"""What is promised of GAFClassifier(): each step of the proof in docs: Proofs, and streams."""

import itertools
import math

import numpy as np
import pytest
from fallbacks import Gamblers, epochs

import mixable as mx
from mixable import bounds
from mixable.paper.bounds.parameter_free import MOST_WEIGHTS, PRODUCT, SHARE, _bets, fallback_plan


def game(z):
    """A gambler's wealth, |G|, V, M and the first M, after gradients z.

    Each gradient may be as large as what was known before, M: that is the hardest game.
    """
    wealth, G, S, M, first = 1.0, 0.0, 0.0, 0.0, 0.0
    for each in z:
        M = max(M, abs(each))
        first = first or M
        bet = max(min(G / (2 * (S + M * M)), 0.5 / M), -0.5 / M)
        wealth, G, S = wealth * (1 - bet * each), G - each, S + each**2
    return wealth, abs(G), S + M * M, M, first


def games():
    rng = np.random.default_rng(0)
    for trial in range(160):
        n, bias = int(10 ** rng.uniform(0, 2.8)), rng.choice([0, 0.05, 0.2, 0.5, 1])
        z = np.where(rng.random(n) < (1 + bias) / 2, -1.0, 1.0)
        kinds = (
            1.0,
            rng.random(n),
            10 ** np.sort(rng.uniform(-3, 3, n)),
            10 ** rng.uniform(-2, 0, n),
        )
        z = z * kinds[trial % 4]
        yield game(np.sort(z) if trial % 7 == 0 else z)


def test_a_gambler_has_won_what_the_lemma_says():
    """Wealth >= (M_1^2 / V) exp(phi(G)); e times that would be broken."""
    over = []
    for wealth, G, V, M, first in games():
        phi = G * G / (4 * V) if G <= V / M else G / (2 * M) - V / (4 * M * M)
        over.append(math.log(wealth) - phi - math.log(first**2 / V))
    assert 0 <= min(over) < 1


def test_no_weight_has_more_regret_than_promised():
    """1 - wealth + |u| G, for every u; half of it would be broken."""
    shares = []
    for wealth, G, V, M, first in games():
        for u in 10.0 ** np.arange(-3, 4, 0.5):
            sizes = np.array([[u]]), np.array([M]), np.array([first]), np.array([V - M * M])
            shares.append((u * G - wealth) / (_bets(*sizes) - 1))
    assert 0.5 < max(shares) <= 1


@pytest.mark.parametrize("K", [2, 3, 5])
def test_frequencies_lose_most_on_one_label(K):
    def lost(labels):
        counts, loss = np.zeros(K), 0.0
        for y in labels:
            loss -= math.log((counts[y] + 0.5) / (counts.sum() + K / 2))
            counts[y] += 1
        some = counts[counts > 0]
        return loss + (some * np.log(some / some.sum())).sum()

    n = 4
    most = bounds.class_frequencies(n, K) + math.log(SHARE)
    each = [lost(labels) for labels in itertools.product(range(K), repeat=n)]
    assert max(each) == pytest.approx(lost([0] * n)) == pytest.approx(most)
    assert bounds.class_frequencies(10**6, K) < (K - 1) / 2 * math.log(10**6) + math.log(K / SHARE)


def raw_stream(n, d, K, seed=0):
    """Columns in all units; labels drawn from a model of five of them, whose weights are known."""
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.integers(-4, 5, d)
    X = rng.uniform(-1, 1, (n, d))
    U = np.zeros((K, d))
    U[:, : min(d, 2)] = 3 * rng.normal(size=(K, min(d, 2)))
    y = (X @ U.T + rng.gumbel(size=(n, K))).argmax(axis=1)
    return X * scale, y, U / scale


def regret(p, X, y, U):
    z = X @ U.T
    best = np.log(np.exp(z - z.max(axis=1, keepdims=True)).sum(axis=1)) + z.max(axis=1)
    rows = np.arange(len(y))
    return float((-np.log(p[rows, y]) - best + z[rows, y]).sum())


@pytest.mark.parametrize(("n", "d", "K"), [(3000, 2, 2), (3000, 3, 3), (9000, 33, 2)])
def test_the_default_keeps_its_promise_and_guessing_does_not(n, d, K):
    X, y, U = raw_stream(n, d, K)
    model = mx.GAFClassifier(kernel=mx.kernels.Auto(8))
    own = regret(model.prequential(X, y, classes=range(K)), X, y, U)
    promised = bounds.default_on(X, U)
    assert own < promised < regret(np.full((n, K), 1 / K), X, y, U)
    assert (fallback_plan(d, K) is None) == (d == 33)


def test_gamblers_keep_theirs_by_themselves():
    X, y, U = raw_stream(2000, 3, 2)
    rows, gamblers = np.column_stack([np.ones(len(X)), X]), Gamblers(4, 2)
    p = []
    for x, label in zip(rows, y, strict=True):
        p.append(gamblers.predict(x))
        gamblers.learn(x, label, 1.0)
    own = regret(np.array(p), X, y, U)
    U = np.column_stack([np.zeros(2), U - U.mean(axis=0)])
    first, sizes = np.abs(rows[0]), np.abs(rows).max(axis=0)
    known = gamblers.square.max(axis=0)  # both classes have met the same
    assert 0.1 * _bets(U, sizes, first, known) < own < _bets(U, sizes, first, known)


def test_the_two_forms_agree_and_say_when_folklore_ends():
    X, _ = epochs(5000)
    U = np.array([[-0.5], [0.5]])
    sizes = {"n_features": 1, "n_classes": 2, "radius": math.sqrt(0.5), "bound": 1.0}
    assert bounds.default_on(X, U) < bounds.default(5000, **sizes, spread=2.0)
    assert bounds.default(5000, **sizes) < bounds.default(5000, **sizes, spread=2.0)
    logarithmic = bounds.default(10**6, 1, 2, radius=PRODUCT, bound=1.0)
    assert 10 * logarithmic < bounds.default(10**6, 1, 2, radius=1.01 * PRODUCT, bound=1.0)
    assert 10 * bounds.default_on(X, 7 * U) < bounds.default_on(X, 40 * U)
    assert fallback_plan(MOST_WEIGHTS - 1, 2)
    assert not fallback_plan(MOST_WEIGHTS, 2)
    shifted = bounds.default_on(X, U + 3.0, intercept=[5.0, 5.0])  # the same model
    assert shifted == pytest.approx(bounds.default_on(X, U))
    holes = np.column_stack([X, np.full(5000, np.nan)])
    assert bounds.default_on(holes, np.column_stack([U, U])) > bounds.default_on(X, U)
    tiny = bounds.default(100, 1, 2, radius=1e-9, bound=1.0)
    assert tiny == pytest.approx(bounds.class_frequencies(100, 2), rel=1e-6)


def test_arguments_are_checked():
    with pytest.raises(ValueError, match="spread"):
        bounds.default(10, 1, 2, 1.0, 1.0, spread=0.5)
    with pytest.raises(ValueError, match="weights"):
        bounds.default_on([[1.0]], [1.0])
