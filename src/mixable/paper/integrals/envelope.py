r"""A closed form for :math:`E\,\mathrm{softmax}` that is proved for any number of classes.

Against class c, the others count by the log of their sum, which is convex: it lies above its
tangent at the mean. So the probability of c is at most that of two classes, c and the tangent,
which is an integral in one dimension. The forecast is these bounds over their sum; no label is
worse off by more than the log of that sum (docs/theory.md, "Each class against the rest").
"""

from __future__ import annotations

from dataclasses import dataclass

from mixable import _validate
from mixable.paper.integrals.certified import lattice_rungs, lattices
from mixable.paper.integrals.expectation import Rung

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
        made = lattice_rungs(1, lattices(1, self.tolerance, WIDTHS))
        return [rung._replace(kind="envelope") for rung in made]

    @property
    def reach(self) -> float:
        """The largest Frobenius norm of S = G / (2 alpha) for which it is proved.

        >>> round(Envelope().reach, 1), round(Envelope(1e-9).reach, 1)
        (31.6, 10.0)
        """
        return lattices(1, self.tolerance, WIDTHS)[-1][0]
