"""Section 3 of the paper for any loss, in plain NumPy: the executable specification that the
compiled core is tested against.

Jezequel, R., Gaillard, P. and Rudi, A. (2021). Mixability made efficient: Fast online multiclass
logistic regression. NeurIPS.

The letters are the paper's: Theta is (n_outputs, n_features), theta its rows one after the other,
Phi(x) the matrix with ``Phi(x)^T theta = Theta x``, A and b the quadratic ``L~(theta) = theta^T A
theta + b^T theta + const``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mixable import _validate
from mixable.losses import Loss

Array = NDArray[np.float64]


class SurrogateForecaster:
    """What forecasters for a loss of any kind share. Subclasses say how the Gaussian looks along an
    input, and how it learns.
    """

    def _begin(self, loss: Loss, n_features: int, lam: float, beta: float, alpha: float) -> None:
        """Check and keep what all have."""
        if not isinstance(loss, Loss):
            raise TypeError(
                f"loss must have the methods of mixable.losses.Loss, got {type(loss).__name__}"
            )
        self.loss = loss
        self.n_features = _validate.count(n_features, "n_features")
        self.lam = _validate.regulariser(lam)
        self.beta = _validate.real(beta, "beta", above=0)
        self.alpha = _validate.real(alpha, "alpha", above=0, infinite=True)
        self.steps = 0

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take over what was saved, once it is known to be sound."""
        parameters = {
            name: value for name, value in state.items() if name[0] != "_" and name != "steps"
        }
        self._check_sizes(state)
        # The parameters are those of the subclass's own __init__.
        self.__init__(**parameters)  # type: ignore[misc]
        self.steps = _validate.count(state["steps"], "steps", least=0, most=2**53)
        self._restore(state)

    def _check_sizes(self, state: dict[str, Any]) -> None:
        """Refuse sizes that do not go with the arrays, before anything of these sizes is made."""

    def _restore(self, state: dict[str, Any]) -> None:
        """Take over the arrays of a saved state."""
        raise NotImplementedError

    def predict(self, x: ArrayLike) -> Array:
        """Eq. (4): the substitution rule of the loss, on the Gaussian over Theta x."""
        m, G, _ = self._project(_validate.row(x, self.n_features))
        width = 0.0 if math.isinf(self.alpha) else 1 / (2 * self.alpha)
        check_finite(m, G)
        forecast = self.loss.substitute(m, width * G, self.alpha, self.steps)
        check_finite(forecast)
        return forecast

    def learn(self, x: ArrayLike, y: Any, weight: float = 1.0) -> None:
        """Eqs. (2) and (3): the next theta, then the surrogate of this loss at it."""
        row = _validate.row(x, self.n_features)
        y = self.loss.outcome(y)
        weight = _validate.weight(weight)
        m, G, projected = self._project(row)
        check_finite(m, G)
        z = self._leader(m, G, y, weight)
        g, H = weight * self.loss.gradient(z, y), weight * self.loss.hessian(z, y)
        check_finite(z, g, H)
        self._absorb(row, projected, z, g, H)
        self.steps += 1

    def run(self, X: ArrayLike, y: ArrayLike, weight: ArrayLike | None = None) -> Array:
        """Predict each row before learning it; returns the predictions, one row each."""
        X = _validate.table(X, self.n_features)
        outcomes = np.asarray(y)
        if len(outcomes) != len(X):
            raise ValueError(f"y must have {len(X)} rows to go with X, got {len(outcomes)}")
        w = _validate.weights(weight, len(X))
        for t, outcome in enumerate(outcomes):
            try:
                self.loss.outcome(outcome)
            except (TypeError, ValueError) as error:
                raise type(error)(f"row {t}: {error}") from None
        predictions = []
        for t, x in enumerate(X):
            predictions.append(self.predict(x))
            self.learn(x, outcomes[t], 1.0 if w is None else w[t])
        return np.array(predictions)

    def _project(self, x: Array) -> tuple[Array, Array, Any]:
        """Mean and width (over 2 alpha) of the linear predictions, and whatever `_absorb` wants to
        know of x.
        """
        raise NotImplementedError

    def _absorb(self, x: Array, projected: Any, z: Array, g: Array, H: Array) -> None:
        """Move theta by the gradient g of the loss at z = Theta x, and add the surrogate with
        Hessian beta H.
        """
        raise NotImplementedError

    def _leader(self, m: Array, G: Array, y: Any, weight: float) -> Array:
        """Linear predictions z of the theta that minimises L~ + weight * loss, Eq. (2).

        The minimiser is theta - A^-1 Phi v / 2 with v the weighted gradient at z = m - G v / 2, a
        problem in n_outputs dimensions: damped Newton on ``v^T G v / 4 + weight * loss(m - G v /
        2)``.
        """
        eye = np.eye(len(m))
        v = np.zeros(len(m))

        def objective(v: Array) -> float:
            return float(v @ G @ v / 4 + weight * self.loss.value(m - G @ v / 2, y))

        value = objective(v)
        for _ in range(100):
            z = m - G @ v / 2
            residual = weight * self.loss.gradient(z, y) - v
            step = np.linalg.solve(eye + 0.5 * weight * self.loss.hessian(z, y) @ G, residual)
            slope = -0.5 * residual @ G @ step
            fraction = 1.0
            while (
                trial := objective(v + fraction * step)
            ) > value + 1e-4 * fraction * slope + 1e-14 * abs(value) and fraction > 1e-12:
                fraction /= 2
            v, value = v + fraction * step, trial
            if np.abs(step).max() <= 1e-13 * np.abs(v).max():
                break
        return np.asarray(m - G @ v / 2)


