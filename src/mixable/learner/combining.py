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

from mixable._natural import Change, State
from mixable._types import Array
from mixable.kernels import Nystroem
from mixable.learner import fallback, statistics
from mixable.learner.blend import LAM, SHARE, Blend
from mixable.learner.inputs import Inputs
from mixable.learner.kernel_inputs import KernelInputs
from mixable.learner.learner import Learner
from mixable.learner.outcomes import Labels, Targets
from mixable.learner.shapes import ShapedInputs
from mixable.pool import combined_judge

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
    forecasters = [term.forecaster for term, _ in grown]
    forecaster = start.forecaster._combine(forecasters, base.forecaster, changes)
    return state if weight == 1 else statistics.tempered(state, weight), forecaster


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
    forecaster = _blend(first, pools, old, where)
    if start.records is None:
        return {}, forecaster
    encoder, known, *encoders = (
        each.records.encoder for each in (start, base, *terms) if each.records is not None
    )
    return {"encoder": encoder.combine(encoders, known)}, forecaster


def _blend(start: Blend, terms: list[Blend], base: Blend, where: list[Coordinates]) -> Blend:
    """Experts one by one, each by its own kind, their judge, and what stands beside them."""

    def expert(blend: Blend, i: int) -> Part:
        return Part(blend.inputs[i], blend.experts[i])

    merged = [
        combined_part(expert(start, i), [expert(t, i) for t in terms], expert(base, i), where)
        for i in range(len(start.experts))
    ]
    cores = start._core, [term._core for term in terms], base._core
    if start.n_classes is None:
        judge = _number_judge(*cores)
    else:
        weight = where[0].change.weight
        judge = combined_judge(*cores, lam=LAM, share=SHARE, weight=weight)
    every = [each._fallback for each in (start, base, *terms)]
    states = [each.state() for each in every if each is not None]
    beside = None
    if len(states) == len(every):
        changes = [replace(own.change, rows=own.order(1)) for own in where]
        most = every[0].most_features if every[0] is not None else 0
        beside = fallback.combine(states[0], states[2:], states[1], changes, most)
    inputs, experts = zip(*merged, strict=True)
    known = {"inputs": inputs, "experts": experts, "state": judge, "fallback": beside}
    made: Blend = _made(terms[0], **known)
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
        if isinstance(value, int):
            out[name] = min(values)
        else:
            mean = sum(w * np.asarray(each) for w, each in zip(share, values, strict=True))
            out[name] = mean if isinstance(value, np.ndarray) else float(mean)
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


def settle(learner: Learner) -> None:
    """Let a learner keep landmarks, kinds of columns, and the scale that kernel features see."""
    learner.pool._pool = None  # it has the maps as they were
    for inputs in learner.pool.inputs:
        for each in inputs.maps if isinstance(inputs, KernelInputs) else []:
            if isinstance(each, Nystroem):
                each.keep_landmarks()
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
