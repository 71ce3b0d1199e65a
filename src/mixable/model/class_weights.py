"""Class weights: how much an example counts, by its label."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal, TypeAlias

import numpy as np

from mixable import _validate
from mixable._types import Array

ClassWeight: TypeAlias = Mapping[Any, float] | Literal["balanced"] | None
"""Nothing, a weight for each label (1 for those not named), or weights by how often labels came."""

Tally: TypeAlias = dict[Hashable, float]
"""The weight of the examples of each label so far."""

Known: TypeAlias = Callable[[], tuple[Tally, int]]
"""The tally of a learner, and its steps."""


def checked(class_weight: Any) -> ClassWeight:
    """Refuse what is no such thing."""
    if class_weight is None:
        return None
    if isinstance(class_weight, Mapping):
        for label, weight in class_weight.items():
            _validate.example_weight(weight, f"class_weight[{label!r:.80}]")
        return class_weight
    if isinstance(class_weight, str) and class_weight == "balanced":
        return "balanced"
    raise ValueError(
        "class_weight must be None, 'balanced', or a dictionary of labels and weights, "
        f"got {class_weight!r:.80}"
    )


def refuse_unknown(class_weight: ClassWeight, labels: Iterable[Hashable]) -> None:
    """Refuse weights of labels that never come while some that do have no weight: a misspelling."""
    if not isinstance(class_weight, Mapping):
        return
    known = list(labels)
    unknown = [label for label in class_weight if label not in set(known)]
    if unknown and any(label not in class_weight for label in known):
        raise ValueError(
            f"class_weight has labels that y does not have: {unknown!r:.200}; "
            f"the labels of y are {sorted(known, key=str)!r:.200}"
        )


def weighted(
    class_weight: ClassWeight,
    labels: Sequence[Hashable],
    weight: Array | None,
    tally: Tally,
    *,
    whole: bool = False,
) -> Array | None:
    """The weights of examples, times those of their classes; None where all are 1.

    "balanced" is n / (K n_c): n the weight of all examples, n_c that of the label's, K the number
    of labels met. If the table is the `whole` they are those of its end; else of the examples up to
    each, itself included, after the ones in the `tally`: no weight depends on a later label.
    """
    if class_weight is None:
        return weight
    own = np.ones(len(labels)) if weight is None else weight
    if isinstance(class_weight, Mapping):
        by_label = {label: float(class_weight.get(label, 1.0)) for label in set(labels)}
        out: Array = own * np.array([by_label[label] for label in labels])
    else:
        out = own * _balanced(labels, own, tally, whole=whole)
    _validate.example_weights(out, "sample_weight times class_weight")
    return out


@contextmanager
def weighing(
    class_weight: ClassWeight,
    labels: Sequence[Hashable],
    weight: Array | None,
    known: Known,
    *,
    whole: bool = False,
) -> Iterator[Array | None]:
    """The weights of examples, while they are learned; those that were are counted afterwards."""
    tally, steps = known()
    own = weighted(class_weight, labels, weight, tally, whole=whole)
    try:
        yield own
    finally:  # also Ctrl-C, when some have been learned
        if class_weight == "balanced":
            tally, now = known()  # the first example may have made the learner
            add(tally, labels, weight, now - steps)


def _balanced(labels: Sequence[Hashable], own: Array, tally: Tally, *, whole: bool) -> Array:
    codes = {label: code for code, label in enumerate(dict.fromkeys(labels))}
    y = np.array([codes[label] for label in labels], dtype=np.int_)
    of_label, is_first = np.empty(len(y)), np.zeros(len(y))
    for label, code in codes.items():
        rows = np.flatnonzero(y == code)
        before = tally.get(label, 0.0)
        so_far = before + np.cumsum(own[rows])
        of_label[rows] = so_far[-1] if whole else so_far
        counts = np.flatnonzero(so_far > 0)
        if before == 0 and len(counts):
            is_first[rows[counts[0]]] = 1.0
    total = sum(tally.values()) + np.cumsum(own)
    met = np.count_nonzero(list(tally.values())) + np.cumsum(is_first)
    if whole:
        total, met = total[-1:], met[-1:]
    # A label whose examples all have weight 0 has nothing to be weighed.
    return np.divide(total, met * of_label, out=np.zeros(len(y)), where=of_label > 0)


def add(tally: Tally, labels: Sequence[Hashable], weight: Array | None, n: int) -> None:
    """Count the first `n` examples, those that were learned."""
    for t in range(n):
        own = 1.0 if weight is None else float(weight[t])
        tally[labels[t]] = tally.get(labels[t], 0.0) + own
