"""A model of events that begins with what another model has learned."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from mixable import persistence
from mixable.events.model import EventModel, as_text
from mixable.events.options import ModelOptions
from mixable.model import Learner, NamedLearner
from mixable.model.columns import Columns
from mixable.model.outcomes import Labels
from mixable.model.record_inputs import RecordInputs


def begun_from(path: Path) -> EventModel:
    """A model that knows what the one in a file has learned; it counts and scores from now on.

    ValueError if that cannot go on event by event.
    """
    model = persistence.load(path)
    learner = getattr(model, "_learner", getattr(model, "learner_", None))
    if not isinstance(learner, Learner):
        kind = type(model).__name__
        raise ValueError(
            f"{path} holds a {kind} that a service cannot go on with; a GAFClassifier, a "
            "GAFRegressor, or a model of mixable stream or mixable serve is"
        )
    _check_followed(path, learner)
    options = getattr(model, "options", None)
    if not isinstance(options, ModelOptions):
        options = ModelOptions(regression=not learner.has_labels)
        if learner.has_labels:
            found: list[Any] = learner.labels
            labels = [as_text(v.item() if isinstance(v, np.generic) else v) for v in found]
            if len(set(labels)) < len(labels):
                raise ValueError(f"{path} has two labels that are the same as text")
            learner.outcomes = Labels(labels)
    design = model._design() if hasattr(model, "_design") else learner.design
    made = EventModel(options, design=design)
    made._learner, made._columns = learner, _columns(path, model)
    # As if it were read from a file of its own: the parts are known to go together.
    again: EventModel = persistence.from_bytes(persistence.to_bytes(made))
    return again


def _check_followed(path: Path, learner: Learner) -> None:
    """Refuse what does not predict and learn single rows in one step."""
    try:
        if learner.design.kernel is not None:
            raise TypeError
        if not isinstance(learner.inputs, RecordInputs):
            kind: Any = np.int_ if learner.has_labels else np.float64
            learner.follow(np.empty((0, learner.n_features)), np.empty(0, kind))
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
