"""From a learner of numbers to one of records, with what it knows."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

import numpy as np

from mixable.model.design import Design
from mixable.model.learner import Learner
from mixable.model.made import FREQUENCIES, NUMBERS, seen
from mixable.model.pool import RecordPool
from mixable.model.pooled import are_alike, design_of_records
from mixable.records import Encoder
from mixable.records.declaration import Name


def widened(learner: Learner, names: Iterable[Name]) -> Learner:
    """A learner of records that goes on with the experts of one of numbers, by names of columns.

    Experts on sparse features begin anew, and so does the judge. A column that never had a value
    has no kind yet. The old learner must not learn any more: the experts are the same objects. What
    is no classifier of records is a TypeError.
    """
    design = design_of_records(learner.design, few=False)  # the linear expert goes on
    known = _parts(learner)
    encoder = Encoder()
    registry, counts = encoder.registry, np.ravel(known[0][2].state()["count"])
    for name, count in zip(names, counts, strict=True):
        if count > 0:
            registry.add({name: "number"})
        else:  # the place stays empty, and the next value says what the column is
            registry.places.append(f"{name}")
    made = Learner(design, learner.n_features, learner.labels, encoder=encoder)
    made.outcomes = learner.outcomes
    blend = made.forecaster
    assert isinstance(blend, RecordPool)
    for i, part in enumerate(blend.design.parts):
        for other, expert, inputs in known:
            if are_alike(_of_numbers(part), other):
                if seen(part) == FREQUENCIES:  # beside the linear expert, which is the same object
                    more = blend.n_classes or 0
                    own, wider = copy.deepcopy(expert), inputs.n_features + more
                    own.add_features(more)
                    blend.experts[i], blend.inputs[i] = own, inputs.with_features(wider)
                else:
                    blend.experts[i], blend.inputs[i] = expert, inputs
                if blend.selection is not None and i == blend.selection.place and expert.steps:
                    blend._core.set_active(i, True)
    return made


def _of_numbers(part: Any) -> Any:
    """The design of an expert before there were columns of categories."""
    return part.seeing(NUMBERS) if isinstance(part, Design) else part


def _parts(learner: Learner) -> list[tuple[Any, Any, Any]]:
    """The design, the forecaster and the inputs of each expert."""
    blend = learner.forecaster
    if isinstance(blend, RecordPool):
        return list(zip(blend.design.parts, blend.experts, blend.inputs, strict=True))
    return [(learner.design, blend, learner.inputs)]
