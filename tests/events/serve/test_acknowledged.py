"""Labels that were answered are in the models, whoever reads slowly and whatever is evicted."""

import contextlib
import json
import socket
import time

from serve_command import in_thread, saved

from mixable.events.applying import Applier
from mixable.events.serve.shown import Limits

HOST = b"Host: 127.0.0.1\r\n"
PAGE = b"GET /openapi.json HTTP/1.1\r\n" + HOST + b"\r\n"
LAST = b"GET /models HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n"
LINES, REQUESTS = 3, 40


def lines(n, first=0):
    events = ({"features": {"a": t % 5}, "label": "xy"[t % 2]} for t in range(first, first + n))
    return "".join(json.dumps(event) + "\n" for event in events).encode()


def posted(path, body):
    head = b"POST " + path.encode() + b" HTTP/1.1\r\n" + HOST
    return head + b"Content-Length: %d\r\n\r\n" % len(body) + body


def slow_reader(port, requests):
    """A connection with a small buffer that has sent requests and reads no answer yet."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
    sock.settimeout(10)
    sock.connect(("127.0.0.1", port))
    sock.sendall(requests)
    return sock


def test_a_model_that_is_evicted_while_its_stream_is_not_read_loses_nothing(tmp_path):
    """Pages that nobody reads stop the service as it begins the answer to what comes next."""
    names = ["a", "b", "c", "d"]
    folder = tmp_path / "models"
    options = {"limits": Limits(in_memory=1), "seconds": 0.05, "send_buffer": 1 << 16}
    with in_thread(folder, **options) as (_, call), contextlib.ExitStack() as stack:
        for name in names:
            assert call("PUT", f"/models/{name}")[0] == 201
        readers = {}
        for name in ("a", "b"):
            unread = b"".join(
                PAGE + posted(f"/models/{name}/events", lines(LINES, LINES * i))
                for i in range(REQUESTS)
            )
            sock = slow_reader(call._connection.port, unread + LAST)
            readers[name] = stack.enter_context(sock)
        time.sleep(0.3)  # until all that can go on without a reader has gone on
        for t in range(2):
            for name in names:
                until_answered(call, f"/models/{name}/learn", t)
        acknowledged = dict.fromkeys(names, 2)
        for name, sock in readers.items():
            learned = [each for each in read_answers(sock) if each.get("learned")]
            assert len(learned) >= LINES
            acknowledged[name] += len(learned)
    found = {}
    for name in names:  # one that went out of memory has its last events in the log
        model, rest = saved(folder, name)
        Applier(model).all(rest)
        found[name] = model.counts["learned"]
    assert found == acknowledged


def until_answered(call, path, t):
    """Learn a label; too many models may be in use for a moment."""
    for _ in range(500):
        status, _ = call("POST", path, {"features": {"a": t}, "label": "xy"[t % 2]})
        if status == 200:
            return
        assert status == 503
        time.sleep(0.01)
    raise AssertionError(f"{path} is busy for ever")


def read_answers(sock):
    """All lines of answers, up to the answer to the last request; 503 has none."""
    with sock.makefile("rb") as file:
        for line in file:
            if line.startswith(b'{"models"'):
                return
            if line.startswith(b'{"line"'):
                yield json.loads(line)
    raise AssertionError("the connection ended")
