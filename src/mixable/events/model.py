"""The model of a stream, and what models of streams and of services share."""

from __future__ import annotations

import json
import math
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mixable import _validate, persistence, records
from mixable._alone import alone
from mixable._types import Array
from mixable.events.lines import check_place
from mixable.learner import Design, Learner, NamedLearner, label
from mixable.learner.columns import Columns, has_words
from mixable.learner.explaining import Contribution
from mixable.learner.late import (
    Kept,
    checked_record,
    restored,
    saved,
    stacked,
    stacked_texts,
    unstacked,
)
from mixable.learner.outcomes import Labels
from mixable.learner.pooled import takes_records
from mixable.learner.record_inputs import RecordInputs
from mixable.metrics import Scores
from mixable.records.rows import at_width

if TYPE_CHECKING:
    from typing_extensions import Self

Identifier = str | int | float | None
KINDS = "a GAFClassifier, or a model of mixable stream or mixable serve"


def as_text(value: Identifier) -> str:
    """One text for a label or an identifier, whichever format it came in."""
    return value if isinstance(value, str) else json.dumps(value)


def or_none(value: float) -> float | None:
    """A figure as JSON has it."""
    return None if math.isnan(value) else value


class KeptModel(NamedLearner):
    """A learner of dictionaries whose labels are text, with counts and scores."""

    COUNTS: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        design: Design,
        *,
        classes: Iterable[str] | None = None,
        features: Iterable[str] | None = None,
        columns: records.Columns | None = None,
    ) -> None:
        self.design, self.declared = design, columns
        self.features = None if features is None else tuple(features)
        self.classes = None if classes is None else tuple(classes)
        self.start_counting()
        self._begin()
        self._add_features(self.features or ())
        self._forget_all()

    def _forget_all(self) -> None:
        """Wait for no label, and be at no place."""

    def start_counting(self) -> None:
        """Set counts and scores to nothing."""
        self.counts = dict.fromkeys(self.COUNTS, 0)
        self.scores = Scores()

    def _design(self) -> Design:
        return self.design

    def _labels(self) -> tuple[str, ...]:
        return self.classes or ()

    def _declared(self) -> records.Columns | None:
        return self.declared

    def _fresh(self) -> Any:
        known: dict[str, Any] = {
            "classes": self.classes,
            "features": self.features,
            "columns": self.declared,
        }
        return type(self)(self.design, **known)

    def _shared(self) -> dict[str, Any]:
        names = ("design", "classes", "features", "declared")
        return {name: getattr(self, name) for name in names}

    @property
    def closed_features(self) -> bool:
        """Whether there are no features but those that were named."""
        return self.features is not None

    @property
    def _takes_new_columns(self) -> bool:
        return not self.closed_features

    @property
    def _is_new(self) -> bool:
        learner = self._learner
        return learner is None or (
            self.encoder is None
            and not learner.forecaster.steps
            and (self.closed_features or not learner.n_features)
        )

    @property
    def feature_names(self) -> list[Hashable]:
        """The features that are known by now and used."""
        if self.encoder is None:
            return list(self._columns)
        return [name for name, kind in self.encoder.kinds.items() if kind != "ignore"]

    def restricted(self, x: dict[Hashable, Any]) -> dict[Hashable, Any]:
        """What is used of a record."""
        if self.features is None or not isinstance(x, dict):
            return x
        return {name: value for name, value in x.items() if name in self.features}

    def _probabilities(self, x: dict[Hashable, Any]) -> dict[Any, float]:
        x = self.restricted(x)
        is_first = isinstance(x, dict) and self._begins_records(x)
        return super()._probabilities({} if is_first else x)

    @property
    def learner(self) -> Learner:
        """Inputs, forecaster and labels."""
        assert self._learner is not None  # there is an intercept
        return self._learner

    @property
    def columns(self) -> Columns:
        """The features and their places in a row."""
        return self._columns

    @alone
    def learn_one(self, x: dict[Hashable, Any], y: Identifier) -> None:
        """Learn one example; labels are text here, so that 1 is the class "1"."""
        self._learn_one(self.restricted(x), self._class_name(y), 1.0)

    @alone
    def learn_kept(self, kept: Kept, y: Identifier) -> None:
        """Learn a label that comes late, with the inputs of its forecast."""
        self.learner.learn_kept(kept, self._class_name(y))

    def _class_name(self, y: Identifier) -> str:
        # What JSON cannot write is refused there.
        name = as_text(label(y))  # type: ignore[arg-type]
        if self.classes is not None and name not in self.classes:
            raise ValueError(f"no class is called {name!r:.80}")
        return name

    def make_room(self, x: dict[Hashable, Any]) -> None:
        """Know the columns of a record from now on, though its label may come late or never."""
        used = self.restricted(x)
        encoder = self.encoder
        if self._begins_records(used):
            self.begin_records([used])
        elif encoder is None and not has_words(used):
            self._add_names(used)
        elif encoder is not None and self.knows_less(used):
            encoder.guess([used])
            self.learner.widen()

    def knows_less(self, x: dict[Hashable, Any]) -> bool:
        """Whether a record has columns that are to be added."""
        encoder, used = self.encoder, self.restricted(x)
        return (
            encoder is not None
            and not used.keys() <= encoder.registry.columns.keys()
            and encoder.registry.brings_columns(used)
        )

    def _add_names(self, x: dict[Hashable, Any]) -> None:
        """Make room for numbers; take records from now on, if they turn out to be counts."""
        if self._is_bag(x):
            self._turn(x)
        elif not self.closed_features:
            self._add_features(sorted(x, key=repr))

    @alone
    def predict_proba_one(self, x: dict[Hashable, Any]) -> dict[Any, float]:
        """The probability of each class."""
        return self._probabilities(x)

    @alone
    def explain(self, x: dict[Hashable, Any]) -> list[Contribution]:
        """What each column of a record does to the log-odds of each class, the most first."""
        return super().explain(self.restricted(x))

    @classmethod
    def begun_from(cls, path: Path) -> Self:
        """A model that knows what the one in a file has learned; it counts and scores from now on.

        ValueError if that cannot go on event by event.
        """
        model = persistence.load(path)
        learner = getattr(model, "_learner", getattr(model, "learner_", None))
        if not isinstance(learner, Learner) or not learner.has_labels:
            kind = type(model).__name__
            raise ValueError(f"{path} holds a {kind} that a service cannot go on with; {KINDS} is")
        _check_followed(path, learner)
        is_kept = isinstance(model, KeptModel)
        if not is_kept:
            found: list[Any] = learner.labels
            labels = [as_text(v.item() if isinstance(v, np.generic) else v) for v in found]
            if len(set(labels)) < len(labels):
                raise ValueError(f"{path} has two labels that are the same as text")
            learner.outcomes = Labels(labels)
        made = cls(model._design() if hasattr(model, "_design") else learner.design)
        made._learner, made._columns = learner, _columns(path, model)
        for name in ("classes", "features", "declared"):
            setattr(made, name, getattr(model, name, None) if is_kept else None)
        # As if it were read from a file of its own: the parts are known to go together.
        again: Self = persistence.from_bytes(persistence.to_bytes(made))
        return again

    def _check_parts(self, state: dict[str, Any]) -> Learner:
        """Refuse a saved state whose parts do not go together; return its learner."""
        if "closed_features" in state:  # as versions before records had it
            closed = _validate.flag(state.pop("closed_features"), "closed_features")
            state.update(features=tuple(state["_columns"]) if closed else None, declared=None)
        features, declared = state["features"], state["declared"]
        if features is not None and not (
            type(features) is tuple and all(isinstance(name, str) for name in features)
        ):
            raise TypeError("features must be names")
        if not (declared is None or isinstance(declared, records.Columns)):
            raise TypeError("declared must be records.Columns")
        learner = state.get("_learner", state.get("_engine"))  # the older name
        counts, classes = state["counts"], state["classes"]
        has_parts = isinstance(state["design"], Design) and isinstance(state["scores"], Scores)
        if not (has_parts and isinstance(learner, Learner)):
            raise TypeError("a kept model has a design, scores and a learner")
        if classes is not None and not (type(classes) is tuple and [*classes] == learner.labels):
            raise ValueError("classes and learner do not go together")
        if not (isinstance(counts, dict) and set(counts) == set(self.COUNTS)):
            raise ValueError(f"counts must be {', '.join(self.COUNTS)}")
        for name, number in counts.items():
            _validate.count(number, name, least=0, most=_validate.MOST_STEPS)
        return learner


