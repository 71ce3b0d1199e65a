"""Landmarks of a kernel are exchanged once the stream has moved on.

A map that is full takes no landmark where the stream is now. So every PERIOD examples its landmarks
are compared with some rows of that period. If many have less to do with these rows than the rows
have with each other, such landmarks are dropped, and the rows to come may be landmarks again.

Features are phi = L^-1 k, so they all change with the landmarks. But they change by a rotation: if
L has lost some rows and Q is orthogonal with L Q = (L', 0), L' a Cholesky factor, then Q^T phi are
the features of the landmarks that are left, and behind them what the others alone explained. Prior
and posterior of the weights are rotated likewise, which is exact; then the weights behind are
forgotten: the others have their marginal distribution.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from mixable._types import Array, Truths
from mixable.forecasters import AutoGAF
from mixable.kernels import Nystroem
from mixable.learner.inputs import Inputs
from mixable.learner.kernel_inputs import KernelInputs

PERIOD = 1024  # examples between two comparisons: those of core/rest.hpp
EVERY = 16  # of the examples, one is kept
LITTLE = 0.7  # of what the lower quarter of the rows have to do with others
SHARE = 0.3  # of the landmarks: if so few have little to do with the rows, the stream stands still
UNEXPLAINED = 0.1  # by the landmarks, of the rows


def with_rows(recent: Array, X: Array, before: int, weight: Array | None) -> Array:
    """Rows that are kept, with some of those learned now; `before` is the number of steps so far.

    None that has no weight.
    """
    first = -before % EVERY
    rows = X[first::EVERY]
    if weight is not None:
        rows = rows[weight[first::EVERY] > 0]
    return np.vstack([recent, rows])[-PERIOD // EVERY :] if len(rows) else recent


def without_unused(inputs: list[Inputs], experts: list[Any], recent: Array) -> dict[str, list[Any]]:
    """Inputs and experts without the landmarks that have little to do with recent rows.

    Nothing if all stay. The old ones are left as they are. The narrowest kernel is looked at first:
    if the stream is where it was for that one, it is so for the others.
    """
    inputs, experts = list(inputs), list(experts)
    curved = [(each, i) for i, each in enumerate(inputs) if isinstance(each, KernelInputs)]
    has_moved = False
    for kernel, i in sorted(curved, key=lambda pair: -pair[0].maps[0].gamma):
        found = _without_unused(kernel, experts[i], recent)
        if found is None:
            break
        (inputs[i], experts[i]), has_moved = found, True
    return {"inputs": inputs, "experts": experts} if has_moved else {}


def _without_unused(
    inputs: KernelInputs, expert: AutoGAF, recent: Array
) -> tuple[KernelInputs, AutoGAF] | None:
    """None if the map has room, or the rows have not moved away from many of the landmarks."""
    (found,) = inputs.maps
    if expert.structure != "growing" or not isinstance(found, Nystroem) or len(recent) < 2:
        return None
    landmarks = found.landmarks
    if len(landmarks) < found.n_components or found.tolerance >= 1:  # all are to be kept
        return None
    Z = inputs._last(inputs.scaled.transform(recent))
    among = (_kernel(Z, Z, found.gamma).sum(axis=1) - 1) / (len(Z) - 1)
    if not np.isfinite(among).all():
        return None
    least = LITTLE * np.sort(among)[len(among) // 4]

    def are_used(some: Array) -> Truths:
        return np.asarray(_kernel(some, Z, found.gamma).mean(axis=1) >= least)

    # A quarter of them tell whether it is worth while to look at all.
    if are_used(landmarks[::4]).mean() >= 1 - SHARE:
        return None
    used = are_used(landmarks)
    if used.mean() >= 1 - SHARE:
        return None
    if not np.mean(np.sum(found.transform(Z) ** 2, axis=1)) < 1 - UNEXPLAINED:
        return None
    kept = np.flatnonzero(used)
    factor, rotation = _rotated(found.factor, kept)
    state = expert.__getstate__()
    known = _marginal(state["state"], rotation, len(kept), inputs.intercept)
    if known is None:
        return None
    later, other = copy.copy(inputs), object.__new__(AutoGAF)
    try:
        other.__setstate__({**state, "state": known})
    except ValueError:  # beyond double precision
        return None
    later.maps = [found._with(np.ascontiguousarray(landmarks[kept]), factor)]
    return later, other


def checked_rows(rows: Any, n_features: int) -> Array:
    """The rows of a saved state; older ones have none."""
    if rows is None:
        return np.empty((0, n_features))
    is_table = isinstance(rows, np.ndarray) and rows.dtype == np.float64 and rows.ndim == 2
    if not is_table or rows.shape[1] != n_features or len(rows) > PERIOD // EVERY:
        raise ValueError(f"the recent rows of a blend must be rows of {n_features} numbers")
    if np.isinf(rows).any():
        raise ValueError("the recent rows of a blend must be finite, or missing")
    return np.array(rows)


def more_columns(rows: Array, k: int) -> Array:
    """The same rows with `k` more columns, in which nothing is known."""
    return np.hstack([rows, np.full((len(rows), k), np.nan)])


def _kernel(A: Array, B: Array, gamma: float) -> Array:
    """The kernel's values, good enough for averages."""
    squares = A @ (-2 * B.T)
    squares += np.sum(A * A, axis=1)[:, None]
    squares += np.sum(B * B, axis=1)
    np.maximum(squares, 0.0, out=squares)
    squares *= -gamma
    return np.asarray(np.exp(squares, out=squares))


def _rotated(factor: Array, kept: Any) -> tuple[Array, Array]:
    """The factor (k, k) of the landmarks kept, and Q (r, r) for which L Q = (L', 0)."""
    Q, R = np.linalg.qr(factor[kept].T, mode="complete")
    k = len(kept)
    signs = np.where(np.diag(R) < 0, -1.0, 1.0)
    Q[:, :k] *= signs
    return np.ascontiguousarray(np.tril(R[:k].T * signs)), Q


def _marginal(
    state: dict[str, Any], rotation: Array, kept: int, first: int
) -> dict[str, Any] | None:
    """The state of a posterior with its features from `first` on rotated, and those after `kept`
    of them forgotten; None if not all of these have been met.
    """
    places = state["0.places"][0].astype(int)
    at = np.full(state["0.V"].shape[1], -1)
    at[places] = np.arange(len(places))
    rows = at[first : first + len(rotation)]
    if (rows < 0).any():
        return None
    S = state["0.S"] - state["0.Q"].T @ state["0.Q"]
    S[rows] = rotation.T @ S[rows]
    S[:, rows] = S[:, rows] @ rotation
    V = state["0.V"].copy()
    V[:, first : first + len(rotation)] @= rotation  # only those that have places are read
    left = np.setdiff1d(np.arange(len(places)), rows[kept:])
    S = S[np.ix_(left, left)]
    return {
        **state,
        "0.pending": 0,
        "0.learned": len(left),
        "0.places": places[left].astype(np.float64)[None],
        "0.V": V,
        "0.S": (S + S.T) / 2,
        "0.Q": np.empty((0, len(left))),
    }
