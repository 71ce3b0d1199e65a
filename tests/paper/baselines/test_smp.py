"""SMP against its definition."""

import numpy as np
from scipy.optimize import minimize
from streams import logistic_stream

from mixable import SMP
from mixable.integrals import softmax


def test_smp_equals_its_definition():
    """K independent fits by SciPy's BFGS in the paper's coordinates."""
    d, K, lam, n = 2, 3, 0.5, 15
    X, y = logistic_stream(n + 5, d, K)
    f = SMP(d, K, lam=lam)
    for t in range(n):
        f.learn(X[t], y[t])

    def fitted(inputs, labels):
        def objective(w):
            z = inputs @ w.reshape(K, d).T
            return (
                np.log(np.exp(z).sum(axis=1)).sum()
                - z[np.arange(len(labels)), labels].sum()
                + lam * w @ w
            )

        return minimize(
            objective, np.zeros(K * d), method="BFGS", options={"gtol": 1e-8}
        ).x.reshape(K, d)

    for x in X[n:]:
        p = np.array(
            [
                softmax(fitted(np.vstack([X[:n], x]), np.append(y[:n], label)) @ x)[label]
                for label in range(K)
            ]
        )
        np.testing.assert_allclose(f.predict(x), p / p.sum(), rtol=0, atol=1e-5)


def test_smp_with_a_huge_weight_gives_probabilities():
    """Each label has a probability that underflows, under the fit that has it added."""
    f = SMP(2, 3, lam=1e-6)
    f.learn([-410.0, -187.0], 1)
    f.learn([-1982.0, -785.0], 1, 1e100)
    p = f.predict([438.0, 2487.0])
    assert (p > 0).all()
    np.testing.assert_allclose(p.sum(), 1.0, atol=1e-12)
