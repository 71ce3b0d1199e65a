"""Combining what was learned apart: Gaussians by their natural parameters, weights by losses.

The natural parameters of a Gaussian posterior are its precision A and its shift A theta. Examples
add to both. So models that began as one base combine to

    A = base + the sum of (A_s - base) = the sum of A_s - (n - 1) base,

and A theta likewise. With drift nothing is lost by that either, if the base is taken as it would be
now: after n steps without an example, A^-1 is n drift I wider. What examples add is never negative.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from mixable._types import Array
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


class Natural(NamedTuple):
    """Natural parameters of a Gaussian posterior: its precision, precision times mean, examples."""

    precision: Array
    shift: Array
    steps: int


@dataclass(frozen=True, kw_only=True)
class Gaussian:
    """Precisions A (m, n, n) and means (p, n) of p vectors; one matrix may serve them all.

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
    def shift(self) -> Array:
        """A theta (p, n)."""
        return np.asarray((self.A @ self.mean[..., None])[..., 0])

    def prior(self, lam: float) -> Gaussian:
        """A posterior of the same kind before its first example."""
        A = np.broadcast_to(lam * np.eye(self.A.shape[-1]), self.A.shape)
        return replace(self, A=A, mean=np.zeros_like(self.mean), steps=0, lam=lam)

    def after(self, steps: int) -> Gaussian:
        """What is left of it after so many steps."""
        if self.drift == 0 or steps == 0:
            return self
        wider = np.linalg.inv(self.A) + steps * self.drift * np.eye(self.A.shape[-1])
        return replace(self, A=np.asarray(np.linalg.inv(wider), dtype=np.float64))

    def taught(self, lam: float, drift: float) -> Gaussian:
        """The same knowledge in a posterior with another lam; with drift, none is left in A."""
        A = self.A + (lam - (0.0 if self.drift else self.lam)) * np.eye(self.A.shape[-1])
        return replace(self, A=A, mean=_solve(A, self.shift), lam=lam, drift=drift)

    def draws(self, n: int, width: float, rng: np.random.Generator) -> Array:
        """Weights (n, k, d), drawn from the Gaussian with covariances A^-1 times `width`."""
        noise = np.zeros((n, *self.mean.shape))
        if width > 0 and self.kind != "mean":
            roots = np.asarray(np.linalg.cholesky(self.A), dtype=np.float64).swapaxes(-1, -2)
            normal = np.asarray(rng.standard_normal(noise.shape))
            noise = math.sqrt(width) * _solve(roots, normal)
        return np.asarray(self.mean + noise).reshape(n, *self.sizes)

    def moved(self, A: Array, b: Array, change: Change) -> tuple[Array, Array]:
        """What rows say, A (m, n, n) and b (p, n), in other coordinates."""
        k, d = self.sizes
        N = np.eye(d) if change.rows is None else change.rows
        C = _classes(k, change)
        if self.kind == "full":
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
    start: Gaussian | None,
    terms: Sequence[Gaussian],
    base: Gaussian | None,
    changes: Sequence[Change],
) -> Gaussian:
    """start + the sum of (term - base), each difference in the coordinates of `start`.

    None stands for a posterior before its first example.
    """
    first = terms[0]
    begins = [base or term.prior(term.lam) for term in terms]
    steps = [term.steps - begin.steps for term, begin in zip(terms, begins, strict=True)]
    if start is None:
        start = first.prior(min(term.lam for term in terms))
    if first.kind == "mean":
        return _mean_of_means(start, terms, steps, changes)
    left = start.after(sum(steps))
    A, b = left.A, left.shift
    for term, begin, n, change in zip(terms, begins, steps, changes, strict=True):
        before = begin.after(n)
        more_A, more_b = term.moved(term.A - before.A, term.shift - before.shift, change)
        A, b = A + more_A, b + more_b
    A = _positive(0.5 * (A + A.swapaxes(-1, -2)), start.lam)
    return replace(start, A=A, mean=_solve(A, b), steps=start.steps + sum(steps))


def _mean_of_means(
    start: Gaussian, terms: Sequence[Gaussian], steps: list[int], changes: Sequence[Change]
) -> Gaussian:
    """Gradient descent adds no information: the means by number of steps."""
    k, d = start.sizes
    total = np.zeros((k, d))
    for term, n, change in zip(terms, steps, changes, strict=True):
        N = np.eye(d) if change.rows is None else change.rows
        # theta . z = theta' . (N z)
        moved = np.linalg.lstsq(N.T, term.mean.reshape(k, d).T, rcond=None)[0].T
        total += n * (_classes(k, change) @ moved)
    mean = total / max(sum(steps), 1)
    return replace(start, mean=mean.reshape(start.mean.shape), steps=start.steps + sum(steps))


def _classes(k: int, change: Change) -> Array:
    """The change of classes, for k coordinates: one for each class, or one less."""
    if change.classes is None:
        return np.eye(k)
    Q = helmert(k + 1) if len(change.classes) > k else np.eye(k)
    return np.asarray(Q.T @ change.classes @ Q)


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


SMALLEST, LEAST_JUDGE = 1e-300, 1e-10  # as in core/mixture/weights.hpp
LOST = math.log(1e-280)


def combined_weights(
    start: State, terms: Sequence[State], base: State, grown: Sequence[int], share: float
) -> State:
    """The two vectors of weights of core/mixture/weights.hpp, and their judge, after all losses.

    Weights by Bayes' rule, and the judge's odds, are sums of losses, and add. Weights with a share
    are not: none falls below the share, and adding their logarithms would put experts so far below
    it that they cannot come back when they should. They are what those of `start` become by the
    losses of all, with the share given once. How far each model is from that by its own losses, for
    the order of its rows, is averaged by steps.
    """

    def tracked(weights: Array, begin: Array, end: Array) -> Array:
        """Logs of weights after gains; 0 where weights are so small that losses are lost."""
        logs = np.log(weights) + np.where(begin > LOST, end - begin, 0.0)
        moved = np.exp(logs - logs.max())
        moved = (1 - share) * moved / moved.sum() + share / moved.size
        return np.asarray(np.log(np.maximum(moved, SMALLEST)))

    begin, old, *logs = (np.log(state["bayes"]) for state in (start, base, *terms))
    total = begin + sum(each - old for each in logs)
    total = total - total.max() - math.log(np.exp(total - total.max()).sum())
    apart = [
        np.log(term["weight"]) - tracked(base["weight"], old, own)
        for term, own in zip(terms, logs, strict=True)
    ]
    mean = np.average(apart, axis=0, weights=grown if any(grown) else None)
    odds, *others = (math.log(s["judge"] / (1 - s["judge"])) for s in (start, *terms))
    before = math.log(base["judge"] / (1 - base["judge"]))
    most = math.log((1 - LEAST_JUDGE) / LEAST_JUDGE)
    odds = min(max(odds + sum(each - before for each in others), -most), most)
    judge = 1 / (1 + math.exp(-odds))
    return {
        "weight": normalised(tracked(start["weight"], begin, total) + mean),
        "bayes": normalised(total),
        "judge": min(max(judge, LEAST_JUDGE), 1 - LEAST_JUDGE),
    }


def normalised(logs: Array) -> Array:
    """Weights that sum to 1, by their logarithms."""
    weights = np.maximum(np.exp(logs - logs.max()), SMALLEST)
    return np.asarray(np.maximum(weights / weights.sum(), SMALLEST))
