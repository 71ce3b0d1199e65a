"""Merging learners, and the estimators that have one: labels and features are united."""

from __future__ import annotations

import copy
from collections.abc import Hashable
from typing import Any

import numpy as np

from mixable._types import Array
from mixable.learner import Learner
from mixable.learner.blend import Blend
from mixable.learner.columns import Columns
from mixable.learner.named import NamedLearner
from mixable.learner.outcomes import Targets
from mixable.learner.record_inputs import RecordInputs
from mixable.merging import encoders, parts
from mixable.merging.parts import Coordinates, Part, Places
from mixable.merging.pools import blends
from mixable.records import Encoder


def combine(
    onto: Learner | None,
    terms: list[Learner],
    base: Learner | None,
    *,
    places: list[Places] | None = None,
    weight: float = 1.0,
) -> Learner:
    """onto + `weight` times the sum of (term - base); None stands for one without examples.

    Its features and labels are those of the base, then those of the terms as they come.
    """
    if any(term.design.stage is not None for term in terms):
        raise TypeError(
            "regressors of text, categories, times or sparse rows cannot be merged: what their "
            "second stage learns depends on the first; let one model learn all records"
        )
    labels = _united([] if base is None else [base], terms)
    places = places or [list(range(term.n_features)) for term in terms]
    n_features = max([base.n_features] if base else [], default=0)
    n_features = max(n_features, *(max(each, default=-1) + 1 for each in places))
    grown = [_grown(term, labels, n_features) for term in terms]
    start, before = (
        None if each is None else _grown(each, labels, n_features) for each in (onto, base)
    )
    origin = _origin(onto, terms)
    where = [
        _coordinates(term, labels, _with_rest(own, n_features), origin, weight)
        for term, own in zip(terms, places, strict=True)
    ]
    statistics, forecaster = _combine_grown(start, grown, before, where)
    made = Learner.__new__(Learner)
    known = {
        "forecaster": forecaster,
        "scaler": statistics,
        "labels": labels,
        "codes": {label: code for code, label in enumerate(labels or [])},
        "closed": all(term.__getstate__()["closed"] for term in terms),
        "origin": origin,
        "tally": _tally(onto, terms, base, weight),
    }
    made.__setstate__({**grown[0].__getstate__(), **known})
    return made


def _combine_grown(
    onto: Learner | None, terms: list[Learner], base: Learner | None, where: list[Coordinates]
) -> tuple[Any, Any]:
    """The state of the inputs, and the forecaster, of learners with the same labels."""
    first = terms[0]
    if isinstance(first.forecaster, Blend):
        pools = [None if each is None else each.forecaster for each in (onto, base)]
        forecaster = blends(pools[0], [term.forecaster for term in terms], pools[1], where)
        if not isinstance(first.inputs, RecordInputs):
            return {}, forecaster
        known = [None if each is None else _encoder(each) for each in (onto, base)]
        merged = encoders.combine(known[0], [_encoder(term) for term in terms], known[1])
        return {"encoder": merged}, forecaster
    start, before = (
        None if each is None else Part(each.inputs, each.forecaster) for each in (onto, base)
    )
    parts_of = [Part(term.inputs, term.forecaster) for term in terms]
    return parts.combine(start, parts_of, before, where)


def _encoder(learner: Learner) -> Encoder:
    assert isinstance(learner.inputs, RecordInputs)
    return learner.inputs.encoder


def combine_named(onto: Any, terms: list[Any], base: Any, *, weight: float = 1.0) -> Any:
    """The same for a learner of dictionaries."""
    columns = Columns(base._columns if base else {})
    for term in terms:
        columns.add(columns.new(term._columns))
    has_encoder = {term.encoder is not None for term in terms}
    if len(has_encoder) > 1:
        raise ValueError("models of records, and models of numbers only, cannot be merged")
    places: list[Places] | None = None
    if has_encoder == {False}:
        places = [[columns[name] for name in term._columns] for term in terms]
    learners = [None if each is None else each._learner for each in (onto, base)]
    own = [term._learner for term in terms]
    merged = combine(learners[0], own, learners[1], places=places, weight=weight)
    made = copy.copy(terms[0])
    made._columns, made._learner = columns, merged
    made._merge_rest(onto, terms, base)
    return made


