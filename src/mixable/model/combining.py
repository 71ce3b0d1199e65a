"""Combining learners: labels and features are united, each expert is combined with its inputs.

The base, and what the others are added to, are in the coordinates of the combined model: their
labels and features come first there.
"""

from __future__ import annotations

import copy
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from mixable import _core
from mixable._natural import Change, State
from mixable._types import Array
from mixable.experts.pool import combined_activity, combined_judge
from mixable.kernels import Nystroem
from mixable.model import fallback, statistics
from mixable.model.inputs import Inputs
from mixable.model.kernel_inputs import KernelInputs
from mixable.model.learner import Learner
from mixable.model.outcomes import Labels, Targets
from mixable.model.pool import LAM, QUICK, SHARE, RecordPool
from mixable.model.shapes import ShapedInputs
from mixable.model.uniting import Known, United

WIDTH = 3  # numbers that are remembered of each class; core/inputs/memory.hpp
Places = Sequence[int]  # of the features of a learner, in the combined one


def combine(
    start: Learner | None,
    terms: Sequence[Learner],
    base: Learner | None,
    *,
    places: Sequence[Places] | None = None,
    weight: float = 1.0,
) -> Learner:
    """start + `weight` times the sum of (term - base); None stands for one without examples.

    Its features and labels are those of the base, then those of the terms as they come.
    """
    if any(term.design.stage is not None for term in terms):
        raise TypeError(
            "regressors of text, categories, times or sparse rows cannot be merged: what their "
            "second stage learns depends on the first; let one model learn all records"
        )
    begun = [] if base is None else [base]
    labels: list[Hashable] | None = None
    if terms[0].has_labels:
        labels = list(dict.fromkeys(label for each in [*begun, *terms] for label in each.labels))
    places = places or [list(range(term.n_features)) for term in terms]
    sizes = [each.n_features for each in begun]
    n_features = max([*sizes, *(max(own, default=-1) + 1 for own in places)])
    grown = [_grown(term, labels, n_features) for term in terms]
    before = _fresh(grown[0]) if base is None else _grown(base, labels, n_features)
    begin = _fresh(grown[0]) if start is None else _grown(start, labels, n_features)
    origin = _origin(begin, terms)
    where = [
        _coordinates(term, labels, [*own, *sorted({*range(n_features)} - {*own})], origin, weight)
        for term, own in zip(terms, places, strict=True)
    ]
    known: dict[str, Any] = {"origin": origin, "tally": _tally(begin, terms, before, weight)}
    if labels is not None:
        known |= {"labels": labels, "codes": {label: code for code, label in enumerate(labels)}}
        known["closed"] = all(term.outcomes.state()["closed"] for term in terms)
    known["scaler"], known["forecaster"] = _combined(begin, grown, before, where)
    made = Learner.__new__(Learner)
    made.__setstate__({**grown[0].__getstate__(), **known})
    return made


class Coordinates(NamedTuple):
    """Where the features, classes and targets of a learner are in the combined one."""

    places: Places
    change: Change  # of classes and targets
    intercept: bool

    def order(self, first: int) -> Array | None:
        """The permutation of rows whose features come after `first` others; None if it is none."""
        if list(self.places) == list(range(len(self.places))):
            return None
        order = np.argsort([*range(first), *(first + place for place in self.places)])
        return np.asarray(np.eye(first + len(self.places))[order])

    def of_rows(self, n_features: int, rows: Array | None) -> Change:
        """The change of a forecaster; `rows` is what scaling does to its rows."""
        order, constant = self.order(1 if self.intercept else 0), None
        if order is not None:
            rows = order if rows is None else rows @ order
        if self.change.shift:
            assert self.intercept
            constant = np.eye(n_features)[0]
        return replace(self.change, rows=rows, constant=constant)


def _coordinates(
    term: Learner,
    labels: list[Hashable] | None,
    places: Places,
    origin: float | None,
    weight: float,
) -> Coordinates:
    """Those of a learner, as it was before it grew."""
    classes, shift = None, 0.0
    if labels is not None and term.labels != labels and len(labels) >= 2:
        K = len(labels)  # 0 for classes that were not known before
        classes = np.zeros((K, K))
        for label, code in term.codes.items():
            classes[labels.index(label), code] = 1.0
        if len(term.codes) == 1 and K == 2:  # its second class stood for labels to come
            classes[:, 1] = 1.0 - classes[:, 0]
    if isinstance(term.outcomes, Targets) and origin is not None:
        shift = term.outcomes.offset - origin
    change = Change(classes=classes, shift=shift, weight=weight)
    return Coordinates(places, change, term.design.intercept)


class Part(NamedTuple):
    """A forecaster with the inputs that make its rows."""

    inputs: Inputs
    forecaster: Any


