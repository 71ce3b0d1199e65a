"""What Prometheus reads: the figures of requests and models."""

import pytest


def read(call):
    parser = pytest.importorskip("prometheus_client.parser", reason='pip install "mixable[serve]"')
    answer, text = call.raw("GET", "/metrics")
    assert answer.status == 200
    return {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in parser.text_string_to_metric_families(text.decode())
        for sample in family.samples
    }


def test_requests_and_models_are_counted(start):
    service, call = start()
    for t in range(5):
        call.learn(features={"a": t}, label='"x"\n' if t % 2 else "y")
    call.predict(id="1", features={"a": 1})
    call.learn(id="nobody", label="x")
    got = read(call)
    assert got["mixable_requests_total", "/learn", "200"] == 5
    assert got["mixable_requests_total", "/learn", "404"] == 1
    assert got["mixable_request_seconds_count", "/learn"] == 6
    assert got["mixable_learned_total", "default"] == 5
    assert got["mixable_waiting", "default"] == 1
    model = service.loaded["default"].model
    assert got["mixable_log_loss", "default"] == model.scores.log_loss
    assert got["mixable_baseline", "default"] == model.progress.mean()[1]
    errors = [each.error for each in model.scores.by_class()]
    assert got["mixable_calibration_error", "default", "y"] == errors[0]
    assert got["mixable_rejects_total", "default", "no forecast waits under the id ..."] == 1
    assert 0 <= got["mixable_drifting_trust", "default"] <= 1
    assert got["mixable_commits_total",] == service.commits == 6
