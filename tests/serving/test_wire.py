"""Requests from the bytes of a connection are answered as the framework answers them."""

import contextlib
import json
import socket
import time

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixable.serving import wire
from mixable.serving.limits import Limits

HOST = b"Host: 127.0.0.1\r\n"


def request(body, path="/learn", headers=b""):
    """A request as a client sends it."""
    text = json.dumps(body).encode() if isinstance(body, dict | list) else body
    length = b"Content-Length: %d\r\n" % len(text)
    return b"POST " + path.encode() + b" HTTP/1.1\r\n" + HOST + length + headers + b"\r\n" + text


LEARN = request({"features": {"a": 1}, "label": "x"})
PREDICT = request({"features": {"a": 1}}, "/predict")


@contextlib.contextmanager
def connection(call):
    address = "127.0.0.1", call._connection.port
    with socket.create_connection(address, timeout=5) as sock, sock.makefile("rb") as file:
        yield sock, file


def answer(file):
    """Status, headers and text of the next answer."""
    status = int(file.readline().split()[1])
    headers = {}
    while line := file.readline().strip():
        name, _, value = line.partition(b":")
        headers[name.lower().decode()] = value.strip().decode()
    return status, headers, json.loads(file.read(int(headers["content-length"])))


def handed_over(monkeypatch):
    """How often a connection went to uvicorn."""
    times = []
    hand_over = wire.Wire._hand_over

    def noted(self):
        times.append(1)
        hand_over(self)

    monkeypatch.setattr(wire.Wire, "_hand_over", noted)
    return times


BODIES = [
    {"features": {"a": 1}},
    {"id": 7, "features": {"a": 2.5}},
    {"id": 7, "label": "y"},
    {"features": {"a": 1}, "label": "x"},
    {"features": {"a": "word"}, "label": "x"},
    {"id": 8, "label": "x"},
    [],
    b"",
    b"\xff{",
    b"[" * 100_000,
]


