"""GAF in a reproducing kernel Hilbert space, exactly, for some thousand examples.

Jezequel, R., Gaillard, P. and Rudi, A. (2021). Mixability made efficient: Fast online multiclass
logistic regression. NeurIPS. Conclusion.
Rasmussen, C. and Williams, C. (2006). Gaussian processes for machine learning. MIT Press. Section
3.4.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular

from mixable import _validate
from mixable._types import Array
from mixable.experts.base import Parameter
from mixable.kernels import effective_dimension, rbf
from mixable.paper.losses import Loss
from mixable.paper.reference import SurrogateForecaster, check_finite


class KernelGAF(SurrogateForecaster):
    """`GenericGAF` on the features of a kernel, in its dual form: it keeps all examples.

    The posterior's covariance is A^-1 with A = lam I + sum Phi_s C_s Phi_s^T. With C_s = F_s F_s^T,
    K the kernel matrix and B = lam I + F^T K F = L L^T, the forecast at x needs only the kernel row
    k of x: with v = L^-1 F^T k, G = (k(x, x) - v^T v) / lam. A step costs of the order of (t p)^2,
    p the loss's number of outputs.

    Parameters
    ----------
    loss
        What `mixable.losses.Loss` describes; `Logistic(K)` forecasts classes.
    n_features
        Length of the inputs.
    gamma
        Of the kernel exp(-gamma |x - x'|^2). None: the linear kernel, and the same as GenericGAF.
    lam, beta, alpha
        As in GenericGAF. lam is at least 1e-8: what the examples leave of k(x, x) is a small
        difference, divided by lam, and below that double precision has too little of it.

    Examples
    --------
    >>> from mixable.losses import Logistic
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(200, 2))
    >>> y = (X[:, 0] * X[:, 1] > 0).astype(int)
    >>> f = KernelGAF(Logistic(2), 2, gamma=2.0, lam=0.01)
    >>> p = f.run(X, y)
    >>> round(float((p[100:].argmax(axis=1) == y[100:]).mean()), 1)  # accuracy
    0.9
    >>> round(float(f.effective_dimension()[-1]))
    36
    """

    lam = Parameter(_validate.real, least=1e-8)
    gamma = Parameter(_validate.optional(_validate.scale))

    def __init__(
        self,
        loss: Loss,
        n_features: int,
        *,
        gamma: float | None = 1.0,
        lam: float = 1.0,
        beta: float = 1.0,
        alpha: float = 1.0,
    ) -> None:
        self._keep(locals())
        _validate.memory(8.0 * self.n_features, f"a row of {self.n_features} features")
        p = loss.n_outputs
        self._X: Array = np.empty((0, self.n_features))
        self._F: Array = np.empty((0, p, p))
        self._L: Array = np.empty((0, 0))  # (t p, t p)
        self._dual: Array = np.empty((0, p))  # Theta = sum dual_s phi(x_s)^T

    def _restore(self, state: dict[str, Any]) -> None:
        t, p = self.steps, self.loss.n_outputs
        X = _validate.saved(state["_X"], (t, self.n_features), "X")
        F = _validate.saved(state["_F"], (t, p, p), "F")
        L = _validate.saved(state["_L"], (t * p, t * p), "L")
        dual = _validate.saved(state["_dual"], (t, p), "dual")
        wide = F.transpose(0, 2, 1).reshape(t * p, p)
        B = self.lam * np.eye(t * p) + np.kron(self.kernel(X, X), np.ones((p, p))) * (wide @ wide.T)
        is_factor = (np.diag(L) > 0).all() and not np.triu(L, 1).any()
        rounding = 1e-6 * np.sqrt(np.outer(np.diag(B), np.diag(B)))  # as it is of a factor
        if not is_factor or not (np.abs(L @ L.T - B) <= rounding).all():
            raise ValueError("the saved L is not the factor of lam I + F^T K F")
        self._X, self._F, self._L, self._dual = X, F, L, dual

    def run(self, X: ArrayLike, y: ArrayLike, weight: ArrayLike | None = None) -> Array:
        """Forecasts (n, n_outputs) of each row of X, made before its outcome is learned.

        All arguments are checked first.
        """
        X = _validate.table(X, self.n_features)
        n = self.steps + len(X)
        # the old factor and the new
        _validate.memory(16.0 * (n * self.loss.n_outputs) ** 2, f"KernelGAF with {n} examples")
        return super().run(X, y, weight)

    def _grow(self, **sizes: int) -> None:
        """Let the features that past examples did not have be 0: no kernel value changes."""
        parameters = {**self._parameters, **sizes}
        n_features = parameters["n_features"]
        _validate.memory(
            8.0 * (self.steps + 1) * n_features, f"KernelGAF with {n_features} features"
        )
        X = np.zeros((self.steps, n_features))
        X[:, : self.n_features] = self._X
        self.__dict__.update(_parameters=parameters, _X=X)

    def kernel(self, A: Array, B: Array) -> Array:
        """The kernel matrix between the rows of A and those of B."""
        return np.asarray(A @ B.T) if self.gamma is None else rbf(A, B, self.gamma)

    @property
    def coef(self) -> Array:
        """Theta (n_outputs, steps): Theta phi(x) = sum over s of coef[:, s] k(x_s, x)."""
        return np.asarray(self._dual.T.copy())

    def effective_dimension(self) -> Array:
        """d_eff(lam) (n,) after each of the examples learned so far."""
        return effective_dimension(self.kernel(self._X, self._X), self.lam)

    def _log_determinant(self) -> float:
        """``|A| / |lam I| = |B| / lam^(t p)``, by Sylvester."""
        return 2 * float(np.log(np.diag(self._L) / np.sqrt(self.lam)).sum())

    def _norm(self, x: Array) -> float:
        return float(np.sqrt(self.kernel(x[None, :], x[None, :])[0, 0]))

    def _project(self, x: Array) -> tuple[Array, Array, Any]:
        p, t = self.loss.n_outputs, len(self._X)
        k = self.kernel(self._X, x[None, :])[:, 0]
        own = float(self.kernel(x[None, :], x[None, :])[0, 0])
        w = (k[:, None, None] * self._F.transpose(0, 2, 1)).reshape(t * p, p)
        v = solve_triangular(self._L, w, lower=True, check_finite=False) if t else w
        return self._dual.T @ k, (own * np.eye(p) - v.T @ v) / self.lam, (own, v)

    def _absorb(self, x: Array, projected: Any, z: Array, g: Array, H: Array) -> None:
        p, t = self.loss.n_outputs, len(self._X)
        own, v = projected
        # A^-1 Phi(x) = (Phi(x) - Phi F B^-1 F^T k) / lam, in terms of the examples.
        back = np.empty((0, p, p))
        if t:
            back = solve_triangular(self._L, v, lower=True, trans=1, check_finite=False)
        step = np.vstack([-self._F @ back.reshape(t, p, p) @ g, g])
        values, vectors = np.linalg.eigh(0.5 * self.beta * H)
        F = vectors * np.sqrt(np.maximum(values, 0.0))
        # It may fail: nothing has changed so far.
        corner = np.linalg.cholesky(self.lam * np.eye(p) + F.T @ (own * np.eye(p) - v.T @ v) @ F)
        dual = np.vstack([self._dual, np.zeros(p)]) - step / (2 * self.lam)
        L = np.block([[self._L, np.zeros((t * p, p))], [F.T @ v.T, corner]])
        check_finite(F, corner, dual)
        later = np.vstack([self._X, x]), np.concatenate([self._F, F[None]]), L, dual
        self._X, self._F, self._L, self._dual = later  # all at once: Ctrl-C may come at any time
