"""Regret against the best linear model of bounded norm in hindsight, with a certificate of how nearly it is the best."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mixable import _validate
from mixable._fit import fit, loss_and_residual
from mixable.integrals import helmert

Array = NDArray[np.float64]


class Hindsight(NamedTuple):
    """The best model found: `loss` is at most `gap` above the least that any model in the ball has.

    `coef` is (K, d) for the logistic and (d,) for the squared loss.
    """

    coef: Array
    loss: float
    gap: float


def best_in_hindsight(
    X: ArrayLike, y: ArrayLike, radius: float, *, loss: str = "logistic", n_classes: int | None = None, tolerance: float = 1e-9
) -> Hindsight:
    """Least cumulative loss of a linear model with weights of norm at most `radius`.

    The multiplier nu of the constraint is found by bisection, each model by Newton from the last. The gap is the Frank-Wolfe duality gap
    ``<g, theta> + radius |g|`` with g the gradient of the loss: a proof, whatever the path.

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
        The gap to reach, relative to max(1, loss).

    Examples
    --------
    >>> X = np.array([[1.0], [1.0], [1.0]])
    >>> best = best_in_hindsight(X, [0, 0, 1], radius=10.0)
    >>> round(best.loss, 6), best.gap < 1e-8                   # log-odds of 2 : 1
    (1.909543, True)
    """
    radius = _validate.real(radius, "radius", above=0)
    values = _validate.as_floats(X, "X")
    values = _validate.table(values, values.shape[1] if values.ndim == 2 else 1)
    if loss == "squared":
        return _best_squared(values, _validate.targets(y, len(values)), radius)
    if loss != "logistic":
        raise ValueError(f'loss must be "logistic" or "squared", got {loss!r}')
    given = np.asarray(y)
    K = _validate.count(n_classes, "n_classes", least=2) if n_classes is not None else max(int(given.max(initial=1)) + 1, 2)
    labels = _validate.labels(given, K, len(values))
    w, Q = np.ones(len(values)), helmert(K)

    def certified(V: Array) -> tuple[Array, float, float]:
        norm = float(np.linalg.norm(V))
        V = V * min(1.0, radius / norm) if norm > 0 else V
        value, _, residual = loss_and_residual(values, labels, w, V)
        g = Q.T @ (residual.T @ values)
        return V, value, float((g * V).sum()) + radius * float(np.linalg.norm(g))

    # |V(nu)| falls in nu. Come down from a large nu, each fit warm from the last, until the ball is left or nu is negligible (then the
    # constraint is not active); then bisect for the nu at which the norm equals the radius.
    high = float((values**2).sum()) + 1e-300
    low, negligible = 0.0, 1e-20 * high
    V = np.zeros((K - 1, values.shape[1]))
    best = certified(V)
    for _ in range(120):
        nu = high / 10 if low == 0.0 else float(np.sqrt(low * high))
        V = fit(values, labels, w, nu, V, tolerance=1e-12)
        candidate = certified(V)
        if candidate[2] < best[2]:
            best = candidate
        if np.linalg.norm(V) > radius:
            low = nu
        else:
            high = nu
        if best[2] <= tolerance * max(1.0, best[1]) or high < negligible or (low > 0.0 and high / low < 1 + 1e-14):
            break
    return Hindsight(np.asarray(Q @ best[0]), best[1], best[2])


def _best_squared(X: Array, y: Array, radius: float) -> Hindsight:
    eigenvalues, vectors = np.linalg.eigh(X.T @ X)
    eigenvalues = np.maximum(eigenvalues, 0.0)
    b = vectors.T @ (X.T @ y)

    def weights(nu: float) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(eigenvalues + nu > 1e-14 * eigenvalues.max(), b / (eigenvalues + nu), 0.0)

    c = weights(0.0)
    if np.linalg.norm(c) > radius:
        low, high = 0.0, float(np.linalg.norm(b)) / radius
        for _ in range(200):
            middle = (low + high) / 2
            if np.linalg.norm(weights(middle)) > radius:
                low = middle
            else:
                high = middle
        c = weights(high)
    theta = vectors @ c
    residual = X @ theta - y
    g = 2 * X.T @ residual
    return Hindsight(np.asarray(theta), float(residual @ residual), float(g @ theta + radius * np.linalg.norm(g)))


class Curve(NamedTuple):
    """Regret (m,) at times (m,), and the cumulative loss (m,) of the best model for each of these prefixes."""

    times: NDArray[np.int_]
    regret: Array
    best: Array


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
    """Regret along a stream: cumulative loss of a forecaster minus that of the best model for the prefix, at each of `times`.

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
    table, outcomes = _validate.as_floats(X, "X"), np.asarray(y)
    n = len(incurred)
    if len(table) != n or len(outcomes) != n:
        raise ValueError(f"losses, X and y must have the same length, got {n}, {len(table)} and {len(outcomes)}")
    if times is None:
        chosen = np.unique(np.geomspace(1, n, 20).astype(np.int_))
    else:
        chosen = np.asarray(times, dtype=np.int_)
        if chosen.ndim != 1 or not len(chosen) or chosen.min() < 1 or chosen.max() > n:
            raise ValueError(f"times must be between 1 and {n}")
    if loss == "logistic" and n_classes is None:
        n_classes = max(int(outcomes.max(initial=1)) + 1, 2)
    best = np.array([best_in_hindsight(table[:t], outcomes[:t], radius, loss=loss, n_classes=n_classes).loss for t in chosen])
    return Curve(chosen, np.asarray(np.cumsum(incurred)[chosen - 1] - best), best)