def combined_part(
    start: Part, terms: Sequence[Part], base: Part, where: Sequence[Coordinates]
) -> tuple[State, Any]:
    """The state of the inputs, and the forecaster, of start + the sum of (term - base).

    Terms that have learned nothing since the base say nothing: experts that rest, for one.
    """
    pairs = zip(terms, where, strict=True)
    grown = [pair for pair in pairs if pair[0].forecaster.steps > base.forecaster.steps]
    if not grown:
        return start.inputs.state(), copy.deepcopy(start.forecaster)
    states = [statistics.reordered(term.inputs.state(), own.places) for term, own in grown]
    state, rows = statistics.combine(
        start.inputs.state(), states, base.inputs.state(), start.inputs
    )
    weight = grown[0][1].change.weight
    changes = [
        own.of_rows(term.forecaster.n_features, change)
        for (term, own), change in zip(grown, rows, strict=True)
    ]
    forecasters = [_relabelled(term, own.change.classes) for term, own in grown]
    last, own = grown[-1]
    if isinstance(last.inputs, ShapedInputs) and last.inputs.memory is not None:
        state["memory"] = _in_place(last.inputs.memory.numbers, own.change.classes)
    forecaster = start.forecaster._combine(forecasters, base.forecaster, changes)
    return state if weight == 1 else statistics.tempered(state, weight), forecaster


def _in_place(numbers: Array, classes: Array | None) -> Array:
    """What is remembered of each class, with the classes in their places in the combined model."""
    if classes is None:
        return numbers
    each = numbers.reshape(-1, WIDTH)
    return np.ravel(classes[:, : len(each)] @ each)


def _relabelled(part: Part, classes: Array | None) -> Any:
    """A forecaster whose features of labels are those of the combined model's classes."""
    inputs, forecaster = part
    if classes is None or not isinstance(inputs, ShapedInputs) or inputs.memory is None:
        return forecaster
    keys = _core.Memory.keys(len(classes))
    place = {
        keys[code * WIDTH + i]: keys[int(new) * WIDTH + i]
        for code, new in enumerate(classes.argmax(axis=0))
        for i in range(WIDTH)
    }
    state = forecaster.__getstate__()
    known = state["state"]["keys"]
    own = np.array([place.get(key, key) for key in known.tolist()], dtype=known.dtype)
    return _made(forecaster, state={**state["state"], "keys": own})


def _combined(
    start: Learner, terms: list[Learner], base: Learner, where: list[Coordinates]
) -> tuple[Any, Any]:
    """The state of the inputs, and the forecaster, of learners with the same labels."""
    first, old, *pools = (each.pool for each in (start, base, *terms))
    if not start.design.is_pooled:
        begin, before, *own = (
            Part(each.inputs[0], each.experts[0]) for each in (first, old, *pools)
        )
        return combined_part(begin, own, before, where)
    united = None if first.made is None else _united(start, terms, base, where)
    forecaster = _blend(first, pools, old, where, united)
    if start.records is None:
        return {}, forecaster
    encoder, known, *encoders = (
        each.records.encoder for each in (start, base, *terms) if each.records is not None
    )
    return {"encoder": encoder.combine(encoders, known)}, forecaster


def _united(
    start: Learner, terms: list[Learner], base: Learner, where: list[Coordinates]
) -> United:
    """The columns that are made of categories, in all learners."""
    every = [base, start, *terms]
    encoders = [each.records.encoder for each in every if each.records is not None]
    # As encoders are combined: those of the start come first.
    orders = [encoders[i].registry.orders for i in (1, 0, *range(2, len(encoders)))]
    names = list(dict.fromkeys(name for own in orders for name in own))
    known = []
    for learner, encoder in zip(every, encoders, strict=True):
        K, labels = learner.pool.n_classes or 0, learner.labels if learner.has_labels else []
        classes = [start.labels.index(label) for label in labels]
        classes += sorted({*range(K)} - {*classes})  # a second class may stand for labels to come
        categories = [names.index(name) for name in encoder.registry.orders]
        known.append(Known(learner.pool, range(learner.n_features), classes, categories))
    moved = [each._replace(numbers=own.places) for each, own in zip(known[2:], where, strict=True)]
    return United(known[0], known[1], moved)


