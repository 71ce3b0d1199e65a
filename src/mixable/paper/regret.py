"""Regret, Eq. (1): against the best linear model of bounded norm in hindsight, certified.

`fit` is the regularised multinomial fit, argmin over V of sum_t w_t loss(Q V x_t, y_t) + lam |V|^2,
V (K-1, d), by damped Newton.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mixable import _validate
from mixable._types import Array, Labels
from mixable.paper.integrals import helmert


def loss_and_residual(X: Array, y: Labels, w: Array, V: Array) -> tuple[float, Array, Array]:
    """Weighted loss, probabilities (n, K) and weighted p - e_y (n, K) of the linear model Q V."""
    rows = np.arange(len(y))
    z = X @ (helmert(len(V) + 1) @ V).T
    z -= z.max(axis=1, keepdims=True)
    e = np.exp(z)
    total = e.sum(axis=1)
    p = e / total[:, None]
    residual = p.copy()
    residual[rows, y] = 0.0
    residual[rows, y] = -residual.sum(axis=1)
    return float(w @ (np.log(total) - z[rows, y])), p, residual * w[:, None]


def fit(X: Array, y: Labels, w: Array, lam: float, V: Array) -> Array:
    """Return the minimiser, starting at V; ValueError if double precision does not suffice."""
    k, d = V.shape
    Q = helmert(k + 1)

    def objective(V: Array) -> tuple[float, Array, Array]:
        value, p, residual = loss_and_residual(X, y, w, V)
        return value + lam * float((V**2).sum()), p, (Q.T @ (residual.T @ X)) + 2 * lam * V

    value, p, gradient = objective(V)
    for _ in range(200):
        centred = p @ Q
        hessian = np.empty((k, d, k, d))
        for a in range(k):
            for b in range(a + 1):
                s = w * ((p * Q[:, a]) @ Q[:, b] - centred[:, a] * centred[:, b])
                hessian[a, :, b, :] = X.T @ (s[:, None] * X)
                hessian[b, :, a, :] = hessian[a, :, b, :].T
        H = hessian.reshape(k * d, k * d)
        H[np.diag_indices(k * d)] += 2 * lam
        try:
            step = -np.linalg.solve(H, gradient.ravel()).reshape(k, d)
        except np.linalg.LinAlgError:
            step = np.full((k, d), np.nan)
        if not np.isfinite(step).all():
            raise ValueError(
                "the examples cannot be fitted in double precision: inputs or weights are too "
                "large for lam"
            )
        slope = float((gradient * step).sum())
        fraction = 1.0
        while True:
            trial = objective(V + fraction * step)
            if trial[0] <= value + 1e-4 * fraction * slope + 1e-13 * abs(value) or fraction < 1e-10:
                break
            fraction /= 2
        V, before = V + fraction * step, value
        value, p, gradient = trial
        # Convergence is quadratic: what this step leaves is rounding.
        if -slope <= 1e-14 * abs(value) or before - value <= 1e-15 * abs(value) or fraction < 1e-10:
            break
    return V


class Hindsight(NamedTuple):
    """The best model found: `loss` is at most `gap` above the least that any model in the ball has.

    `coef` is (K, d) for the logistic and (d,) for the squared loss.
    """

    coef: Array
    loss: float
    gap: float


def best_in_hindsight(
    X: ArrayLike,
    y: ArrayLike,
    radius: float,
    *,
    loss: str = "logistic",
    n_classes: int | None = None,
    tolerance: float = 1e-9,
) -> Hindsight:
    """Least cumulative loss of a linear model with weights of norm at most `radius`.

    The multiplier nu of the constraint is found by bisection, each model by Newton from the last.
    The gap is the Frank-Wolfe duality gap ``<g, theta> + radius |g|`` with g the gradient of the
    loss: a proof, whatever the path; or the loss itself, if that is smaller, since no loss is
    negative.

    Parameters
    ----------
    X, y
        Inputs (n, d), and labels 0..K-1 or (squared) targets (n,).
    radius
        Frobenius norm of the weights (K, d), or norm of the weights (d,).
    loss
        "logistic" or "squared".
    n_classes
        K; None takes the largest label plus one, at least 2.
    tolerance
        The gap to reach, relative to max(1, loss); a RuntimeWarning says so if it was not.

    Examples
    --------
    >>> X = np.array([[1.0], [1.0], [1.0]])
    >>> best = best_in_hindsight(X, [0, 0, 1], radius=10.0)
    >>> round(best.loss, 6), best.gap < 1e-8                   # log-odds of 2 : 1
    (1.909543, True)
    """
    radius = _validate.real(radius, "radius", above=0)
    values = _inputs(X)
    if loss == "squared":
        return _warned(_best_squared(values, _validate.targets(y, len(values)), radius), tolerance)
    if loss != "logistic":
        raise ValueError(f'loss must be "logistic" or "squared", got {loss!r}')
    K = _count_classes(y, n_classes)
    labels = _validate.labels(y, K, len(values))
    w, Q = np.ones(len(values)), helmert(K)

    def certified(V: Array) -> tuple[Array, float, float]:
        norm = float(np.linalg.norm(V))
        V = V * min(1.0, radius / norm) if norm > 0 else V
        value, _, residual = loss_and_residual(values, labels, w, V)
        g = Q.T @ (residual.T @ values)
        return V, value, _gap(value, g, V, radius)

    # |V(nu)| falls in nu. Come down from a large nu, each fit warm from the last, until the ball is
    # left or nu is negligible (then the constraint is not active); then bisect for the nu at which
    # the norm equals the radius.
    V = np.zeros((K - 1, values.shape[1]))
    best = certified(V)
    # The multiplier is half the gradient's norm over the radius, and a gradient is at most the sum
    # of sqrt(2) |x|.
    steepest = float(np.linalg.norm(values, axis=1).sum())
    high = max(float((values**2).sum()), steepest / radius) + 1e-300
    low, negligible = 0.0, 1e-30 * high
    for _ in range(120):
        nu = high / 10 if low == 0.0 else float(np.sqrt(low * high))
        V = fit(values, labels, w, nu, V)
        candidate = certified(V)
        if candidate[2] < best[2]:
            best = candidate
        if np.linalg.norm(V) > radius:
            low = nu
        else:
            high = nu
        is_met = low > 0.0 and high / low < 1 + 1e-14
        if best[2] <= tolerance * max(1.0, best[1]) or high < negligible or is_met:
            break
    return _warned(Hindsight(np.asarray(Q @ best[0]), best[1], best[2]), tolerance)


def _inputs(X: ArrayLike) -> Array:
    values = _validate.as_floats(X, "X")
    if values.ndim != 2:
        raise ValueError(f"X must have shape (n, d), got {values.shape}")
    values = _validate.table(values, values.shape[1])
    _validate.size(values, _validate.LARGEST_SCALE, "X")
    return values


def _count_classes(y: ArrayLike, n_classes: int | None) -> int:
    """K as given, or the largest label plus one, at least 2."""
    if n_classes is not None:
        return _validate.count(n_classes, "n_classes", least=2)
    given = np.asarray(y)
    if given.dtype.kind not in "iub" or given.ndim != 1:
        what = f"dtype {given.dtype}, shape {given.shape}"
        raise TypeError(f"y must be a column of integer labels, got {what}")
    return max(int(given.max(initial=1)) + 1, 2)


def _warned(found: Hindsight, tolerance: float) -> Hindsight:
    if not found.gap <= tolerance * max(1.0, found.loss):
        text = f"the best model is only known to within {found.gap:.3g} nats"
        warnings.warn(text, RuntimeWarning, stacklevel=3)
    return found


def _gap(loss: float, g: Array, theta: Array, radius: float) -> float:
    """A model in the ball has at most so much less: by convexity, and no loss is negative."""
    return min(loss, float((g * theta).sum()) + radius * float(np.linalg.norm(g)))


def _best_squared(X: Array, y: Array, radius: float) -> Hindsight:
    """By the singular values s of X: coefficients b s / (s^2 + nu), nu 0 or for norm = radius."""
    left, s, right = np.linalg.svd(X, full_matrices=False)
    b = left.T @ y
    kept = s > np.finfo(float).eps * max(X.shape) * s.max(initial=0.0)

    def weights(nu: float) -> Array:
        return np.asarray(np.where(kept, b * s, 0.0) / np.where(kept, s * s + nu, 1.0))

    c = weights(0.0)
    if np.linalg.norm(c) > radius:
        low, high = 0.0, float(np.linalg.norm(b * s)) / radius
        for _ in range(200):
            middle = (low + high) / 2
            if np.linalg.norm(weights(middle)) > radius:
                low = middle
            else:
                high = middle
        c = weights(high)
    theta = right.T @ c
    residual = X @ theta - y
    g = 2 * X.T @ residual
    loss = float(residual @ residual)
    return Hindsight(np.asarray(theta), loss, _gap(loss, g, theta, radius))


class Curve(NamedTuple):
    """Regret at times, the loss of the best model for each prefix, its gap: all (m,)."""

    times: NDArray[np.int_]
    regret: Array
    best: Array
    gap: Array


def curve(
    losses: ArrayLike,
    X: ArrayLike,
    y: ArrayLike,
    radius: float,
    *,
    times: ArrayLike | None = None,
    loss: str = "logistic",
    n_classes: int | None = None,
) -> Curve:
    """Eq. (1) along a stream: loss of a forecaster minus that of the best model for the prefix.

    Parameters
    ----------
    losses
        The forecaster's loss on each example (n,), e.g. `mixable.losses.log_loss(f.run(X, y), y)`.
    X, y, radius, loss, n_classes
        As in `best_in_hindsight`.
    times
        Prefix lengths; None takes about twenty, evenly spaced on a logarithmic scale.

    Examples
    --------
    >>> import mixable as mx
    >>> X, y = mx.datasets.make_hazan(2000, chi=1, seed=0)
    >>> p = mx.GAF.from_theory(1, 2, radius=2.0, bound=1.0, constants="tight").run(X, y)
    >>> c = curve(mx.losses.log_loss(p, y), X, y, radius=2.0, times=[10, 100, 1000])
    >>> c.times
    array([  10,  100, 1000])
    """
    incurred = _validate.as_floats(losses, "losses")
    table, outcomes = _inputs(X), np.asarray(y)
    n = len(table)
    if incurred.shape != (n,) or outcomes.shape != (n,):
        raise ValueError(
            f"losses and y must have the same length as X, shape ({n},), got {incurred.shape} and "
            f"{outcomes.shape}"
        )
    _validate.refuse(~np.isfinite(incurred), incurred, "losses", "losses must be finite")
    if times is None:
        times = np.unique(np.geomspace(1, n, 20).astype(np.int_))
    chosen = np.asarray(times)
    is_column = chosen.dtype.kind in "iu" and chosen.ndim == 1 and len(chosen) > 0
    if not is_column or chosen.min() < 1 or chosen.max() > n:
        raise ValueError(f"times must be integers between 1 and {n}")
    K = _count_classes(outcomes, n_classes) if loss == "logistic" else None
    prefixes = [(table[:t], outcomes[:t]) for t in chosen]
    found = [best_in_hindsight(*each, radius, loss=loss, n_classes=K) for each in prefixes]
    best = np.array([model.loss for model in found])
    regret = np.asarray(np.cumsum(incurred)[chosen - 1] - best)
    gap = np.array([model.gap for model in found])
    return Curve(times=chosen, regret=regret, best=best, gap=gap)
