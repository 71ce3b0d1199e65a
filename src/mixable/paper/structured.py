"""GAF on posteriors with structure, in plain NumPy: what the compiled core is tested against.

Everything is in the coordinates of the classes, and the width of the predictions is diagonal. A
structure reads P (S_c x for each class) and g (x . P_c), and learns the curvature f of each class.
No theorem covers these posteriors; see docs: Proofs.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from mixable._types import Array
from mixable.paper.integrals import pairwise, softmax


class Structure(Protocol):
    """What is kept of A^-1."""

    def read(self, x: Array) -> Array:
        """S_c x (K, d) of each class c."""

    def learn(self, x: Array, P: Array, f: Array) -> None:
        """A_c += f_c x x^T, given P = read(x) and f (K,); then add the drift."""


class Blocks(Structure):
    """A block S_c (d, d) for each class."""

    def __init__(self, d: int, K: int, *, lam: float, drift: float) -> None:
        self.S = np.stack([np.eye(d) / lam] * K)
        self.drift = drift * np.eye(d)

    def read(self, x: Array) -> Array:
        return self.S @ x

    def learn(self, x: Array, P: Array, f: Array) -> None:
        w = f / (1 + f * (P @ x))
        self.S += self.drift - np.einsum("c,ci,cj->cij", w, P, P)


class Shared(Blocks):
    """One block that serves all classes; it learns the mean of their curvatures."""

    def learn(self, x: Array, P: Array, f: Array) -> None:
        """A += mean(f) x x^T, given P = read(x) and f (K,); then add the drift."""
        super().learn(x, P, np.full_like(f, f.mean()))


class Diagonal(Structure):
    """A variance s_cj for each weight. Drift reaches only the features that are not 0."""

    def __init__(self, d: int, K: int, *, lam: float, drift: float) -> None:
        self.S = np.full((K, d), 1 / lam)
        self.drift = drift

    def read(self, x: Array) -> Array:
        return self.S * x

    def learn(self, x: Array, P: Array, f: Array) -> None:
        self.S = self.S / (1 + f[:, None] * P * x) + np.where(x != 0, self.drift, 0.0)


STRUCTURES: dict[str, type[Blocks | Diagonal]] = {
    "blocks": Blocks,
    "shared": Shared,
    "diagonal": Diagonal,
}


class StructuredGAF:
    """GAF with a structure, step by step."""

    def __init__(
        self,
        d: int,
        K: int,
        structure: str,
        *,
        lam: float = 0.1,
        beta: float = 1.0,
        alpha: float = 1.0,
        drift: float = 0.0,
    ) -> None:
        self.posterior: Structure = STRUCTURES[structure](d, K, lam=lam, drift=drift)
        self.W = np.zeros((K, d))
        self.beta, self.alpha = beta, alpha

    def predict(self, x: Array) -> Array:
        """Probabilities (K,), the expectation in closed form."""
        g = self.posterior.read(x) @ x
        return pairwise(self.W @ x, np.diag(g / (2 * self.alpha)))

    def learn(self, x: Array, y: int, weight: float = 1.0) -> None:
        """Eqs. (2) and (3) with a diagonal width: u = m - (weight g / 2)(softmax(u) - e_y)."""
        P, K = self.posterior.read(x), len(self.W)
        u = leader(self.W @ x, P @ x, y, weight)
        p = softmax(u)
        self.W = self.W - 0.5 * weight * (p - np.eye(K)[y])[:, None] * P
        f = 0.5 * weight * self.beta * p * (1 - p) * K / (K - 1)
        self.posterior.learn(x, P, f)


def leader(m: Array, g: Array, y: int, weight: float) -> Array:
    """The minimum u of sum (u - m)^2 / g + weight * loss(u, y), by Newton on u = m - g a / 2."""
    K, h, a = len(m), g / 2, np.zeros(len(m))

    def objective(a: Array) -> float:
        u = m - h * a
        return float(0.5 * h @ a**2 + weight * (np.logaddexp.reduce(u) - u[y]))

    for _ in range(100):
        p = softmax(m - h * a)
        S = np.diag(p) - np.outer(p, p)
        step = np.linalg.solve(np.eye(K) + weight * S * h, weight * (p - np.eye(K)[y]) - a)
        size = np.abs(h * step).max()
        while size > 0.5 and objective(a + step) > objective(a):  # small steps go down
            step = step / 2
        a = a + step
        if size < 1e-12:
            break
    return np.asarray(m - h * a)
