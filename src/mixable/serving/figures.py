"""What there is to know of a model while it serves, as JSON."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any

from mixable.forecasters import SparseGAF
from mixable.forecasters.ensemble import Ensemble
from mixable.learner import Blend
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
    # Of a pool, the weights are those of one expert only.
    by_weights = matter(model) if model.learner.design.is_linear else {}
    if not by_weights:
        while held.recent:
            with suppress(RefusedError):  # the last record may have been a bad one
                held.importance.add(model, held.recent.popleft())
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
    """The share of the trust that experts have which forget; None if that is not known.

    While all but the first expert of a blend rest, their pool stands still, and the first one says.
    """
    forecaster, inputs = model.learner.forecaster, model.learner.inputs
    if isinstance(forecaster, Pool):
        return shares(forecaster, inputs).get("pool that forgets")
    if not isinstance(forecaster, Blend):
        return _forgetting(forecaster, inputs)
    first = _forgetting(forecaster.experts[0], forecaster.inputs[0]) or 0.0
    pool = 0.0 if forecaster.is_resting else float(forecaster.trust[1])
    return pool + (1 - pool) * first


def _forgetting(forecaster: Any, inputs: Any) -> float | None:
    """The same within a mixture of one kind of experts."""
    if isinstance(forecaster, SparseGAF):  # with b = 0 steps stay as large as they were
        pairs = zip(forecaster.experts, forecaster.trust.tolist(), strict=True)
        return float(sum(trust for expert, trust in pairs if expert.b == 0))
    if not isinstance(forecaster, Ensemble):
        return None
    spread = shares(forecaster, inputs, "drift")
    others = ("drift 0", "class rates", "guard")
    return sum(share for name, share in spread.items() if name not in others)


def matter(model: ServedModel) -> dict[str, float]:
    """How far a usual change of each column moves the forecast, the most first."""
    return {str(name): size for name, size in model.important(MOST_COLUMNS).items()}


def explained(model: ServedModel, features: Features) -> dict[str, Any]:
    """What each feature does to the forecast: what that would be without it, by how much the
    feature raises the log-odds of each class, and how uncertain that is.
    """
    if len(features) > MOST_EXPLAINED:
        raise RefusedError(422, f"a forecast is explained for up to {MOST_EXPLAINED} features")
    try:
        every = model.explain(features)
    except (ValueError, TypeError) as error:
        raise RefusedError(422, str(error)) from None
    known = set(model.feature_names)
    parts = [part for part in every if part.column in known]
    return {
        "without": {str(part.column): part.without for part in parts},
        "log_odds": {str(part.column): part.log_odds for part in parts},
        "deviation": {
            str(part.column): {label: _or_none(v) for label, v in part.deviation.items()}
            for part in parts
        },
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