def _check_followed(path: Path, learner: Learner) -> None:
    """Refuse what does not predict and learn single rows in one step."""
    try:
        if learner.design.kernel is not None:
            raise TypeError
        if not isinstance(learner.inputs, RecordInputs):
            learner.follow(np.empty((0, learner.n_features)), np.empty(0, np.int_))
    except (TypeError, AttributeError):
        kind = type(learner.forecaster).__name__
        raise ValueError(
            f'{path} has a {kind} that cannot be served; kernel="auto" and kernel=None can'
        ) from None


def _columns(path: Path, model: Any) -> Columns:
    """The places of the features, by name."""
    if isinstance(model, NamedLearner):
        if not all(isinstance(name, str) for name in model._columns):
            raise ValueError(f"{path} has features whose names are not text")
        return model._columns
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        raise ValueError(f"{path} does not know its features by name: fit it with a DataFrame")
    has_encoder = isinstance(model.learner_.inputs, RecordInputs)
    return Columns() if has_encoder else Columns({name: i for i, name in enumerate(names)})


class StreamModel(KeptModel):
    """What `mixable stream` saves and `mixable.load` returns: it predicts and learns dictionaries.

    Parameters
    ----------
    design
        The forecaster and the scaling.
    classes
        The labels, if no others may come; None adds them as they come.
    features
        The features, if all others are to be ignored; None adds them as they come.
    columns
        What is declared of the columns of records.

    Attributes
    ----------
    counts
        Events, of which predicted and rejected; examples learned; late labels; events forgotten
        before their label came.
    scores
        `mixable.metrics.Scores` of the forecasts whose label has come.
    waiting
        Inputs and forecast of the events whose label may yet come, by identifier.
    place
        Where the stream was (`mixable.events.lines`), and how long what it had written
        (`mixable.events.files`).

    Examples
    --------
    >>> model = StreamModel(Design.for_classes(None, {"lam": None, "beta": 1.0}))
    >>> for t in range(50):
    ...     model.learn_one({"wind": float(t % 3), "sun": float(t % 2)}, "rain" if t % 3 else "dry")
    >>> p = model.predict_proba_one({"wind": 2.0, "sun": 1.0})
    >>> round(p["dry"], 1), round(p["rain"], 1)
    (0.0, 1.0)
    """

    COUNTS = ("events", "predicted", "rejected", "learned", "late", "forgotten")

    def _forget_all(self) -> None:
        self.waiting: OrderedDict[str, tuple[Kept, Array]] = OrderedDict()
        self.place: dict[str, Any] = {}

    def add_features(self, names: Iterable[Hashable]) -> None:
        """Make room for features that are new."""
        self._add_features(names)

    def _turn(self, x: dict[Hashable, Any]) -> None:
        super()._turn(x)
        self.counts["forgotten"] += len(self.waiting)  # numbers that no record will be
        self.waiting.clear()

    @property
    def is_undecided(self) -> bool:
        """Whether its features may yet become records."""
        is_fresh = not (self.counts["events"] or self.counts["late"])
        return is_fresh and self.encoder is None and not self.learner.forecaster.steps

    @property
    def takes_records(self) -> bool:
        """Whether its forecaster goes with records."""
        return takes_records(self.design)

    def figures(self) -> dict[str, Any]:
        """Counts and scores over its life, for people who watch."""
        scores = ("log_loss", "brier", "accuracy", "calibration_error", "classwise_error")
        return {
            **self.counts,
            "waiting": len(self.waiting),
            "classes": len(self.learner.labels),
            "features": len(self.feature_names),
            **{name: or_none(getattr(self.scores, name)) for name in scores},
            "by_class": {
                self.class_name(each.label): {
                    "n": each.n,
                    "forecast": each.forecast,
                    "rate": each.rate,
                    "error": each.error,
                }
                for each in self.scores.by_class()
            },
        }

    def class_name(self, code: int) -> str:
        """The label of a code; there is none for those that came without being learned."""
        labels = self.learner.labels
        return str(labels[code]) if code < len(labels) else "others"

    def _combine_rest(self, start: Any, others: Sequence[Any], base: Any) -> None:
        """Counts and scores add up. What waits is forgotten: it is of other streams."""
        self.counts = {
            name: start.counts[name] + sum(each.counts[name] - base.counts[name] for each in others)
            for name in self.COUNTS
        }
        self.counts["forgotten"] += sum(len(other.waiting) for other in others)
        scores = [other.scores for other in others]
        self.scores = start.scores._combine(scores, base.scores)
        self._forget_all()

    def __getstate__(self) -> dict[str, Any]:
        ids = stacked_texts(key.encode() for key in self.waiting)
        kept = saved([kept for kept, _ in self.waiting.values()])
        forecasts = stacked([forecast for _, forecast in self.waiting.values()])
        return {**self.__dict__, "waiting": {"ids": ids, "kept": kept, "P": forecasts}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        learner, waiting = self._check_parts(state), state["waiting"]
        check_place(state["place"])
        ids = [bytes(key).decode() for key in unstacked(waiting["ids"], "u")]
        has_records = isinstance(learner.inputs, RecordInputs)
        if "kept" in waiting:
            kept = restored(waiting["kept"], learner.n_features, has_records=has_records)
            for each in kept:
                learner.check(each)
        else:
            kept = _as_of_now(waiting["X"], learner, has_records=has_records)
        rows = list(zip(kept, forecasts_of(waiting["P"], learner), strict=True))
        self._restore({**state, "waiting": OrderedDict(zip(ids, rows, strict=True))})


def forecasts_of(stack: dict[str, Any], learner: Learner) -> list[Array]:
    """The forecasts that wait for their label; since then there may be more classes."""
    forecasts = unstacked(stack, "f")
    for p in forecasts:
        # They add up to 1, but for the last bits.
        if len(p) > len(learner.labels) or not ((p >= 0) & (p <= 1 + 1e-9)).all():
            raise ValueError("what waits for its label does not go with the learner")
    return forecasts


def _as_of_now(stack: dict[str, Any], learner: Learner, *, has_records: bool) -> list[Kept]:
    """What waits in files before version 0.3.0, which had rows before they were scaled."""
    rows = unstacked(stack, "u" if has_records else "f")
    if has_records:
        return [learner.kept([checked_record(row)]) for row in rows]
    if any(len(row) > learner.n_features or np.isinf(row).any() for row in rows):
        raise ValueError("what waits for its label does not go with the learner")
    return [learner.kept(at_width(np.asarray(row), learner.n_features)) for row in rows]
