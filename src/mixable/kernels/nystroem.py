"""Nystroem's method with landmarks chosen on the way: a partial Cholesky factor of the kernel.

Williams, C. and Seeger, M. (2001). Using the Nystroem method to speed up kernel machines. NeurIPS.
Engel, Y., Mannor, S. and Meir, R. (2004). The kernel recursive least-squares algorithm. IEEE
Transactions on Signal Processing 52.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from mixable import _core, _validate
from mixable._types import Array, Truths


def rbf(A: Array, B: Array, gamma: float) -> Array:
    """The kernel matrix exp(-gamma |a - b|^2) between the rows of A and those of B."""
    from scipy.spatial.distance import cdist  # it takes long to import, and few need it

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
    >>> round(float(abs(phi @ phi.T - rbf(x, x, 0.5)).mean()), 3)  # nearly the kernel
    0.0
    """

    def __init__(
        self, n_features: int, n_components: int, *, gamma: float, tolerance: float = 1e-3
    ) -> None:
        d = _validate.count(n_features, "n_features", least=0)
        self.n_components = _validate.count(n_components, "n_components")
        self.gamma = _validate.scale(gamma, "gamma")
        self.tolerance = _validate.real(tolerance, "tolerance", least=1e-10, most=1)
        self._n_features = d
        self.weights: Array | None = None  # (n_features,) that inputs are multiplied by
        self._core = self._new_core()

    def _new_core(self) -> _core.Landmarks:
        core = _core.Landmarks(self._n_features, self.n_components, self.gamma, self.tolerance)
        if self.weights is not None:
            core.weigh(self.weights)
        return core

    def weigh(self, weights: Array) -> None:
        """Multiply each feature of all inputs by its weight; before the first landmark."""
        self.weights = np.array(weights, dtype=np.float64)
        self._core = self._new_core()

    @property
    def landmarks(self) -> Array:
        """The landmarks so far (r, n_features)."""
        return self._core.arrays()[0]

    @property
    def factor(self) -> Array:
        """The Cholesky factor L (r, r) of their kernel matrix."""
        return self._core.arrays()[1]

    def transform(self, Z: Array) -> Array:
        """Features (n, n_components) of rows Z (n, n_features), each as if it were the next."""
        return self._core.transform(np.ascontiguousarray(Z))

    def learn(self, Z: Array, counts: Truths | None = None) -> tuple[Array, Nystroem]:
        """Features of the rows one after the other, and the map after them.

        Rows that do not count (n,) never become landmarks.
        """
        counts = np.ones(len(Z), dtype=bool) if counts is None else counts
        later = self._with(*self._core.arrays())
        return later._core.learn(np.ascontiguousarray(Z), counts), later

    def compiled(self) -> _core.Landmarks:
        """The map, compiled: what learns rows in it changes this one."""
        return self._core

    def add_features(self, k: int) -> Nystroem:
        """The map for `k` more features, at the end; the landmarks have 0 there."""
        other = copy.copy(self)
        other._n_features += k
        if self.weights is not None:
            other.weights = np.concatenate([self.weights, np.zeros(k)])
        other._core = other._new_core()
        other._core.adopt(self._core)
        return other

    def keep_landmarks(self) -> None:
        """Add no more landmarks: no row leaves more than 1 unexplained."""
        landmarks, factor = self._core.arrays()
        self.tolerance = 1.0
        self._core = self._new_core()
        self._core.set(landmarks, factor)

    def _with(self, landmarks: Array, factor: Array) -> Nystroem:
        """A map like this one with these landmarks."""
        other = copy.copy(self)
        other._core = other._new_core()
        other._core.set(landmarks, factor)
        return other

    def __getstate__(self) -> dict[str, Any]:
        kept = {name: value for name, value in vars(self).items() if name != "_core"}
        return {**kept, "arrays": self._core.arrays()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        arrays = state.pop("arrays")
        vars(self).update({"weights": None, **state})
        self._core = self._new_core()
        self._core.set(*arrays)

    def state(self) -> dict[str, Array]:
        """Everything that it knows, for `restore`."""
        landmarks, factor = self._core.arrays()
        out = {"gamma": np.array([self.gamma]), "landmarks": landmarks, "factor": factor}
        return out if self.weights is None else {**out, "weights": self.weights}

    def restore(self, state: dict[str, Array]) -> None:
        """Go on from what `state` returned; ValueError if it is not for a map of this size."""
        landmarks, factor = state["landmarks"], state["factor"]
        r = len(landmarks)
        shapes = (r, self._n_features), (r, r)
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
        weights = state.get("weights")
        if weights is not None:
            is_weight = weights.shape == (self._n_features,) and (weights >= 0).all()
            if not is_weight or not (weights <= 1e6).all():
                raise ValueError(f"weights must be {self._n_features} numbers from 0 to 1e6")
        self.gamma, self.weights = gamma, weights
        self._core = self._new_core()
        self._core.set(np.ascontiguousarray(landmarks), np.ascontiguousarray(factor))
