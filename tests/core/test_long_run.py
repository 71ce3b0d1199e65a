"""Many steps on ill-conditioned inputs.

The posterior's width stays right (drift = 0), finite and positive definite (drift > 0).
"""

import mpmath
import numpy as np
import pytest

from mixable import GAF
from mixable.integrals import Pairwise, helmert, ladder, softmax

STEPS, D_FEATURES, K, LAM = 1_000_000, 12, 3, 0.01


def ill_conditioned(kind, n=STEPS, d=D_FEATURES):
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(n, d))
    if kind == "duplicated":
        X = np.concatenate([Z[:, : d // 2]] * 2, axis=1)
    else:
        rotation, _ = np.linalg.qr(rng.normal(size=(d, d)))
        X = (Z * np.logspace(-6, 1, d)) @ rotation.T
    W = rng.normal(size=(K, d)) / (np.sqrt(d) * X.std())
    return X, (X @ W.T + rng.gumbel(size=(n, K))).argmax(axis=1)


def exact_sum(X, U):
    """A = lam I + sum of 1/2 Phi S Phi^T, added up in long double."""
    k, d, Q = K - 1, X.shape[1], helmert(K)
    A = LAM * np.eye(k * d, dtype=np.longdouble)
    p = softmax(Q @ U.T)
    for a in range(k):
        for b in range(k):
            S = (p * Q[:, [a]] * Q[:, [b]]).sum(axis=0) - (p.T @ Q[:, a]) * (p.T @ Q[:, b])
            weighted = X.astype(np.longdouble) * (S.astype(np.longdouble) / 2)[:, None]
            A[a * d : a * d + d, b * d : b * d + d] += weighted.T @ X.astype(np.longdouble)
    return A


def largest_error(covariance, A, inputs):
    """The largest relative error of the widths G of the inputs, against A inverted in 40 digits."""
    high, errors = np.asarray(A, dtype=np.float64), []
    with mpmath.workdps(40):
        low = np.asarray(A - high, dtype=np.float64)
        inverse = (mpmath.matrix(high.tolist()) + mpmath.matrix(low.tolist())) ** -1
        for x in inputs:
            Phi = np.kron(np.eye(K - 1), x[:, None])
            exact = mpmath.matrix(Phi.tolist()).T * inverse * mpmath.matrix(Phi.tolist())
            exact, G = np.array(exact.tolist(), dtype=np.float64), Phi.T @ covariance @ Phi
            assert np.linalg.eigvalsh(G).min() > 0
            errors.append(np.abs(G - exact).max() / np.abs(exact).max())
    return max(errors)


@pytest.mark.parametrize(("kind", "most"), [("rotated", 5e-8), ("duplicated", 8e-9)])
def test_the_width_after_many_steps_is_that_of_the_sum(kind, most):
    """A^-1 is made anew from A now and then: the errors are 1.0e-8 and 8.6e-10. Without that they
    would be 1.3e-7 and 2.2e-8.
    """
    X, y = ill_conditioned(kind, 250_000)
    f = GAF(D_FEATURES, K, lam=LAM, alpha=np.inf)
    assert np.isfinite(f.run(X, y)).all()
    core = f._core
    assert largest_error(core.covariance(), core.precision(), X[::12_500]) < most


@pytest.mark.parametrize("kind", ["rotated", "duplicated"])
def test_the_sum_is_that_of_the_surrogates(kind):
    n = 15_000
    X, y = ill_conditioned(kind, n)
    core = GAF(D_FEATURES, K, lam=LAM, alpha=np.inf)._core
    labels, U = y.tolist(), np.empty((n, K - 1))
    for t in range(n):
        core.learn(X[t], labels[t])
        U[t] = core.mean() @ X[t]  # the point at which the surrogate of step t was made
    A = exact_sum(X, U)
    assert np.abs(core.precision() - A).max() <= 1e-12 * np.abs(A).max()
    assert largest_error(core.covariance(), A, X[:: n // 20]) < 5e-8


@pytest.mark.parametrize("drift", [1e-6, 1e-3])
@pytest.mark.parametrize("kind", ["rotated", "duplicated"])
def test_drifting_posterior_stays_finite_and_positive_definite(kind, drift):
    X, y = ill_conditioned(kind, 80_000)
    f = GAF(D_FEATURES, K, lam=LAM, drift=drift, alpha=np.inf)
    p = f.run(X, y)
    assert np.isfinite(p).all()
    assert np.isfinite(f.coef).all()
    assert np.linalg.eigvalsh(f._core.covariance()).min() > 0


@pytest.mark.parametrize("structure", ["blocks", "shared", "diagonal"])
@pytest.mark.parametrize("kind", ["rotated", "duplicated"])
def test_structured_widths_after_a_million_steps_are_those_of_the_sum(kind, structure):
    """At most 2e-7 off: A^-1 is made anew every 4,096 steps, or the variances are sums."""
    X, y = ill_conditioned(kind, STEPS if structure == "blocks" else STEPS // 4)
    core = GAF(D_FEATURES, K, lam=LAM, alpha=np.inf, structure=structure)._core
    labels = y.astype(np.int_)
    assert np.isfinite(core.run(X, labels, None)).all()
    state, S = core.state(), core.covariance()
    if structure == "diagonal":
        assert S.min() > 0
        return
    assert np.linalg.eigvalsh(S.reshape(-1, D_FEATURES, D_FEATURES)).min() > 0
    A = np.tril(state["A"][:D_FEATURES])
    A = A + np.tril(A, -1).T + (state["X"] * state["roots"][:, :1] ** 2).T @ state["X"]
    assert structured_error(S[:D_FEATURES], A, X[::50_000]) < 2e-7


@pytest.mark.parametrize(("kind", "most"), [("rotated", 2e-7), ("duplicated", 4e-8)])
def test_so_are_those_of_posteriors_in_lanes(core, kind, most):
    """The errors are at most 6e-8 and 1.1e-8. Without the refresh the second would be 1.5e-7."""
    X, y = ill_conditioned(kind, 300_000)
    grid = [(LAM, 1.0, 0.0, 0, False, True, "blocks", False)] * 5
    f = core.AutoGAF(D_FEATURES, K, grid, [np.inf], (), 0.0, 1.0, 0.0, False, 1, [], 1)
    assert np.isfinite(f.run(X, y.astype(np.int_), None)).all()
    state = f.state()
    S, A = state["0.S"][:D_FEATURES], np.tril(state["0.A"][:D_FEATURES])
    assert np.linalg.eigvalsh(S).min() > 0
    assert structured_error(S, A + np.tril(A, -1).T, X[::20_000]) < most


@pytest.mark.parametrize(("kind", "most"), [("rotated", 4e-7), ("duplicated", 1e-7)])
def test_so_are_those_of_full_posteriors_in_lanes(core, kind, most):
    """The errors are 8e-8 and 2e-8 on v3."""
    X, y = ill_conditioned(kind, 200_000)
    grid = [(LAM, 1.0, 0.0, 0, False, True, "full", False)] * 2
    rungs = ladder(Pairwise(), K, 0)
    f = core.AutoGAF(D_FEATURES, K, grid, [np.inf], (), 0.0, 1.0, 0.0, False, 1, rungs, 1)
    assert np.isfinite(f.run(X, y.astype(np.int_), None)).all()
    state = f.state()
    S, A = np.tril(state["0.A_inverse"]), np.tril(state["0.A"])
    S, A = S + np.tril(S, -1).T, A + np.tril(A, -1).T
    assert np.linalg.eigvalsh(S).min() > 0
    assert largest_error(S, A, X[::20_000]) < most


def structured_error(S, A, inputs):
    """The largest relative error of the widths x S x, against A inverted in 40 digits."""
    errors = []
    with mpmath.workdps(40):
        inverse = mpmath.matrix(A.tolist()) ** -1
        for x in inputs:
            row = mpmath.matrix(x.tolist())
            errors.append(abs(float(x @ S @ x) / float((row.T * inverse * row)[0]) - 1))
    return max(errors)


def test_a_diagonal_posterior_is_the_sum_of_its_curvatures():
    """Against long double: s_cj = 1 / (lam + sum f_c x_j^2), each f_c from the weights then."""
    X, y = ill_conditioned("duplicated", 5000)
    core = GAF(D_FEATURES, K, lam=LAM, alpha=np.inf, structure="diagonal")._core
    A = np.full((K, D_FEATURES), LAM, dtype=np.longdouble)
    for x, label in zip(X, y.tolist(), strict=True):
        core.learn(x, label)
        p = softmax(core.mean() @ x)  # the surrogate is made at the weights after the step
        A += (0.5 * p * (1 - p) * K / (K - 1))[:, None] * x**2
    np.testing.assert_allclose(core.covariance(), 1 / A.astype(np.float64), rtol=1e-6)
