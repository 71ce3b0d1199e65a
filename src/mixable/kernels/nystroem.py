"""Nystroem's method with landmarks chosen on the way: a partial Cholesky factor of the kernel.

Williams, C. and Seeger, M. (2001). Using the Nystroem method to speed up kernel machines. NeurIPS.
Engel, Y., Mannor, S. and Meir, R. (2004). The kernel recursive least-squares algorithm. IEEE
Transactions on Signal Processing 52.
"""

from __future__ import annotations

import copy

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.spatial.distance import cdist

from mixable import _validate
from mixable._types import Array


def rbf(A: Array, B: Array, gamma: float) -> Array:
    """The kernel matrix exp(-gamma |a - b|^2) between the rows of A and those of B."""
    return np.asarray(np.exp(-gamma * cdist(A, B, "sqeuclidean")))


class Nystroem:
    """Features whose inner products are the kernel's, projected on the landmarks so far.

    With landmarks l_1, ..., l_r and their kernel matrix L L^T, phi(x) = L^-1 (k(l_1, x), ...,
    k(l_r, x)), then zeros. What the landmarks leave unexplained of x is the residual k(x, x) -
    |phi(x)|^2, between 0 and 1: its leverage. If that is large the row becomes a landmark itself, L
    grows by one row, and there is one more feature: old features, of all inputs, stay as they are.
    The features of a row count itself if it is to become a landmark.

    Parameters
    ----------
    n_features
        Length of the inputs.
    n_components
        The most landmarks, and the number of features.
    gamma
        Inverse squared width of the kernel exp(-gamma |x - x'|^2).
    tolerance
        A row becomes a landmark if its residual is above this, as long as there is room. Below
        1e-10 rounding would decide.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(500, 2))
    >>> phi, later = Nystroem(2, 50, gamma=0.5).learn(x)
    >>> phi.shape, len(later.landmarks)
    ((500, 50), 50)
    >>> phi = later.transform(x)
    >>> bool(abs(phi @ phi.T - rbf(x, x, 0.5)).mean() < 1e-3)
    True
    """

    BLOCK = 256  # rows that are transformed together

    def __init__(
        self, n_features: int, n_components: int, *, gamma: float, tolerance: float = 1e-3
    ) -> None:
        d = _validate.count(n_features, "n_features", least=0)
        self.n_components = _validate.count(n_components, "n_components")
        self.gamma = _validate.scale(gamma, "gamma")
        self.tolerance = _validate.real(tolerance, "tolerance", least=1e-10, most=1)
        self.landmarks: Array = np.empty((0, d))
        self.factor: Array = np.empty((0, 0))  # L

    def transform(self, Z: Array) -> Array:
        """Features (n, n_components) of rows Z (n, n_features), each as if it were the next."""
        out, residual = self._project(Z)
        r = len(self.landmarks)
        if r < self.n_components:
            out[:, r] = np.where(residual > self.tolerance, np.sqrt(residual), 0.0)
        return out

    def learn(self, Z: Array, counts: NDArray[np.bool_] | None = None) -> tuple[Array, Nystroem]:
        """Features of the rows one after the other, and the map after them.

        Rows that do not count (n,) never become landmarks.
        """
        counts = np.ones(len(Z), dtype=bool) if counts is None else counts
        later, out = copy.copy(self), np.empty((len(Z), self.n_components))
        for begin in range(0, len(Z), self.BLOCK):
            block = slice(begin, begin + self.BLOCK)
            out[block] = later._learn_block(Z[block], counts[block])
        return out, later

    def add_features(self, k: int) -> Nystroem:
        """The map for `k` more features, at the end; the landmarks have 0 there."""
        larger = copy.copy(self)
        larger.landmarks = np.hstack([self.landmarks, np.zeros((len(self.landmarks), k))])
        return larger

    def state(self) -> dict[str, Array]:
        """Everything that it knows, for `restore`."""
        return {"gamma": np.array([self.gamma]), "landmarks": self.landmarks, "factor": self.factor}

    def restore(self, state: dict[str, Array]) -> None:
        """Go on from what `state` returned; ValueError if it is not for a map of this size."""
        landmarks, factor = state["landmarks"], state["factor"]
        r = len(landmarks)
        shapes = (r, self.landmarks.shape[1]), (r, r)
        if (landmarks.shape, factor.shape) != shapes or r > self.n_components:
            found = f"landmarks of shape {landmarks.shape} and their factor of shape {factor.shape}"
            raise ValueError(f"{found} do not fit")
        gamma = _validate.scale(float(state["gamma"][0]), "gamma")
        is_finite = np.isfinite(landmarks).all() and np.isfinite(factor).all()
        if not is_finite or not (np.diag(factor) > 0).all():
            raise ValueError(
                "landmarks must be finite numbers, and their factor one with a positive diagonal"
            )
        gram = rbf(landmarks, landmarks, gamma)
        is_lower = not np.triu(factor, 1).any()
        if not is_lower or not np.allclose(factor @ factor.T, gram, rtol=0, atol=1e-6):
            raise ValueError("the factor is not that of the landmarks' kernel matrix")
        self.gamma, self.landmarks, self.factor = gamma, landmarks, factor

    def _project(self, Z: Array) -> tuple[Array, Array]:
        """Features by the landmarks there are, and residuals (n,)."""
        out, r = np.zeros((len(Z), self.n_components)), len(self.landmarks)
        if r:
            k = rbf(self.landmarks, Z, self.gamma)
            out[:, :r] = solve_triangular(self.factor, k, lower=True, check_finite=False).T
        return out, np.maximum(1.0 - np.einsum("ij,ij->i", out, out), 0.0)

    def _learn_block(self, Z: Array, counts: NDArray[np.bool_]) -> Array:
        """Features of the rows one after the other; landmarks are added.

        A new one is a step of Cholesky's on the rows that follow.
        """
        out, residual = self._project(Z)
        at = 0
        while len(self.landmarks) < self.n_components:
            above = np.flatnonzero(residual[at:] > self.tolerance)
            if not len(above):
                break
            at, r = at + int(above[0]), len(self.landmarks)
            out[at, r] = pivot = np.sqrt(residual[at])
            at += 1
            if not counts[at - 1]:
                continue
            row = out[at - 1, None, :r]
            self.factor = np.block([[self.factor, np.zeros((r, 1))], [row, pivot]])
            self.landmarks = np.vstack([self.landmarks, Z[at - 1]])
            rest = slice(at, None)
            k = rbf(Z[rest], Z[at - 1 : at], self.gamma)[:, 0]
            out[rest, r] = (k - out[rest, :r] @ out[at - 1, :r]) / pivot
            residual[rest] = np.maximum(residual[rest] - out[rest, r] ** 2, 0.0)
        return out
