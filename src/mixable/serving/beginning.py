"""A model to begin with: one that was saved by `mixable stream`, `mixable serve` or `save`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from mixable import persistence
from mixable.learner import Learner, NamedLearner
from mixable.learner.columns import Columns
from mixable.learner.outcomes import Labels
from mixable.learner.record_inputs import RecordInputs
from mixable.serving.model import ServedModel
from mixable.streaming.kept import KeptModel, as_text

KINDS = "a GAFClassifier, or a model of mixable stream or mixable serve"


def begun_from(path: Path) -> ServedModel:
    """A model that knows what the one in a file has learned; it counts and scores from now on.

    ValueError if a service cannot go on with it.
    """
    model = persistence.load(path)
    learner = getattr(model, "_learner", getattr(model, "learner_", None))
    if not isinstance(learner, Learner) or not learner.has_labels:
        kind = type(model).__name__
        raise ValueError(f"{path} holds a {kind} that a service cannot go on with; {KINDS} is")
    _check_followed(path, learner)
    if not isinstance(model, KeptModel):
        labels = [as_text(_plain(label)) for label in learner.labels]
        if len(set(labels)) < len(labels):
            raise ValueError(f"{path} has two labels that are the same as text")
        learner.outcomes = Labels(labels)
    made = ServedModel(_design(model, learner))
    made._learner, made._columns = learner, _columns(path, model)
    for name in ("classes", "features", "declared"):
        setattr(made, name, getattr(model, name, None) if isinstance(model, KeptModel) else None)
    # As if it were read from a file of its own: the parts are known to go together.
    again: ServedModel = persistence.from_bytes(persistence.to_bytes(made))
    return again


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


def _design(model: Any, learner: Learner) -> Any:
    if isinstance(model, KeptModel):
        return model.design
    return model._design() if hasattr(model, "_design") else learner.design


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


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label
