"""Expectations of a softmax whose error is proved, not measured.

`Certified` is a lattice of points, the trapezoid rule along each axis. A softmax is analytic in a
strip, where it is at most a factor larger than on the line, so that the rule is off by a factor 1 +
delta, whatever the mean and the label (docs: Proofs, "Certified expectations", has the proof).

`Envelope` is for any number of classes. Against class c, the others count by the log of their sum,
which is convex: it lies above its tangent at the mean. So the probability of c is at most that of
two classes, c and the tangent, which is an integral in one dimension. The forecast is these bounds
over their sum; no label is worse off by more than the log of that sum (docs: Proofs, "Each class
against the rest").
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from mixable import _validate
from mixable._types import Array
from mixable.paper.integrals.expectation import Rung

MOST_PAIRS = 2**15
"""Pairs of points, x and -x, that a lattice may have."""
WIDTHS = tuple(10.0 ** (i / 2) for i in range(-4, 3))  # of S, a lattice for each
SHARES = (0.9, 0.6, 0.3, 0.1, 0.03)  # of the tolerance that go to the step, tried one by one


class Lattice(NamedTuple):
    """The points (h/2) (odd numbers) of norm up to `most`, and how many pairs there are."""

    step: float
    most: float
    pairs: int


@dataclass(frozen=True)
class Certified:
    """Points on a lattice, for 3 to 6 classes: log E p is off by `tolerance` nats at most. Proved.

    That is, the probability of no label is less than exp(-tolerance) times the exact one. So all
    bounds for exact expectations hold with `tolerance` nats more for each example. It needs more
    points for wide posteriors and for more classes: `reach` says up to which width it has them.
    """

    tolerance: float = 1e-5

    def __post_init__(self) -> None:
        _validate.real(self.tolerance, "tolerance", least=1e-9, most=0.1)

    def rungs(self, k: int, seed: int) -> list[Rung]:
        """Return a lattice for each of some widths, as long as there are not too many points."""
        found = lattices(k, self.tolerance)
        if not found:
            raise ValueError(
                f"Certified({self.tolerance:g}) would need too many points for {k + 1} classes; "
                "use Sobol, or Folklore, whose bound needs no expectation"
            )
        return lattice_rungs(k, found)

    def reach(self, n_classes: int) -> float:
        """The largest Frobenius norm of S = G / (2 alpha) for which the tolerance is proved; or 0.

        >>> [round(Certified().reach(K), 3) for K in (3, 4, 5, 6, 7)]
        [10.0, 3.162, 0.316, 0.1, 0]
        """
        k = _validate.count(n_classes, "n_classes", least=2) - 1
        found = lattices(k, self.tolerance)
        return found[-1][0] if found else 0


def lattices(
    k: int, tolerance: float, widths: Sequence[float] = WIDTHS
) -> list[tuple[float, Lattice]]:
    """The lattices for some widths, up to the first for which there is none."""
    out = []
    for width in widths:
        lattice = smallest_lattice(k, width, tolerance)
        if lattice is None:
            break
        out.append((width, lattice))
    return out


def aliasing(step: float, width: float) -> float:
    """The relative error of the trapezoid rule along one axis, delta, for S of norm `width`.

    ``2 exp(Y^2/2) / (cos(r Y / 2) (exp(2 pi Y / h) - 1))``, r = sqrt(2 width), for the best Y in
    (0, pi / r).
    """
    r = math.sqrt(2 * width)
    Y: Array = np.linspace(0, min(math.pi / r, 2 * math.pi / step), 402)[1:-1]
    logs = Y**2 / 2 - np.log(np.cos(r * Y / 2)) - 2 * np.pi * Y / step
    return float((2 * np.exp(logs) / -np.expm1(-2 * np.pi * Y / step)).min())


@lru_cache(maxsize=256)
def smallest_lattice(k: int, width: float, tolerance: float) -> Lattice | None:
    """The lattice with the fewest points in k dimensions whose error is proved to be small."""
    found = [_lattice(k, width, tolerance, share) for share in SHARES]
    return min(filter(None, found), key=lambda lattice: lattice.pairs, default=None)


def _largest_step(k: int, width: float, tolerance: float) -> float:
    """The largest step, to 1e-8, whose error along k axes is below the tolerance."""
    low, high = 0.01, 2.0
    for _ in range(30):
        step = 0.5 * (low + high)
        delta = aliasing(step, width)
        fits = delta < 0.5 and -k * math.log1p(-delta) <= tolerance
        low, high = (step, high) if fits else (low, step)
    return low


def line(width: float, tolerance: float) -> Lattice:
    """The lattice in one dimension: for two classes, where fewer points far out are needed.

    The log of the probability of a label is monotone along the line, with a slope between 0 and r =
    sqrt(2 width). So the points left out on the side where it grows count at most as if it were
    exp(r x), and those on the other as if it were constant. (docs: Proofs, "Two classes")
    """
    step, r = _largest_step(1, width, 0.45 * tolerance), math.sqrt(2 * width)
    x: Array = step * (np.arange(math.ceil((r + 12) / step), dtype=np.float64) + 0.5)
    flat, up, down = (np.exp(-0.5 * (x - tilt) ** 2) for tilt in (0.0, r, -r))
    beyond = math.exp(-72) / -math.expm1(-12 * step)  # of `up`, and more than of the others
    left_out = [np.append(np.cumsum(each[:0:-1])[::-1], 0.0) + beyond for each in (up, flat)]
    kept = [np.cumsum(up + down), np.cumsum(2 * flat)]
    with np.errstate(divide="ignore", over="ignore"):  # where next to nothing is kept
        tau = sum(out / within for out, within in zip(left_out, kept, strict=True))
    total = step / math.sqrt(2 * math.pi) * kept[1]
    error = 0.45 * tolerance + np.log1p(tau) + np.log(total)
    pairs = int(np.flatnonzero(error <= tolerance)[0]) + 1
    return Lattice(step, step * (pairs - 0.5) * (1 + 1e-9), pairs)


def _lattice(k: int, width: float, tolerance: float, share: float) -> Lattice | None:
    """Points within the shortest distance that leaves the error below the tolerance, if any."""
    low = _largest_step(k, width, share * tolerance)
    r = math.sqrt(2 * width)
    if (2 * r / low) ** k > 2 * MOST_PAIRS:  # out of the question
        return None
    square, weight, count, rest = shells(k, low, r)
    size = r * np.sqrt(square)  # log p is so far from the middle's at most
    inside = np.cumsum(weight * np.exp(-size))
    outside = np.append(np.cumsum((weight * np.exp(size))[:0:-1])[::-1], 0.0) + rest
    error = share * tolerance + np.log1p(outside / inside) + np.log(np.cumsum(weight))
    enough = np.flatnonzero(error <= tolerance)
    pairs = np.cumsum(count) / 2
    if not len(enough) or pairs[enough[0]] > MOST_PAIRS:
        return None
    most = math.sqrt(float(square[enough[0]])) * (1 + 1e-9)
    return Lattice(low, most, round(pairs[enough[0]]))


def shells(k: int, step: float, r: float) -> tuple[Array, Array, Array, float]:
    """The squared norms of the points, and of each the weight and number of points that have it.

    Of points with no coordinate beyond r + 10, and a bound of the sum of weight times exp(r |x|)
    over all others. The square of (j + 1/2) h is (j (j + 1) + 1/4) h^2, so that integers count.
    """
    j = np.arange(math.ceil((r + 10) / step) + 200)
    x = step * (j + 0.5)
    each = 2 * step / math.sqrt(2 * math.pi) * np.exp(-0.5 * x * x)
    tilted = 2 * step / math.sqrt(2 * math.pi) * np.exp(r * x - 0.5 * x * x)
    near = x <= r + 10
    rest = k * float(tilted[~near].sum()) * float(tilted.sum()) ** (k - 1)
    places = (j * (j + 1))[near]
    one, number = np.zeros(places[-1] + 1), np.zeros(places[-1] + 1)
    one[places], number[places] = each[near], 2.0
    weight, count = one, number
    for _ in range(k - 1):
        weight, count = np.convolve(weight, one), np.convolve(count, number)
    kept = np.flatnonzero(count > 0.5)
    square = np.asarray(step**2 * (kept + k / 4), dtype=np.float64)
    return square, weight[kept], count[kept].round(), rest


def lattice_rungs(k: int, found: Sequence[tuple[float, Lattice]]) -> list[Rung]:
    """Rungs; beyond the last width the last lattice is used, and nothing is proved."""
    reaches = [width for width, _ in found[:-1]] + [math.inf]
    pairs = zip(reaches, (lattice for _, lattice in found), strict=True)
    return [lattice_rung(k, lattice, reach) for reach, lattice in pairs]


def lattice_rung(k: int, lattice: Lattice, reach: float) -> Rung:
    """One of each pair of points: those whose first coordinate is positive."""
    step, most, pairs = lattice
    j = np.arange(math.ceil(most / step + 0.5))
    half = step * (j + 0.5)
    axes = [half, *[np.concatenate([-half[::-1], half])] * (k - 1)]
    points = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")])
    squares = (points**2).sum(axis=0)
    points = np.ascontiguousarray(points[:, squares <= most**2])
    assert points.shape[1] == pairs
    weights = np.exp(-0.5 * (points**2).sum(axis=0))
    return Rung("symmetric", reach, pairs, points=points, weights=weights / (2 * weights.sum()))


ENVELOPE_WIDTHS = tuple(10.0 ** (i / 2) for i in range(-4, 4))  # of S, a lattice for each


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
        made = lattice_rungs(1, lattices(1, self.tolerance, ENVELOPE_WIDTHS))
        return [rung._replace(kind="envelope") for rung in made]

    @property
    def reach(self) -> float:
        """The largest Frobenius norm of S = G / (2 alpha) for which it is proved.

        >>> round(Envelope().reach, 1), round(Envelope(1e-9).reach, 1)
        (31.6, 10.0)
        """
        return lattices(1, self.tolerance, ENVELOPE_WIDTHS)[-1][0]