def combine_estimators(onto: Any, terms: list[Any], base: Any, *, weight: float = 1.0) -> Any:
    """The same for an estimator of scikit-learn."""
    names = [
        getattr(each, "feature_names_in_", None) for each in [base, *terms] if each is not None
    ]
    for other in names[1:]:
        if not np.array_equal(np.asarray(other), np.asarray(names[0])):
            raise ValueError(f"models must have the same columns, got {names[0]} and {other}")
    learners = [None if each is None else each.learner_ for each in (onto, base)]
    merged = combine(learners[0], [term.learner_ for term in terms], learners[1], weight=weight)
    made = copy.copy(terms[0])
    made.learner_ = merged
    return made


def refuse_if_apart(term: Any, base: Any) -> str | None:
    """Why a learner cannot have begun as the base; None if it can."""
    pairs = [(base.learner_, term.learner_)] if hasattr(base, "learner_") else []
    if isinstance(base, NamedLearner):
        if list(term._columns)[: len(base._columns)] != list(base._columns):
            return "has other features than base, or in another order"
        pairs = [(base._learner, term._learner)]
    for old, new in pairs:
        if new.has_labels and new.labels[: len(old.labels)] != old.labels:
            return "has other labels than base, or in another order"
        if new.n_features < old.n_features:
            return "has fewer features than base"
    return None


def _united(begin: list[Learner], terms: list[Learner]) -> list[Hashable] | None:
    if not terms[0].has_labels:
        return None
    return list(dict.fromkeys(label for each in [*begin, *terms] for label in each.labels))


def _tally(
    onto: Learner | None, terms: list[Learner], base: Learner | None, weight: float
) -> dict[Hashable, float]:
    """How much the examples of each label weigh together, where classes are balanced."""
    out: dict[Hashable, float] = {}
    signed = [(onto, 1.0), *((term, weight) for term in terms), (base, -weight * len(terms))]
    for learner, sign in signed:
        known = {} if learner is None else learner.__getstate__().get("tally", {})
        for label, each in known.items():
            out[label] = max(out.get(label, 0.0) + sign * each, 0.0)
    return out


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


def _with_rest(places: Places, n_features: int) -> Places:
    """The places of all features, those that a learner was given last included."""
    return places + [i for i in range(n_features) if i not in set(places)]


def _coordinates(
    term: Learner,
    labels: list[Hashable] | None,
    places: Places,
    origin: float | None,
    weight: float,
) -> Coordinates:
    """From the coordinates of a learner, as it was before it grew, to the merged ones."""
    classes, shift = None, 0.0
    if labels is not None and list(term.labels) != labels and len(labels) >= 2:
        classes = _class_map(term, labels)
    if isinstance(term.outcomes, Targets) and origin is not None:
        shift = term.outcomes.offset - origin
    intercept = term.design.intercept
    return Coordinates(
        classes=classes, places=places, shift=shift, intercept=intercept, weight=weight
    )


def _class_map(term: Learner, labels: list[Hashable]) -> Array:
    """The matrix (K, K) of which grown class is which label; 0 for those not known before."""
    K = len(labels)
    out = np.zeros((K, K))
    for label, code in term.codes.items():
        out[labels.index(label), code] = 1.0
    if len(term.codes) < 2 and K == 2:  # its second class stood for labels to come
        missing = next(label for label in labels if label not in term.codes)
        out[labels.index(missing), 1] = 1.0
    return out


def _origin(onto: Learner | None, terms: list[Learner]) -> float | None:
    """What targets are measured from: as before, or the mean of all by steps."""
    if onto is not None and isinstance(onto.outcomes, Targets):
        return onto.outcomes.origin
    known = [
        (term.forecaster.steps, term.outcomes.origin)
        for term in terms
        if isinstance(term.outcomes, Targets) and term.outcomes.origin is not None
    ]
    if not known or len({origin for _, origin in known}) == 1:
        return known[0][1] if known else None
    total = sum(steps for steps, _ in known)
    return float(sum(steps * origin for steps, origin in known) / total)
