"""The routes over HTTP: what they answer, what they refuse, and no 5xx whatever is sent."""

import gzip
import json
import re

import pytest
from browser import CHROMIUM, opened
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from serve_command import Caller, in_thread, saved

from mixable.events import ModelOptions
from mixable.events.serve.shown import Limits

TOKEN = "a-long-token"


def test_a_forecast_its_label_and_the_same_again(start):
    _, call = start()
    assert call.learn(features={"a": 1}, label="x") == (
        200,
        {"probabilities": {}, "learned": True, "step": 1},
    )
    assert call.predict(id=7, features={"a": 2}) == (200, {"id": "7", "probabilities": {"x": 1.0}})
    for learned in (True, False):
        assert call.learn(id=7, label="y") == (200, {"id": "7", "learned": learned, "step": 2})
    assert call.learn(id=7, label="x")[0] == 409
    assert call.learn(id=8, label="x") == (404, {"error": "no forecast waits under the id '8'"})
    status, got = call("GET", "/model")
    assert (status, got["learned"], got["counts"]["late"]) == (200, 2, 1)
    status, explained = call("POST", "/predict?explain=true", {"features": {"a": 1}})
    assert set(explained["without"]) == {"a"}


def test_models_by_name_are_apart(start):
    service, call = start(limits=Limits(models=3))
    assert call("PUT", "/models/other") == (201, {"name": "other", "made": True})
    assert call("PUT", "/models/other") == (200, {"name": "other", "made": False})
    assert call("POST", "/models/other/learn", {"features": {"a": 1}, "label": "x"})[0] == 200
    assert call("GET", "/models/other")[1]["learned"] == 1
    assert call("GET", "/model")[1]["learned"] == 0
    assert call("GET", "/models") == (200, {"models": ["default", "other"]})
    assert call("PUT", "/models/third")[0] == 201
    assert call("PUT", "/models/fourth")[0] == 422
    for name in ("..", "%2e%2e", "..%2fx", "UP", "a%00", "nope"):
        for method, path in (("GET", ""), ("POST", "/learn")):
            status = call(method, f"/models/{name}{path}", {"features": {}, "label": "x"})[0]
            assert status in (404, 405), (name, status)
    assert set(service.names) == {"default", "other", "third"}


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/predict", b"", 422),
        ("/predict", b"{}", 422),
        ("/predict", b'{"features": {"a": {"b": 1}}}', 422),
        ("/predict", b'{"features": {}, "label": "x"}', 422),
        ("/predict?explain=maybe", b'{"features": {}}', 422),
        ("/learn", b'{"features": {"a": 1}}', 422),
        ("/learn", b'{"id": 1}', 422),
        ("/learn", b'{"features": {"a": 1}, "label": null}', 422),
        ("/nothing", b"{}", 404),
        ("/healthz", b"{}", 405),
    ],
)
def test_bad_requests_have_a_reason_and_change_nothing(start, path, body, status):
    service, call = start()
    got, answer = call("POST", path, body)
    assert (got, list(answer)) == (status, ["error"])
    assert service.commits == 0


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)
NEARLY = st.fixed_dictionaries(
    {},
    optional={
        "id": st.sampled_from(["a", "b", 7, None, []]) | JSON,
        "features": st.dictionaries(st.sampled_from("abcd"), st.floats() | st.integers()) | JSON,
        "label": st.sampled_from(["x", "y", 1, None]) | JSON,
    },
)
BODIES = st.one_of(
    st.binary(max_size=50),
    JSON.map(lambda value: json.dumps(value).encode()),
    NEARLY.map(lambda value: json.dumps(value).encode()),
)


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory):
    limits = Limits(body=2000)
    options = ModelOptions(most_features=5, most_classes=4, remember=3)
    with in_thread(tmp_path_factory.mktemp("fuzz"), limits=limits, options=options) as both:
        yield both


@settings(
    max_examples=100,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.sampled_from(["/predict", "/learn", "/events"]), BODIES)
def test_no_request_is_answered_with_5xx_and_refused_ones_change_nothing(fuzzed, path, body):
    service, call = fuzzed
    model = service.loaded["default"].model if service.loaded else None
    before = None if model is None else dict(model.counts)
    answer, text = call.raw("POST", path, body)
    assert answer.status < 500, text
    if answer.status != 200 and before is not None:
        assert model.counts == before
    for line in text.splitlines():
        json.loads(line, parse_constant=pytest.fail)  # NaN is not JSON


