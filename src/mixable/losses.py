"""Losses that the Gaussian Aggregating Forecaster can be run with: Sections 2 and 4 of the paper.

A loss is a function of the linear predictions ``z = Theta x`` (n_outputs,) and of the outcome y. It brings what the algorithm needs: value,
gradient and Hessian in z, the constants of assumptions (A1)-(A4), and the substitution rule of Eq. (4) that turns a Gaussian over z into a
prediction.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mixable import _validate, integrals
from mixable._sobol import matched_sobol

Array = NDArray[np.float64]


class Constants(NamedTuple):
    """The constants of (A1) mixability, (A3) quadratic lower bound, (A4) smoothness and (A2) self-concordance."""

    alpha: float
    beta: float
    gamma: float
    zeta: float


@runtime_checkable
class Loss(Protocol):
    """What `GenericGAF` asks of a loss; z is (n_outputs,)."""

    @property
    def n_outputs(self) -> int:
        """Number of linear predictions."""

    def outcome(self, y: Any) -> Any:
        """Return y, checked and in the form the other methods take; raise ValueError or TypeError."""

    def draw_outcome(self, rng: np.random.Generator) -> Any:
        """Return a random outcome, for `check_assumptions`."""

    def value(self, z: Array, y: Any) -> float:
        """Return the loss of the linear predictions z."""

    def gradient(self, z: Array, y: Any) -> Array:
        """Return its gradient in z (n_outputs,)."""

    def hessian(self, z: Array, y: Any) -> Array:
        """Return its Hessian in z (n_outputs, n_outputs)."""

    def constants(self, radius: float, bound: float, n_features: int = 1, kind: str = "paper") -> Constants:
        """Return the constants for comparators of norm at most `radius` and inputs of norm at most `bound`."""

    def substitute(self, mean: Array, covariance: Array, alpha: float, step: int = 0) -> Array:
        """Return a prediction that satisfies Eq. (4) for z ~ N(mean, covariance); `step` seeds what is random in it."""

    def score(self, prediction: Array, y: Any) -> float:
        """Return the loss of a prediction that `substitute` made."""


def check_kind(kind: str) -> None:
    """Raise ValueError unless `kind` names a set of constants."""
    if kind not in ("paper", "tight"):
        raise ValueError(f'constants must be "paper" or "tight", got {kind!r}')


@dataclass(frozen=True)
class Squared:
    """Squared loss ``|z - y|^2`` for outcomes of norm at most `target_bound`, scalar or vector-valued (Section 4.1).

    With it GAF is the Vovk-Azoury-Warmuth forecaster. The constants follow the paper, with gamma = 2 R^2 (it prints R^2; the
    Hessian is 2 x x^T).

    >>> Squared().substitute(np.array([3.0]), np.array([[0.25]]), alpha=0.5)     # G = 2 alpha cov = 0.25: 3 / (1 + 0.25)
    array([2.4])
    """

    n_outputs: int = 1
    target_bound: float = 1.0

    def __post_init__(self) -> None:
        _validate.count(self.n_outputs, "n_outputs")
        _validate.real(self.target_bound, "target_bound", above=0)

    def outcome(self, y: Any) -> Array:
        """Return y as an array (n_outputs,)."""
        return _validate.row(np.atleast_1d(np.asarray(y)), self.n_outputs, "y")

    def draw_outcome(self, rng: np.random.Generator) -> Array:
        """Return an outcome on the sphere or inside."""
        y = rng.normal(size=self.n_outputs)
        return np.asarray(y * self.target_bound / np.linalg.norm(y) * rng.choice([1.0, rng.random()]))

    def value(self, z: Array, y: Array) -> float:
        """``|z - y|^2``."""
        return float(np.sum((z - y) ** 2))

    def score(self, prediction: Array, y: Array) -> float:
        """``|prediction - y|^2``."""
        return self.value(prediction, y)

    def gradient(self, z: Array, y: Array) -> Array:
        """``2 (z - y)``."""
        return np.asarray(2.0 * (z - y))

    def hessian(self, z: Array, y: Array) -> Array:
        """``2 I``."""
        return 2.0 * np.eye(self.n_outputs)

    def constants(self, radius: float, bound: float, n_features: int = 1, kind: str = "paper") -> Constants:
        """alpha = 1/(2 Y^2), beta = 1, gamma = 2 R^2, and the paper's choice zeta = 1/(8 Y^2 d B^2) among the valid zeta > 0."""
        check_kind(kind)
        Y2 = self.target_bound * self.target_bound
        return Constants(1 / (2 * Y2), 1.0, 2 * bound * bound, 1 / (8 * Y2 * n_features * self.n_outputs * radius**2))

    def substitute(self, mean: Array, covariance: Array, alpha: float, step: int = 0) -> Array:
        """``(I + 2 alpha cov)^-1 mean``: shrunk to where the best and the worst outcome are equally far from what mixability allows."""
        if math.isinf(alpha):
            return mean
        return np.asarray(np.linalg.solve(np.eye(self.n_outputs) + 2 * alpha * covariance, mean))


