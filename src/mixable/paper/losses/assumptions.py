"""Assumptions (A1)-(A4) of the paper, tested numerically."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from mixable import _validate
from mixable._types import Array
from mixable.paper.integrals import Rung
from mixable.paper.integrals.sobol import matched_sobol
from mixable.paper.losses.logistic import Logistic
from mixable.paper.losses.protocol import Constants, Loss, check_loss

# Standard deviations of the linear predictions that (A1) is tried at.
NARROWEST, WIDEST = 0.03, 30.0


class Violation(NamedTuple):
    """An assumption that fails, by how much (left side minus right side), and where."""

    assumption: str
    excess: float
    where: dict[str, Any]


class Report(NamedTuple):
    """What `check_assumptions` found; `violation` is None if all four held wherever tried."""

    constants: Constants
    points: int
    violation: Violation | None

    @property
    def holds(self) -> bool:
        """Whether nothing failed. It can only refute: points that were not tried may fail."""
        return self.violation is None


def check_assumptions(
    loss: Loss,
    radius: float,
    bound: float,
    *,
    constants: Constants | str = "paper",
    n_features: int = 1,
    points: int = 3000,
    seed: int = 0,
) -> Report:
    """Test (A1)-(A4) at random points.

    For comparators of norm at most `radius` and inputs of norm at most `bound`. Everything is done
    on the linear predictions z = Theta x, the worst case being |x| = bound: then |Theta_1 -
    Theta_2| is at least |z_1 - z_2| / bound, and comparators reach |z_1| <= radius * bound.
    (A2)-(A4) are searched from random points, the worst of which are pushed uphill. So is (A1),
    over Gaussians with standard deviations of 0.03 to 30, with the loss's own `substitute` and a
    tolerance of 0.2%. `Logistic` is tested with exact expectations: what an integrator loses is no
    matter of the loss (see `bounds.proposition3`).

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
    >>> from mixable.losses import Logistic
    >>> print(check_assumptions(Logistic(3), radius=2.0, bound=1.0).violation)
    None
    >>> paper = Logistic(3).constants(2.0, 1.0)
    >>> wrong = paper._replace(beta=4 * paper.beta)
    >>> check_assumptions(Logistic(3), 2.0, 1.0, constants=wrong).violation.assumption
    'A3'
    """
    radius = _validate.real(radius, "radius", above=0)
    bound = _validate.real(bound, "bound", above=0)
    check_loss(loss)
    points = _validate.count(points, "points")
    if isinstance(constants, str):
        constants = loss.constants(radius, bound, n_features, constants)
    c = Constants(*constants)
    for symbol, value in c._asdict().items():
        _validate.real(value, symbol, above=0, infinite=symbol == "zeta")
    rng = np.random.default_rng(seed)
    reach = radius * bound

    def bregman(z1: Array, z2: Array, y: Any) -> tuple[float, float]:
        """loss(z1) minus its tangent at z2, and the squared distance in the Hessian at z2."""
        dz = z1 - z2
        gap = loss.value(z1, y) - loss.value(z2, y) - float(loss.gradient(z2, y) @ dz)
        return gap, float(dz @ loss.hessian(z2, y) @ dz)

    def shortened(z: Array, most: float) -> Array:
        return np.asarray(z * min(1.0, most / max(float(np.linalg.norm(z)), 1e-300)))

    def excess_a4(z1: Array, z2: Array, y: Any) -> float:
        return float(np.linalg.eigvalsh(loss.hessian(z2, y))[-1]) * bound * bound - c.gamma

    def excess_a3(z1: Array, z2: Array, y: Any) -> float:
        gap, square = bregman(shortened(z1, reach), z2, y)
        return c.beta / 2 * square - gap

    def excess_a2(z1: Array, z2: Array, y: Any) -> float:
        z2 = shortened(z2, 12.0)  # further out a Hessian may be lost in rounding
        gap, square = bregman(z1, z2, y)
        distance = float((z1 - z2) @ (z1 - z2))
        size = float(np.abs(loss.hessian(z2, y)).max())
        if size == 0.0:  # no factor helps, not even an infinite one
            return gap
        if square <= 1e-9 * size * distance:  # rounding: nothing can be said
            return -math.inf
        exponent = c.zeta * distance / (bound * bound)
        return gap - (math.exp(exponent) * square if exponent < 700 else math.inf)

    tests = {"A4": excess_a4, "A3": excess_a3, "A2": excess_a2}
    for name, excess in tests.items():
        tried = []
        for _ in range(points):
            z1 = rng.normal(size=loss.n_outputs)
            z1 *= (
                reach / np.linalg.norm(z1) * rng.choice([1.0, rng.random(), 3 * rng.exponential()])
            )
            z2 = rng.normal(size=loss.n_outputs) * np.exp(rng.uniform(-3, np.log(3 * reach + 3)))
            y = loss.draw_outcome(rng)
            value = excess(z1, z2, y)
            if math.isnan(value):
                where = f"at z = {z1} or {z2}, y = {y}"
                raise ValueError(f"{name} cannot be tested: the loss is not a number {where}")
            tried.append((value, z1, z2, y))
        for value, z1, z2, y in sorted(tried, key=lambda entry: -entry[0])[:10]:
            size = 0.3 * (1 + reach)
            for _ in range(100):  # uphill, by ever smaller random moves
                moved1 = z1 + size * rng.normal(size=len(z1))
                moved2 = z2 + size * rng.normal(size=len(z2))
                other = excess(moved1, moved2, y)
                if other > value:
                    value, z1, z2 = other, moved1, moved2
                else:
                    size *= 0.93
            # Rounding in a difference of losses is relative to their size.
            if value > 1e-9 * (1 + abs(loss.value(z1, y)) + abs(loss.value(z2, y))):
                return Report(c, points, Violation(name, value, {"z1": z1, "z2": z2, "y": y}))
    return Report(c, points, mixability_violation(loss, c.alpha, reach, max(points // 40, 20), rng))


def mixability_violation(
    loss: Loss, alpha: float, reach: float, points: int, rng: np.random.Generator
) -> Violation | None:
    """(A1): score(substitute) <= -1/alpha log E exp(-alpha loss), searched over Gaussians of z.

    On lines through z, where the expectation is an integral over the real line and as good as
    exact: narrow and wide, centred near and far, the worst of them pushed uphill. Then some in all
    directions at once, of modest width, since there the expectation is by quasi-random points.
    """
    k = loss.n_outputs
    rule = replace(loss, integrator=_Line()) if isinstance(loss, Logistic) else loss

    def excess(mean: Array, direction: Array, y: Any) -> tuple[float, float]:
        """How far the rule misses what mixability allows, in tolerances and in nats."""
        allowed = _soft_loss(loss, alpha, mean, direction, y)
        if alpha * allowed > 25:  # out in the tails no rule's expectations are worth anything
            return -math.inf, 0.0
        prediction = rule.substitute(mean, np.outer(direction, direction), alpha)
        nats = loss.score(prediction, y) - allowed
        return nats / (0.002 * (1 + abs(allowed))), nats

    def moved(mean: Array, direction: Array, y: Any, size: float) -> tuple[Array, Array, Any]:
        norm = np.linalg.norm(direction)
        wider = np.clip(norm * math.exp(size * rng.normal()), NARROWEST, WIDEST)
        turned = direction / norm + size * rng.normal(size=k)
        other = loss.draw_outcome(rng) if rng.random() < 0.3 else y
        shift = size * (1 + reach) * rng.normal(size=k)
        return mean + shift, wider * turned / np.linalg.norm(turned), other

    tried = []
    for _ in range(points):
        mean = rng.normal(size=k) * reach * rng.choice([0.3, 1.0, 3.0])
        direction = rng.normal(size=k)
        width = math.exp(rng.uniform(math.log(NARROWEST), math.log(WIDEST)))
        direction *= width / np.linalg.norm(direction)
        y = loss.draw_outcome(rng)
        tried.append((*excess(mean, direction, y), mean, direction, y))
    for worst, nats, mean, direction, y in sorted(tried, key=lambda entry: -entry[0])[:3]:
        size = 0.5
        for _ in range(30):
            if worst > 1:
                covariance = np.outer(direction, direction)
                return Violation("A1", nats, {"mean": mean, "covariance": covariance, "y": y})
            candidate = moved(mean, direction, y, size)
            value, other = excess(*candidate)
            if value > worst:
                worst, nats, (mean, direction, y) = value, other, candidate
            else:
                size *= 0.93
    return _violation_in_all_directions(loss, alpha, reach, points // 10, rng)


class _Line:
    """Expectations along one direction, as good as exact: (A1) is no matter of integrators."""

    def rungs(self, k: int, seed: int) -> list[Rung]:
        """Return points on the first axis: a matrix of rank one uses no other."""
        t = 0.01 * (np.arange(850) + 0.5)
        weights = np.exp(-0.5 * t * t)
        points = np.zeros((k, len(t)))
        points[0] = t
        weights = weights / (2 * weights.sum())
        return [Rung("symmetric", math.inf, len(t), points=points, weights=weights)]


def _soft_loss(loss: Loss, alpha: float, mean: Array, direction: Array, y: Any) -> float:
    """``-1/alpha log E exp(-alpha loss(mean + t direction))``, t ~ N(0, 1), by the trapezoid rule.

    First coarsely over all t that may count, then finely where the integrand is not negligible. The
    step is small beside the width of a loss, of the order of 1, and beside the Gaussian's.
    """

    def exponent(t: Array) -> Array:
        values = np.array([loss.value(mean + step * direction, y) for step in t])
        return np.asarray(-0.5 * t * t - alpha * values)

    # Further out than this the integrand is exp(-40) of what it is at 0.
    reach = math.sqrt(2 * (40 + alpha * max(loss.value(mean, y), 0.0)))
    coarse = np.linspace(-reach, reach, 2 * math.ceil(2 * reach) + 1)
    rough = exponent(coarse)
    if np.isnan(rough).any():
        raise ValueError(f"A1 cannot be tested: the loss is not a number near z = {mean}, y = {y}")
    counts = coarse[rough > rough.max() - 40.0]
    step = min(0.1, 0.5 / float(np.linalg.norm(direction)))
    t = np.arange(counts[0] - 1.0, counts[-1] + 1.0 + step, step)
    fine = exponent(t)
    top = float(fine.max())
    mass = float(np.exp(fine - top).sum()) * step / math.sqrt(2 * math.pi)
    return -(top + math.log(mass)) / alpha


def _violation_in_all_directions(
    loss: Loss, alpha: float, reach: float, points: int, rng: np.random.Generator
) -> Violation | None:
    """(A1) at random Gaussians of modest width, with a tolerance of 1%."""
    k = loss.n_outputs
    w = matched_sobol(k, 512, 0)
    w = np.concatenate([w, -w], axis=1)
    for _ in range(points):
        mean = rng.normal(size=k) * reach
        basis, _ = np.linalg.qr(rng.normal(size=(k, k)))
        L = basis * np.sqrt(0.3 * rng.random(k))
        prediction = loss.substitute(mean, L @ L.T, alpha)
        for _ in range(2):
            y = loss.draw_outcome(rng)
            losses = np.array([loss.value(z, y) for z in (mean[:, None] + L @ w).T])
            least = losses.min()
            allowed = least - math.log(float(np.exp(-alpha * (losses - least)).mean())) / alpha
            excess = loss.score(prediction, y) - allowed
            if excess > 0.01 * (1 + abs(allowed)):
                return Violation("A1", excess, {"mean": mean, "covariance": L @ L.T, "y": y})
    return None