def test_a_token_is_asked_for_but_not_by_the_pages(start):
    _, call = start(TOKEN)
    for path in ("/model", "/metrics", "/models", "/live"):
        answer, _ = call.raw("GET", path)
        assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert call("GET", "/model", headers={"Authorization": f"Bearer {TOKEN}"})[0] == 200
    for path in ("/", "/docs", "/healthz", "/openapi.json"):
        assert call.raw("GET", path)[0].status == 200


def test_a_service_that_is_full_says_503_and_when_to_come_again(start):
    service, call = start(limits=Limits(queue=0))
    answer, text = call.raw("POST", "/learn", {"features": {"a": 1}, "label": "x"})
    assert (answer.status, answer.headers["retry-after"]) == (503, "1")
    assert b"too many events wait for the disk" in text
    assert call.predict(features={"a": 1})[0] == 200
    assert "default" not in service.loaded or not service.loaded["default"].model.counts["learned"]


def test_what_is_answered_is_on_the_disk(start, tmp_path):
    """The log alone, without a checkpoint, has every label that was answered."""
    _, call = start(seconds=1000)
    for t in range(5):
        _, answer = call.learn(features={"a": t}, label="xy"[t % 2])
        assert answer["step"] == t + 1
        model, rest = saved(tmp_path / "models")
        assert (model.counts["learned"], len(rest)) == (0, t + 1)


def test_who_watches_sees_it_learn(start):
    _, call = start()
    watcher = Caller(call._connection.port)
    watcher._connection.request("GET", "/live")
    live = watcher._connection.getresponse()
    assert live.headers["content-type"].startswith("text/event-stream")
    pictures = []
    for learned in (0, 1):
        line = live.readline()
        while not line.startswith(b"data: "):
            line = live.readline()
        pictures.append(json.loads(line[6:]))
        assert pictures[-1]["learned"] == learned
        call.learn(features={"a": 1}, label="x")
    live.close()
    watcher.close()


def test_pages_ask_nobody_else(start):
    _, call = start()
    for path in ("/", "/docs"):
        answer, text = call.raw("GET", path)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "connect-src 'self'" in policy
        addresses = set(re.findall(rb"https?://[^\"'`\s)]+", text))
        assert addresses <= {b"http://www.w3.org/2000/svg"}
        assert b"innerHTML" not in text


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium to show the page")
def test_the_page_shows_in_a_browser_what_is_learned_meanwhile(start, tmp_path):
    _, call = start(TOKEN)
    address = f"http://127.0.0.1:{call._connection.port}/"
    text = "document.body.innerText"
    with opened(address, tmp_path / "browser") as page:
        page.until("!document.getElementById('login').hidden")
        page.value(f"document.getElementById('token').value = '{TOKEN}'")
        page.value("document.querySelector('#login button').click()")
        page.until(f"{text}.includes('No label has come yet')")
        for t in range(40):
            body = {"features": {"a": t % 5}, "label": ["<b>one</b>", "two"][t % 2]}
            call("POST", "/learn", body, {"Authorization": f"Bearer {TOKEN}"})
        page.until(f"/Labels learned\\s+40/.test({text})")
        assert page.value(f"{text}.includes('40 of 100 labels have come')")
        assert page.value(f"/What was rejected.\\s+Nothing/.test({text})")
        for t in range(100):
            body = {"features": {"a": t % 2}, "label": ["<b>one</b>", "two"][t % 2]}
            call("POST", "/learn", body, {"Authorization": f"Bearer {TOKEN}"})
        call("POST", "/learn", {"label": "x"}, {"Authorization": f"Bearer {TOKEN}"})
        page.until(f"/Is it learning.\\s+Yes. The latest log loss is/.test({text})")
        page.until(f"/What was rejected.\\s+1. Last: features are missing/.test({text})")
        assert page.value(f"/Which columns matter.\\s+a/.test({text})")
        assert page.value(
            f"/Can I trust.*\\s+(Yes|Roughly|No)\\. Forecasts are off by/.test({text})"
        )
        assert page.value(f"{text}.includes('<b>one</b>')")
        for part, lines in (("loss", 1), ("classes", 2), ("clock", 1), ("traffic", 1)):
            page.until(f"document.querySelectorAll('#{part} svg .ours').length == {lines}")
        page.until("document.querySelectorAll('#events tr').length == 11")
        assert page.value(f"/taken for\\s+drift/.test({text})")
        assert page.value("JSON.parse(document.getElementById('features').value).a") in range(5)
        page.value("document.getElementById('features').value = '{\"a\": 2}'")
        page.value("document.querySelector('#try button').click()")
        page.until("document.querySelectorAll('#forecast td').length == 2")
        for width in (1280, 400):
            page.size(width)
            assert page.value("document.documentElement.scrollWidth") <= width
        complaints = [each for each in page.complaints if "401" not in json.dumps(each)]
        assert not complaints
        assert page.requests
        assert all(each.startswith((address, "data:")) for each in page.requests)


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium to show the page")
def test_the_page_shows_a_regression(start, tmp_path):
    _, call = start(options=ModelOptions(regression=True, linear=True))
    text = "document.body.innerText"
    for t in range(150):
        call.learn(features={"a": t % 5, "colour": "rgb"[t % 3]}, label=t % 5 + 0.5)
    with opened(f"http://127.0.0.1:{call._connection.port}/", tmp_path / "browser") as page:
        page.until(f"/CRPS as numbers come/.test({text})")
        assert page.value(f"/Can I trust the intervals.\\s+(Yes|Roughly|No)/.test({text})")
        assert page.value("document.getElementById('calibration').hidden")
        page.value("document.querySelector('#try button').click()")
        page.until(f"/mean without colour/.test({text})")
        page.size(400)
        assert page.value("document.documentElement.scrollWidth") <= 400
        assert not page.complaints


