"""The requests that come most often are answered as FastAPI answers them."""

import json

import pytest

BODIES = [
    {"features": {"a": 1}},
    {"id": 7, "features": {"a": 2.5}},
    {"id": 7, "label": "y"},
    {"features": {"a": 1}, "label": "x"},
    {"features": {"a": "word"}, "label": "x"},
    {"label": "x"},
    {"id": 8, "label": "x"},
    {"more": 1},
    [],
]


@pytest.mark.parametrize("route", ["/predict", "/learn"])
@pytest.mark.parametrize("model", ["", "/models/default", "/models/nobody"])
def test_both_ways_answer_alike(start, route, model):
    service, call = start()
    call.learn(features={"a": 1}, label="x")
    for body in BODIES:
        direct, text = call.raw("POST", model + route, json.dumps(body))
        # A query goes through the framework. What was learned by its id is not learned again.
        other, other_text = call.raw("POST", f"{model}{route}?explain=false", json.dumps(body))
        assert (direct.status, direct.headers["content-type"]) == (other.status, "application/json")
        first, second = json.loads(text), json.loads(other_text)
        assert first.keys() == second.keys()
        if direct.status != 200:
            assert first == second
            assert [each[1] for each in service.rejected][-2:] == [first["error"]] * 2
    metrics = call.raw("GET", "/metrics")[1].decode()
    path = f"/models/{{name}}{route}" if model else route
    counts = [line for line in metrics.splitlines() if line.startswith("mixable_requests_total")]
    of_route = [line for line in counts if f'route="{path}"' in line]
    extra = 1 if path == "/learn" else 0
    assert sum(float(line.split()[-1]) for line in of_route) == 2 * len(BODIES) + extra
    assert not any('status="5' in line for line in counts)


def test_other_requests_go_on_to_the_framework(start):
    _, call = start()
    assert call("GET", "/predict")[0] == 405
    assert call("POST", "/models/a/b/predict", {})[0] == 404
