"""The bound of a forecaster that knows neither B nor R: it holds, and no half of it would."""

import math

import numpy as np
import pytest
from streams import LABELS, best_loss_in_ball, play

from mixable import ScaleFree, bounds
from mixable.bounds import scale_free, scale_free_plan
from mixable.losses import log_loss


def on_sphere(n, d, K, B, seed, length=1.0):
    """Inputs of one length, labels drawn from a logistic model of norm B / length."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    W = rng.normal(size=(K, d))
    W -= W.mean(axis=0)
    W *= B / np.linalg.norm(W)
    return length * X, (X @ W.T + rng.gumbel(size=(n, K))).argmax(axis=1)


def noisy_regret():
    """Over the bound by a fifth if half of the term of the logarithm were missing."""
    X, y = on_sphere(2000, 5, 2, 1.0, seed=3)
    return float(log_loss(ScaleFree(5, 2).run(X, y), y).sum()) - best_loss_in_ball(X, y, 2, 1.0)


def separable_regret():
    """One input, one label, ten classes: the comparator of norm 16 has no loss to speak of."""
    X, y = np.ones((10, 1)), np.zeros(10, dtype=int)
    loss = float(log_loss(ScaleFree(1, 10).run(X, y), y).sum())
    return loss - 10 * math.log1p(9 * math.exp(-16 * (math.sqrt(0.9) + 1 / math.sqrt(90))))


def test_half_of_the_logarithm_would_be_broken(monkeypatch):
    regret = noisy_regret()
    sizes = (2000, 5, 2, 1.0, 1.0)
    assert 0.5 * scale_free(*sizes) < regret < scale_free(*sizes)
    halved = math.log1p
    monkeypatch.setattr(math, "log1p", lambda x: 0.5 * halved(x))
    assert regret > scale_free(*sizes)


def test_half_of_what_is_paid_before_the_birth_would_be_broken(monkeypatch):
    regret, sizes = separable_regret(), (10, 1, 10, 16.0, 1.0)
    assert 0.9 * scale_free(*sizes) < regret < scale_free(*sizes)
    logarithm = math.log
    monkeypatch.setattr(math, "log", lambda x: logarithm(x) / (2 if x == 10 else 1))
    assert regret > scale_free(*sizes)


@pytest.mark.parametrize("B", [0.1, 0.5, 2.0, 8.0])
@pytest.mark.parametrize(("d", "K"), [(3, 2), (2, 4)])
def test_it_holds_on_drawn_labels_for_every_norm_at_once(d, K, B):
    X, y = on_sphere(400, d, K, B, seed=7, length=1e-3)
    loss = float(log_loss(ScaleFree(d, K).run(X, y), y).sum())
    for radius in (B / 4, B, 4 * B):
        regret = loss - best_loss_in_ball(1e3 * X, y, K, radius)
        assert regret <= scale_free(400, d, K, 1e3 * radius, 1e-3)


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("growth", [0.0, 0.02])
def test_it_holds_against_adversaries_and_inputs_that_grow(kind, growth):
    n, d, K = 300, 2, 3
    rng = np.random.default_rng(5)
    X, _ = on_sphere(n, d, K, 1.0, seed=2)
    X *= np.exp(growth * np.arange(n))[:, None]
    R = float(np.linalg.norm(X, axis=1).max())
    y, loss = play(ScaleFree(d, K), X, LABELS[kind], rng)
    for product in (0.5, 2.0, 8.0):
        regret = loss - best_loss_in_ball(X / R, y, K, product)
        spread = R / float(np.linalg.norm(X[0]))
        assert regret <= scale_free(n, d, K, product / R, R, spread)


def test_it_is_near_the_bound_of_one_that_is_told_both():
    for B in (0.5, 2.0, 8.0, 50.0):
        told = min(bounds.sharp(20_000, 2, 3, B, 1.0), bounds.folklore(20_000, 2, 3, B, 1.0))
        assert scale_free(20_000, 2, 3, B, 1.0) < 1.4 * told


def test_a_comparator_near_zero_costs_ln_2():
    assert scale_free(10**6, 5, 4, 1e-12, 1.0) == pytest.approx(math.log(2), abs=1e-5)


def test_only_the_product_counts_and_priors_sum_to_one_half():
    assert scale_free(500, 3, 3, 4.0, 0.5) == pytest.approx(scale_free(500, 3, 3, 2e-9, 1e9))
    plans = [scale_free_plan(i, 3, 3) for i in range(40)]
    assert sum(plan.prior for plan in plans) == pytest.approx(0.5 * (1 - 1 / 41))
    assert [plan.birth for plan in plans] == sorted(plan.birth for plan in plans)
    with pytest.raises(ValueError, match="spread must be at least 1"):
        scale_free(500, 3, 3, 4.0, 0.5, spread=0.5)


def test_not_knowing_the_unit_costs_two_logarithms_of_the_spread():
    """Of an expert that is there from the start: the determinant has lam_1 = lam_n / spread^2."""
    n, d, K, product = 10**6, 3, 2, 4.0
    plan = scale_free_plan(3, d, K)
    assert plan.product == product
    for spread in (1.0, 7.0):
        value = scale_free(n, d, K, product, 1.0, spread)
        m, c = n - plan.birth + 1, plan.factor
        logs = math.log1p(m * plan.beta / (4 * c * K * d)) + 2 * math.log(spread)
        before = (plan.birth - 1) * math.log(K) + math.log(2)
        nonlinear = (1 / (2 * plan.beta) + 1 / (16 * c)) * d * (K - 1) * logs
        assert value.lam == c
        assert value == pytest.approx(
            2 * c * product**2 + nonlinear - math.log(plan.prior) + before, rel=1e-12
        )
