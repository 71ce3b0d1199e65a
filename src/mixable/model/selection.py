"""Columns that matter: what trees learn about columns reaches a kernel.

In a kernel every column counts the same, so that columns that say nothing dilute the distances. One
kernel of a pool is `weighted`: a column counts there by what splits on it have gained in the
trees, beyond what splits on noise would gain. Weights are reviewed at doubling times. Where they
have changed, a new expert is made; it learns the rows that the trees keep, some after each few
examples, and takes the place of the old one when it has learned them all.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np

from mixable import _validate
from mixable._types import Array
from mixable.experts.trees import Rows, n_seen
from mixable.model.kernel_inputs import KernelInputs
from mixable.model.trees import TreeDesign

FIRST = 100
"""Examples before the first review; the next is after twice as many."""

POWER = 0.25
"""Of a column's gain over the largest: with .5 and more, weak columns are lost."""

SAME, ALIKE = 0.98, 0.9
"""The cosine of two sets of weights from which on they are the same; or not worth the time, where
the pool could do without the expert that had them."""

FEW = 0.9
"""Weights are used if the columns that matter are at least two, and at most this share of all."""

MOST = 8192
"""Rows that a new expert is taught, at most."""

PER_STEP, PAUSE, PERIOD = 32, 1.5e-3, 8
"""How many of them for each example, so that it has soon learned them all; about how long it learns
at a time, in seconds; and after how many examples, at most."""


class Host(Protocol):
    """What is asked of the pool: a `RecordPool`."""

    design: Any
    experts: list[Any]
    inputs: list[Any]
    _core: Any

    @property
    def active(self) -> list[int]:
        """The places of the experts that are active."""

    @property
    def n_features(self) -> int:
        """Number of numbers in a record."""

    @property
    def n_classes(self) -> int | None:
        """Number of classes; None for numbers."""

    def pool_of_one(self, inputs: Any, expert: Any) -> Any:
        """An expert by itself, compiled."""


