"""The effective dimension of a kernel matrix, along a stream."""

import numpy as np
import pytest

from mixable.kernels import effective_dimension, rbf


@pytest.mark.parametrize("lam", [1e-3, 0.1, 10.0])
def test_it_is_the_trace_for_every_prefix(lam, rng):
    Z = rng.normal(size=(30, 2))
    K = rbf(Z, Z, 0.7)
    each = [np.trace(np.linalg.solve(K[:t, :t] + lam * np.eye(t), K[:t, :t])) for t in range(1, 31)]
    np.testing.assert_allclose(effective_dimension(K, lam), each, rtol=1e-8)


def test_of_a_linear_kernel_it_is_below_the_number_of_features(rng):
    X = rng.normal(size=(200, 3))
    dimension = effective_dimension(X @ X.T, 0.01)
    assert 2.99 < dimension[-1] < 3
    assert (np.diff(dimension) >= -1e-9).all()


def test_what_is_no_kernel_matrix_is_refused():
    with pytest.raises(ValueError, match=r"square matrix, got shape \(2, 3\)"):
        effective_dimension(np.ones((2, 3)), 1.0)
    with pytest.raises(ValueError, match="lam must be above 0"):
        effective_dimension(np.eye(2), 0.0)
