"""A million steps on ill-conditioned inputs: the posterior's width stays right (drift = 0), finite and positive definite (drift > 0)."""

import mpmath
import numpy as np
import pytest

from mixable import GAF
from mixable.integrals import helmert, softmax

STEPS, D_FEATURES, K, LAM = 1_000_000, 12, 3, 0.01


def ill_conditioned(kind, n=STEPS, d=D_FEATURES):
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(n, d))
    if kind == "duplicated":
        X = np.concatenate([Z[:, : d // 2]] * 2, axis=1)
    else:
        rotation, _ = np.linalg.qr(rng.normal(size=(d, d)))
        X = (Z * np.logspace(-3, 1, d)) @ rotation.T
    W = rng.normal(size=(K, d)) / (np.sqrt(d) * X.std())
    return X, (X @ W.T + rng.gumbel(size=(n, K))).argmax(axis=1)


def exact_widths(X, U, inputs):
    """G for the given inputs from a recomputation of A = lam I + sum of 1/2 Phi S Phi^T: summed in long double, inverted in 40 digits."""
    k, d, Q = K - 1, X.shape[1], helmert(K)
    A = np.zeros((k * d, k * d), dtype=np.longdouble)
    for start in range(0, len(X), 20_000):
        x = X[start : start + 20_000].astype(np.longdouble)
        p = softmax(Q @ U[start : start + 20_000].T)
        for a in range(k):
            for b in range(k):
                S = (p * Q[:, [a]] * Q[:, [b]]).sum(axis=0) - (p.T @ Q[:, a]) * (p.T @ Q[:, b])
                A[a * d : a * d + d, b * d : b * d + d] += (x * (S.astype(np.longdouble) / 2)[:, None]).T @ x
    A += LAM * np.eye(k * d, dtype=np.longdouble)
    with mpmath.workdps(40):
        high = A.astype(np.float64)
        inverse = (mpmath.matrix(high.tolist()) + mpmath.matrix((A - high).astype(np.float64).tolist())) ** -1
        for x in inputs:
            Phi = mpmath.matrix(np.kron(np.eye(k), x[:, None]).tolist())
            yield np.array((Phi.T * inverse * Phi).tolist(), dtype=np.float64)


@pytest.mark.parametrize("kind", ["rotated", "duplicated"])
def test_width_after_a_million_steps(kind):
    X, y = ill_conditioned(kind)
    f = GAF(D_FEATURES, K, lam=LAM, alpha=np.inf)
    core, labels, U = f._core, y.tolist(), np.empty((STEPS, K - 1))
    for t in range(STEPS):
        core.learn(X[t], labels[t])
        U[t] = core.mean() @ X[t]  # the point at which the surrogate of step t was made
    assert np.isfinite(U).all()
    covariance = core.covariance()
    for x, exact in zip(X[::25_000], exact_widths(X, U, X[::25_000]), strict=True):
        Phi = np.kron(np.eye(K - 1), x[:, None])
        G = Phi.T @ covariance @ Phi
        assert np.linalg.eigvalsh(G).min() > 0
        assert np.abs(G - exact).max() <= 1e-6 * np.abs(exact).max()


@pytest.mark.parametrize("drift", [1e-6, 1e-3])
@pytest.mark.parametrize("kind", ["rotated", "duplicated"])
def test_drifting_posterior_stays_finite_and_positive_definite(kind, drift):
    X, y = ill_conditioned(kind)
    f = GAF(D_FEATURES, K, lam=LAM, drift=drift, alpha=np.inf)
    p = f.run(X, y)
    assert np.isfinite(p).all()
    assert np.isfinite(f.coef).all()
    assert np.linalg.eigvalsh(f._core.covariance()).min() > 0
