"""Connections that are slow, of strangers, or end early harm nobody else."""

import contextlib
import json
import resource
import socket
import struct
import time

import pytest
from serve_command import Caller, in_thread, serving

from mixable.events.serve.shown import Limits

HOST = b"Host: 127.0.0.1\r\n"
TOKEN = "a-long-token"
KNOWN = {"Authorization": f"Bearer {TOKEN}"}
LEARN = json.dumps({"features": {"a": 1}, "label": "x"}).encode()


def connected(stack, port, n, first=b""):
    """Connections that have sent something."""
    out = []
    for _ in range(n):
        sock = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=5))
        sock.sendall(first)
        out.append(sock)
    return out


def head(path, length, method="POST"):
    text = f"{method} {path} HTTP/1.1\r\nContent-Length: {length}\r\n".encode()
    return text + HOST + b"\r\n"


@pytest.mark.parametrize(
    "first",
    [
        b"G",  # a head that is not whole
        b"POST /learn HTTP/1.1\r\nX: ",
        b"",
        b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n",  # which needs no token
        head("/learn", 1000) + b"{",  # a body, without the token
    ],
)
def test_strangers_cannot_take_all_places(tmp_path, first):
    limits = Limits(requests=8)
    with contextlib.ExitStack() as stack:
        _, call = stack.enter_context(in_thread(tmp_path / "models", TOKEN, limits=limits))
        assert call("GET", "/model", headers=KNOWN)[0] == 200
        port = call._connection.port
        strangers = connected(stack, port, 60, first)
        assert call("GET", "/model", headers=KNOWN)[0] == 200  # on the connection that is known
        for _ in range(3):
            other = Caller(port)
            assert other("GET", "/healthz")[0] == 200
            assert other("GET", "/model", headers=KNOWN)[0] == 200
            other.close()
        assert len(strangers) == 60


def test_a_head_has_a_deadline_however_often_a_byte_comes(tmp_path):
    with contextlib.ExitStack() as stack:
        limits = Limits(seconds=0.3)
        _, call = stack.enter_context(in_thread(tmp_path / "models", limits=limits))
        (sock,) = connected(stack, call._connection.port, 1)
        sock.settimeout(0.02)
        began, gone = time.monotonic(), False
        while not gone and time.monotonic() - began < 5:
            try:
                sock.sendall(b"G")
                gone = sock.recv(1) == b""
            except TimeoutError:
                continue
            except OSError:
                gone = True
        assert gone
        assert time.monotonic() - began < 3


def test_bodies_of_events_are_counted_before_they_are_read(tmp_path):
    limits = Limits(streams=2)
    with contextlib.ExitStack() as stack:
        service, call = stack.enter_context(in_thread(tmp_path / "models", limits=limits))
        port, body = call._connection.port, LEARN + b"\n" + LEARN
        first = connected(stack, port, 2, head("/events", len(body)) + body[:10])
        time.sleep(0.1)
        (third,) = connected(stack, port, 1, head("/events", limits.bulk) + body[:10])
        assert third.recv(1000).startswith(b"HTTP/1.1 503")
        for sock in first:
            sock.sendall(body[10:])
            got = b""
            while b'{"line":2' not in got:
                got += sock.recv(10_000)
        assert service.loaded["default"].model.counts["learned"] == 4
        (again,) = connected(stack, port, 1, head("/events", len(body)) + body)
        assert again.recv(1000).startswith(b"HTTP/1.1 200")


def test_who_hangs_up_leaves_no_traceback(start, capfd):
    beginnings = [
        head("/learn", 100) + LEARN[:10],
        head("/predict?explain=true", 100) + LEARN[:10],
        head("/events", 1000) + LEARN[:10],
        b"POST /events HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" + HOST + b"\r\n",
        b"POST /events HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" + HOST + b"\r\n10\r\n123",
        head("/models/new", 100, "PUT") + b"{",
        head("/learn", len(LEARN)) + LEARN,
        head("/live", 0, "GET"),
        b"POST /learn",
    ]
    service, call = start()
    with contextlib.ExitStack() as stack:
        for first in beginnings:
            for is_reset in (False, True):
                (sock,) = connected(stack, call._connection.port, 1, first)
                time.sleep(0.02)
                if is_reset:
                    linger = struct.pack("ii", 1, 0)
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                sock.close()
        assert call.predict(features={"a": 1})[0] == 200
        time.sleep(0.1)
    assert set(service.names) == {"default"}
    assert "".join(capfd.readouterr()) == ""


def test_health_is_not_well_on_a_full_disk_and_well_again_when_there_is_room(tmp_path):
    with serving(tmp_path / "models") as (server, call):
        assert call.learn(features={"a": 1}, label="x")[0] == 200
        assert call("GET", "/readyz") == (200, {"status": "ok"})
        pid, unlimited = server.process.pid, resource.RLIM_INFINITY
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (1, unlimited))  # no file may grow
        status, answer = call.learn(features={"a": 1}, label="x")
        assert (status, "the disk cannot be written" in answer["error"]) == (503, True)
        assert call("GET", "/healthz")[0] == 200  # it is alive
        status, answer = call("GET", "/readyz")
        assert status == 503
        assert "the log cannot be written: " in answer["status"]
        assert call.predict(features={"a": 1})[0] == 200
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (unlimited, unlimited))
        until = time.monotonic() + 10
        while call("GET", "/readyz")[0] != 200:  # without any label that comes
            assert time.monotonic() < until
            time.sleep(0.05)
        assert call.learn(features={"a": 1}, label="x")[1]["step"] == 2


def test_what_follows_a_body_has_an_end_like_a_head(tmp_path):
    with in_thread(tmp_path / "models", TOKEN) as (_, call), contextlib.ExitStack() as stack:
        port = call._connection.port
        chunked = b"POST /predict HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n"
        (sock,) = connected(stack, port, 1, chunked + b"2\r\n{}\r\n0\r\n")
        with pytest.raises((ConnectionResetError, BrokenPipeError)):
            sock.sendall(b"a: bbb\r\n" * 3_000_000)
        assert call("GET", "/healthz")[0] == 200


def test_a_large_body_and_the_next_head_may_come_together(tmp_path):
    with in_thread(tmp_path / "models", TOKEN) as (_, call), contextlib.ExitStack() as stack:
        body = json.dumps({"features": {"a": "x" * 100_000}}).encode()
        both = head("/predict", len(body)) + body + b"GET /healthz HTTP/1.1\r\n"
        (sock,) = connected(stack, call._connection.port, 1, both)
        sock.sendall(HOST + b"\r\n")
        sock.settimeout(10)
        answer = b""
        while answer.count(b"HTTP/1.1 ") < 2:
            piece = sock.recv(65536)
            assert piece, answer
            answer += piece


def test_a_head_without_end_is_not_kept(tmp_path):
    with in_thread(tmp_path / "models", TOKEN) as (_, call), contextlib.ExitStack() as stack:
        port = call._connection.port
        (sock,) = connected(stack, port, 1, b"GET /model HTTP/1.1\r\n" + HOST + b"X: ")
        with pytest.raises((ConnectionResetError, BrokenPipeError)):
            sock.sendall(b"x" * 20_000_000)
        for size in (10, 60_000):
            assert call("GET", "/healthz", headers={"X": "x" * size})[0] == 200