class Selection:
    """Which expert of a pool has weighted columns; and the one that is to take its place."""

    def __init__(self, place: int, trees: int) -> None:
        self.place, self.trees = place, trees
        self.inputs: KernelInputs | None = None  # of the next one
        self.expert: Any = None
        self.taught = 0  # rows of the trees that it has learned, or passed over
        self.is_held = False  # no reviews any more
        self.due: int | None = None  # after how many examples that count there is something to do

    @classmethod
    def of(cls, parts: list[Any]) -> Selection | None:
        """That of a pool with such experts; None if there is no kernel of this kind."""
        kernels = [getattr(part, "kernel", None) for part in parts]
        weighted = [i for i, kernel in enumerate(kernels) if kernel and kernel.weighted]
        trees = [i for i, part in enumerate(parts) if isinstance(part, TreeDesign)]
        return cls(weighted[0], trees[0]) if weighted and trees else None

    def wait(self, blend: Host) -> int:
        """After how many more examples that count there is something to do; 0: now."""
        if self.is_held:
            return 1 << 62
        came: int = blend.experts[self.trees]._core.came
        if self.due is None:
            self.due = self._next(came)
        return max(self.due - came, 0)

    def _next(self, came: int) -> int:
        if self.expert is None:
            return FIRST << max(math.floor(math.log2(max(came, 1) / FIRST)) + 1, 0)
        return (came // self._period + 1) * self._period

    @property
    def _period(self) -> int:
        """Examples between two lessons: a power of 2, so that a lesson is no long pause."""
        few = PAUSE / PER_STEP / self.expert._core.seconds
        return 1 << math.floor(math.log2(min(max(few, 1), PERIOD)))

    def go_on(self, blend: Host) -> bool:
        """What is to be done after these examples; True if an expert was replaced."""
        self.due = None
        if self.expert is None:
            self._review(blend)
            return False
        trees = blend.experts[self.trees]._core
        self.taught = max(self.taught, trees.oldest)
        rows = Rows.of(trees, self.taught, PER_STEP * self._period)
        self._teach(blend, rows)
        self.taught += len(rows.y)
        if self.taught < trees.came:
            return False
        i, old = self.place, blend.inputs[self.place]
        assert self.inputs is not None
        assert isinstance(old, KernelInputs)
        self.inputs.scaled = old.scaled  # it has learned all rows in their order
        blend.inputs = [*blend.inputs[:i], self.inputs, *blend.inputs[i + 1 :]]
        blend.experts = [*blend.experts[:i], self.expert, *blend.experts[i + 1 :]]
        if i not in blend.active:
            blend._core.set_active(i, True)
        self.drop()
        return True

    def drop(self) -> None:
        """Forget the next expert; the next review may begin another."""
        self.due = None
        self.inputs = self.expert = None

    def hold(self) -> None:
        """Keep the weights as they are."""
        self.drop()
        self.is_held = True

    def _review(self, blend: Host) -> None:
        old, n = blend.inputs[self.place], blend.n_features
        assert isinstance(old, KernelInputs)
        weights = column_weights(blend.experts[self.trees]._core.gains(), n)
        before = old.weights
        is_used = before is None or self.place in blend.active
        least = SAME if is_used else ALIKE
        if weights is None or (before is not None and cosine(weights, before) > least):
            return
        part, trees = blend.design.parts[self.place], blend.experts[self.trees]._core
        self._begin(part, n, blend.n_classes)
        assert self.inputs is not None
        self.inputs.scaled = old.scaled.with_features(n)
        self.inputs.weigh(weights)
        self.taught = max(trees.came - MOST, 0)

    def _begin(self, part: Any, n_features: int, n_classes: int | None) -> None:
        self.inputs = part.inputs(n_features)
        self.expert = part.forecaster(n_features, n_classes)

    def _teach(self, blend: Host, rows: Rows) -> None:
        """Let the next expert learn rows."""
        y = rows.y if blend.n_classes is None else rows.y.astype(np.int64)
        alone = blend.pool_of_one(self.inputs, self.expert)
        alone.run(np.ascontiguousarray(rows.x), None, y, rows.weight)

    def state(self) -> dict[str, Any] | None:
        """The next expert as it is, if there is one."""
        if self.inputs is None:
            return None
        return {"inputs": self.inputs.state(), "expert": self.expert, "taught": self.taught}

    def restore(self, state: Any, part: Any, n_features: int, n_classes: int | None) -> None:
        """Go on from what `state` returned; ValueError if it does not fit."""
        if state is None:
            return
        expert = state["expert"]
        taught = _validate.count(state["taught"], "taught", least=0, most=1 << 60)
        if not part.fits(expert, n_features) or getattr(expert, "n_classes", None) != n_classes:
            raise ValueError("the next expert of the saved blend is not that of its design")
        self._begin(part, n_features, n_classes)
        assert self.inputs is not None
        self.inputs.restore(state["inputs"])
        self.expert, self.taught = expert, taught


def column_weights(gains: Array, n_features: int) -> Array | None:
    """What numbers are multiplied by: so that rows are as far from each other as before.

    None where all are to count the same.

    >>> column_weights(np.array([16.0, 0, 0, 1]), 4)
    array([1.63299316, 0.        , 0.        , 1.15470054])
    """
    own, seen = np.zeros(n_features), n_seen(n_features)
    own[:seen] = gains[:seen]
    if np.count_nonzero(own) < 2:
        return None
    shares = (own / own.max()) ** POWER
    if shares.sum() ** 2 > FEW * n_features * (shares @ shares):  # as many columns, in effect
        return None
    return np.asarray(np.sqrt(shares * n_features / shares.sum()))


def cosine(one: Array, other: Array) -> float:
    """The cosine between the squares of two sets of weights."""
    a, b = one**2, other**2
    return float(a @ b / math.sqrt(float(a @ a) * float(b @ b)))
