"""What the models of streams and of services share: text labels, counts, scores, columns."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable
from typing import Any, ClassVar

from mixable import _validate, records
from mixable._alone import alone
from mixable.learner import Design, Learner, NamedLearner, label
from mixable.learner.columns import Columns, has_words
from mixable.learner.explaining import Contribution
from mixable.learner.late import Kept
from mixable.metrics import Scores

Identifier = str | int | float | None


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
        # What JSON cannot write is refused there.
        name = as_text(label(y))  # type: ignore[arg-type]
        if self.classes is not None and name not in self.classes:
            raise ValueError(f"no class is called {name!r:.80}")
        self._learn_one(self.restricted(x), name, 1.0)

    @alone
    def learn_kept(self, kept: Kept, y: Identifier) -> None:
        """Learn a label that comes late, with the inputs of its forecast."""
        name = as_text(label(y))  # type: ignore[arg-type]
        if self.classes is not None and name not in self.classes:
            raise ValueError(f"no class is called {name!r:.80}")
        self.learner.learn_kept(kept, name)

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


def as_text(value: Identifier) -> str:
    """One text for a label or an identifier, whichever format it came in."""
    return value if isinstance(value, str) else json.dumps(value)