@dataclass(frozen=True)
class Logistic:
    """Multinomial logistic loss ``logsumexp(z) - z_y``, y in 0..K-1 (Section 4.2); predictions are probabilities (K,).

    >>> Logistic(3).constants(radius=5.0, bound=1.0).beta == 1 / (math.log(3) / 2 + 5.0 + 1)
    True
    """

    n_classes: int = 2
    integrator: integrals.Integrator | str | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        _validate.count(self.n_classes, "n_classes", least=2)
        integrals.choose(self.integrator, self.n_classes)

    @property
    def n_outputs(self) -> int:
        """K."""
        return self.n_classes

    def outcome(self, y: Any) -> int:
        """Return the label."""
        return _validate.label(y, self.n_classes)

    def draw_outcome(self, rng: np.random.Generator) -> int:
        """Return a label."""
        return int(rng.integers(self.n_classes))

    def score(self, prediction: Array, y: int) -> float:
        """``-log p_y``."""
        return -math.log(float(prediction[y]))

    def value(self, z: Array, y: int) -> float:
        """``logsumexp(z) - z_y``."""
        shifted = z - z[y]
        top = max(float(shifted.max()), 0.0)
        return top + math.log(float(np.exp(shifted - top).sum()))

    def gradient(self, z: Array, y: int) -> Array:
        """``softmax(z) - e_y``."""
        p = integrals.softmax(z)
        p[y] = 0.0
        p[y] = -p.sum()
        return p

    def hessian(self, z: Array, y: int) -> Array:
        """``diag(p) - p p^T``."""
        p = integrals.softmax(z)
        return np.asarray(np.diag(p) - np.outer(p, p))

    def constants(self, radius: float, bound: float, n_features: int = 1, kind: str = "paper") -> Constants:
        """The paper's constants, or tighter ones.

        "paper": alpha = 1, beta = 1/(ln(K)/2 + B R + 1) (Lemma 4), gamma = R^2, zeta = 4 R^2 (Lemma 6).
        "tight": the shift invariance of softmax leaves a range of sqrt(2) B R in Lemma 4, so beta = 1/(ln(K)/2 + B R/sqrt(2) + 1), and
        1/(1 + B R/sqrt(2)) for K = 2; gamma = R^2/2, the largest eigenvalue of diag(p) - p p^T; zeta = 0.142 R^2, keeping the
        coefficient of self-concordance inside psi in Lemma 6.
        """
        check_kind(kind)
        if kind == "paper":
            return Constants(1.0, 1 / (math.log(self.n_classes) / 2 + radius * bound + 1), bound * bound, 4 * bound * bound)
        entropy = math.log(self.n_classes) / 2 if self.n_classes > 2 else 0.0
        return Constants(1.0, 1 / (entropy + radius * bound / math.sqrt(2) + 1), bound * bound / 2, 0.142 * bound * bound)

    def substitute(self, mean: Array, covariance: Array, alpha: float, step: int = 0) -> Array:
        """``E softmax(z)``, Eq. (5): at alpha = 1 it meets Eq. (4) with equality. The mean along (1, ..., 1) does not matter
        and is left out.
        """
        if math.isinf(alpha):
            return integrals.softmax(mean)
        Q = integrals.helmert(self.n_classes)
        return integrals.expectation(Q.T @ mean, Q.T @ covariance @ Q, self._ladder(), step)

    def _ladder(self) -> list[integrals.Rung]:
        return integrals.ladder(self.integrator, self.n_classes, self.seed)


