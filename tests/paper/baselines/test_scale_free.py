"""ScaleFree: the weights of its experts, their births, and what a longer input does to them."""

import numpy as np
import pytest
from streams import logistic_stream

from mixable import Folklore, ScaleFree
from mixable.bounds import scale_free_plan
from mixable.losses import log_loss
from mixable.paper.bounds.parameter_free import GROWTH

X, Y = logistic_stream(120, 3, 3)
X = X / np.linalg.norm(X, axis=1).max()


def test_a_weight_is_the_prior_and_what_was_gained_since_the_birth():
    """So the loss is at most that of each expert since its birth, less the log of its prior."""
    f = ScaleFree(3, 3)
    X1 = np.vstack([X[np.linalg.norm(X, axis=1).argmax()], X])  # no longer input comes later
    y1 = np.append(0, Y)
    loss = log_loss(f.run(X1, y1), y1)
    for i, expert in enumerate(f._now.experts):
        plan = scale_free_plan(i, 3, 3)
        alone = Folklore(3, 3, lam=plan.factor * GROWTH**2, beta=plan.beta)
        own = log_loss(alone.run(X1[plan.birth - 1 :], y1[plan.birth - 1 :]), y1[plan.birth - 1 :])
        gained = loss[plan.birth - 1 :].sum() - own.sum()
        assert f._now.log_weights[i + 1] == pytest.approx(np.log(plan.prior) + gained, abs=1e-8)
        assert expert.steps == len(y1) - plan.birth + 1
    even = np.log(0.5) + loss.sum() - len(y1) * np.log(3)
    assert f._now.log_weights[0] == pytest.approx(even, abs=1e-8)


def test_a_longer_input_raises_lam_and_keeps_what_was_learned():
    """A gains (lam' - lam) I, and A theta, the linear part of the quadratic, stays."""
    f = ScaleFree(3, 3)
    f.run(X, Y)
    before = f._now.experts
    after = f._for(50 * X[0]).experts
    unit = f.unit
    for old, new in zip(before, after, strict=True):
        ratio = GROWTH * 50 * np.linalg.norm(X[0]) / unit
        assert new.lam == pytest.approx(old.lam * ratio**2)
        gain = new.precision() - old.precision()
        np.testing.assert_allclose(gain, (new.lam - old.lam) * np.eye(9), atol=1e-9 * new.lam)
        linear = [each.precision() @ each.coef.ravel() for each in (old, new)]
        np.testing.assert_allclose(*linear, rtol=1e-7, atol=1e-9)
        assert new.steps == old.steps
    assert f.unit == unit  # predicting changes nothing


def test_only_ratios_of_lengths_count():
    one, other = ScaleFree(3, 3), ScaleFree(3, 3)
    table = X * np.exp(0.05 * np.arange(len(X)))[:, None]  # it grows
    np.testing.assert_allclose(one.run(table, Y), other.run(2.0**-30 * table, Y), rtol=1e-9)
    assert one.unit > 20 * np.linalg.norm(X[0])


def test_inputs_of_zero_say_nothing_and_make_no_unit():
    f = ScaleFree(3, 3)
    np.testing.assert_allclose(f.run(np.zeros((5, 3)), Y[:5]), 1 / 3)
    assert (f.unit, f.products) == (0.0, [])
    f.run(X, Y)
    assert f.unit > 0
    np.testing.assert_allclose(f.predict(np.zeros(3)), 1 / 3)


def test_about_the_logarithm_of_n_experts_run():
    f = ScaleFree(3, 3)
    f.run(X, Y)
    births = [scale_free_plan(i, 3, 3).birth for i in range(len(f.products) + 1)]
    assert births[-2] <= len(Y) < births[-1]
    assert len(f.products) == 8
    assert f.weights.sum() == pytest.approx(1)


def test_saved_states_that_make_no_sense_are_refused():
    f = ScaleFree(3, 3)
    f.run(X, Y)
    state = f.__getstate__()
    for change, error in (
        ({"unit": 0.0}, ValueError),
        ({"experts": [1]}, TypeError),
        ({"experts": [Folklore(2, 3)], "log_weights": np.zeros(2)}, ValueError),
        ({"log_weights": np.zeros(2)}, ValueError),
    ):
        with pytest.raises(error):
            ScaleFree(3, 3).__setstate__({**state, **change})


def test_growth_beyond_the_memory_is_refused_also_before_an_expert_is_born():
    f = ScaleFree(2, 2)
    with pytest.raises(MemoryError, match="would need"):
        f.add_features(2**40)
    assert f.n_features == 2
    f.add_features(1)
    assert f.predict([0.0, 1.0, 2.0]).shape == (2,)


def test_weights_that_have_lost_their_digits_still_give_probabilities():
    f = ScaleFree(2, 3)
    f.run(*logistic_stream(20, 2, 3))
    state = f.__getstate__()
    state["log_weights"] = np.full_like(state["log_weights"], 1e17)
    f.__setstate__(state)
    assert f.predict([0.5, 1.0]).sum() == pytest.approx(1)
