"""What every request passes: tokens, hosts, sizes, numbers."""

import asyncio
import threading

import pytest

from mixable.events.events import RefusedError
from mixable.events.serve.guard import Guard, whole_body
from mixable.events.serve.shown import Limits


def asked(path="/model", headers=(), *, token=None, limits=None):
    """The status that a guard answers with, 200 if it lets the request through; and the body."""
    sent, seen = [], []

    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def send(message):
        sent.append(message)

    guard = Guard(
        app, token=token, limits=limits or Limits(), observe=lambda *each: seen.append(each)
    )
    pairs = [(name.encode(), value.encode()) for name, value in headers]
    scope = {"type": "http", "path": path, "headers": pairs}
    asyncio.run(guard(scope, None, send))
    assert [each[:2] for each in seen] == [("other", sent[0]["status"])]
    return sent[0]["status"], sent[1]["body"].decode()


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost", "[::1]:8000", "LOCALHOST:1"])
def test_programs_of_this_machine_may_ask(host):
    assert asked(headers=[("host", host)])[0] == 200


@pytest.mark.parametrize(
    "headers",
    [
        [("host", "example.org")],
        [("host", "127.0.0.1.example.org")],
        [("host", "[broken")],
        [("host", "localhost#.evil.com")],
        [("host", "localhost?.evil.com")],
        [("host", "localhost/.evil.com")],
        [("host", "evil.com@localhost")],
        [("host", "localhost:80:80")],
        [("host", "localhost:")],
        [("host", "")],
        [],
        [("host", "localhost:8000"), ("origin", "http://example.org")],
        [("host", "localhost:8000"), ("origin", "http://localhost:9000")],
        [("host", "localhost:8000"), ("origin", "null")],
    ],
)
def test_pages_of_other_sites_may_not(headers):
    assert asked(headers=headers)[0] == 403


def test_a_host_that_only_begins_like_ours_is_refused_over_http(start):
    _, call = start()
    for host in ("localhost#.evil.com", "127.0.0.1#@evil.com"):
        assert call("GET", "/model", headers={"Host": host})[0] == 403
    assert call("GET", "/model", headers={"Host": "LocalHost:1"})[0] == 200


def test_the_page_itself_may():
    headers = [("host", "localhost:8000"), ("origin", "http://localhost:8000")]
    assert asked(headers=headers)[0] == 200


@pytest.mark.parametrize(
    ("given", "status"),
    [("Bearer the-token", 200), ("Bearer the-toke", 401), ("the-token", 401), ("", 401)],
)
def test_with_a_token_those_may_who_know_it(given, status):
    headers = [("authorization", given), ("host", "example.org")]
    assert asked(headers=headers, token="the-token")[0] == status
    assert asked("/healthz", [("authorization", "x")], token="the-token")[0] == 200


@pytest.mark.parametrize(
    ("path", "length", "status"),
    [
        ("/learn", "100", 200),
        ("/learn", "101", 413),
        ("/learn", "-1", 413),
        ("/learn", "9" * 30, 413),
        ("/events", "101", 200),
        ("/models/a/events", "201", 413),
    ],
)
def test_bodies_have_a_limit(path, length, status):
    headers = [("host", "localhost"), ("content-length", length)]
    assert asked(path, headers, limits=Limits(body=100, bulk=200))[0] == status


def test_too_many_requests_get_503_but_health_is_told():
    limits = Limits(requests=0)
    status, body = asked(headers=[("host", "localhost")], limits=limits)
    assert (status, "too many requests" in body) == (503, True)
    assert asked("/healthz", [("host", "localhost")], limits=limits)[0] == 200


def body_of(pieces, most, seconds=5.0):
    async def sent():
        for piece in pieces:
            await asyncio.sleep(0.02)
            yield piece

    return asyncio.run(whole_body(sent(), most, seconds))


def test_a_body_that_grows_or_is_slow_is_refused():
    assert body_of([b"ab", b"c"], 3) == b"abc"
    with pytest.raises(RefusedError, match="3 bytes") as refused:
        body_of([b"ab", b"cd"], 3)
    assert refused.value.status == 413
    with pytest.raises(RefusedError, match=r"more than 0\.01 seconds") as refused:
        body_of([b"ab"], 3, 0.01)
    assert refused.value.status == 408


def test_a_service_refuses_what_is_too_much_and_goes_on(start):
    _, call = start(limits=Limits(requests=1, body=200, bulk=300))
    assert call.learn(features={"a": 1}, label="x" * 300)[0] == 413
    pieces = iter([b'{"features": {"' + b"a" * 500 + b'": 1}, "label": "x"}'])
    assert call.raw("POST", "/learn", pieces)[0].status == 413
    assert call.learn(features={"a": 1}, label="x")[1]["step"] == 1
    assert threading.active_count() < 20