def test_requests_are_logged_with_their_reasons(tmp_path):
    with in_thread(tmp_path / "models", TOKEN, log=tmp_path / "requests") as (_, call):
        right = {"Authorization": f"Bearer {TOKEN}"}
        assert call("POST", "/learn", {"features": {"a": 1}, "label": "x"}, right)[0] == 200
        assert call("POST", "/learn", {"label": "x"}, right)[0] == 422
        assert call("GET", "/model")[0] == 401
    lines = [json.loads(line) for line in (tmp_path / "requests").read_text().splitlines()]
    assert [(each["path"], each["status"]) for each in lines] == [
        ("/learn", 200),
        ("/learn", 422),
        ("/model", 401),
    ]
    assert "reason" not in lines[0]
    assert lines[1]["reason"].startswith("features are missing")
    assert lines[2]["reason"].startswith("a token is needed")
    assert all(each["client"] == "127.0.0.1" and each["seconds"] > 0 for each in lines)


def test_compressed_bodies_are_read_within_the_limit(start):
    _, call = start(limits=Limits(body=5000))
    packed = {"Content-Encoding": "gzip"}
    body = gzip.compress(json.dumps({"features": {"a": 1}, "label": "x"}).encode())
    assert call("POST", "/learn", body, packed)[0] == 200
    lines = gzip.compress(b'{"features": {"a": 2}, "label": "y"}\n' * 3)
    assert call.raw("POST", "/events", lines, packed)[1].count(b'"learned":true') == 3
    bomb = gzip.compress(b'{"features": {"a": "' + b"x" * 10**7 + b'"}}')
    assert len(bomb) < 20_000
    assert call("POST", "/predict", bomb[:4900] + b"", packed)[0] in (413, 422)
    assert call("POST", "/predict", body, {"Content-Encoding": "br"})[0] == 415


def test_each_route_that_takes_a_body_says_what_it_holds(start):
    _, call = start()
    status, api = call("GET", "/openapi.json")
    assert status == 200
    for path in ("/predict", "/learn", "/events", "/models/{name}/learn"):
        ((_, content),) = api["paths"][path]["post"]["requestBody"]["content"].items()
        keys = set(content["schema"]["properties"])
        assert keys == {"id", "features"} | (set() if path == "/predict" else {"label"})
        assert set(content["schema"].get("required", ())) <= set(content["example"]) <= keys
        assert call("POST", path.replace("{name}", "default"), content["example"])[0] in (200, 404)


def test_the_examples_go_from_a_forecast_to_its_label(start):
    _, call = start()
    paths = call("GET", "/openapi.json")[1]["paths"]
    for path, answer in (("/predict", "probabilities"), ("/learn", "step")):
        (content,) = paths[path]["post"]["requestBody"]["content"].values()
        status, got = call("POST", path, content["example"])
        assert (status, answer in got) == (200, True)


def test_each_part_of_a_path_is_described_once(start):
    _, call = start()
    for path, methods in call("GET", "/openapi.json")[1]["paths"].items():
        for operation in methods.values():
            given = [each for each in operation.get("parameters", []) if each["in"] == "path"]
            assert [each["name"] for each in given] == (["name"] if "{name}" in path else [])
