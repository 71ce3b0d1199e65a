"""The model of events: what stream, serve and replay forecast with, teach and save."""

from __future__ import annotations

import json
import math
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from mixable import _validate, records
from mixable._alone import alone
from mixable._types import Array
from mixable.events import saving
from mixable.events.lines import check_place
from mixable.events.options import ModelOptions, declared_options
from mixable.events.progress import Frequencies, Progress, RunningMean
from mixable.events.saving import Learned, Waiting
from mixable.metrics import LEAST, NumberScores, Scores, crps
from mixable.model import Design, Learner, NamedLearner, label
from mixable.model.columns import Columns, check_dictionary, has_words
from mixable.model.explaining import Contribution
from mixable.model.late import Kept
from mixable.model.pooled import takes_records
from mixable.model.widening import widened

Identifier = str | int | float | None
Features = dict[Any, Any]
COUNTS = ("events", "predicted", "rejected", "learned", "late", "forgotten")
UNSCORED = 512  # forecasts that are scored in one step


def as_text(value: Identifier) -> str:
    """One text for a label or an identifier, whichever format it came in."""
    return value if isinstance(value, str) else json.dumps(value)


def or_none(value: float) -> float | None:
    """A figure as JSON has it."""
    return value if math.isfinite(value) else None


class EventModel(NamedLearner):
    """What `mixable stream` and `mixable serve` save: it forecasts and learns dictionaries.

    Parameters
    ----------
    options
        `mixable.events.ModelOptions`; or these by their names, say ``EventModel(regression=True)``.
    design
        The forecaster, if it is not the one that the options ask for.
    columns
        What is declared of the columns, in place of options.

    Attributes
    ----------
    counts
        Events, of which predicted and rejected; outcomes learned, of which late; forecasts
        forgotten before their outcome came.
    scores
        `mixable.metrics.Scores` of the forecasts whose label has come, or `NumberScores`.
    progress
        Their losses over time, beside those of class frequencies or of the running mean.
    waiting
        The forecasts whose outcome may yet come, by identifier.
    done
        The identifiers whose outcome was learned not long ago, where events may be repeated.
    place
        Where a stream was (`mixable.events.lines`), and how long what it had written.

    Examples
    --------
    >>> model = EventModel(lam=None, beta=1.0, forecaster="auto")
    >>> for t in range(50):
    ...     model.learn_one({"wind": float(t % 3), "sun": float(t % 2)}, "rain" if t % 3 else "dry")
    >>> p = model.predict_proba_one({"wind": 2.0, "sun": 1.0})
    >>> round(p["dry"], 1), round(p["rain"], 1)
    (0.0, 1.0)
    >>> model = EventModel(regression=True)
    >>> for t in range(60):
    ...     model.learn_one({"hour": t % 5}, 10.0 + t % 5)
    >>> round(model.forecast({"hour": 2})["mean"])
    12
    """

    def __init__(
        self,
        options: ModelOptions | None = None,
        *,
        design: Design | None = None,
        columns: records.Columns | None = None,
        **given: Any,
    ) -> None:
        if columns is not None:
            _validate.instance(columns, records.Columns, "columns")
            given |= declared_options(columns)
        if options is not None and given:
            raise TypeError("options are given as one object, or by their names")
        self.options = ModelOptions.named(given) if options is None else options
        _validate.instance(self.options, ModelOptions, "options")
        self.design = self.options.design() if design is None else design
        _validate.instance(self.design, Design, "design")
        self.start_counting()
        self._begin()
        self._add_features(self.features or ())
        self.forget_all()

    def start_counting(self) -> None:
        """Set counts and scores to nothing."""
        self.counts = dict.fromkeys(COUNTS, 0)
        self._unscored: list[tuple[Sequence[float], float, float]] = []
        self._scores: Scores | NumberScores = Scores()
        self._progress = Progress(Frequencies())
        if self.options.regression:
            self._scores = NumberScores(self.options.level)
            self._progress = Progress(RunningMean())

    def forget_all(self) -> None:
        """Wait for no outcome, and be at no place."""
        self.waiting: OrderedDict[str, Waiting] = OrderedDict()
        self.waiting_size = 0  # bytes, about
        self.done: OrderedDict[str, Learned] = OrderedDict()
        self.place: dict[str, Any] = {}
        self._before: list[str] = []  # columns, before this was a model of records

    def _design(self) -> Design:
        return self.design

    def _labels(self) -> tuple[str, ...] | None:
        return None if self.options.regression else self.classes or ()

    def _declared(self) -> records.Columns | None:
        return self.declared

    @property
    def classes(self) -> tuple[str, ...] | None:
        """The labels, if no others may come."""
        return self.options.classes

    @property
    def features(self) -> tuple[str, ...] | None:
        """The columns, if all others are to be ignored."""
        return self.options.features

    @property
    def declared(self) -> records.Columns | None:
        """What is declared of the columns."""
        return self.options.columns

    def _fresh(self) -> Any:
        return type(self)(self.options, design=self.design)

    def _shared(self) -> dict[str, Any]:
        names = ("classes", "features", "declared")
        own = {name: getattr(self, name) for name in names}
        return {"design": self.design, "regression": self.options.regression, **own}

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
    def is_undecided(self) -> bool:
        """Whether its features may yet become records."""
        is_fresh = not (self.counts["events"] or self.counts["late"])
        return is_fresh and self.encoder is None and not self.learner.forecaster.steps

    @property
    def takes_records(self) -> bool:
        """Whether its forecaster goes with records."""
        return takes_records(self.design)

    @property
    def widens(self) -> bool:
        """Whether a model of numbers, a classifier, becomes one of records at its first word."""
        return self.takes_records and not self.options.regression

    @property
    def learner(self) -> Learner:
        """Inputs, forecaster and outcomes."""
        assert self._learner is not None  # there is an intercept
        return self._learner

    @property
    def columns(self) -> Columns:
        """The features and their places in a row."""
        return self._columns

    @property
    def feature_names(self) -> list[Hashable]:
        """The features that are known by now and used."""
        if self.encoder is None:
            return list(self._columns)
        return [name for name, kind in self.encoder.kinds.items() if kind != "ignore"]

    @property
    def labels(self) -> list[str]:
        """The labels met so far; none of numbers."""
        return [str(name) for name in self.learner.labels] if self.learner.has_labels else []

    def class_name(self, code: int) -> str:
        """The label of a code; there is none for those that came without being learned."""
        labels = self.labels
        return labels[code] if code < len(labels) else "others"

    def restricted(self, x: Features) -> Features:
        """What is used of a record."""
        check_dictionary(x)
        if self.features is None:
            return x
        return {name: value for name, value in x.items() if name in self.features}

    def add_features(self, names: Iterable[Hashable]) -> None:
        """Make room for features that are new."""
        self._add_features(names)

    def make_room(self, x: Features) -> None:
        """Know the columns of a record from now on, though its outcome may come late or never.

        At its first word, a model of numbers becomes one of records, with what it has learned.
        """
        used, encoder = self.restricted(x), self.encoder
        if self._begins_records(used):
            self.begin_records([used])
        elif encoder is None and has_words(used):
            made = widened(self.learner, self._columns)
            made.predict([used])  # refuses it before anything has changed
            self._before = [str(name) for name in self._columns]
            self._columns, self._learner = Columns(), made
        elif encoder is None and self._is_bag(used):
            self._turn(used)
        elif encoder is None and not self.closed_features:
            self._add_features(sorted(used, key=repr))
        elif encoder is not None and self.knows_less(used):
            encoder.guess([used])
            self.learner.widen()

    def begins_records(self, x: Features) -> bool:
        """Whether this is the first record, and of any kind."""
        return self._begins_records(self.restricted(x))

    def knows_less(self, x: Features) -> bool:
        """Whether room is to be made for a record before it is forecast or learned."""
        encoder, used = self.encoder, self.restricted(x)
        if encoder is not None:
            is_new = not used.keys() <= encoder.registry.columns.keys()
            return is_new and encoder.registry.brings_columns(used)
        return has_words(used) or (
            not self.closed_features and not used.keys() <= self.columns.keys()
        )

    def _turn(self, x: Features) -> None:
        self._before = [str(name) for name in self._columns]
        super()._turn(x)

    def kept_of(self, waiting: Waiting) -> Kept:
        """The inputs of a forecast, which this was a model of numbers at the time of."""
        kept = waiting.kept
        if self.encoder is None or kept.record is not None:
            return kept
        values = zip(self._before, kept.x.tolist(), strict=False)
        return self._kept({name: value for name, value in values if not math.isnan(value)})

    def _numbers_of(self, x: Features) -> Features:
        """What a model of numbers knows of a record: words are missing until it learns one."""
        if self.encoder is not None or self._is_new or not has_words(x):
            return x
        return {name: value for name, value in x.items() if not has_words({name: value})}

    def _row(self, x: Features) -> Any:
        used = self._numbers_of(self.restricted(x))
        is_first = isinstance(used, dict) and self._begins_records(used)
        return super()._row({} if is_first else used)

    @alone
    def predict_proba_one(self, x: Features) -> dict[Any, float]:
        """The probability of each class."""
        if self.options.regression:
            raise TypeError("a model of numbers has no probabilities: forecast(x) has its mean")
        return self._probabilities(x)

    @alone
    def forecast(self, x: Features) -> dict[str, Any]:
        """What is answered for a record: probabilities; or mean, deviation and interval."""
        if not self.options.regression:
            return {"probabilities": self._probabilities(x)}
        return self.as_answer(self.learner.numbers(self._row(x), self.options.level)[0].tolist())

    def as_answer(self, p: Sequence[float]) -> dict[str, Any]:
        """A forecast by its names; what is not known yet is None."""
        if not self.options.regression:
            return {"probabilities": dict(zip(self.learner.labels, p, strict=False))}
        mean, std, *ends = p
        return {"mean": mean, "std": or_none(std), "interval": [or_none(end) for end in ends]}

    def answer_table(self, P: Array) -> tuple[Array, list[str]]:
        """Forecasts as columns, and their names; there may be more labels by now."""
        if not self.options.regression:
            return P, self.labels[: P.shape[1]]
        return P, ["mean", "std", "low", "high"]

    @alone
    def learn_one(self, x: Features, y: Identifier) -> None:
        """Learn one example; labels are text here, so that 1 is the class "1"."""
        used, outcome = self.restricted(x), self.outcome(y)
        is_wider = isinstance(x, dict) and has_words(used) and self.widens
        if self.encoder is None and not self._is_new and is_wider:
            before = self._before, self._columns, self._learner
            try:
                self.make_room(x)
                self._learn_one(used, outcome, 1.0)
            except BaseException:
                self._before, self._columns, self._learner = before
                raise
            return
        self._learn_one(used, outcome, 1.0)

    def outcome(self, y: Identifier) -> Any:
        """A label as text, or a number, as it is learned; refuses what is neither."""
        if self.options.regression:
            try:
                number = float(y)  # type: ignore[arg-type]
            except (TypeError, ValueError):
                raise ValueError(f"the outcome must be a number, got {y!r:.80}") from None
            return _validate.target_in_range(number, "the outcome")
        # What JSON cannot write is refused there.
        name = as_text(label(y))  # type: ignore[arg-type]
        if self.classes is not None and name not in self.classes:
            raise ValueError(f"no class is called {name!r:.80}")
        return name

    @alone
    def explain(self, x: Features) -> list[Contribution]:
        """What each column of a record does to the log-odds of each class, the most first."""
        return super().explain(self._numbers_of(self.restricted(x)))

    def score(self, p: Sequence[float], y: float, then: Sequence[float] | None = None) -> None:
        """Score a forecast whose outcome has come: the number, or the code of the label.

        `then` is what the baseline knew at the time of the forecast; None: what it knows by now.
        """
        last = self._unscored
        if last and (len(last) >= UNSCORED or len(last[0][0]) != len(p)):
            self._add_scores()
        self._unscored.append((p, y, self._progress.baseline.loss(y, len(p), then)))

    def baseline_now(self) -> tuple[float, ...]:
        """What the baseline knows by now."""
        return self._progress.baseline.now()

    def _add_scores(self) -> None:
        """The last ones are added when somebody asks; the bits do not depend on when that is."""
        some, self._unscored = self._unscored, []
        if not some:
            return
        if isinstance(self._scores, NumberScores):
            for (mean, std, *ends), y, expected in some:
                if math.isfinite(std) and math.isfinite(expected):  # not before anything is known
                    self._scores.update(mean, std, y, ends)
                    self._progress.add(crps(mean, std, y), expected)
            return
        P, codes, baselines = zip(*some, strict=True)
        self._scores.update_many(np.array(P, dtype=np.float64), np.array(codes, dtype=np.int_))
        for p, code, expected in zip(P, codes, baselines, strict=True):
            own = p[code] if code < len(p) else 0.0
            self._progress.add(-math.log(max(own, LEAST)), expected)

    @property
    def scores(self) -> Any:
        """Scores of the forecasts whose outcome has come."""
        self._add_scores()
        return self._scores

    @property
    def progress(self) -> Progress:
        """Their losses over time, and the baseline's."""
        self._add_scores()
        return self._progress

    def score_figures(self) -> dict[str, float | None]:
        """All scores, those of the baseline, and both over the last tenth."""
        names = ["rmse", "mae", "crps", "coverage"]
        if not self.options.regression:
            names = ["log_loss", "brier", "accuracy", "calibration_error", "classwise_error"]
        found = {name: getattr(self.scores, name) for name in names}
        # Files of version 0.2 had no baseline, and merged models have none: then it is of fewer.
        is_whole = self.progress.n == self.scores.n
        found["baseline"] = self.progress.mean()[1] if is_whole else math.nan
        found["recent"], found["recent_baseline"] = self.progress.mean(0.1)
        return {name: or_none(value) for name, value in found.items()}

    def figures(self) -> dict[str, Any]:
        """Counts and scores over its life, for people who watch."""
        by_class = {}
        if not self.options.regression:
            by_class = {
                self.class_name(each.label): {
                    "n": each.n,
                    "forecast": each.forecast,
                    "rate": each.rate,
                    "error": each.error,
                }
                for each in self.scores.by_class()
            }
        return {
            **self.counts,
            "waiting": len(self.waiting),
            "classes": len(self.labels),
            "features": len(self.feature_names),
            **self.score_figures(),
            "by_class": by_class,
        }

    def _combine_rest(self, start: Any, others: Sequence[Any], base: Any) -> None:
        """Counts and scores add up. What waits is forgotten: it is of other streams."""
        counts = {
            name: start.counts[name] + sum(each.counts[name] - base.counts[name] for each in others)
            for name in COUNTS
        }
        counts["forgotten"] += sum(len(other.waiting) for other in others)
        scores = start.scores._combine([other.scores for other in others], base.scores)
        self.start_counting()
        self.forget_all()
        self.counts, self._scores = counts, scores

    def __getstate__(self) -> dict[str, Any]:
        return {
            "options": self.options.to_json(),
            "design": self.design,
            "counts": self.counts,
            "scores": self.scores,
            "progress": self.progress.state(),
            "waiting": saving.waiting_state(self.waiting),
            "done": saving.done_state(self.done),
            "place": self.place,
            "_before": self._before,
            "_columns": self._columns,
            "_learner": self._learner,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = saving.of_now(state)
        counts, learner, scores = (state[name] for name in ("counts", "_learner", "scores"))
        self.options, self.design = ModelOptions.from_json(state["options"]), state["design"]
        kind = NumberScores if self.options.regression else Scores
        if not (isinstance(self.design, Design) and isinstance(learner, Learner)):
            raise TypeError("a model of events has a design and a learner")
        if not isinstance(scores, kind) or learner.has_labels == self.options.regression:
            raise TypeError("the scores, the learner and the options do not go together")
        if self.classes is not None and [*self.classes] != learner.labels:
            raise ValueError("classes and learner do not go together")
        if not (isinstance(counts, dict) and set(counts) == set(COUNTS)):
            raise ValueError(f"counts must be {', '.join(COUNTS)}")
        for name, number in counts.items():
            _validate.count(number, name, least=0, most=_validate.MOST_STEPS)
        check_place(state["place"])
        self.start_counting()
        self.forget_all()
        self._scores = scores
        if state["progress"] is not None:
            self._progress.restore(state["progress"])
        before = state["_before"]
        if not (isinstance(before, list) and all(isinstance(name, str) for name in before)):
            raise TypeError("the columns of before must be names")
        self.waiting = saving.waiting_of(state["waiting"], learner, self._progress.baseline.now())
        self.waiting_size = sum(each.size for each in self.waiting.values())
        self.done = saving.done_of(state["done"])
        names = ("counts", "place", "_before", "_columns", "_learner")
        self._restore({name: state[name] for name in names})
