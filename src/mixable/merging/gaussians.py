"""Gaussians by their natural parameters, which add: A and A theta.

A posterior that began as `base` and then learned some rows is base + what the rows say. With drift
nothing is lost by that either, if the base is taken as it would be now: after n steps without an
example, A^-1 is n drift I wider. What the rows say is then never negative.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mixable._types import Array, Truths
from mixable.forecasters.compiled import MET, UNKNOWN
from mixable.paper.integrals import helmert

State = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Change:
    """From the coordinates of one model to those of another; None where they are the same.

    Rows z become `rows` z. Class c becomes the class e that has classes[e, c] = 1, if there is one.
    Targets y become y + `shift` (constant . z), where constant . z = 1 for each row. What was
    learned counts `weight` times.
    """

    rows: Array | None = None
    classes: Array | None = None
    shift: float = 0.0
    constant: Array | None = None
    weight: float = 1.0


SAME = Change()


@dataclass(frozen=True, kw_only=True)
class Gaussian:
    """Matrices A (m, n, n) and means (p, n) of p vectors; one matrix may serve them all.

    The full posterior is one vector of k d numbers; blocks are k vectors of d; the diagonal is k d
    vectors of one. What follows a mean alone ("mean") has no matrix.
    """

    kind: str
    A: Array
    mean: Array
    steps: int
    sizes: tuple[int, int]  # k predictions of d features
    lam: float  # A without any example is this multiple of I
    drift: float

    @property
    def linear(self) -> Array:
        """A theta (p, n)."""
        return np.asarray((self.A @ self.mean[..., None])[..., 0])

    def prior(self) -> Gaussian:
        """What it was before its first example."""
        A = np.broadcast_to(self.lam * np.eye(self.A.shape[-1]), self.A.shape)
        return replace(self, A=A, mean=np.zeros_like(self.mean), steps=0)

    def after(self, steps: int) -> Gaussian:
        """What is left of it after so many steps."""
        if self.drift == 0 or steps == 0:
            return self
        wider = np.linalg.inv(self.A) + steps * self.drift * np.eye(self.A.shape[-1])
        return replace(self, A=np.asarray(np.linalg.inv(wider), dtype=np.float64))

    def taught(self, lam: float, drift: float, known: float) -> Gaussian:
        """The same knowledge with another lam; `known` is the present one in A, 0 if unknown."""
        A = self.A + (lam - known) * np.eye(self.A.shape[-1])
        return replace(self, A=A, mean=_solve(A, self.linear), lam=lam, drift=drift)

    def moved(self, A: Array, b: Array, change: Change) -> tuple[Array, Array]:
        """What rows say, A (m, n, n) and b (p, n), in other coordinates."""
        k, d = self.sizes
        N = np.eye(d) if change.rows is None else change.rows
        C = np.eye(k) if change.classes is None else change.classes
        if self.kind == "full":
            if change.classes is not None:  # the posterior has one coordinate less than classes
                C = helmert(k + 1).T @ change.classes @ helmert(k + 1)
            T = np.kron(C, N)
            A, b = T @ A @ T.T, b @ T.T
        elif self.kind == "diagonal":  # a shift would mix features: only their scale is kept
            scale = np.diag(N)
            A = (C @ A.reshape(k, d) * scale**2).reshape(A.shape)
            b = (C @ b.reshape(k, d) * scale).reshape(b.shape)
        else:
            A, b = N @ A @ N.T, C @ b @ N.T
            if len(A) > 1:
                A = np.tensordot(C, A, axes=1)
        if change.shift and change.constant is not None:
            b = b + change.shift * (A @ change.constant)
        return change.weight * A, change.weight * b


def combine(
    onto: Gaussian | None, terms: list[Gaussian], base: Gaussian | None, changes: list[Change]
) -> Gaussian:
    """onto + the sum of (term - base), each difference in the coordinates of `onto`.

    None stands for a posterior before its first example.
    """
    first = terms[0]
    begins = [base or term.prior() for term in terms]
    steps = [term.steps - begin.steps for term, begin in zip(terms, begins, strict=True)]
    if onto is None:
        onto = replace(first, lam=min(term.lam for term in terms)).prior()
    if first.kind == "mean":
        return _mean_of_means(onto, terms, steps, changes)
    start = onto.after(sum(steps))
    A, b = start.A.copy(), start.linear
    for term, begin, n, change in zip(terms, begins, steps, changes, strict=True):
        before = begin.after(n)
        more_A, more_b = term.moved(term.A - before.A, term.linear - before.linear, change)
        A, b = A + more_A, b + more_b
    A = _positive(0.5 * (A + A.swapaxes(-1, -2)), start.lam)
    return replace(onto, A=A, mean=_solve(A, b), steps=onto.steps + sum(steps))


def _mean_of_means(
    onto: Gaussian, terms: list[Gaussian], steps: list[int], changes: list[Change]
) -> Gaussian:
    """Gradient descent adds no information: the means by number of steps."""
    k, d = onto.sizes
    total = np.zeros((k, d))
    for term, n, change in zip(terms, steps, changes, strict=True):
        N = np.eye(d) if change.rows is None else change.rows
        C = np.eye(k)
        if change.classes is not None:
            C = helmert(k + 1).T @ change.classes @ helmert(k + 1)
        # theta . z = theta' . (N z)
        total += n * (C @ np.linalg.lstsq(N.T, term.mean.reshape(k, d).T, rcond=None)[0].T)
    mean = total / max(sum(steps), 1)
    return replace(onto, mean=mean.reshape(onto.mean.shape), steps=onto.steps + sum(steps))


def _solve(A: Array, b: Array) -> Array:
    return np.asarray(np.linalg.solve(A, b[..., None])[..., 0], dtype=np.float64)


def _positive(A: Array, least: float) -> Array:
    """A, or, where differences have left it with a direction below zero, `least` in that one."""
    try:
        np.linalg.cholesky(A)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(A)
        scaled = vectors * np.maximum(values, least)[..., None, :]
        return np.asarray(scaled @ vectors.swapaxes(-1, -2))
    return A


def read(state: State, lam: float, drift: float) -> Gaussian:
    """What a saved posterior knows, whatever it keeps; lam and drift are its parameters."""
    V = state["V"]
    k, d = V.shape
    common: dict[str, Any] = {"steps": state["steps"], "sizes": (k, d), "drift": drift}
    common["lam"] = state.get("regulariser", lam) if drift == 0 else lam
    if "A_inverse" in state:
        n, P = state["pending"], state["P"]
        mean = V - (state["h"] @ P).reshape(k, d)
        if drift == 0:
            A = _from_lower(state["A"])
            for x, c in zip(state["curvature_x"], state["curvature_c"], strict=True):
                A = A + np.kron(c.reshape(k, k), np.outer(x, x))
        else:
            U = state["T"] @ P
            A = np.linalg.inv(_from_lower(state["A_inverse"]) - U.T @ U + n * drift * np.eye(k * d))
        return Gaussian(kind="full", A=A[None], mean=mean.reshape(1, -1), **common)
    if "places" in state:
        places = state["places"][0].astype(int)
        S = np.eye(d) / lam
        S[np.ix_(places, places)] = state["S"] - state["Q"].T @ state["Q"]
        A = np.asarray(np.linalg.inv(S), dtype=np.float64)
        return Gaussian(kind="growing", A=A[None], mean=V, **common)
    if "roots" in state:
        n, X = state["pending"], state["X"]
        s = len(state["S"]) // d
        if drift == 0:
            A = _from_lower(state["A"].reshape(s, d, d))
            A = A + np.einsum("tc,ti,tj->cij", state["roots"] ** 2, X, X)
        else:
            P = state["P"].reshape(n, s, d)
            S = state["S"].reshape(s, d, d) - np.einsum("tci,tcj->cij", P, P)
            A = np.linalg.inv(S + n * drift * np.eye(d))
        return Gaussian(kind="blocks", A=A, mean=V, **common)
    flat = V.reshape(-1, 1)
    if "S" in state:
        A = 1.0 / state["S"].reshape(-1, 1, 1)
        return Gaussian(kind="diagonal", A=A, mean=flat, **common)
    return Gaussian(kind="mean", A=np.zeros((len(flat), 1, 1)), mean=flat, **common)


def write(known: Gaussian) -> State:
    """The state of a posterior, with nothing pending."""
    k, d = known.sizes
    out: State = {"steps": known.steps, "V": known.mean.reshape(k, d)}
    if known.kind == "mean":
        return out
    S = np.linalg.inv(known.A)
    S = 0.5 * (S + S.swapaxes(-1, -2))
    if known.kind == "diagonal":
        return {**out, "S": S.reshape(k, d)}
    regulariser = known.lam if known.drift == 0 else 0.0
    if known.kind == "growing":
        places = np.flatnonzero((known.mean != 0).any(axis=0) | _is_coupled(known.A[0], known.lam))
        n = len(places)
        out.update(pending=0, learned=n, regulariser=regulariser, owed=0.0)
        arrays = {"places": places[None].astype(float), "S": S[0][np.ix_(places, places)]}
        return {**out, **arrays, "Q": np.empty((0, n))}
    out.update(pending=0, since_refresh=0, regulariser=regulariser, X=np.empty((0, d)))
    width, matrices = known.A.shape[-1], len(known.A)
    out["P"] = np.empty((0, width))
    if known.drift == 0:
        out["A"] = known.A.reshape(-1, width)
    if known.kind == "full":
        out.update(curvature_pending=0, A_inverse=S[0], T=np.empty((0, 0)), h=np.empty((1, 0)))
        out.update(curvature_x=np.empty((0, d)), curvature_c=np.empty((0, k * k)))
        out.update(dict.fromkeys(MET, UNKNOWN))
    else:
        out.update(S=S.reshape(-1, d), roots=np.empty((0, matrices)))
    return out


def _is_coupled(A: Array, lam: float) -> Truths:
    """Which features the rows have said something about."""
    return np.asarray((lam * np.eye(len(A)) != A).any(axis=0))


def _from_lower(A: Array) -> Array:
    """A symmetric matrix from its lower triangle."""
    lower = np.tril(A)
    return np.asarray(lower + np.tril(A, -1).swapaxes(-1, -2))
