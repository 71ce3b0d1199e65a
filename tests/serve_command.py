"""`mixable serve` in tests: start it, ask it, end it."""

import asyncio
import contextlib
import http.client
import json
import os
import re
import resource
import signal
import socket
import subprocess
import threading
import time

import numpy as np
import pytest
from command_line import MIXABLE

from mixable import persistence
from mixable.events import EventModel, ModelOptions
from mixable.events.applying import Applier
from mixable.events.serve import bodies
from mixable.events.store import Store, load

ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)/")


def served_model(**options):
    """What the tests serve; the command makes nonlinear models by default."""
    return EventModel(**{"linear": True, **options})


def read(text):
    """An event of a request."""
    return bodies.read(text, bodies.EVENT)


def apply(model, event):
    """The answer of a model to an event."""
    return Applier(model).one(event)


def apply_many(model, events):
    """The answers of a model to events."""
    return [each.answer for each in Applier(model).apply(events)]


def saved(folder, name="default"):
    """A model as it is on the disk: its last checkpoint, and how much the log has since."""
    store = Store(folder, read_only=True)
    model, _, rest = load(store, store.models()[name])
    rest = list(rest)
    store.close()
    return model, rest


def contents(model):
    """All that a model would save."""
    from safetensors.numpy import load

    data = persistence.to_bytes(model)
    size = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + size])["__metadata__"]["model"], load(data)


def same_models(one, other):
    """Whether two models are equal to the bit, up to the sign of zeros.

    Loading gives those that no forecast reads, beside triangular matrices, another sign.
    """
    (text, tensors), (other_text, others) = contents(one), contents(other)
    return (
        text == other_text
        and tensors.keys() == others.keys()
        and all(np.array_equal(tensors[k], others[k], equal_nan=True) for k in tensors)
    )


async def end(service, *, crash=False):
    """Stop a service, or leave it as a crash would."""
    if not crash:
        await service.stop()
        return
    service._task.cancel()
    service.store.close()
    service._reader.close()
    service._lock.release()


class Caller:
    """One connection to a service; answers are status and JSON."""

    def __init__(self, port):
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)

    def raw(self, method, path, body=None, headers=()):
        if isinstance(body, dict):
            body = json.dumps(body)
        self._connection.request(method, path, body, dict(headers))
        answer = self._connection.getresponse()
        return answer, answer.read()

    def __call__(self, method, path, body=None, headers=()):
        answer, text = self.raw(method, path, body, headers)
        return answer.status, json.loads(text)

    def predict(self, **body):
        return self("POST", "/predict", body)

    def learn(self, **body):
        return self("POST", "/learn", body)

    def events(self, events, path="/events"):
        lines = "".join(json.dumps(event) + "\n" for event in events)
        _, text = self.raw("POST", path, lines)
        return [json.loads(line) for line in text.splitlines()]

    def close(self):
        self._connection.close()


class Server:
    """The command in a process of its own; `said` is what it wrote to standard error."""

    def __init__(self, folder, *options, largest_file=None):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))

        self.process = subprocess.Popen(
            [MIXABLE, "serve", str(folder), "--port", "0", *map(str, options)],
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=limit if largest_file else None,
        )
        self.said = ""
        while not ADDRESS.search(self.said):
            line = self.process.stderr.readline()
            assert line, f"it ended: {self.said}"
            self.said += line
        self.port = int(ADDRESS.search(self.said).group(1))
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self):
        for line in self.process.stderr:
            self.said += line

    def end(self, number=signal.SIGTERM):
        """End it; the status of the process."""
        self.process.send_signal(number)
        status = self.process.wait(timeout=30)
        self._reader.join()
        self.process.stderr.close()
        return status


@contextlib.contextmanager
def serving(folder, *options, **more):
    """The command while a test runs, with a caller."""
    server = Server(folder, *options, **more)
    caller = Caller(server.port)
    try:
        yield server, caller
    finally:
        caller.close()
        if server.process.poll() is None:
            server.end(signal.SIGKILL)


@contextlib.contextmanager
def in_thread(folder, token=None, *, send_buffer=None, log=None, **options):
    """A service in a thread of this process, with a caller.

    With a small `send_buffer` (bytes), answers that nobody reads soon stop the service.
    """
    pytest.importorskip("fastapi", reason='pip install "mixable[serve]"')
    pytest.importorskip("prometheus_client", reason='pip install "mixable[serve]"')
    uvicorn = pytest.importorskip("uvicorn", reason='pip install "mixable[serve]"')
    from mixable.cli.serve import server_config
    from mixable.events.serve.app import make_app
    from mixable.events.serve.service import Service

    options.setdefault("options", ModelOptions(linear=True))
    service = Service(folder, say=lambda _: None, **options)
    app = make_app(service, token, log)
    server = uvicorn.Server(server_config(app, service))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve()))
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.005)
    listening = server.servers[0].sockets[0]
    if send_buffer is not None:
        raw = socket.socket(fileno=os.dup(listening.fileno()))
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer)
        raw.close()
    caller = Caller(listening.getsockname()[1])
    try:
        yield service, caller
    finally:
        caller.close()
        service.closing = server.should_exit = True
        thread.join()
