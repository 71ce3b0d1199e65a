"""Folklore against AIOLI and a dense computation."""

import numpy as np
import pytest
from streams import logistic_stream

from mixable import AIOLI, Folklore
from mixable.integrals import helmert, softmax


@pytest.mark.parametrize(("lam", "beta"), [(0.2, 1.0), (3.0, 0.15)])
def test_folklore_for_two_classes_is_aioli_with_half_weighted_virtual_losses(lam, beta):
    X, y = logistic_stream(300, 6, 2)
    folklore = Folklore(6, 2, lam=lam, beta=beta).run(X, y)
    aioli = AIOLI(6, lam=lam / 2, scale=1 / beta, virtual_weight=0.5).run(X, y)
    np.testing.assert_allclose(folklore, aioli, rtol=0, atol=1e-9)


@pytest.mark.parametrize("K", [3, 5])
def test_folklore_equals_a_dense_computation_in_the_papers_coordinates(K):
    """K blocks, explicit A and b: predict at the fixed point of the hedged objective, expand the
    surrogate there.
    """
    d, lam, beta = 3, 0.3, 0.6
    c = beta / 2
    X, y = logistic_stream(60, d, K)
    f = Folklore(d, K, lam=lam, beta=beta)
    A, b = lam * np.eye(K * d), np.zeros(K * d)
    for t in range(60):
        Phi = np.kron(np.eye(K), X[t][:, None])
        m = Phi.T @ np.linalg.solve(A, -b / 2)
        G = Phi.T @ np.linalg.solve(A, Phi)
        centre = np.eye(K) - 1 / K
        G = centre @ G @ centre
        # argmin over z of (z - m)^T G^+ (z - m) + logsumexp(z) - diag(G / 2)^T z / ... , solved as
        # a fixed point by Newton
        Q = helmert(K)
        Gr, a = Q.T @ G @ Q, np.diag(G) / 2
        u = Q.T @ m
        for _ in range(30):
            p = softmax(Q @ u)
            residual = u - (Q.T @ m + Q.T @ a / 2 - Gr @ Q.T @ p / 2)
            S = Q.T @ (np.diag(p) - np.outer(p, p)) @ Q
            u = u - np.linalg.solve(np.eye(K - 1) + Gr @ S / 2, residual)
        z = Q @ u
        p = softmax(z)
        np.testing.assert_allclose(f.predict(X[t]), p, rtol=0, atol=1e-9)
        g, H = p - np.eye(K)[y[t]], np.diag(p) - np.outer(p, p)
        A = A + c * Phi @ H @ Phi.T
        b = b + Phi @ (g - 2 * c * H @ z)
        f.learn(X[t], y[t])
    np.testing.assert_allclose(f.coef.ravel(), np.linalg.solve(A, -b / 2), rtol=0, atol=1e-9)
    np.testing.assert_allclose(f.precision(), A, rtol=0, atol=1e-9)
