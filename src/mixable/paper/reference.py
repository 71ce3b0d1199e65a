"""Section 3 of the paper for any loss, in plain NumPy: what the compiled core is tested against.

Jezequel, R., Gaillard, P. and Rudi, A. (2021). Mixability made efficient: Fast online multiclass
logistic regression. NeurIPS.

The letters are the paper's: Theta is (n_outputs, n_features), theta its rows one after the other,
Phi(x) the matrix with ``Phi(x)^T theta = Theta x``, A and b the quadratic ``L~(theta) = theta^T A
theta + b^T theta + const``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mixable import _validate
from mixable._types import Array
from mixable.experts.base import Forecaster, Parameter, each
from mixable.paper import bounds
from mixable.paper.losses import Logistic, Loss
from mixable.paper.losses.protocol import check_loss


class SurrogateForecaster(Forecaster):
    """What the forecasters for any loss share. Subclasses keep the Gaussian over the weights."""

    loss = Parameter(check_loss)
    lam = Parameter(_validate.regulariser)
    beta = Parameter(_validate.scale)
    alpha = Parameter(_validate.mixability)

    _steps = 0
    _largest_norm = _largest_weight = 0.0  # of what was learned; -1: not known

    def __getstate__(self) -> dict[str, Any]:
        own = {name: value for name, value in vars(self).items() if name != "_parameters"}
        own.pop("_steps", None)
        return {**self._parameters, "steps": self.steps, **own}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._check_sizes(state)
        names = (name for name in state if name[0] != "_" and name != "steps")
        # The parameters are those of the subclass's own __init__.
        self.__init__(**{name: state[name] for name in names})  # type: ignore[misc]
        self._steps = _validate.count(state["steps"], "steps", least=0, most=_validate.MOST_STEPS)
        for name in ("_largest_norm", "_largest_weight"):  # not in files of 0.2.0 and before
            met = state.get(name, -1.0 if self.steps else 0.0)
            setattr(self, name, -1.0 if met == -1 else _validate.real(met, name[1:], least=0))
        self._restore(state)

    def _check_sizes(self, state: dict[str, Any]) -> None:
        """Refuse sizes that do not go with the arrays, before anything of these sizes is made."""

    def _restore(self, state: dict[str, Any]) -> None:
        """Check the arrays of a saved state and keep them."""
        raise NotImplementedError

    @property
    def steps(self) -> int:
        """Number of examples learned."""
        return self._steps

    def predict(self, x: ArrayLike) -> Array:
        """Eq. (4): the substitution rule of the loss, on the Gaussian over Theta x.

        The forecast (n_outputs,) of one input (n_features,); of a table, one row each.
        """
        return each(self._forecast, _validate.inputs(x, self.n_features))

    def _forecast(self, x: Array) -> Array:
        m, G, _ = self._project(x)
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
        if self._largest_norm >= 0:
            self._largest_norm = max(self._largest_norm, self._norm(row))
        if self._largest_weight >= 0:
            self._largest_weight = max(self._largest_weight, weight)
        self._steps += 1

    def run(self, X: ArrayLike, y: ArrayLike, weight: ArrayLike | None = None) -> Array:
        """Forecasts (n, n_outputs) of each row of X, made before its outcome is learned.

        All arguments are checked first.
        """
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
        forecasts = []
        for t, x in enumerate(X):
            forecasts.append(self.predict(x))
            self.learn(x, outcomes[t], 1.0 if w is None else w[t])
        return np.array(forecasts)

    def certificate(self, bound: float) -> bounds.Certificate:
        """What this run has proved of its own regret: `mixable.GAF.certificate`.

        For the logistic loss, alpha <= 1 and no drift. `bound` limits sqrt(k(x, x)) for a kernel k,
        which is 1 for the Gaussian kernel.
        """
        loss, drift = self.loss, self._parameters.get("drift", 0.0)
        if not isinstance(loss, Logistic) or drift > 0 or self.alpha > 1:
            raise ValueError(
                "a certificate needs the logistic loss, drift = 0 and alpha <= 1, got "
                f"{loss!r:.80}, drift = {drift:g}, alpha = {self.alpha:g}"
            )
        return bounds.certified(
            loss.integrator,
            n_classes=loss.n_classes,
            lam=self.lam,
            beta=self.beta,
            alpha=self.alpha,
            mu=0.0,
            steps=self.steps,
            bound=bound,
            largest_norm=self._largest_norm,
            largest_weight=self._largest_weight,
            log_determinant=self._log_determinant(),
        )

    def _norm(self, x: Array) -> float:
        """|Phi(x)|, for one output."""
        return float(np.linalg.norm(x))

    def _log_determinant(self) -> float:
        """``log(|A| / |lam I|)``."""
        raise NotImplementedError

    def _project(self, x: Array) -> tuple[Array, Array, Any]:
        """Mean m and width G (over 2 alpha) of z = Theta x, and what `_absorb` needs of x."""
        raise NotImplementedError

    def _absorb(self, x: Array, projected: Any, z: Array, g: Array, H: Array) -> None:
        """Move theta by the gradient g at z = Theta x, and add the surrogate of Eq. (3)."""
        raise NotImplementedError

    def _leader(self, m: Array, G: Array, y: Any, weight: float) -> Array:
        """Linear predictions z of the theta that minimises L~ + weight * loss, Eq. (2).

        The minimiser is theta - A^-1 Phi v / 2 with v the weighted gradient at z = m - G v / 2, a
        problem in n_outputs dimensions: damped Newton on v^T G v / 4 + weight * loss(m - G v / 2).
        """
        eye = np.eye(len(m))
        v = np.zeros(len(m))

        def objective(v: Array) -> float:
            return float(v @ G @ v / 4 + weight * self.loss.value(m - G @ v / 2, y))

        value = objective(v)
        for _ in range(100):
            z = m - G @ v / 2
            residual = weight * self.loss.gradient(z, y) - v
            step = solve(eye + 0.5 * weight * self.loss.hessian(z, y) @ G, residual)
            slope = -0.5 * residual @ G @ step
            fraction, trial, slack = 1.0, objective(v + step), 1e-14 * abs(value)
            while trial > value + 1e-4 * fraction * slope + slack and fraction > 1e-12:
                fraction /= 2
                trial = objective(v + fraction * step)
            v, value = v + fraction * step, trial
            if np.abs(step).max() <= 1e-13 * np.abs(v).max():
                break
        return np.asarray(m - G @ v / 2)


BEYOND = "this input or example is beyond double precision: it, or what was learned, is too large"


def check_finite(*arrays: Array) -> None:
    """Refuse what is beyond double precision, before anything has changed."""
    if not all(np.isfinite(array).all() for array in arrays):
        raise ValueError(BEYOND)


def solve(A: Array, b: Array) -> Array:
    """A^-1 b; ValueError if A is singular in double precision."""
    try:
        return np.asarray(np.linalg.solve(A, b))
    except np.linalg.LinAlgError:
        raise ValueError(BEYOND) from None


@np.errstate(all="ignore")
def least_eigenvalue(A: Array) -> float:
    """Of A with its diagonal scaled to 1; -infinity if that is not finite or not symmetric."""
    scales = np.sqrt(np.diag(A))
    unit = A / np.outer(scales, scales)
    symmetric = np.abs(unit - unit.T).max() <= 0.1
    return float(np.linalg.eigvalsh(unit)[0]) if symmetric else -math.inf


class GenericGAF(SurrogateForecaster):
    """The Gaussian Aggregating Forecaster for a loss of your own.

    Parameters
    ----------
    loss
        What `mixable.losses.Loss` describes; `Squared` and `Logistic` are there.
    n_features
        Number of features d.
    lam
        Strength of the regularisation, above 0: the penalty is lam |theta|^2.
    beta
        How much is learned from each outcome: the curvature of the quadratic that stands for its
        loss, Eq. (3). (A3) holds for the loss's constant, larger values are practice.
    alpha
        How far forecasts hedge: they are made from the posterior N(theta, (2 alpha A)^-1). Infinity
        predicts with theta itself.
    drift
        After each example A^-1 += drift I, the random walk of a Kalman filter (not in the paper).

    Examples
    --------
    >>> from mixable.losses import Squared
    >>> f = GenericGAF(Squared(), n_features=2, lam=1.0)
    >>> f.learn([1.0, 0.0], 2.0)
    >>> f.predict([1.0, 0.0])  # ridge says 2/(1 + 1) = 1; Vovk-Azoury-Warmuth counts x too: 2/3
    array([0.66666667])
    """

    drift = Parameter(_validate.real, least=0)

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
        self._keep(locals())
        _validate.drift(self.drift, self.lam)
        dim = self.n_features * loss.n_outputs
        _validate.memory(4 * 8.0 * dim * dim, f"GenericGAF with {dim} weights")
        self._A = self.lam * np.eye(dim)
        self._b, self._theta = np.zeros(dim), np.zeros(dim)

    def _check_sizes(self, state: dict[str, Any]) -> None:
        dim = state["n_features"] * state["loss"].n_outputs
        _validate.saved(state["_A"], (dim, dim), "A")

    def _restore(self, state: dict[str, Any]) -> None:
        A = self._A = state["_A"]
        if least_eigenvalue(A) < -0.1:  # rounding may leave an honest one a little below 0
            raise ValueError("the saved A is not positive definite")
        self._b = _validate.saved(state["_b"], (len(A),), "b")
        self._theta = _validate.saved(state["_theta"], (len(A),), "theta")

    def _grow(self, **sizes: int) -> None:
        """Put A, b and theta among those of a larger forecaster."""
        larger = type(self)(**{**self._parameters, **sizes})
        places = np.arange(len(larger._b)).reshape(self.loss.n_outputs, -1)
        old = places[:, : self.n_features].ravel()
        larger._A[np.ix_(old, old)] = self._A
        larger._b[old], larger._theta[old] = self._b, self._theta
        self.__dict__.update({**larger.__dict__, "_steps": self._steps})

    def _fresh(self) -> GenericGAF:
        return type(self)(**self._parameters)

    def _combine(
        self, others: Sequence[GenericGAF], base: GenericGAF | None, changes: Sequence[Any]
    ) -> GenericGAF:
        out, before = self._fresh(), base or self._fresh()
        shift, old = self._A @ self._theta, before._A @ before._theta
        out._A, out._b = self._A.copy(), self._b.copy()
        for other in others:
            out._A += other._A - before._A
            out._b += other._b - before._b
            shift = shift + other._A @ other._theta - old
        out._theta = solve(out._A, shift)
        out._steps = self._steps + sum(other._steps - before._steps for other in others)
        for name in ("_largest_norm", "_largest_weight"):
            met = [getattr(model, name) for model in (self, before, *others)]
            setattr(out, name, max(met) if min(met) >= 0 else -1.0)
        return out

    @property
    def coef(self) -> Array:
        """Theta (n_outputs, n_features), the minimiser of the surrogate objective."""
        return self._theta.reshape(self.loss.n_outputs, self.n_features).copy()

    def precision(self) -> Array:
        """A_t: half the Hessian of the surrogate objective."""
        return self._A.copy()

    def _log_determinant(self) -> float:
        return float(np.linalg.slogdet(self._A / self.lam)[1])

    def linear_term(self) -> Array:
        """b_t of the surrogate objective theta^T A theta + b^T theta + const: 2 A theta + b = 0."""
        return self._b.copy()

    def _project(self, x: Array) -> tuple[Array, Array, Any]:
        Phi = np.asarray(np.kron(np.eye(self.loss.n_outputs), x[:, None]))
        P = solve(self._A, Phi)
        return Phi.T @ self._theta, Phi.T @ P, (Phi, P)

    def _absorb(self, x: Array, projected: Any, z: Array, g: Array, H: Array) -> None:
        Phi, P = projected
        theta = self._theta - 0.5 * P @ g
        A = self._A + 0.5 * self.beta * Phi @ H @ Phi.T
        b = self._b + Phi @ (g - self.beta * H @ z)
        if self.drift:
            eye = np.eye(len(A))
            A = solve(solve(A, eye) + self.drift * eye, eye)
            b = -2 * A @ theta
            if least_eigenvalue(A) < 0:  # its inverse had no digits left
                raise ValueError(BEYOND)
        check_finite(theta, A, b)
        self._theta, self._A, self._b = theta, A, b