def check_finite(*arrays: Array) -> None:
    """Refuse what is beyond double precision, before anything has changed."""
    if not all(np.isfinite(array).all() for array in arrays):
        raise ValueError(
            "this input or example is beyond double precision: it, or what was learned, is too "
            "large"
        )


class GenericGAF(SurrogateForecaster):
    """The Gaussian Aggregating Forecaster for a loss of your own.

    Parameters
    ----------
    loss
        What `mixable.losses.Loss` describes; `Squared` and `Logistic` are there.
    n_features
        Length d of the inputs.
    lam
        Regularisation, A_0 = lam I.
    beta
        Curvature of the surrogates, Eq. (3); (A3) holds for the loss's constant, larger values are
        practice.
    alpha
        Mixability: the posterior is N(theta, (2 alpha A)^-1). Infinity predicts with theta itself.
    drift
        After each example A^-1 += drift I, the random walk of a Kalman filter (not in the paper).

    Examples
    --------
    >>> from mixable.losses import Squared
    >>> f = GenericGAF(Squared(), n_features=2, lam=1.0)
    >>> f.learn([1.0, 0.0], 2.0)
    >>> f.predict([1.0, 0.0])          # ridge says 2/(1 + 1) = 1; Vovk-Azoury-Warmuth counts the new input too: 2/3
    array([0.66666667])
    """

    def __init__(
        self,
        loss: Loss,
        n_features: int,
        *,
        lam: float = 1.0,
        beta: float = 1.0,
        alpha: float = 1.0,
        drift: float = 0.0,
    ) -> None:
        self._begin(loss, n_features, lam, beta, alpha)
        self.drift = _validate.drift(drift, self.lam)
        dim = self.n_features * loss.n_outputs
        _validate.memory(4 * 8.0 * dim * dim, f"GenericGAF with {dim} weights")
        self._A = self.lam * np.eye(dim)
        self._b = np.zeros(dim)
        self._theta = np.zeros(dim)

    def _check_sizes(self, state: dict[str, Any]) -> None:
        dim = state["n_features"] * state["loss"].n_outputs
        _validate.saved(state["_A"], (dim, dim), "A")

    def _restore(self, state: dict[str, Any]) -> None:
        A = state["_A"]
        scaled = (
            A / np.sqrt(np.outer(np.diag(A), np.diag(A)))
            if (np.diag(A) > 0).all()
            else -np.eye(len(A))
        )
        # Rounding may leave an honest one a little less than positive definite.
        if np.abs(scaled - scaled.T).max() > 0.1 or np.linalg.eigvalsh(scaled)[0] < -0.1:
            raise ValueError("the saved A is not positive definite")
        self._A = A
        self._b, self._theta = (
            _validate.saved(state[name], (len(A),), name) for name in ("_b", "_theta")
        )

    @property
    def coef(self) -> Array:
        """Theta (n_outputs, n_features), the minimiser of the surrogate objective."""
        return self._theta.reshape(self.loss.n_outputs, self.n_features).copy()

    def precision(self) -> Array:
        """A_t: half the Hessian of the surrogate objective."""
        return self._A.copy()

    def linear_term(self) -> Array:
        """b_t: the surrogate objective is theta^T A theta + b^T theta + const, so 2 A theta + b =
        0.
        """
        return self._b.copy()

    def _project(self, x: Array) -> tuple[Array, Array, Any]:
        Phi = np.asarray(np.kron(np.eye(self.loss.n_outputs), x[:, None]), dtype=np.float64)
        P = np.asarray(np.linalg.solve(self._A, Phi), dtype=np.float64)
        return Phi.T @ self._theta, Phi.T @ P, (Phi, P)

    def _absorb(self, x: Array, projected: Any, z: Array, g: Array, H: Array) -> None:
        Phi, P = projected
        theta, A, b = (
            self._theta - 0.5 * P @ g,
            self._A + 0.5 * self.beta * Phi @ H @ Phi.T,
            self._b + Phi @ (g - self.beta * H @ z),
        )
        if self.drift:
            A = np.asarray(
                np.linalg.inv(np.linalg.inv(A) + self.drift * np.eye(len(A))), dtype=np.float64
            )
            b = -2 * A @ theta
        check_finite(theta, A, b)
        self._theta, self._A, self._b = theta, A, b
