"""The check of a loss's assumptions: true claims survive, false ones are caught."""

import numpy as np
import pytest

from mixable import GenericGAF
from mixable.integrals import softmax
from mixable.losses import Constants, Huber, Logistic, Loss, Squared, check_assumptions
from mixable.paper.losses.assumptions import mixability_violation


@pytest.mark.parametrize("K", [2, 3, 6])
@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("A3", lambda c: c._replace(beta=4 * c.beta)),
        ("A4", lambda c: c._replace(gamma=0.4 * c.gamma)),
        ("A1", lambda c: c._replace(alpha=4.0)),
    ],
)
def test_wrong_constants_are_caught(K, name, change):
    wrong = change(Logistic(K).constants(3.0, 1.0))
    report = check_assumptions(Logistic(K), 3.0, 1.0, constants=wrong, points=300)
    assert not report.holds
    assert report.violation.assumption == name
    assert report.violation.excess > 0
    assert report.constants == wrong


@pytest.mark.parametrize("bound", [0.1, 1.0, 10.0])
def test_too_small_a_zeta_is_caught(bound):
    c = Logistic(3).constants(3.0 / bound, bound)
    wrong = c._replace(zeta=1e-3 * bound**2)
    report = check_assumptions(Logistic(3), 3.0 / bound, bound, constants=wrong, points=300)
    assert report.violation.assumption == "A2"


def test_what_cannot_be_tested_is_an_error():
    loss, c = Logistic(3), Logistic(3).constants(1.0, 1.0)
    for wrong in (
        {"constants": c._replace(beta=np.nan)},
        {"constants": c._replace(alpha=-1.0)},
        {"points": 0},
    ):
        with pytest.raises(ValueError, match=r"beta|alpha|points"):
            check_assumptions(loss, 1.0, 1.0, **wrong)
    with pytest.raises(TypeError, match="loss must have"):
        check_assumptions(3, 1.0, 1.0)

    class Broken(Logistic):
        def value(self, z, y):
            return np.nan

    with pytest.raises(ValueError, match="not a number"):
        check_assumptions(Broken(3), 1.0, 1.0)


class LogCosh:
    """No substitution rule: the mean will not do, since the loss is linear far out."""

    n_outputs = 1

    def __repr__(self):
        return "LogCosh"

    def outcome(self, y):
        return np.atleast_1d(np.asarray(y, dtype=float))

    def draw_outcome(self, rng):
        return rng.uniform(-1, 1, size=1)

    def value(self, z, y):
        return float(np.log(np.cosh(z - y))[0])

    def gradient(self, z, y):
        return np.tanh(z - y)

    def hessian(self, z, y):
        return np.diag(1 / np.cosh(z - y) ** 2)

    def constants(self, radius, bound, n_features=1, kind="paper"):
        return Constants(
            alpha=0.25, beta=1 / (1 + radius * bound + 1), gamma=bound**2, zeta=4 * bound**2
        )

    def substitute(self, mean, covariance, alpha, step=0):
        return mean

    def score(self, prediction, y):
        return self.value(prediction, y)


def test_a_loss_of_ones_own_runs_in_generic_gaf():
    """log cosh, written here from the protocol: learns a line, and can be checked."""
    assert isinstance(LogCosh(), Loss)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = X @ [0.5, -0.3] + 0.05 * rng.normal(size=200)
    f = GenericGAF(LogCosh(), 2, lam=0.01)
    f.run(X, y)
    np.testing.assert_allclose(f.coef[0], [0.5, -0.3], atol=0.02)
    report = check_assumptions(LogCosh(), 1.0, 1.0)
    assert report.violation.assumption == "A1"
    assert_violated_as_said(LogCosh(), report.constants.alpha, report.violation)


def assert_violated_as_said(loss, alpha, violation):
    """The expectation again, on a plain fine grid along the one direction of the covariance."""
    mean, covariance, y = (violation.where[name] for name in ("mean", "covariance", "y"))
    widths, directions = np.linalg.eigh(covariance)
    assert widths[:-1] == pytest.approx(0, abs=1e-9 * widths[-1])
    t = np.linspace(-12, 12, 48_001)
    z = mean + np.sqrt(widths[-1]) * t[:, None] * directions[:, -1]
    values = np.array([loss.value(row, y) for row in z])
    allowed = (
        -np.log((np.exp(-alpha * values - 0.5 * t * t)).sum() * (t[1] - t[0]) / np.sqrt(2 * np.pi))
        / alpha
    )
    prediction = loss.substitute(mean, covariance, alpha)
    assert loss.score(prediction, y) - allowed == pytest.approx(violation.excess, rel=1e-3)
    assert violation.excess > 0


class PlugIn(Logistic):
    def substitute(self, mean, covariance, alpha, step=0):
        return softmax(mean)


class SquaredAtTheMean(Squared):
    def substitute(self, mean, covariance, alpha, step=0):
        return mean


class HuberAtTheMean(Huber):
    def substitute(self, mean, covariance, alpha, step=0):
        return mean


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(
    ("loss", "alpha"),
    [
        (LogCosh(), 0.25),
        (LogCosh(), 0.05),
        (PlugIn(2), 1.0),
        (PlugIn(4), 1.0),
        (Logistic(2), 1.1),
        (Logistic(5), 1.1),
        (SquaredAtTheMean(1, 2.0), 1 / 8),
        (Squared(1, 2.0), 1.3 / 8),
        (Squared(2, 2.0), 2 / 8),
        (HuberAtTheMean(1.5, 1.0), 1.0),
        (Huber(1.0, 1.0), 2 * 0.5),
        (Huber(3.0, 1.0), 1.5 * 1.0),
    ],
    ids=repr,
)
def test_a_false_claim_of_mixability_is_caught(loss, alpha, seed):
    violation = mixability_violation(loss, alpha, 3.0, 75, np.random.default_rng(seed))
    assert violation.assumption == "A1"
    if seed == 0 and not isinstance(loss, Logistic):  # whose own expectation need not be exact
        assert_violated_as_said(loss, alpha, violation)


@pytest.mark.parametrize("reach", [1.0, 30.0])
@pytest.mark.parametrize(
    ("loss", "alpha"),
    [
        (Squared(1, 0.5), 2.0),
        (Squared(3, 2.0), 1 / 8),
        (Logistic(2), 1.0),
        (Logistic(5), 1.0),
        (Logistic(5), 0.5),
        (Huber(1.0, 1.0), 0.5),
        (Huber(2.4, 2.0), None),
        (Huber(4.5, 1.5), None),
    ],
    ids=repr,
)
def test_a_true_claim_of_mixability_survives(loss, alpha, reach):
    alpha = loss.constants(1.0, 1.0).alpha if alpha is None else alpha
    assert mixability_violation(loss, alpha, reach, 20, np.random.default_rng(0)) is None
