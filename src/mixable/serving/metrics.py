"""What Prometheus asks for: requests, latency, and how each model in memory does."""

from __future__ import annotations

import math
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from mixable.serving.figures import drifting
from mixable.serving.service import Service

SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)


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
        learned = CounterMetricFamily("mixable_learned", "Labels learned", labels=["model"])
        forgotten = CounterMetricFamily(
            "mixable_forgotten", "Forecasts forgotten before their label came", labels=["model"]
        )
        waiting = GaugeMetricFamily(
            "mixable_waiting", "Forecasts that wait for their label", labels=["model"]
        )
        loss = GaugeMetricFamily("mixable_log_loss", "Mean log loss, nats", labels=["model"])
        rates = GaugeMetricFamily(
            "mixable_baseline_log_loss", "The same of the class rates", labels=["model"]
        )
        error = GaugeMetricFamily(
            "mixable_calibration_error",
            "Mean distance between the forecasts of a class and how often it came",
            labels=["model", "class"],
        )
        drift = GaugeMetricFamily(
            "mixable_drifting_trust", "Trust in experts that forget", labels=["model"]
        )
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
