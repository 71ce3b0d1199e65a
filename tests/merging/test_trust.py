"""Weights by losses add; weights with a share stay above it."""

import numpy as np
import pytest

from mixable._natural import combined_weights

EVEN = np.full((1, 3), 1 / 3)


NEW = {"weight": EVEN, "bayes": EVEN, "judge": 0.5}


def state(weight, bayes, judge=0.5):
    return {"weight": np.array([weight]), "bayes": np.array([bayes]), "judge": judge}


def test_the_odds_of_the_judge_add():
    def judge(judges, before=None):
        states = [state([0.5, 0.3, 0.2], [0.5, 0.3, 0.2], each) for each in judges]
        base = state([0.5, 0.3, 0.2], [0.5, 0.3, 0.2], before) if before else NEW
        return combined_weights(base, states, base, [1] * len(states), 1e-3)["judge"]

    assert judge([0.9, 0.1]) == pytest.approx(0.5)
    assert judge([0.8, 0.8]) == pytest.approx(16 / 17)
    assert judge([0.8, 0.8], before=0.8) == pytest.approx(0.8)
    assert judge([0.8, 0.8], before=0.5) == pytest.approx(16 / 17)
    assert judge([1 - 1e-10, 1 - 1e-10]) == pytest.approx(1 - 1e-10)


def learned(begin, likelihoods, share=1e-3):
    """What core/mixture/weights.hpp makes of likelihoods, in turn."""
    weight, bayes = begin["weight"].copy(), begin["bayes"].copy()
    for each in likelihoods:
        weight = weight * each
        weight = (1 - share) * weight / weight.sum() + share / weight.size
        bayes = bayes * each / (bayes * each).sum()
    return {"weight": weight, "bayes": bayes, "judge": 0.5}


def test_an_expert_that_was_bad_in_all_models_can_come_back():
    """As in one pass: one that was worse by 100 nats is the share below, not 100 nats."""
    rng = np.random.default_rng(0)
    noisy = rng.uniform(0.9, 1.0, size=(800, 3)) * [1.0, 0.6, 0.6]
    begin = {"weight": EVEN, "bayes": EVEN}
    one = learned(begin, noisy)
    parts = [learned(begin, rows) for rows in np.array_split(noisy, 8)]
    merged = combined_weights(NEW, parts, NEW, [100] * 8, 1e-3)
    np.testing.assert_allclose(merged["bayes"], one["bayes"], rtol=1e-9)
    np.testing.assert_allclose(np.log(merged["weight"]), np.log(one["weight"]), atol=1.0)
    after = learned(merged, np.tile([0.6, 1.0, 0.6], (40, 1)))
    assert after["weight"][0, 1] > 0.9


def test_one_model_keeps_its_weights_and_groups_do_not_matter():
    rng = np.random.default_rng(1)
    base = learned({"weight": EVEN, "bayes": EVEN}, rng.uniform(0.5, 1.0, size=(50, 3)))
    sizes = [10, 20, 30]
    a, b, c = (learned(base, rng.uniform(0.5, 1.0, size=(n, 3))) for n in sizes)
    alone = combined_weights(base, [a], base, [10], 1e-3)
    flat = combined_weights(base, [a, b, c], base, sizes, 1e-3)
    two = combined_weights(base, [b, c], base, [20, 30], 1e-3)
    grouped = combined_weights(base, [a, two], base, [10, 50], 1e-3)
    for name in ("weight", "bayes"):
        np.testing.assert_allclose(alone[name], a[name], rtol=1e-12)
        np.testing.assert_allclose(grouped[name], flat[name], rtol=1e-12)
