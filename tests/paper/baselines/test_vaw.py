"""VAW against its closed form."""

import numpy as np
import pytest

from mixable import VAW, GenericGAF
from mixable.losses import Squared


@pytest.mark.parametrize("d", [1, 7, 450])
def test_vaw_equals_the_closed_form_and_generic_gaf(d):
    rng = np.random.default_rng(0)
    n, lam = 70, 0.5
    X = rng.normal(size=(n, d))
    y = X @ rng.normal(size=d) / np.sqrt(d) + rng.normal(size=n)
    weight = rng.random(n) * 2
    f = VAW(d, lam=lam)
    out = f.run(X, y, weight)
    for t in range(n):
        past = (X[:t].T * weight[:t]) @ X[:t] + np.outer(X[t], X[t])
        expected = np.linalg.solve(lam * np.eye(d) + past, X[t]) @ (X[:t].T @ (weight[:t] * y[:t]))
        assert out[t] == pytest.approx(expected, abs=1e-10)
    np.testing.assert_allclose(
        f.precision(), lam * np.eye(d) + (X.T * weight) @ X, rtol=0, atol=1e-9
    )
    if d < 100:
        generic = GenericGAF(Squared(), d, lam=lam).run(X, y, weight)
        np.testing.assert_allclose(out, generic[:, 0], rtol=0, atol=1e-10)
