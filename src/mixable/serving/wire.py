"""The two requests that come most often, from the bytes of a connection.

A parser and a framework take two thirds of the time of such a request. `POST /predict` and
`POST /learn` whose head is plain are answered here. At the first request that is anything else, the
connection goes to uvicorn, with all that has come, for the rest of its life.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from uvicorn.config import Config
from uvicorn.protocols.http.auto import AutoHTTPProtocol
from uvicorn.server import ServerState

from mixable.serving.direct import event_of, submitted
from mixable.serving.guard import Guard, headers_of
from mixable.serving.limits import RefusedError
from mixable.serving.service import Service
from mixable.serving.store import DEFAULT

LONGEST = 2**13  # bytes of a head
UNTAKEN = 2**16  # bytes of requests that wait for their turn
FIRST = re.compile(rb"POST ((?:/models/([a-z0-9][a-z0-9_-]{0,63}))?(/predict|/learn)) HTTP/1\.1")
NAME = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
CLEAN = bytes([9, 10, 13, *range(32, 127), *range(128, 256)])
OTHERS = {b"transfer-encoding", b"expect", b"upgrade", b"trailer"}  # which change what follows


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """What the head of a request says."""

    path: str
    name: str  # of the model
    route: str
    headers: dict[bytes, bytes]
    length: int  # of the body


def plain_head(text: bytes) -> Head | None:
    """The head of a request that is answered here; None of any other, and in any doubt."""
    first, *lines = text.split(b"\r\n")
    found = FIRST.fullmatch(first)
    ends = text.count(b"\r"), text.count(b"\n")
    if found is None or ends != (len(lines), len(lines)) or text.translate(None, CLEAN):
        return None
    headers: dict[bytes, bytes] = {}
    for line in lines:
        name, colon, value = line.partition(b":")
        name = name.lower()
        if not colon or NAME.fullmatch(name) is None or name in headers:
            return None
        headers[name] = value.strip(b" \t")
    length = headers.get(b"content-length", b"")
    is_kept = headers.get(b"connection", b"keep-alive").lower() == b"keep-alive"
    if not is_kept or not length.isdigit() or len(length) > 15 or b"host" not in headers:
        return None
    if not OTHERS.isdisjoint(headers):
        return None
    return Head(
        path=found[1].decode(),
        name=DEFAULT if found[2] is None else found[2].decode(),
        route=found[3].decode(),
        headers=headers,
        length=int(length),
    )


class Wire(asyncio.Protocol):
    """One connection. It has one request at a time; what comes meanwhile waits."""

    _idle = 30.0  # seconds that a connection may be of no use

    def __init__(self, service: Service, guard: Guard, **given: Any) -> None:
        self._service, self._guard, self._given = service, guard, given
        self._config: Config = given["config"]
        self._state: ServerState = given["server_state"]
        self._tasks: set[Any] = self._state.tasks
        self._loop = asyncio.get_running_loop()
        self._data = b""
        self._head: Head | None = None
        self._start = 0  # of the body
        self._is_busy = self._is_last = self._is_stuck = False
        self._since = self._loop.time()  # the last answer, or the first byte of a request
        self._began = 0.0

    def connection_made(self, transport: Any) -> None:
        """Begin."""
        self._transport: asyncio.Transport = transport
        self._state.connections.add(self)  # type: ignore[arg-type]
        self._patience = min(self._idle, self._service.limits.seconds)
        self._timer = self._loop.call_later(self._patience, self._look)

    def connection_lost(self, error: Exception | None) -> None:
        """End. What was taken in is learned all the same."""
        self._leave()

    def eof_received(self) -> bool:
        """Answer what is under way to a client that sends no more."""
        self._is_last = True
        return self._is_busy

    def shutdown(self) -> None:
        """Answer what is under way, and end."""
        self._is_last = True
        if not self._is_busy:
            self._transport.close()

    def data_received(self, data: bytes) -> None:
        """Take bytes."""
        if not self._data:
            self._since, self._began = self._loop.time(), time.perf_counter()
        self._data += data
        if not (self._is_busy or self._is_stuck):
            self._go_on()
        elif len(self._data) > UNTAKEN:
            self._transport.pause_reading()

    def pause_writing(self) -> None:
        """Answer no more to a client that does not take the answers."""
        self._is_stuck = True

    def resume_writing(self) -> None:
        """Go on when it has taken them."""
        self._is_stuck = False
        self._go_on()

    def _go_on(self) -> None:
        """Answer a request if it is whole."""
        is_waiting = self._is_busy or self._is_stuck or self._transport.is_closing()
        if is_waiting or not self._data:
            return
        if self._head is None:
            end = self._data.find(b"\r\n\r\n", 0, LONGEST)
            if end < 0:
                if len(self._data) >= LONGEST or not b"POST ".startswith(self._data[:5]):
                    self._hand_over()
                else:
                    self._transport.resume_reading()
                return
            head, self._start = plain_head(self._data[:end]), end + 4
            limits, others = self._service.limits, len(self._state.connections)
            is_full = others >= (self._config.limit_concurrency or others + 1)
            if head is None or head.length > limits.body or is_full:
                self._hand_over()
                return
            self._head = head
        end = self._start + self._head.length
        if len(self._data) >= end:
            body, self._data = self._data[self._start : end], self._data[end:]
            self._answer(self._head, body)
        else:
            self._transport.resume_reading()

    def _answer(self, head: Head, body: bytes) -> None:
        self._is_busy = True
        self._guard.active += 1
        try:
            self._guard.check(head.path, head.headers)
        except RefusedError as refused:
            self._refuse(refused)
            return
        service = self._service
        try:
            event = event_of(service, head.route, body)
            service.models.check(head.name)
            held = service.models.in_memory(head.name)
            if held is not None and not event.changes:
                self._finish(service.forecast(held, event))
                return
        except Exception as error:  # also what nobody thought of: the client is to know
            self._fail(error)
            return
        task = self._loop.create_task(submitted(service, head.name, event))
        self._tasks.add(task)  # the service does not stop before they are done
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[dict[str, Any]]) -> None:
        self._tasks.discard(task)
        if task.cancelled():
            self._guard.active -= 1
            self._transport.close()
            return
        error = task.exception()
        if error is None:
            self._finish(task.result())
        else:
            self._fail(error)

    def _finish(self, answer: dict[str, Any]) -> None:
        self._send(200, json.dumps(answer).encode())

    def _fail(self, error: BaseException) -> None:
        assert self._head is not None
        if isinstance(error, RefusedError):
            self._service.reject(self._head.name, error.reason)
            self._refuse(error)
            return
        self._loop.call_exception_handler({"message": "a request failed", "exception": error})
        self._send(500, b'{"error": "the service failed"}')

    def _refuse(self, refused: RefusedError) -> None:
        text = json.dumps({"error": refused.reason}).encode()
        self._send(refused.status, text, headers_of(refused))

    def _send(self, status: int, text: bytes, more: Iterable[tuple[bytes, bytes]] = ()) -> None:
        """Send an answer, all of it at once, and go on with what has come meanwhile."""
        assert self._head is not None
        lines = [b"HTTP/1.1 %d %s" % (status, HTTPStatus(status).phrase.encode())]
        for name, value in (*self._state.default_headers, *more):
            lines.append(name + b": " + value)
        lines.append(b"content-type: application/json\r\ncontent-length: %d" % len(text))
        is_end = self._is_last and not self._data
        if is_end:
            lines.append(b"connection: close")
        if not self._transport.is_closing():  # who asked may have gone
            self._transport.write(b"\r\n".join([*lines, b"", text]))
        self._guard.active -= 1
        route = self._head.route if self._head.path == self._head.route else None
        route = route or f"/models/{{name}}{self._head.route}"
        self._guard.observe(route, status, time.perf_counter() - self._began)
        self._is_busy, self._head = False, None
        if is_end:
            self._transport.close()
            return
        self._since, self._began = self._loop.time(), time.perf_counter()
        if self._data:
            self._is_busy = True  # until its turn comes: others may have waited longer
            self._loop.call_soon(self._take_turn)
        else:
            self._transport.resume_reading()

    def _take_turn(self) -> None:
        self._is_busy = False
        self._go_on()
        if self._is_last and not (self._is_busy or self._is_stuck):
            self._transport.close()

    def _look(self) -> None:
        """End a connection that nobody uses; uvicorn waits for a request that comes slowly."""
        passed = self._loop.time() - self._since
        self._timer = self._loop.call_later(self._patience, self._look)
        if self._is_stuck and passed >= self._idle:
            self._transport.abort()
        if self._is_busy or self._is_stuck or self._transport.is_closing():
            return
        if self._data and passed >= self._service.limits.seconds:
            self._hand_over()
        elif not self._data and passed >= self._idle:
            self._transport.close()

    def _leave(self) -> None:
        self._timer.cancel()
        self._state.connections.discard(self)

    def _hand_over(self) -> None:
        """Let uvicorn have the connection."""
        self._leave()
        other: Any = AutoHTTPProtocol(**self._given)
        self._transport.resume_reading()
        self._transport.set_protocol(other)
        other.connection_made(self._transport)
        other.data_received(self._data)
