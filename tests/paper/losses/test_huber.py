"""The Huber loss: its constant, outliers, its bound."""

import numpy as np
import pytest

from mixable import GenericGAF
from mixable.losses import Huber, Squared, check_assumptions


def test_huber_fails_where_its_documentation_says():
    wide = Huber(delta=4.0, target_bound=1.0)  # delta >= B R + Y: (A3) holds, (A2) fails
    assert check_assumptions(wide, 3.0, 1.0, points=300).violation.assumption == "A2"
    narrow = Huber(delta=1.5, target_bound=1.0)  # a comparator reaches the linear pieces
    for beta in (1.0, 0.1, 0.01):
        constants = narrow.constants(3.0, 1.0)._replace(beta=beta)
        report = check_assumptions(narrow, 3.0, 1.0, constants=constants, points=300)
        assert report.violation.assumption == "A3"
    with pytest.raises(ValueError, match="not mixable"):
        Huber(delta=0.5, target_bound=1.0).constants(1.0, 1.0)


@pytest.mark.parametrize("delta", [1.0, 1.2, 1.5, 3.0])
def test_huber_is_mixable_with_the_stated_constant_and_not_with_a_larger_one(delta):
    """(A1) alone, at wide Gaussians, for outcomes over the whole interval."""
    loss = Huber(delta=delta, target_bound=1.0)
    alpha = loss.constants(1.0, 1.0).alpha
    rng = np.random.default_rng(0)
    t = np.linspace(-8, 8, 1601)
    density = np.exp(-0.5 * t * t) / np.exp(-0.5 * t * t).sum()

    def worst(alpha):
        excess = []
        for _ in range(60):
            mean, sd = rng.normal(), 3 * rng.random()
            prediction = loss.substitute(np.array([mean]), np.array([[sd**2]]), alpha)
            for y in np.linspace(-1, 1, 9):
                r = np.abs(mean + sd * t - y)
                losses = np.where(r <= delta, r**2 / 2, delta * (r - delta / 2))
                excess.append(
                    loss.score(prediction, np.array([y]))
                    + np.log(density @ np.exp(-alpha * losses)) / alpha
                )
        return max(excess)

    assert worst(alpha) <= 1e-6
    assert worst(6 * alpha) > 1e-3


def test_huber_resists_outliers_where_squared_loss_does_not():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 3))
    truth = np.array([0.4, -0.2, 0.3])
    y = X @ truth + 0.1 * rng.normal(size=400)
    spoiled = np.where(rng.random(400) < 0.1, 8 * np.sign(rng.normal(size=400)), y)
    errors = {}
    for name, loss in [("huber", Huber(delta=0.5, target_bound=8.0)), ("squared", Squared())]:
        f = GenericGAF(loss, 3, lam=0.1, alpha=np.inf)
        f.run(X, spoiled)
        errors[name] = np.linalg.norm(f.coef[0] - truth)
    assert errors["huber"] < 0.5 * errors["squared"]


def test_huber_refuses_a_target_beyond_its_bound():
    """Predictions are within the bound, so that the target could never be met."""
    f = GenericGAF(Huber(delta=1.0), 2)
    with pytest.raises(ValueError, match=r"y is 2.5, beyond target_bound = 1"):
        f.learn([1.0, 0.0], 2.5)
    with pytest.raises(ValueError, match=r"row 1: y is -1.01, beyond target_bound = 1"):
        f.run(np.eye(2), [1.0, -1.01])
    assert f.steps == 0
    f.learn([1.0, 0.0], -1.0)
    wide = GenericGAF(Huber(delta=1.0, target_bound=3.0), 2)
    wide.learn([1.0, 0.0], 2.5)
    assert (f.steps, wide.steps) == (1, 1)
