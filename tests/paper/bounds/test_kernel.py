"""Regret against functions of a kernel's space: the identity, the bound, what features add."""

import math

import numpy as np
import pytest
from streams import LABELS, play

from mixable import GAF, KernelGAF, bounds, regret
from mixable.integrals import helmert
from mixable.kernels import Fourier, Nystroem, effective_dimension, rbf
from mixable.losses import Logistic, log_loss


def features(gram):
    """Explicit features of n inputs whose inner products are the kernel's."""
    values, vectors = np.linalg.eigh(gram)
    return vectors * np.sqrt(np.maximum(values, 0.0))


def drawn(gram, B, rng):
    """Labels of two classes from a function of norm B."""
    alpha = rng.normal(size=len(gram))
    alpha *= B / math.sqrt(2 * alpha @ gram @ alpha)
    return (2 * gram @ alpha + rng.logistic(size=len(gram)) < 0).astype(int)


def test_the_identity_of_the_proof_holds_in_dual_form():
    """sum loss(p_t) = sum (loss at the leader + its step's square) + sum Omega_t + log det / 2."""
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1, 1, size=(30, 2)), rng.integers(0, 2, 30)
    f = KernelGAF(Logistic(2), 2, gamma=2.0, lam=0.6, beta=0.7)
    loss, q, w = Logistic(2), helmert(2)[:, 0], np.linspace(-9, 9, 4001)
    mass = np.exp(-0.5 * w * w) / math.sqrt(2 * math.pi) * (w[1] - w[0])
    incurred = leaders = omega = 0.0
    for x, label in zip(X, y, strict=True):
        incurred -= math.log(f.predict(x)[label])
        m, G, _ = f._project(x)
        f.learn(x, int(label))
        z, later, _ = f._project(x)
        leaders += loss.value(z, label) + (q @ (z - m)) ** 2 / (q @ G @ q)
        step = w * math.sqrt(q @ later @ q / 2)
        at = z[:, None] + q[:, None] * step
        true = np.logaddexp.reduce(at, axis=0) - at[label]
        g, H = q @ loss.gradient(z, label), q @ loss.hessian(z, label) @ q
        surrogate = loss.value(z, label) + g * step + f.beta / 2 * H * step**2
        omega -= math.log((mass * np.exp(surrogate - true)).sum())
    proof = f.certificate(bound=1.0)
    assert incurred == pytest.approx(leaders + omega + proof.mixing, abs=1e-7)
    assert omega <= proof.surrogates


@pytest.mark.parametrize("label", list(LABELS))
def test_regret_is_below_the_bound_and_the_certificate(label):
    rng, B = np.random.default_rng(1), 2.0
    X = rng.uniform(-1, 1, size=(150, 2))
    gram = rbf(X, X, 1.0)
    known = bounds.kernel(gram, 2, B)
    f = KernelGAF(Logistic(2), 2, gamma=1.0, lam=known.lam, beta=bounds.largest_beta(2, B))
    y, total = play(f, X, LABELS[label], rng)
    best = regret.best_in_hindsight(features(gram), y, B, n_classes=2).loss
    assert total - best <= f.certificate(bound=1.0).regret(B) <= known + 1e-6


def test_neither_half_of_the_bound_would_do():
    """Labels drawn from a function of small norm pay nearly all of it, as Bayes does."""
    rng, B, n = np.random.default_rng(0), 0.3, 600
    X = rng.uniform(-1, 1, size=(n, 1))
    gram = rbf(X, X, 1.0)
    known = bounds.kernel(gram, 2, B)
    y = drawn(gram, B, rng)
    phi = features(gram)[:, -12:]  # what is left out is below 1e-9
    f = GAF(12, 2, lam=known.lam, beta=bounds.largest_beta(2, B), mu=0.0)
    paid = log_loss(f.run(phi, y), y).sum()
    paid -= regret.best_in_hindsight(phi, y, B, n_classes=2).loss
    comparator = known.lam * B**2
    assert paid <= known
    assert paid > known - 0.5 * comparator
    assert paid > known - 0.5 * (known - comparator)


def test_the_determinant_is_that_of_the_effective_dimension_up_to_a_logarithm():
    X = np.random.default_rng(2).uniform(-1, 1, size=(120, 3))
    gram = rbf(X, X, 0.7)
    for scale in (0.01, 1.0, 30.0):
        d_eff = effective_dimension(gram, scale)[-1]
        value = bounds.log_determinant(gram, scale)
        assert value == pytest.approx(np.linalg.slogdet(np.eye(120) + gram / scale)[1])
        assert d_eff <= value <= d_eff * (1 + math.log1p(np.linalg.norm(gram, 2) / scale))


