"""The effective dimension of a kernel matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mixable import _validate
from mixable._types import Array


def effective_dimension(K: ArrayLike, lam: float) -> Array:
    """d_eff(t) = tr K_t (K_t + lam I)^-1 of the first t = 1, ..., n examples.

    K (n, n) is the kernel matrix of all of them. The paper believes that d_eff replaces the
    dimension in a bound for kernels. The inverse of a Cholesky factor's leading block is the
    leading block of the factor's inverse, so that one factorisation serves all t.

    >>> effective_dimension(np.eye(3), lam=1.0)
    array([0.5, 1. , 1.5])
    """
    from scipy.linalg import solve_triangular

    K = np.asarray(K, dtype=np.float64)
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise ValueError(f"K must be a square matrix, got shape {K.shape}")
    lam = _validate.real(lam, "lam", above=0)
    L = np.linalg.cholesky(K + lam * np.eye(len(K)))
    inverse = solve_triangular(L, np.eye(len(K)), lower=True)
    return np.asarray(np.arange(1, len(K) + 1) - lam * np.cumsum(np.square(inverse).sum(axis=1)))
