"""A forecaster with the inputs that make its rows: what learners, and experts of pools, consist of.

The base, and what is merged onto it, are in the coordinates of the merged model already: their
labels and features come first there.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mixable._types import Array
from mixable.learner.inputs import Inputs
from mixable.merging import forecasters, inputs
from mixable.merging.gaussians import Change

Places = list[int]  # of the features of a learner, in the merged one


class Part(NamedTuple):
    """Inputs, and the forecaster that learns their rows."""

    inputs: Inputs
    forecaster: Any

    @property
    def steps(self) -> int:
        """Examples that it has learned."""
        return int(self.forecaster.steps)


@dataclass(frozen=True, kw_only=True)
class Coordinates:
    """Where the classes, features and targets of a learner are in the merged one."""

    classes: Array | None
    places: Places
    shift: float  # of targets
    intercept: bool
    weight: float

    def change(self, forecaster: Any, rows: Array | None) -> Change:
        """From the coordinates of a forecaster; `rows` is what scaling does to its rows."""
        first = 1 if self.intercept else 0
        if self.places != list(range(len(self.places))):
            width = first + len(self.places)
            order = np.argsort([*range(first), *(first + place for place in self.places)])
            rows = (np.eye(width) if rows is None else rows) @ np.eye(width)[order]
        constant = None
        if self.shift:
            assert self.intercept
            constant = np.zeros(forecaster.n_features)
            constant[0] = 1.0
        return Change(
            rows=rows, classes=self.classes, shift=self.shift, constant=constant, weight=self.weight
        )


def combine(
    onto: Part | None, terms: list[Part], base: Part | None, where: list[Coordinates]
) -> tuple[Any, Any]:
    """The state of the merged inputs, and the merged forecaster.

    Terms that have learned nothing since the base say nothing: experts that rest, for one.
    """
    least = 0 if base is None else base.steps
    grown = [(term, own) for term, own in zip(terms, where, strict=True) if term.steps > least]
    if not grown:
        return _unchanged(onto, terms, base)
    states = [_in_order(term.inputs.state(), own.places) for term, own in grown]
    statistics, rows = inputs.combine(
        None if onto is None else onto.inputs.state(),
        states,
        None if base is None else base.inputs.state(),
        grown[0][0].inputs,
    )
    weight = grown[0][1].weight
    if weight != 1:
        statistics = inputs.tempered(statistics, weight)
    changes = [
        own.change(term.forecaster, change) for (term, own), change in zip(grown, rows, strict=True)
    ]
    forecaster = forecasters.combine(
        None if onto is None else onto.forecaster,
        [term.forecaster for term, _ in grown],
        None if base is None else base.forecaster,
        changes,
    )
    return statistics, forecaster


def _unchanged(onto: Part | None, terms: list[Part], base: Part | None) -> tuple[Any, Any]:
    """What there was before, since nobody has learned anything."""
    if onto is None and base is not None:  # the difference of a model to itself
        new = forecasters.fresh(base.forecaster)
        return inputs.combine(None, [base.inputs.state()], base.inputs.state(), base.inputs)[0], new
    kept = terms[0] if onto is None else onto
    return kept.inputs.state(), copy.deepcopy(kept.forecaster)


def _in_order(state: dict[str, Array], places: Places) -> dict[str, Array]:
    if places == list(range(len(places))):
        return state
    if not state.keys() <= inputs.STATISTICS:
        raise ValueError(
            "models with kernel features, bins or leaves must have the same features in one order: "
            "let them start from a common model (base) that has met them all"
        )
    return inputs.reordered(state, np.argsort(places))