def test_features_by_landmarks_pay_for_their_residuals():
    rng, B, n = np.random.default_rng(3), 1.5, 300
    X = rng.uniform(-1, 1, size=(n, 2))
    gram = rbf(X, X, 2.0)
    y = drawn(gram, B, rng)
    phi = Nystroem(2, 8, gamma=2.0).learn(X)[0]
    residuals = np.maximum(1 - (phi**2).sum(axis=1), 0.0)
    known = bounds.kernel(phi @ phi.T, 2, B, residuals=residuals)
    f = GAF(8, 2, lam=known.lam, beta=bounds.largest_beta(2, B), mu=0.0)
    paid = log_loss(f.run(phi, y), y).sum()
    paid -= regret.best_in_hindsight(features(gram), y, B, n_classes=2).loss
    assert paid <= known
    alone = bounds.kernel(phi @ phi.T, 2, B)
    assert known == pytest.approx(alone + math.sqrt(2) * B * np.sqrt(residuals).sum())


def test_residuals_are_needed():
    """One landmark, and labels that alternate between two places: features cannot tell them."""
    X = np.array([[0.0], [3.0]] * 200)
    y, B = np.array([0, 1] * 200), 8.0
    phi = Nystroem(1, 1, gamma=1.0).learn(X)[0]
    residuals = np.maximum(1 - (phi**2).sum(axis=1), 0.0)
    gram = rbf(X, X, 1.0)
    best = regret.best_in_hindsight(features(gram), y, B, n_classes=2).loss
    f = GAF(1, 2, lam=1.0, beta=bounds.largest_beta(2, B), mu=0.0)
    paid = log_loss(f.run(phi, y), y).sum() - best
    assert bounds.kernel(phi @ phi.T, 2, B, 1.0) < paid
    assert paid <= bounds.kernel(phi @ phi.T, 2, B, 1.0, residuals)


@pytest.mark.parametrize(
    ("gram", "message"),
    [
        (np.ones((2, 3)), "square"),
        ([[1.0, 2.0], [2.0, 1.0]], "negative"),
        ([[1.0, 0.0], [0.5, 1.0]], "symmetric"),
        ([[math.nan]], "finite"),
        ([[0.0]], "above 0"),
    ],
)
def test_bad_matrices_are_refused(gram, message):
    with pytest.raises(ValueError, match=message):
        bounds.kernel(gram, 2, 1.0)


def test_fourier_features_cost_no_more_than_their_price_and_a_tenth_of_it():
    """Two classes, functions of norm B at 6 places, labels by an adversary; drawn 100 times."""
    rng, B, m, gamma = np.random.default_rng(0), 3.0, 64, 1.0
    X, at = rng.normal(size=(50, 2)), rng.normal(size=(6, 2))
    alpha = rng.normal(size=6)
    alpha *= B / math.sqrt(2 * alpha @ rbf(at, at, gamma) @ alpha)  # f and -f
    exact = rbf(X, at, gamma) @ alpha
    for together, map_of in ((1, Independent), (2, Fourier)):
        lost, squares = [], []
        for seed in range(100):
            found = map_of(2, m, gamma=gamma, seed=seed)
            theta = alpha @ found.transform(at)  # the mean over the frequencies that were drawn
            squares.append(2 * theta @ theta)
            off = found.transform(X) @ theta - exact
            margins = np.stack([2 * exact, -2 * exact]), np.stack([off, -off])
            change = np.logaddexp(0, -margins[0] - 2 * margins[1]) - np.logaddexp(0, -margins[0])
            lost.append(change.max(axis=0).sum())
        price = bounds.fourier(len(X), m, B, together)
        assert 0.1 * price < np.mean(lost) <= price
        assert np.mean(squares) == pytest.approx(B**2, rel=0.1)
    assert bounds.fourier(100, 4 * m, B) == bounds.fourier(100, m, B) / 2


class Independent(Fourier):
    """Frequencies that are drawn one by one."""

    def __init__(self, n_features, n_components, *, gamma, seed):
        super().__init__(n_features, n_components, gamma=gamma, seed=seed)
        normal = np.random.default_rng([seed]).normal(size=(n_features, n_components // 2))
        self.frequencies = self._pairs(normal)
