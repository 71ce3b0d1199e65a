"""What there is to know of a model while it serves: as JSON, and for Prometheus."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from mixable.events.decisions import Decisions, Model
from mixable.events.events import RefusedError
from mixable.events.model import EventModel, Features, or_none
from mixable.events.serve.service import Service
from mixable.events.serve.shown import Held
from mixable.events.serve.worker import Worker
from mixable.experts import SparseGAF
from mixable.experts.ensemble import Ensemble
from mixable.experts.mixture import Mixture
from mixable.experts.pool import Pool
from mixable.model import RecordPool
from mixable.plots.weights import shares

MOST_COLUMNS = 20  # that are listed with what they matter
MOST_EXPLAINED = 200  # features of a record whose forecast is explained
MOST_TRIED = 30  # columns of a record that are left out of it, to see what they matter
RATE = 0.02  # of a new record in the mean of what a column matters, once there are many
SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)

DISTANCE = "Mean distance between the forecasts of a class and how often it came"
MOVED = "Population stability index of the last records of a column against a reference"
UNKNOWN = "Share of words of a column that were not among the first records"
COUNTS = {
    "learned": "Outcomes learned",
    "late": "Outcomes that came after their forecast",
    "forgotten": "Forecasts whose outcome never came",
}
SCORES = {
    "log_loss": "Mean log loss, nats,",
    "crps": "Mean CRPS",
    "rmse": "Root of the mean squared error",
    "coverage": "Coverage of the intervals",
    "baseline": "Mean loss of class frequencies, or of the running mean, beside that",
    "recent": "Mean loss over the last tenth",
    "recent_baseline": "Baseline over the last tenth",
}


def figures(held: Held) -> dict[str, Any]:
    """Counts, scores, history, calibration, weights, columns and settings."""
    model = held.model
    if isinstance(model, Decisions):
        counts = {**model.counts, "waiting": len(model.waiting)}
        told = {"options": model.options.to_json()}
        return {"kind": "agent", "learned": counts["learned"], "counts": counts, "scores": {},
                "settings": told}  # fmt: skip
    # Of a pool, that takes too long while others wait.
    by_weights = model.important(MOST_COLUMNS) if model.learner.design.is_linear else {}
    if not by_weights:
        while held.recent:
            with suppress(ValueError, TypeError):  # the last record may have been a bad one
                try_without(held, held.recent.popleft())
    return {
        "learned": model.counts["learned"],
        "counts": {**model.counts, "waiting": len(model.waiting)},
        "classes": model.labels,
        "columns": [str(name) for name in model.feature_names],
        "kinds": [] if model.encoder is None else model.encoder.describe(),
        "scores": model.score_figures(),
        "history": model.progress.history(),
        **_calibration(model),
        "weights": weights(model),
        "drifting": drifting(model),
        "drift": {name: each._asdict() for name, each in held.window.moved().items()},
        "reference": held.window.name,  # of drift; None: the first records
        "matter": {str(name): size for name, size in by_weights.items()} or matter(held),
        "matter_by": "weights" if by_weights else "forecasts without the column",
        "settings": {
            "forecaster": type(model.learner.forecaster).__name__,
            "parameters": _as_json(model.design.parameters),
            "options": model.options.to_json(),
        },
    }


def _calibration(model: EventModel) -> dict[str, Any]:
    """Of each class: bins of forecasts with how often it came, and the mean distance."""
    if model.options.regression:
        return {"calibration": {}, "calibration_error": {}}
    known = {each.label: each for each in model.scores.by_class()}
    bins = {
        label: [(b.confidence, b.accuracy, b.n) for b in model.scores.reliability_of(code)]
        for code, label in enumerate(model.labels)
        if code in known
    }
    errors = {model.class_name(code): or_none(each.error) for code, each in known.items()}
    return {"calibration": bins, "calibration_error": errors}


def weights(model: EventModel) -> dict[str, float]:
    """How the weight of a mixture is spread; nothing if it is none."""
    learner = model.learner
    if not isinstance(learner.forecaster, Ensemble | Pool | Mixture | RecordPool):
        return {}
    if isinstance(learner.forecaster, RecordPool) and not learner.has_labels:
        names, each = learner.forecaster.design.names, learner.forecaster.expert_weights.tolist()
        return dict(zip(names, each, strict=True))
    by = "drift" if isinstance(learner.forecaster, Ensemble) else None
    return shares(learner.forecaster, learner.inputs, by)


def drifting(model: EventModel) -> float | None:
    """The share of the weight that experts have which forget; None if that is not known.

    While the first expert of a blend is the only active one, the pool stands still, and it says.
    """
    forecaster, inputs = model.learner.forecaster, model.learner.inputs
    if isinstance(forecaster, Pool):
        return shares(forecaster, inputs).get("pool that forgets")
    if not isinstance(forecaster, RecordPool):
        return _forgetting(forecaster, inputs)
    first = _forgetting(forecaster.experts[0], forecaster.inputs[0]) or 0.0
    if not model.learner.has_labels:  # the weights are those of the experts
        return first * float(forecaster.expert_weights[0])
    pool = 0.0 if len(forecaster.active) == 1 else float(forecaster.expert_weights[1])
    return pool + (1 - pool) * first


def _forgetting(forecaster: Any, inputs: Any) -> float | None:
    """The same within a mixture of one kind of experts."""
    if isinstance(forecaster, SparseGAF):  # with b = 0 steps stay as large as they were
        pairs = zip(forecaster.experts, forecaster.expert_weights.tolist(), strict=True)
        return float(sum(weight for expert, weight in pairs if expert.b == 0))
    if not isinstance(forecaster, Ensemble):
        return None
    spread = shares(forecaster, inputs, "drift")
    others = ("drift 0", "class frequencies", "fallback")
    return sum(share for name, share in spread.items() if name not in others)


def try_without(held: Held, features: Features) -> None:
    """See what the columns of a record matter to a model that has no weights to read.

    That is how much probability moves to other classes, or how far the mean moves, if a column is
    missing: a mean of some records, for those who watch. It is not saved, and changes nothing of
    the model.
    """
    model = held.model
    assert isinstance(model, EventModel)
    known, p = set(model.feature_names), _flat(model, features)
    for name in [name for name in features if name in known][:MOST_TRIED]:
        q = _flat(model, {other: v for other, v in features.items() if other != name})
        moved = sum(abs(a - b) for a, b in zip(p, q, strict=True)) / 2
        mean, seen = held.importance.get(name, (0.0, 0))
        held.importance[name] = mean + max(1 / (seen + 1), RATE) * (moved - mean), seen + 1


def _flat(model: EventModel, features: Features) -> list[float]:
    """A forecast as numbers: probabilities, or twice the mean."""
    forecast = model.forecast(features)
    probabilities = forecast.get("probabilities")
    return [2 * forecast["mean"]] if probabilities is None else list(probabilities.values())


def matter(held: Held) -> dict[str, float]:
    """The columns that matter most by `try_without`, the first one most."""
    order = sorted(held.importance, key=lambda name: -held.importance[name][0])
    return {name: held.importance[name][0] for name in order[:MOST_COLUMNS]}


def explained(model: Model, features: Features) -> dict[str, Any]:
    """What each feature does to the forecast: what that would be without it, by how much the
    feature raises the log-odds of each class, and how uncertain that is.
    """
    if isinstance(model, Decisions):
        raise RefusedError(422, "decisions are not explained")
    if len(features) > MOST_EXPLAINED:
        raise RefusedError(422, f"a forecast is explained for up to {MOST_EXPLAINED} features")
    if model.options.regression:
        rests = {n: {o: v for o, v in features.items() if o != n} for n in features}
        return {"without": {str(n): model.forecast(rest)["mean"] for n, rest in rests.items()}}
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
            str(part.column): {label: or_none(v) for label, v in part.deviation.items()}
            for part in parts
        },
    }


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


class Metrics(Collector):
    """Counts requests as they come, and reads the models when it is asked."""

    def __init__(self, service: Service | Worker) -> None:
        self._service = service
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "mixable_requests", "Requests", ["route", "status"], registry=self._registry
        )
        self._seconds = Histogram(
            "mixable_request_seconds",
            "Time from the first byte of a request to the last of its answer",
            ["route"],
            buckets=SECONDS,
            registry=self._registry,
        )
        self._registry.register(self)
        self._known: dict[tuple[str, int], tuple[Counter, Histogram]] = {}

    def observe(self, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        known = self._known.get((route, status))
        if known is None:
            known = self._requests.labels(route, str(status)), self._seconds.labels(route)
            self._known[route, status] = known
        known[0].inc()
        known[1].observe(seconds)

    def text(self) -> bytes:
        """What Prometheus reads."""
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        """The figures of the service and of the models in memory."""
        service = self._service
        yield GaugeMetricFamily("mixable_models", "Models", len(service.names))
        in_memory = len(service.loaded)
        yield GaugeMetricFamily("mixable_models_in_memory", "Models in memory", in_memory)
        yield GaugeMetricFamily("mixable_log_bytes", "Size of the log", service.store.size)
        yield CounterMetricFamily("mixable_commits", "Transactions of the log", service.commits)
        about = "Requests and events that were refused, by reason"
        rejects = CounterMetricFamily("mixable_rejects", about, labels=["model", "reason"])
        for (name, reason), n in service.rejects.items():
            rejects.add_metric([name, reason], n)
        yield rejects
        failures = "What could not be written or learned"
        yield CounterMetricFamily("mixable_failures", failures, service.failures)
        yield from self._of_models()

    def _of_models(self) -> Iterator[Metric]:
        families: dict[str, Any] = {}
        gauge = GaugeMetricFamily

        def add(kind: Any, name: str, about: str, value: float | None, **labels: str) -> None:
            if value is not None:
                made = families.setdefault(name, kind(f"mixable_{name}", about, labels=[*labels]))
                made.add_metric([*labels.values()], value)

        for name, held in self._service.loaded.items():
            of, model = {"model": name}, held.model
            found = model.score_figures()
            for count, about in COUNTS.items():
                add(CounterMetricFamily, count, about, model.counts[count], **of)
            for score, about in SCORES.items():
                about = f"{about} of the forecasts whose outcome has come"
                add(gauge, score, about, found.get(score), **of)
            add(gauge, "waiting", "Forecasts that wait for their outcome", len(model.waiting), **of)
            if isinstance(model, Decisions):
                continue
            add(gauge, "drifting_trust", "Weight of experts that forget", drifting(model), **of)
            for label, value in _calibration(model)["calibration_error"].items():
                add(gauge, "calibration_error", DISTANCE, value, **of, **{"class": label})
            for column, each in held.window.moved().items():
                reference = {"column": column, "reference": held.window.name or "first"}
                add(gauge, "column_drift", MOVED, each.drift, **of, **reference)
                add(gauge, "unknown_share", UNKNOWN, each.unknown, **of, column=column)
        yield from families.values()