@pytest.mark.parametrize(
    "path", ["/learn", "/predict", "/models/default/learn", "/models/no/learn"]
)
def test_the_answer_is_that_of_the_framework(start, monkeypatch, path):
    times = handed_over(monkeypatch)
    service, call = start()
    got = []
    for more in (b"", b"Expect: nothing\r\n"):  # which makes it uvicorn's
        with connection(call) as (sock, file):
            sock.sendall(request({"features": {"a": 1}, "label": "x", "id": "1"}, headers=more))
            assert answer(file)[0] == 200
            for body in BODIES:
                sock.sendall(request(body, path, more))
                got.append(answer(file))
    assert len(times) == 1
    half = len(BODIES)
    for (status, headers, value), (other_status, others, other) in zip(
        got[:half], got[half:], strict=True
    ):
        assert status == other_status < 500
        assert headers.keys() == others.keys()
        assert value.keys() == other.keys()
        assert status == 200 or value == other
    reasons = [each[1] for each in service.rejected]
    assert reasons[: len(reasons) // 2] == reasons[len(reasons) // 2 :]
    assert len(reasons) == len([each for each in got if each[0] != 200])


@pytest.mark.parametrize(
    "head",
    [
        b"GET /learn HTTP/1.1\r\nHost: a\r\nContent-Length: 2",
        b"POST /learn HTTP/1.0\r\nHost: a\r\nContent-Length: 2",
        b"POST /learn?explain=true HTTP/1.1\r\nHost: a\r\nContent-Length: 2",
        b"POST /models/../learn HTTP/1.1\r\nHost: a\r\nContent-Length: 2",
        b"POST /learn HTTP/1.1\r\nContent-Length: 2",
        b"POST /learn HTTP/1.1\r\nHost: a",
        b"POST /learn HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nContent-Length: 2",
        b"POST /learn HTTP/1.1\r\nHost: a\r\nHost: b\r\nContent-Length: 2",
        b"POST /learn HTTP/1.1\r\nHost: a\r\nContent-Length: +2",
        b"POST /learn HTTP/1.1\r\nHost: a\r\nContent-Length: 2, 2",
        b"POST /learn HTTP/1.1\r\nHost: a\r\nContent-Length: " + b"1" * 16,
        b"POST /learn HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nTransfer-Encoding: chunked",
        b"POST /learn HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue",
        b"POST /learn HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nUpgrade: h2c",
        b"POST /learn HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nConnection: close",
        b"POST /learn HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n folded",
        b"POST /learn HTTP/1.1\r\nHost: a\r\nContent-Length : 2",
        b"POST /learn HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nX: a\nTransfer-Encoding: chunked",
        b"POST /learn HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nX: a\rb",
        b"POST /learn HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nX: a\0b",
        b"POST /learn HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nnothing",
    ],
)
def test_what_is_not_plain_is_left_to_uvicorn(head):
    assert wire.plain_head(head) is None


def test_a_plain_head_is_read():
    text = b"POST /models/a-b/predict HTTP/1.1\r\nhOst: \ta \r\ncontent-LENGTH:12\r\nX-Y: \xe4:b"
    headers = {b"host": b"a", b"content-length": b"12", b"x-y": b"\xe4:b"}
    assert wire.plain_head(text) == wire.Head(
        path="/models/a-b/predict", name="a-b", route="/predict", headers=headers, length=12
    )


def test_bytes_may_come_one_by_one_and_many_requests_at_once(start, monkeypatch):
    times = handed_over(monkeypatch)
    _, call = start()
    with connection(call) as (sock, file):
        for i in range(len(LEARN)):
            sock.sendall(LEARN[i : i + 1])
        assert answer(file)[2]["step"] == 1
        sock.sendall((LEARN + PREDICT) * 50 + LEARN[:30])
        for i in range(50):
            assert answer(file)[2]["step"] == 2 + i
            assert answer(file)[2] == {"probabilities": {"x": 1.0}}
        sock.sendall(LEARN[30:])
        assert answer(file)[2]["step"] == 52
        assert not times
        sock.sendall(LEARN + b"GET /models HTTP/1.1\r\n" + HOST + b"\r\n" + LEARN)
        assert answer(file)[2]["step"] == 53
        assert answer(file)[2] == {"models": ["default"]}
        assert answer(file)[2]["step"] == 54
    assert len(times) == 1


def test_a_token_and_other_sites(start):
    _, call = start("a-long-token")
    with connection(call) as (sock, file):
        sock.sendall(LEARN)
        status, headers, _ = answer(file)
        assert (status, headers["www-authenticate"]) == (401, "Bearer")
        told = b"Authorization: Bearer a-long-token\r\n"
        sock.sendall(request({"features": {"a": 1}, "label": "x"}, headers=told))
        assert answer(file)[2]["step"] == 1


def test_pages_of_other_sites_are_refused(start):
    service, call = start()
    with connection(call) as (sock, file):
        sock.sendall(request({"features": {}}, "/predict", b"Origin: http://example.org\r\n"))
        assert answer(file)[0] == 403
    assert service.journal.entries == 0


def test_what_is_too_much_is_refused(start):
    _, call = start(limits=Limits(body=100, requests=0))
    with connection(call) as (sock, file):
        sock.sendall(PREDICT)
        status, headers, _ = answer(file)
        assert (status, headers["retry-after"]) == (503, "1")
        sock.sendall(request({"features": {"a" * 200: 1}}, "/predict"))
        assert answer(file)[0] in (413, 503)


def test_a_client_that_reads_nothing_waits(start, monkeypatch):
    times = handed_over(monkeypatch)
    _, call = start()
    call.learn(features={"a": 1}, label="x" * 900)
    with connection(call) as (sock, file):
        sock.settimeout(0.5)
        with pytest.raises(TimeoutError):
            sock.sendall(PREDICT * 100_000)
        sock.settimeout(5)
        for _ in range(100):
            assert answer(file)[0] == 200
    assert not times


def test_a_slow_request_is_refused_and_an_idle_connection_ends(start, monkeypatch):
    _, call = start(limits=Limits(seconds=0.2))
    with connection(call) as (sock, file):
        sock.sendall(LEARN[:-5])
        assert answer(file)[0] == 408
    monkeypatch.setattr(wire.Wire, "_idle", 0.1)
    with connection(call) as (sock, file):
        sock.sendall(LEARN)
        assert answer(file)[0] == 200
        began = time.monotonic()
        assert file.read() == b""
        assert time.monotonic() - began < 10


def test_who_sends_no_more_is_answered(start):
    _, call = start()
    with connection(call) as (sock, file):
        sock.sendall(LEARN * 3 + LEARN[:9])
        sock.shutdown(socket.SHUT_WR)
        for step in (1, 2, 3):
            status, _, value = answer(file)
            assert (status, value["step"]) == (200, step)
        assert file.read() == b""


def test_what_nobody_thought_of_is_a_500_and_the_connection_goes_on(start, monkeypatch):
    service, call = start()
    with connection(call) as (sock, file):
        with monkeypatch.context() as broken:
            broken.setattr(service, "forecast", lambda *_: 1 / 0)
            service.models.loaded.clear()
            sock.sendall(LEARN)
            assert answer(file)[0] == 200
            sock.sendall(PREDICT)
            assert answer(file)[0] == 500
        sock.sendall(PREDICT)
        assert answer(file)[0] == 200


@given(
    st.lists(
        st.tuples(
            st.integers(0, 200),
            st.sampled_from([b"", b"\r", b"\n", b"\r\n", b" ", b"\t", b":", b"\0", b"\x80", b"1"]),
            st.integers(0, 3),
        ),
        max_size=3,
    )
)
def test_a_head_that_is_taken_is_read_as_h11_reads_it(changes):
    text = PREDICT.replace(b"\r\n\r\n", b"\r\nX-More: 1\r\nAccept: a/b\r\n\r\n").split(b"\r\n\r\n")[
        0
    ]
    for place, new, gone in changes:
        text = text[:place] + new + text[place + gone :]
    if b"\r\n\r\n" in text or (head := wire.plain_head(text)) is None:
        return
    connection = h11.Connection(h11.SERVER)
    connection.receive_data(text + b"\r\n\r\n")
    event = connection.next_event()
    assert (event.method, event.target, event.http_version) == (b"POST", b"/predict", b"1.1")
    assert dict(event.headers) == head.headers
    assert int(head.headers[b"content-length"]) == head.length
