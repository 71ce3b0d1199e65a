"""The model of a stream: a forecaster of labels, and what else a checkpoint holds."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixable import _validate
from mixable._types import Array
from mixable.learner import Design, Learner, NamedLearner, label
from mixable.learner.columns import Columns
from mixable.metrics import Scores

Identifier = str | int | float | None

COUNTS = ("events", "predicted", "rejected", "learned", "late", "forgotten")


class StreamModel(NamedLearner):
    """What `mixable stream` saves and `mixable.load` returns: it predicts and learns dictionaries.

    Parameters
    ----------
    design
        The forecaster and the scaling.
    classes
        The labels, if no others may come; None adds them as they come.
    features
        The features, if all others are to be ignored; None adds them as they come.

    Attributes
    ----------
    counts
        Events, of which predicted and rejected; examples learned; late labels; events forgotten
        before their label came.
    scores
        `mixable.metrics.Scores` of the forecasts whose label has come.
    waiting
        Features and forecast of the events whose label may yet come, by identifier.
    place
        Where the stream was (`mixable.streaming.lines`), and how long what it had written
        (`mixable.streaming.files`).

    Examples
    --------
    >>> model = StreamModel(Design.for_classes(None, {"lam": None, "beta": 1.0}))
    >>> for t in range(50):
    ...     model.learn_one({"wind": float(t % 3), "sun": float(t % 2)}, "rain" if t % 3 else "dry")
    >>> p = model.predict_proba_one({"wind": 2.0, "sun": 1.0})
    >>> round(p["dry"], 1), round(p["rain"], 1)
    (0.0, 1.0)
    """

    def __init__(
        self,
        design: Design,
        *,
        classes: Iterable[str] | None = None,
        features: Iterable[str] | None = None,
    ) -> None:
        self.design = design
        self.closed_features = features is not None
        self.classes = None if classes is None else tuple(classes)
        self.start_counting()
        self.waiting: OrderedDict[str, tuple[Array, Array]] = OrderedDict()
        self.place: dict[str, Any] = {}
        self._begin()
        self._add_features(features or ())

    def start_counting(self) -> None:
        """Set counts and scores to nothing."""
        self.counts = dict.fromkeys(COUNTS, 0)
        self.scores = Scores()

    def _design(self) -> Design:
        return self.design

    def _labels(self) -> tuple[str, ...]:
        return self.classes or ()

    @property
    def learner(self) -> Learner:
        """Inputs, forecaster and labels."""
        assert self._learner is not None  # there is an intercept
        return self._learner

    @property
    def columns(self) -> Columns:
        """The features and their places in a row."""
        return self._columns

    def add_features(self, names: Iterable[Hashable]) -> None:
        """Make room for features that are new."""
        self._add_features(names)

    def learn_one(self, x: dict[Hashable, Any], y: Identifier) -> None:
        """Learn one example; labels are text here, so that 1 is the class "1"."""
        # What JSON cannot write is refused there.
        name = as_text(label(y))  # type: ignore[arg-type]
        if self.classes is not None and name not in self.classes:
            raise ValueError(f"no class is called {name!r}")
        if self.closed_features:
            x = {feature: value for feature, value in x.items() if feature in self._columns}
        self._learn_one(x, name, 1.0)

    def predict_proba_one(self, x: dict[Hashable, Any]) -> dict[Any, float]:
        """The probability of each class."""
        return self._probabilities(x)

    def __getstate__(self) -> dict[str, Any]:
        # Identifiers as numbers: there may be too many for the description of a file.
        ids = [np.frombuffer(key.encode(), np.uint8) for key in self.waiting]
        rows = [row for row, _ in self.waiting.values()]
        forecasts = [forecast for _, forecast in self.waiting.values()]
        stacks = {"ids": _stacked(ids, np.uint8), "X": _stacked(rows), "P": _stacked(forecasts)}
        return {**self.__dict__, "waiting": stacks}

    def __setstate__(self, state: dict[str, Any]) -> None:
        learner = state.get("_learner", state.get("_engine"))  # the older name
        waiting, counts, classes = state["waiting"], state["counts"], state["classes"]
        has_parts = isinstance(state["design"], Design) and isinstance(state["scores"], Scores)
        if not (has_parts and isinstance(learner, Learner)):
            raise TypeError("a stream's model has a design, scores and a learner")
        if classes is not None and not (type(classes) is tuple and [*classes] == learner.labels):
            raise ValueError("classes and learner do not go together")
        if not (isinstance(counts, dict) and set(counts) == set(COUNTS)):
            raise ValueError(f"counts must be {', '.join(COUNTS)}")
        for name, number in counts.items():
            _validate.count(number, name, least=0, most=_validate.MOST_STEPS)
        _validate.flag(state["closed_features"], "closed_features")
        _check_place(state["place"])
        ids = [bytes(key).decode() for key in _unstacked(waiting["ids"], "u")]
        rows = list(zip(_unstacked(waiting["X"], "f"), _unstacked(waiting["P"], "f"), strict=True))
        for x, p in rows:  # since then there may be more features, and more classes
            fits = len(x) <= len(state["_columns"]) and len(p) <= len(learner.labels)
            if not fits or np.isinf(x).any() or not ((p >= 0) & (p <= 1)).all():
                raise ValueError("what waits for its label does not go with the learner")
        self._restore({**state, "waiting": OrderedDict(zip(ids, rows, strict=True))})


def as_text(value: Identifier) -> str:
    """One text for a label or an identifier, whichever format it came in."""
    return value if isinstance(value, str) else json.dumps(value)


def _stacked(rows: list[NDArray[Any]], dtype: type = np.float64) -> dict[str, Any]:
    """Rows of several lengths, one after the other."""
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    return {"lengths": lengths, "values": np.concatenate([np.empty(0, dtype), *rows])}


def _unstacked(stack: dict[str, Any], kind: str) -> list[NDArray[Any]]:
    lengths, values = stack["lengths"], stack["values"]
    is_sound = lengths.dtype.kind == "i" and ((lengths >= 0) & (lengths <= len(values))).all()
    if not is_sound or lengths.sum() != len(values):
        raise ValueError("what waits for its label has lengths that do not go with it")
    if len(values) and values.dtype.kind != kind:
        raise TypeError(f"what waits for its label is of type {values.dtype}")
    return np.split(values, np.cumsum(lengths)[:-1]) if len(lengths) else []


def _check_place(place: Any) -> None:
    """Refuse a place where no stream can have been: files are read and cut there."""
    if not isinstance(place, dict):
        raise TypeError(f"place must be a dictionary, got {place!r:.80}")
    if not place:
        return
    there = place["input"]
    for name in ("position", "line"):
        _validate.count(there[name], name, least=0, most=_validate.MOST_STEPS)
    kinds = [type(each) for each in there["prints"]]
    if not (there["torn"] is None or isinstance(there["torn"], str)) or kinds != [str, str]:
        raise TypeError("the place in the input is not one")
    for name in ("out", "rejects"):
        if place.get(name) is not None:
            length, *prints = place[name]
            _validate.count(length, name, least=0, most=_validate.MOST_STEPS)
            if not all(isinstance(each, str) for each in prints):
                raise TypeError(f"the place in {name} is not one")
