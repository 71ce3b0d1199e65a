r"""A closed form for :math:`E\,\mathrm{softmax}` that is proved for any number of classes.

Against class c, the others count by the log of their sum, which is convex: it lies above its
tangent at the mean. So the probability of c is at most that of two classes, c and the tangent,
which is an integral in one dimension. The forecast is these bounds over their sum; no label is
worse off by more than the log of that sum (docs/theory.md, "Each class against the rest").
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from mixable import _validate
from mixable.integrals.certified import lattice_rung, smallest_lattice
from mixable.integrals.expectation import Rung

WIDTHS: tuple[float, ...] = tuple(10.0 ** (i / 2) for i in range(-4, 4))  # of S, a lattice for each


@dataclass(frozen=True)
class Envelope:
    """Each class against the rest: deterministic, and proved for every number of classes.

    What it may cost is part of `GAF.certificate` and `bounds.envelope`: about as much as the
    surrogates. It takes some 20 exponentials for a class. The integrals in one dimension are off by
    `tolerance` nats at most.
    """

    tolerance: float = 1e-6

    def __post_init__(self) -> None:
        _validate.real(self.tolerance, "tolerance", least=1e-9, most=0.1)

    def rungs(self, k: int, seed: int) -> list[Rung]:
        """Return a lattice in one dimension for each of some widths."""
        out = []
        for width in WIDTHS:
            lattice = smallest_lattice(1, width, self.tolerance)
            assert lattice is not None
            # Beyond the last width the last lattice is used, and nothing is proved.
            reach = width if width < WIDTHS[-1] else math.inf
            out.append(lattice_rung(1, lattice, reach)._replace(kind="envelope"))
        return out

    @property
    def reach(self) -> float:
        """The largest Frobenius norm of S = G / (2 alpha) for which it is proved."""
        return WIDTHS[-1]
