"""What there is to know of a model while it serves, as JSON."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any

import numpy as np

from mixable.forecasters.ensemble import Ensemble
from mixable.learner import Blend
from mixable.learner.coefficients import coefficients
from mixable.mixture import Mixture
from mixable.plots.trusted import shares
from mixable.pool import Pool
from mixable.serving.events import Features
from mixable.serving.limits import RefusedError
from mixable.serving.model import ServedModel
from mixable.serving.store import Held

MOST_COLUMNS = 20  # that are listed with what they matter
MOST_EXPLAINED = 200  # features of a record whose forecast is explained


def figures(held: Held) -> dict[str, Any]:
    """Counts, scores, history, calibration, trust, columns and settings."""
    model = held.model
    by_weights = matter(model)
    if not by_weights:
        with suppress(RefusedError):  # the last record may have been a bad one
            held.importance.add(model, held.last)
    scores, progress = model.scores, model.progress
    labels = [str(label) for label in model.learner.labels]
    return {
        "learned": model.counts["learned"],
        "counts": {**model.counts, "waiting": len(model.waiting)},
        "classes": labels,
        "columns": [str(name) for name in model.feature_names],
        "kinds": [] if model.encoder is None else model.encoder.describe(),
        "scores": {
            "log_loss": _or_none(scores.log_loss),
            "baseline": _or_none(progress.baseline),
            "brier": _or_none(scores.brier),
            "accuracy": _or_none(scores.accuracy),
            "calibration_error": _or_none(scores.calibration_error),
        },
        "history": progress.history(),
        "calibration": {label: progress.calibration(c) for c, label in enumerate(labels)},
        "calibration_error": {
            label: _or_none(progress.calibration_error(c)) for c, label in enumerate(labels)
        },
        "trust": trust(model),
        "drifting": drifting(model),
        "matter": by_weights or held.importance.most(MOST_COLUMNS),
        "matter_by": "weights" if by_weights else "forecasts without the column",
        "settings": {
            "forecaster": type(model.learner.forecaster).__name__,
            "parameters": _as_json(model.design.parameters),
            "classes": None if model.classes is None else list(model.classes),
            "features": None if model.features is None else list(model.features),
        },
    }


def trust(model: ServedModel) -> dict[str, float]:
    """How the trust of a mixture is spread; nothing if it is none."""
    learner = model.learner
    if not isinstance(learner.forecaster, Ensemble | Pool | Mixture | Blend):
        return {}
    by = "drift" if isinstance(learner.forecaster, Ensemble) else None
    return shares(learner.forecaster, learner.inputs, by)


def drifting(model: ServedModel) -> float | None:
    """The share of the trust that experts have which forget; None if that is not known."""
    forecaster = model.learner.forecaster
    if isinstance(forecaster, Ensemble):
        spread = shares(forecaster, model.learner.inputs, "drift")
        return sum(v for name, v in spread.items() if name not in ("drift 0", "guard"))
    if isinstance(forecaster, Pool | Blend):
        return shares(forecaster, model.learner.inputs).get("pool that forgets")
    return None


def matter(model: ServedModel) -> dict[str, float]:
    """How far a usual change of each column moves the forecast: of linear models, the most first.

    That is the standard deviation of the column times the spread of its weights over the classes.
    """
    learner = model.learner
    if not learner.design.is_linear or not hasattr(learner.forecaster, "coef"):
        return {}
    slopes = coefficients(learner)[0]
    sizes = np.ptp(slopes, axis=0) * learner.inputs.moments()[1]
    order = np.argsort(-sizes, kind="stable")[:MOST_COLUMNS]
    names = list(model.columns)
    return {str(names[i]): float(sizes[i]) for i in order if math.isfinite(sizes[i])}


def explained(model: ServedModel, features: Features) -> dict[str, dict[str, float]]:
    """What the forecast would be without each feature, as if its value were missing."""
    if len(features) > MOST_EXPLAINED:
        raise RefusedError(422, f"a forecast is explained for up to {MOST_EXPLAINED} features")
    known = set(model.feature_names)
    return {
        str(name): model.predict({other: v for other, v in features.items() if other != name})
        for name in features
        if name in known
    }


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value


def _as_json(value: Any) -> Any:
    """Settings as JSON; what has no form there, as text."""
    if isinstance(value, dict):
        return {str(name): _as_json(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_as_json(each) for each in value]
    is_plain = value is None or isinstance(value, bool | int | str)
    if is_plain or (isinstance(value, float) and math.isfinite(value)):
        return value
    return repr(value)