def _blend(
    start: RecordPool,
    terms: list[RecordPool],
    base: RecordPool,
    where: list[Coordinates],
    united: United | None,
) -> RecordPool:
    """Experts one by one, each by its own kind, their judge, and what stands beside them."""

    def expert(i: int) -> tuple[State, Any]:
        if united is None or united.picks[i] is None:
            old, first, *own = (Part(b.inputs[i], b.experts[i]) for b in (base, start, *terms))
            return combined_part(first, own, old, where)
        wide = [united.expert(each, i) for each in united.known]
        old, first, *own = (Part(inputs, forecaster) for inputs, forecaster, _ in wide)
        places = [places for *_, places in wide[2:]]
        there = [each._replace(places=at or []) for each, at in zip(where, places, strict=True)]
        return combined_part(first, own, old, there)

    merged = [expert(i) for i in range(len(start.experts))]
    cores = start._core, [term._core for term in terms], base._core
    if start.n_classes is None:
        judge = _number_judge(*cores)
    else:
        weight = where[0].change.weight
        judge = combined_judge(*cores, lams=(LAM, QUICK), share=SHARE, weight=weight)
    every = [each._fallback for each in (start, base, *terms)]
    states = [each.state() for each in every if each is not None]
    beside = None
    if len(states) == len(every):
        changes = [replace(own.change, rows=own.order(1)) for own in where]
        most = every[0].most_features if every[0] is not None else 0
        beside = fallback.combine(states[0], states[2:], states[1], changes, most)
    inputs, experts = zip(*merged, strict=True)
    known = {"inputs": inputs, "experts": experts, "state": judge, "fallback": beside}
    known |= {"selection": None, "stop": None}
    if united is not None:
        known["made"] = united.state(where[0].change.weight)
    made: RecordPool = _made(terms[0], **known)
    return made


def _made(like: Any, **state: Any) -> Any:
    """Another forecaster of its kind, with some of the state replaced."""
    made = object.__new__(type(like))
    made.__setstate__({**like.__getstate__(), **state})
    return made


def _number_judge(start: Any, terms: Sequence[Any], base: Any) -> State:
    """The mean of what the judges of numbers know, by the examples they have learned.

    They forget, so what they know is no sum over examples.
    """
    grown = [term.steps - base.steps for term in terms]
    if not any(grown):
        state: State = start.state()
        return state
    states, share = [term.state() for term in terms], np.array(grown) / sum(grown)
    out: State = {}
    for name, value in states[0].items():
        values = [state[name] for state in states]
        if not name.startswith("activity."):
            mean = sum(w * np.asarray(each) for w, each in zip(share, values, strict=True))
            out[name] = mean if isinstance(value, np.ndarray) else float(mean)
    out |= combined_activity(start.state(), states, base.state())
    out["steps"] = start.steps + sum(grown)
    return out


def _fresh(learner: Learner) -> Learner:
    """A learner with the same labels and features that has learned nothing."""
    labels = learner.labels if learner.has_labels else None
    encoder = None if learner.records is None else learner.records.encoder._fresh()
    return Learner(learner.design, learner.n_features, labels, encoder=encoder)


def _grown(learner: Learner, labels: list[Hashable] | None, n_features: int) -> Learner:
    """A learner that also has the labels and features that others have; the same if it does."""
    new = [label for label in labels or [] if label not in learner.codes]
    more = n_features - learner.n_features
    if not new and not more:
        return learner
    grown = copy.deepcopy(learner)
    if more:
        grown.add_features(more)
    for label in new:
        grown.add_label(label)
    return grown


def _tally(
    start: Learner, terms: Sequence[Learner], base: Learner, weight: float
) -> dict[Hashable, float]:
    """How much the examples of each label weigh together, where classes are balanced."""
    out: dict[Hashable, float] = {}
    signed = [(start, 1.0), *((term, weight) for term in terms), (base, -weight * len(terms))]
    for learner, sign in signed:
        if isinstance(learner.outcomes, Labels):
            for label, each in learner.outcomes.tally.items():
                out[label] = max(out.get(label, 0.0) + sign * each, 0.0)
    return out


def _origin(start: Learner, terms: Sequence[Learner]) -> float | None:
    """What targets are measured from: as before, or the mean of all by steps."""
    if not isinstance(start.outcomes, Targets) or start.outcomes.origin is not None:
        return start.outcomes.origin if isinstance(start.outcomes, Targets) else None
    known = [
        (term.forecaster.steps, term.outcomes.origin)
        for term in terms
        if isinstance(term.outcomes, Targets) and term.outcomes.origin is not None
    ]
    if len({origin for _, origin in known}) <= 1:
        return known[0][1] if known else None
    total = sum(steps for steps, _ in known)
    return float(sum(steps * origin for steps, origin in known) / total)


def freeze(learner: Learner) -> None:
    """Let a learner keep landmarks, indicators, kinds of columns, and the scale of kernels."""
    learner.pool._pool = None  # it has the maps as they were
    for inputs in learner.pool.inputs:
        for each in inputs.maps if isinstance(inputs, KernelInputs) else []:
            if isinstance(each, Nystroem):
                each.keep_landmarks()
    if learner.pool.made is not None:
        learner.pool.made.core.hold()
    if learner.pool.selection is not None:
        learner.pool.selection.hold()
    if learner.records is not None:
        for column in learner.records.encoder.registry.columns.values():
            column.guessed = False
    if learner.pool.steps:
        for scaler in scalers(learner):
            scaler.hold()


def scalers(learner: Learner) -> Iterator[Any]:
    """What scales numbers for features that are not linear in them."""
    for inputs in learner.pool.inputs:
        if isinstance(inputs, KernelInputs):
            yield inputs.scaled.scaler
        elif isinstance(inputs, ShapedInputs):
            yield inputs.scaler