@dataclass(frozen=True)
class Huber:
    """Huber's loss ``r^2/2`` for ``|r| <= delta``, ``delta |r| - delta^2/2`` beyond, with r = z - y and ``|y| <= target_bound``.

    The paper asks whether GAF can serve it. Plainly: Theorem 1 does not apply.

    - (A1) holds for delta >= Y: the worst pair of outcomes -Y, Y gives alpha = min(1/Y^2, 1/(2 Y (2 Y - delta))) (checked numerically
      for outcomes in between). For delta < Y the loss is linear for both at once, and not mixable.
    - (A2) fails for every zeta: where theta_2 sits on a linear piece the Hessian is 0, but the loss still curves away later.
    - (A3) holds with beta = 1 if delta >= B R + Y, when no comparator reaches the linear pieces. Otherwise it fails for every beta > 0:
      just inside |r| = delta the curvature is 1 and the loss beyond is its own tangent.
    - (A4) holds with gamma = R^2.

    `GenericGAF(Huber(...))` runs all the same: an example whose residual is on a linear piece adds no curvature. That is practice.

    >>> h = Huber(delta=1.0)
    >>> h.value(np.array([3.0]), np.array([0.5])), h.value(np.array([1.0]), np.array([0.5]))
    (2.0, 0.125)
    """

    delta: float = 1.0
    target_bound: float = 1.0

    def __post_init__(self) -> None:
        _validate.real(self.delta, "delta", above=0)
        _validate.real(self.target_bound, "target_bound", above=0)

    @property
    def n_outputs(self) -> int:
        """Always 1."""
        return 1

    def outcome(self, y: Any) -> Array:
        """Return y as an array (1,)."""
        return _validate.row(np.atleast_1d(np.asarray(y)), 1, "y")

    def draw_outcome(self, rng: np.random.Generator) -> Array:
        """Return an outcome, often an extreme one."""
        return np.array([rng.choice([-1.0, 1.0, rng.uniform(-1, 1)]) * self.target_bound])

    def value(self, z: Array, y: Array) -> float:
        """Huber's loss of z - y."""
        r = abs(float(z[0] - y[0]))
        return r * r / 2 if r <= self.delta else self.delta * (r - self.delta / 2)

    def gradient(self, z: Array, y: Array) -> Array:
        """``z - y``, cut at +-delta."""
        return np.clip(z - y, -self.delta, self.delta)

    def hessian(self, z: Array, y: Array) -> Array:
        """1 within delta, 0 beyond."""
        return np.array([[1.0 if abs(float(z[0] - y[0])) <= self.delta else 0.0]])

    def constants(self, radius: float, bound: float, n_features: int = 1, kind: str = "paper") -> Constants:
        """alpha as above, beta = 1, gamma = R^2; zeta is infinite, since none is large enough."""
        check_kind(kind)
        Y = self.target_bound
        if self.delta < Y:
            raise ValueError(f"Huber's loss is not mixable for delta < target_bound, here {self.delta} < {Y}")
        alpha = 1 / Y**2 if self.delta >= 1.5 * Y else 1 / (2 * Y * (2 * Y - self.delta))
        return Constants(alpha, 1.0, bound * bound, math.inf)

    def substitute(self, mean: Array, covariance: Array, alpha: float, step: int = 0) -> Array:
        """The prediction in [-Y, Y] whose excess over what mixability allows is the same for both extreme outcomes."""
        Y = self.target_bound
        if math.isinf(alpha):
            return np.clip(mean, -Y, Y)
        t = np.linspace(-8.0, 8.0, 801)
        z = float(mean[0]) + math.sqrt(max(float(covariance[0, 0]), 0.0)) * t
        extremes = []
        for y in (Y, -Y):
            exponent = -0.5 * t * t - alpha * np.array([self.value(np.array([value]), np.array([y])) for value in z])
            top = exponent.max()
            extremes.append(-(top + math.log(np.exp(exponent - top).sum() / np.exp(-0.5 * t * t).sum())) / alpha)
        low, high = -Y, Y
        for _ in range(60):  # loss(yhat, Y) - loss(yhat, -Y) falls in yhat
            middle = np.array([(low + high) / 2])
            if self.value(middle, np.array([Y])) - self.value(middle, np.array([-Y])) > extremes[0] - extremes[1]:
                low = float(middle[0])
            else:
                high = float(middle[0])
        return np.array([(low + high) / 2])

    def score(self, prediction: Array, y: Array) -> float:
        """Huber's loss of prediction - y."""
        return self.value(prediction, y)


