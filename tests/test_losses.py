"""The paper's lemmas on points that Hypothesis draws, and check_assumptions, which must find what is wrong."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mixable import GenericGAF
from mixable.integrals import softmax
from mixable.losses import Constants, Huber, Logistic, Loss, Squared, check_assumptions
from mixable.losses.assumptions import mixability_violation

KINDS = ["paper", "tight"]
logits = st.integers(2, 6).flatmap(
    lambda K: st.tuples(arrays(float, K, elements=st.floats(-1, 1)), arrays(float, K, elements=st.floats(-12, 12)))
)


@settings(max_examples=300, deadline=None)
@given(points=logits, reach=st.floats(0.01, 20), kind=st.sampled_from(KINDS))
def test_lemma_4_quadratic_lower_bound(points, reach, kind):
    """(A3) for z1 = W x with |W| <= B, |x| = R: |z1| <= B R = reach, z2 free."""
    direction, z2 = points
    norm = np.linalg.norm(direction)
    z1 = direction * reach / norm if norm > 0.1 else direction
    loss = Logistic(len(z2))
    beta = loss.constants(reach, 1.0, kind=kind).beta
    dz = z1 - z2
    lower = loss.value(z2, 0) + loss.gradient(z2, 0) @ dz + beta / 2 * dz @ loss.hessian(z2, 0) @ dz
    assert loss.value(z1, 0) >= lower - 1e-9 * (1 + abs(lower))


@settings(max_examples=300, deadline=None)
@given(points=logits)
def test_lemma_5_softmax_mean(points):
    _, b = points
    assert softmax(b) @ b >= b.max() - np.log(len(b)) - 1e-12


@settings(max_examples=300, deadline=None)
@given(points=logits, scale=st.floats(0.01, 10), kind=st.sampled_from(KINDS))
def test_lemma_6_self_concordance(points, scale, kind):
    """(A2) with R = 1, in the worst case |theta_1 - theta_2| = |z1 - z2|."""
    direction, z2 = points
    loss = Logistic(len(z2))
    zeta = loss.constants(1.0, 1.0, kind=kind).zeta
    dz = scale * direction
    p = softmax(z2)
    upper = np.exp(min(zeta * dz @ dz, 700)) * (p @ (dz - p @ dz) ** 2)  # the Hessian's form, without cancellation
    gap = loss.value(z2 + dz, 0) - loss.value(z2, 0) - loss.gradient(z2, 0) @ dz
    assert gap <= upper + 1e-9 * (1 + abs(gap))


def test_zeta_is_what_the_proof_of_lemma_6_leaves():
    """psi(t) <= exp(c t^2) with c = 0.0708; so 0.283 R^2 for the coefficient 2 R, and 0.142 R^2 for sqrt(2) R, which holds."""
    t = np.linspace(0.5, 20, 20_001)
    c = (np.log((np.expm1(t) - t) / t**2) / t**2).max()
    assert (round(c, 4), round(4 * c, 3), round(2 * c, 3)) == (0.0708, 0.283, 0.142)
    zeta = Logistic(3).constants(1.0, 3.0, kind="tight").zeta
    assert 2 * c <= zeta / 9 < 2 * c * 1.01
    rng = np.random.default_rng(0)
    ratios = []
    for p in rng.dirichlet(np.full(3, 0.1), size=2000):
        h, k = rng.normal(size=(2, 3))
        h, k = h - h.mean(), k - p @ k
        ratios.append(abs(p @ ((h - p @ h) * k**2)) / max(p @ k**2, 1e-300) / np.linalg.norm(h))
    assert 1.3 < max(ratios) <= np.sqrt(2) * (1 + 1e-9)


@settings(max_examples=200, deadline=None)
@given(points=logits, kind=st.sampled_from(KINDS))
def test_smoothness(points, kind):
    """(A4) with R = 1."""
    _, z = points
    loss = Logistic(len(z))
    assert np.linalg.eigvalsh(loss.hessian(z, 0))[-1] <= loss.constants(1.0, 1.0, kind=kind).gamma + 1e-12


@settings(max_examples=200, deadline=None)
@given(seed=st.integers(0, 10**6), d=st.integers(1, 6))
def test_lemma_7_trace(seed, d):
    rng = np.random.default_rng(seed)
    low, B = (rng.normal(size=(d, d + 1)) for _ in range(2))
    A_minus_B, B = low @ low.T + 1e-3 * np.eye(d), B @ B.T
    A = A_minus_B + B
    assert np.trace(np.linalg.solve(A, B)) <= np.linalg.slogdet(A)[1] - np.linalg.slogdet(A_minus_B)[1] + 1e-9


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("K", "radius", "bound"),
    [(2, 3.0, 1.0), (2, 15.0, 1.0), (3, 2.0, 1.0), (3, 100.0, 1.0), (3, 20.0, 0.05), (5, 1.0, 4.0), (10, 6.0, 0.5)],
)
def test_logistic_constants_survive_the_search(K, radius, bound, kind):
    report = check_assumptions(Logistic(K), radius, bound, constants=kind)
    assert report.holds, report.violation
    assert report.constants == Logistic(K).constants(radius, bound, kind=kind)


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
    report = check_assumptions(Logistic(K), 3.0, 1.0, constants=wrong)
    assert not report.holds
    assert report.violation.assumption == name
    assert report.violation.excess > 0
    assert report.constants == wrong


@pytest.mark.parametrize("bound", [0.1, 1.0, 10.0])
def test_too_small_a_zeta_is_caught(bound):
    c = Logistic(3).constants(3.0 / bound, bound)
    assert check_assumptions(Logistic(3), 3.0 / bound, bound, constants=c._replace(zeta=1e-3 * bound**2)).violation.assumption == "A2"


def test_what_cannot_be_tested_is_an_error():
    loss, c = Logistic(3), Logistic(3).constants(1.0, 1.0)
    for wrong in ({"constants": c._replace(beta=np.nan)}, {"constants": c._replace(alpha=-1.0)}, {"points": 0}):
        with pytest.raises(ValueError, match=r"beta|alpha|points"):
            check_assumptions(loss, 1.0, 1.0, **wrong)
    with pytest.raises(TypeError, match="loss must have"):
        check_assumptions(3, 1.0, 1.0)

    class Broken(Logistic):
        def value(self, z, y):
            return np.nan

    with pytest.raises(ValueError, match="not a number"):
        check_assumptions(Broken(3), 1.0, 1.0)


@pytest.mark.parametrize("outputs", [1, 2])
def test_squared_loss_meets_the_assumptions(outputs):
    loss = Squared(outputs, target_bound=2.0)
    assert check_assumptions(loss, 3.0, 1.5).holds
    c = loss.constants(3.0, 1.5)
    assert check_assumptions(loss, 3.0, 1.5, constants=c._replace(gamma=1.5**2)).violation.assumption == "A4"  # as printed
    assert check_assumptions(loss, 3.0, 1.5, constants=c._replace(alpha=4 * c.alpha)).violation.assumption == "A1"


def test_huber_fails_where_its_documentation_says():
    wide = Huber(delta=4.0, target_bound=1.0)  # delta >= B R + Y: (A3) holds, (A2) fails
    assert check_assumptions(wide, 3.0, 1.0).violation.assumption == "A2"
    narrow = Huber(delta=1.5, target_bound=1.0)  # a comparator reaches the linear pieces
    for beta in (1.0, 0.1, 0.01):
        constants = narrow.constants(3.0, 1.0)._replace(beta=beta)
        assert check_assumptions(narrow, 3.0, 1.0, constants=constants).violation.assumption == "A3"
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
                excess.append(loss.score(prediction, np.array([y])) + np.log(density @ np.exp(-alpha * losses)) / alpha)
        return max(excess)

    assert worst(alpha) <= 1e-6
    assert worst(6 * alpha) > 1e-3


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
        return Constants(0.25, 1 / (1 + radius * bound + 1), bound**2, 4 * bound**2)

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
    allowed = -np.log((np.exp(-alpha * values - 0.5 * t * t)).sum() * (t[1] - t[0]) / np.sqrt(2 * np.pi)) / alpha
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
    assert mixability_violation(loss, alpha, reach, 75, np.random.default_rng(0)) is None


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
