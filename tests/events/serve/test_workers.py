"""Processes that only forecast: they know what is committed, and outlive the one that learns."""

import asyncio
import os
import re
import signal
import time

import pytest
from serve_command import Caller, Server

from mixable import persistence
from mixable.events.events import Event
from mixable.events.serve.service import Service
from mixable.events.serve.shown import Limits
from mixable.events.serve.worker import Worker
from mixable.events.store import Keep

BESIDE = re.compile(r"only forecast, at http://127\.0\.0\.1:(\d+)/")


def beside(server):
    """A caller of the workers."""
    until = time.monotonic() + 30
    while not BESIDE.search(server.said):
        assert time.monotonic() < until, server.said
        time.sleep(0.02)
    port = int(BESIDE.search(server.said).group(1))
    while True:
        caller = Caller(port)
        try:
            if caller("GET", "/readyz")[0] == 200:
                return caller
        except OSError:
            assert time.monotonic() < until
        caller.close()
        time.sleep(0.05)


@pytest.fixture
def server(tmp_path):
    made = Server(tmp_path / "models", "--workers", "1", "--linear")
    yield made
    if made.process.poll() is None:
        made.end()


def test_a_worker_forecasts_what_the_writer_would(server):
    call, other = Caller(server.port), beside(server)
    record = {"features": {"a": 1.0, "colour": "red"}}
    assert "mixable: 1 process that can only forecast, at " in server.said
    assert other("GET", "/models") == (200, {"models": ["default"]})
    for t in range(40):
        body = {"features": {"a": t % 5, "colour": "rgb"[t % 3]}, "label": "xy"[t % 5 > 2]}
        assert call("POST", "/learn", body)[0] == 200
        if t % 8 == 0:  # what was answered is known there
            assert other("POST", "/predict", record) == call("POST", "/predict", record)
    assert other("GET", "/model")[1]["learned"] == 40
    assert other("GET", "/series")[1]["whole"]["outcomes"] <= 40
    for method, path, body in (
        ("POST", "/learn", {"features": {"a": 1}, "label": "x"}),
        ("POST", "/predict", {"id": "1", "features": {"a": 1}}),
        ("PUT", "/models/new", {}),
        ("DELETE", "/models/default", None),
        ("POST", "/rollback", {"version": "good"}),
    ):
        status, answer = other(method, path, body)
        assert (status, f":{server.port}/" in answer["error"]) == (421, True)
    call("POST", "/versions", {"name": "good"})
    before = call("POST", "/predict", record)
    for _ in range(10):
        call("POST", "/learn", {**record, "label": "y"})
    assert other("POST", "/predict", record) != before
    assert call("POST", "/rollback", {"version": "good"})[0] == 200
    assert other("POST", "/predict", record) == before
    assert call("PUT", "/models/new")[0] == 201
    assert other("GET", "/models/new")[1]["learned"] == 0
    assert call("POST", "/models/new/learn", {**record, "label": "y"})[0] == 200
    assert other("POST", "/predict", record) == before  # another model is asked first
    assert other("GET", "/models/new")[1]["learned"] == 1
    assert call("DELETE", "/models/new")[0] == 200
    assert other("GET", "/models/new")[0] == 404
    call.close()
    other.close()
    assert server.end() == 0


def test_a_worker_outlives_the_process_that_learns_until_there_is_another(tmp_path, server):
    call, other = Caller(server.port), beside(server)
    record = {"features": {"a": 1.0}}
    for t in range(10):
        call("POST", "/learn", {"features": {"a": t % 2}, "label": "xy"[t % 2]})
    expected = call("POST", "/predict", record)
    call.close()
    server.process.send_signal(signal.SIGKILL)
    server.process.wait()
    assert other("POST", "/predict", record) == expected  # nobody learns, and it goes on
    again = Server(tmp_path / "models", "--workers", "1", "--linear")
    until = time.monotonic() + 30
    while True:  # the old one ends
        try:
            assert other("POST", "/predict", record)[0] == 200
        except (OSError, AssertionError):
            break
        except Exception:  # the connection ended in the midst of an answer
            break
        assert time.monotonic() < until
        time.sleep(0.1)
    other.close()
    server._reader.join(timeout=30)  # the old worker had the same standard error
    server.process.stderr.close()
    anew = beside(again)
    assert anew("POST", "/predict", record) == expected
    anew.close()
    assert again.end() == 0


def event(a, label=None):
    return Event(id=None, features={"a": a}, label=label)


def test_a_worker_knows_events_that_the_log_has_no_more(tmp_path):
    async def answers():
        service = Service(tmp_path / "models", seconds=1e9, keep=Keep(rows=5))
        service.start()
        for t in range(30):
            await service.submit("default", [event(t % 2, "xy"[t % 2])])
        worker = Worker(
            tmp_path / "models", "http://w", os.getpid(), limits=Limits(), say=lambda _: None
        )
        worker.start()
        before = [await each.submit("default", [event(1)]) for each in (service, worker)]
        for t in range(40):
            await service.submit("default", [event(t % 2, "yx"[t % 2])])
        await service._checkpoint()
        after = [await each.submit("default", [event(1)]) for each in (service, worker)]
        await worker.stop()
        await service.stop()
        return before, after

    for pair in asyncio.run(answers()):
        assert pair[0] == pair[1]


def test_a_checkpoint_that_fails_does_not_end_learning(tmp_path, monkeypatch):
    async def answers():
        service = Service(tmp_path / "models", seconds=1e9)
        service.start()
        await service.submit("default", [event(1, "x")])

        def fail(model):
            raise MemoryError

        monkeypatch.setattr(persistence, "to_bytes", fail)
        await service._checkpoint()
        monkeypatch.undo()
        (answer,) = await service.submit("default", [event(0, "y")])
        await service.stop()
        return answer, service.failures

    answer, failures = asyncio.run(answers())
    assert (answer["step"], failures) == (2, 1)