def log_loss(probabilities: ArrayLike, y: ArrayLike) -> Array:
    """``-log p[t, y_t]`` for each row of probabilities (n, K): the loss of a forecast, in nats.

    >>> log_loss([[0.5, 0.5], [0.25, 0.75]], [0, 1]).round(4)
    array([0.6931, 0.2877])
    """
    p = _validate.as_floats(probabilities, "probabilities")
    if p.ndim != 2:
        raise ValueError(f"probabilities must have shape (n, K), got {p.shape}")
    labels = _validate.labels(y, p.shape[1], len(p))
    with np.errstate(divide="ignore"):  # a label given no chance costs infinity
        return np.asarray(-np.log(p[np.arange(len(p)), labels]))


class Violation(NamedTuple):
    """An assumption that fails, by how much (left side minus right side), and where."""

    assumption: str
    excess: float
    where: dict[str, Any]


class Report(NamedTuple):
    """What `check_assumptions` found, with the constants it used; `violation` is None if all four held at every point tried."""

    constants: Constants
    points: int
    violation: Violation | None

    @property
    def holds(self) -> bool:
        """Whether nothing failed. It can only refute: points that were not tried may fail."""
        return self.violation is None


def check_assumptions(
    loss: Loss, radius: float, bound: float, *, constants: Constants | str = "paper", n_features: int = 1, points: int = 3000, seed: int = 0
) -> Report:
    """Test (A1)-(A4) at random points, for comparators of norm at most `radius` and inputs of norm at most `bound`.

    Everything is done on the linear predictions z = Theta x, the worst case being |x| = bound: then |Theta_1 - Theta_2| is at least
    |z_1 - z_2| / bound, and comparators reach |z_1| <= radius * bound. (A2)-(A4) are searched from random points, the worst of which are
    pushed uphill. (A1) is checked at Gaussians of modest width with a tolerance of 0.01, since its expectations are approximate.

    Parameters
    ----------
    loss
        The loss.
    radius, bound
        B and R.
    constants
        The constants to test: a set of numbers, or "paper" or "tight" for `loss.constants(...)`.
    n_features
        Handed to `loss.constants`.
    points, seed
        How many random points, and which.

    Returns
    -------
    Report
        With the first violation, in the order (A4), (A3), (A2), (A1).

    Examples
    --------
    >>> check_assumptions(Logistic(3), radius=2.0, bound=1.0).holds
    True
    >>> paper = Logistic(3).constants(2.0, 1.0)
    >>> check_assumptions(Logistic(3), 2.0, 1.0, constants=paper._replace(beta=4 * paper.beta)).violation.assumption
    'A3'
    """
    radius, bound = _validate.real(radius, "radius", above=0), _validate.real(bound, "bound", above=0)
    c = loss.constants(radius, bound, n_features, constants) if isinstance(constants, str) else constants
    rng = np.random.default_rng(seed)
    reach = radius * bound

    def bregman(z1: Array, z2: Array, y: Any) -> tuple[float, float]:
        """loss(z1) minus its tangent at z2, and the squared distance in the Hessian's norm at z2."""
        dz = z1 - z2
        return loss.value(z1, y) - loss.value(z2, y) - float(loss.gradient(z2, y) @ dz), float(dz @ loss.hessian(z2, y) @ dz)

    def excess_a4(z1: Array, z2: Array, y: Any) -> float:
        return float(np.linalg.eigvalsh(loss.hessian(z2, y))[-1]) * bound * bound - c.gamma

    def excess_a3(z1: Array, z2: Array, y: Any) -> float:
        gap, square = bregman(z1 * min(1.0, reach / max(float(np.linalg.norm(z1)), 1e-300)), z2, y)
        return c.beta / 2 * square - gap

    def excess_a2(z1: Array, z2: Array, y: Any) -> float:
        gap, square = bregman(z1, z2, y)
        exponent = c.zeta * float((z1 - z2) @ (z1 - z2)) / bound * bound
        if square == 0.0:  # no factor helps, not even an infinite one
            return gap
        return gap - (math.exp(exponent) * square if exponent < 700 else math.inf)

    tests = {"A4": excess_a4, "A3": excess_a3, "A2": excess_a2}
    for name, excess in tests.items():
        tried = []
        for _ in range(points):
            z1 = rng.normal(size=loss.n_outputs)
            z1 *= reach / np.linalg.norm(z1) * rng.choice([1.0, rng.random(), 3.0 * rng.exponential()])
            z2 = rng.normal(size=loss.n_outputs) * np.exp(rng.uniform(-3, np.log(3 * reach + 3)))
            y = loss.draw_outcome(rng)
            tried.append((excess(z1, z2, y), z1, z2, y))
        for value, z1, z2, y in sorted(tried, key=lambda entry: -entry[0])[:10]:
            size = 0.3 * (1 + reach)
            for _ in range(100):  # uphill, by ever smaller random moves
                moved1, moved2 = z1 + size * rng.normal(size=len(z1)), z2 + size * rng.normal(size=len(z2))
                other = excess(moved1, moved2, y)
                if other > value:
                    value, z1, z2 = other, moved1, moved2
                else:
                    size *= 0.93
            # Rounding in a difference of losses is relative to their size.
            if value > 1e-9 * (1 + abs(loss.value(z1, y)) + abs(loss.value(z2, y))):
                return Report(c, points, Violation(name, value, {"z1": z1, "z2": z2, "y": y}))
    violation = _mixability_violation(loss, c.alpha, reach, max(points // 100, 20), rng)
    return Report(c, points, violation)


def _mixability_violation(loss: Loss, alpha: float, reach: float, points: int, rng: np.random.Generator) -> Violation | None:
    """(A1) at random Gaussians over z: score(substitute) <= -1/alpha log E exp(-alpha loss)."""
    k = loss.n_outputs
    w = matched_sobol(k, 512, 0)
    w = np.concatenate([w, -w], axis=1)
    for _ in range(points):
        mean = rng.normal(size=k) * reach
        basis, _ = np.linalg.qr(rng.normal(size=(k, k)))
        L = basis * np.sqrt(0.3 * rng.random(k))
        prediction = loss.substitute(mean, L @ L.T, alpha)
        for _ in range(4):
            y = loss.draw_outcome(rng)
            losses = np.array([loss.value(z, y) for z in (mean[:, None] + L @ w).T])
            least = losses.min()
            allowed = least - math.log(float(np.exp(-alpha * (losses - least)).mean())) / alpha
            excess = loss.score(prediction, y) - allowed
            if excess > 0.01 * (1 + abs(allowed)):
                return Violation("A1", excess, {"mean": mean, "covariance": L @ L.T, "y": y})
    return None
