"""What there is to know of a model while it serves: as JSON, and for Prometheus."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from mixable.events.events import Features, RefusedError
from mixable.events.model import or_none
from mixable.events.serve.model import ServedModel
from mixable.events.serve.service import Held, Service
from mixable.forecasters import SparseGAF
from mixable.forecasters.ensemble import Ensemble
from mixable.learner import Blend
from mixable.mixture import Mixture
from mixable.plots.trusted import shares
from mixable.pool import Pool

MOST_COLUMNS = 20  # that are listed with what they matter
MOST_EXPLAINED = 200  # features of a record whose forecast is explained
MOST_TRIED = 30  # columns of a record that are left out of it, to see what they matter
RATE = 0.02  # of a new record in the mean of what a column matters, once there are many
SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)


def figures(held: Held) -> dict[str, Any]:
    """Counts, scores, history, calibration, trust, columns and settings."""
    model = held.model
    # Of a pool, the weights are those of one expert only.
    by_weights = model.important(MOST_COLUMNS) if model.learner.design.is_linear else {}
    if not by_weights:
        while held.recent:
            with suppress(RefusedError):  # the last record may have been a bad one
                try_without(held, held.recent.popleft())
    scores, progress = model.scores, model.progress
    labels = [str(label) for label in model.learner.labels]
    return {
        "learned": model.counts["learned"],
        "counts": {**model.counts, "waiting": len(model.waiting)},
        "classes": labels,
        "columns": [str(name) for name in model.feature_names],
        "kinds": [] if model.encoder is None else model.encoder.describe(),
        "scores": {
            "log_loss": or_none(scores.log_loss),
            "baseline": or_none(progress.baseline),
            "brier": or_none(scores.brier),
            "accuracy": or_none(scores.accuracy),
            "calibration_error": or_none(scores.calibration_error),
        },
        "history": progress.history(),
        "calibration": {label: progress.calibration(c) for c, label in enumerate(labels)},
        "calibration_error": {
            label: or_none(progress.calibration_error(c)) for c, label in enumerate(labels)
        },
        "trust": trust(model),
        "drifting": drifting(model),
        "matter": {str(name): size for name, size in by_weights.items()} or matter(held),
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


def try_without(held: Held, features: Features) -> None:
    """See what the columns of a record matter to a model that has no weights to read.

    That is how much probability moves to other classes if a column is missing: a mean of some
    records, for those who watch. It is not saved, and changes nothing of the model.
    """
    model = held.model
    known, p = set(model.feature_names), model.predict(features)
    for name in [name for name in features if name in known][:MOST_TRIED]:
        q = model.predict({other: v for other, v in features.items() if other != name})
        moved = sum(abs(p[label] - q[label]) for label in p) / 2
        mean, seen = held.importance.get(name, (0.0, 0))
        held.importance[name] = mean + max(1 / (seen + 1), RATE) * (moved - mean), seen + 1


def matter(held: Held) -> dict[str, float]:
    """The columns that matter most by `try_without`, the first one most."""
    order = sorted(held.importance, key=lambda name: -held.importance[name][0])
    return {name: held.importance[name][0] for name in order[:MOST_COLUMNS]}


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

    def __init__(self, service: Service) -> None:
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
        yield GaugeMetricFamily("mixable_models", "Models", len(service.models.names))
        in_memory = len(service.models.loaded)
        yield GaugeMetricFamily("mixable_models_in_memory", "Models in memory", in_memory)
        length = service.journal.length
        yield GaugeMetricFamily("mixable_journal_bytes", "Length of the journal", length)
        yield CounterMetricFamily("mixable_commits", "Writes to the journal", service.commits)
        failures = "What could not be written or learned"
        yield CounterMetricFamily("mixable_failures", failures, service.failures)
        yield from self._of_models()

    def _of_models(self) -> Iterator[Metric]:
        def family(kind: Any, name: str, about: str, *more: str) -> Any:
            return kind(f"mixable_{name}", about, labels=["model", *more])

        counter, gauge = CounterMetricFamily, GaugeMetricFamily
        late = "Forecasts forgotten before their label came"
        distance = "Mean distance between the forecasts of a class and how often it came"
        learned = family(counter, "learned", "Labels learned")
        forgotten = family(counter, "forgotten", late)
        waiting = family(gauge, "waiting", "Forecasts that wait for their label")
        loss = family(gauge, "log_loss", "Mean log loss, nats")
        rates = family(gauge, "baseline_log_loss", "The same of the class rates")
        error = family(gauge, "calibration_error", distance, "class")
        drift = family(gauge, "drifting_trust", "Trust in experts that forget")
        for name, held in self._service.models.loaded.items():
            model = held.model
            learned.add_metric([name], model.counts["learned"])
            forgotten.add_metric([name], model.counts["forgotten"])
            waiting.add_metric([name], len(model.waiting))
            if model.progress.n:
                loss.add_metric([name], model.scores.log_loss)
                rates.add_metric([name], model.progress.baseline)
            for code, label in enumerate(model.learner.labels):
                value = model.progress.calibration_error(code)
                if not math.isnan(value):
                    error.add_metric([name, str(label)], value)
            share = drifting(model)
            if share is not None:
                drift.add_metric([name], share)
        yield from (learned, forgotten, waiting, loss, rates, error, drift)
