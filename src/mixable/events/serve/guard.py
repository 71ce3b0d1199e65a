"""What every request passes before it reaches a route: who asks, how much, how often.

No connection may be kept for nothing, and strangers cannot take the places of others.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any

import msgspec
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from mixable.events.events import RefusedError
from mixable.events.serve.shown import Limits, busy

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

OPEN = {
    "/",
    "/docs",
    "/agent",
    "/healthz",
    "/readyz",
    "/version",
    "/openapi.json",
}  # without a token: they tell nothing of a model
# A whole header, with or without a port: browsers cut what is not part of a name, and go there.
LOCAL = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(:\d{1,5})?", re.ASCII | re.IGNORECASE)
LONGEST_HEAD = 2**16  # bytes of the head of a request, if it does not come in one piece
STUCK = 300.0  # seconds in which a client has not taken any of an answer
MORE = {401: {"WWW-Authenticate": "Bearer"}, 503: {"Retry-After": "1"}}


class Guard:
    """Refuses, counts and times requests. `observe` gets route, status, seconds and path.

    Without a token, only programs of this machine may ask, and no web page of another site that
    happens to be open in a browser here: a browser tells by the headers Host and Origin.
    """

    def __init__(
        self,
        app: App,
        *,
        token: str | None,
        limits: Limits,
        observe: Callable[[str, int, float, str], None],
        log: Path | None = None,
        say: Callable[[str], None] = print,
    ) -> None:
        self._app, self._limits, self._observe, self._say = app, limits, observe, say
        self._log = None if log is None else open(log, "ab", buffering=0)  # noqa: SIM115  # as long as it serves
        self._token = None if token is None else f"Bearer {token}".encode()
        self._active = 0  # requests under way

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            if scope["type"] == "lifespan" and self._log is not None:  # it has ended
                self._log.close()
            return
        began, status = time.perf_counter(), 500

        async def seen(message: MutableMapping[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        self._active += 1
        try:
            self._check(scope["path"], dict(scope["headers"]))
            if scope["path"] not in OPEN or self._token is None:
                connection = scope.get("state", {}).get("connection")
                if connection is not None:
                    connection.strangers.pop(connection, None)
            await self._app(scope, receive, seen)
        except RefusedError as refused:
            scope["reason"] = refused.reason
            more = MORE.get(refused.status)
            answer = as_json({"error": refused.reason}, refused.status, more)
            await answer(scope, receive, seen)
        except ClientDisconnect:
            status = 400  # nobody is there to read an answer
        finally:
            self._active -= 1
            route, seconds = scope.get("route", "other"), time.perf_counter() - began
            self._observe(str(getattr(route, "path", route)), status, seconds, scope["path"])
            if self._log is not None:
                self._write(scope, status, seconds)

    def _write(self, scope: Scope, status: int, seconds: float) -> None:
        """Add a request to the log, a line of JSON."""
        assert self._log is not None
        entry = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "client": (scope.get("client") or [None])[0],
            "method": scope["method"],
            "path": scope["path"],
            "status": status,
            "seconds": round(seconds, 6),
        }
        if "reason" in scope:
            entry["reason"] = scope["reason"]
        try:
            self._log.write(json.dumps(entry).encode() + b"\n")
        except OSError as error:
            self._say(f"the log of requests cannot be written: {error.strerror}")
            self._log = None

    def _check(self, path: str, headers: dict[bytes, bytes]) -> None:
        """Refuse a request, one of those under way, that may not be answered."""
        if self._active > self._limits.requests and path not in ("/healthz", "/readyz"):
            raise busy("too many requests at one time")
        if self._token is None:
            _check_local(headers)
        elif path not in OPEN and not hmac.compare_digest(
            headers.get(b"authorization", b""), self._token
        ):
            raise RefusedError(401, "a token is needed: Authorization: Bearer TOKEN")
        length = headers.get(b"content-length", b"0")
        most = self._limits.bulk if path.endswith("/events") else self._limits.body
        if not length.isdigit() or len(length) > 15 or int(length) > most:
            raise RefusedError(413, f"a body may have {most:,} bytes")


def _check_local(headers: dict[bytes, bytes]) -> None:
    host = headers.get(b"host", b"").decode("latin-1")
    if LOCAL.fullmatch(host) is None:
        raise RefusedError(403, "without a token, only 127.0.0.1 and localhost are served")
    origin = headers.get(b"origin")
    if origin is not None and origin.decode("latin-1").partition("://")[2] != host:
        raise RefusedError(403, "this request comes from a page of another site")


def as_json(value: Any, status: int = 200, headers: Any = None) -> Response:
    """An answer."""
    return Response(msgspec.json.encode(value), status, headers, "application/json")


async def whole_body(pieces: AsyncIterator[bytes], most: int, seconds: float) -> bytes:
    """All of a body that may come in pieces, if it is not too long and not too slow."""
    task, is_late = asyncio.current_task(), False
    assert task is not None

    def end() -> None:
        nonlocal is_late
        is_late = True
        task.cancel()

    # `asyncio.wait_for` makes a task of its own for each request, which takes longer.
    timer = asyncio.get_running_loop().call_later(seconds, end)
    body = bytearray()
    try:
        async for piece in pieces:
            body += piece
            if len(body) > most:
                raise RefusedError(413, f"a body may have {most:,} bytes")
    except asyncio.CancelledError:
        if not is_late:
            raise
        raise RefusedError(408, f"the request took more than {seconds:g} seconds") from None
    finally:
        timer.cancel()
    return bytes(body)


def connections(limits: Limits) -> Callable[..., asyncio.Protocol]:
    """What makes the connections of a server.

    A connection is a stranger's until one of its requests has passed the guard. There is room for
    half as many of them as requests may be under way; a further one ends the oldest.
    """
    strangers: dict[Connection, None] = {}

    def made(**given: Any) -> Connection:
        return Connection(strangers, limits, **given)

    return made


class Connection(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """One connection of uvicorn, which itself waits for the head of a request for ever."""

    def __init__(self, strangers: dict[Connection, None], limits: Limits, **given: Any) -> None:
        state = {**given.pop("app_state"), "connection": self}  # part of the scope of each request
        super().__init__(**given, app_state=state)
        self.strangers, self._limits = strangers, limits

    def connection_made(self, transport: Any) -> None:
        """Begin."""
        super().connection_made(_Joined(transport, self.loop))
        self._since = self._stuck = self.loop.time()
        # Bytes since a head, a body or a part of one was whole, if a request has begun.
        self._head, self._in_message, self._goes_on = 0, False, False
        self._timer = self.loop.call_later(self._limits.seconds, self._look)
        self.strangers[self] = None
        if len(self.strangers) > max(self._limits.requests // 2, 1):
            oldest = next(iter(self.strangers))
            del self.strangers[oldest]
            self.connections.discard(oldest)  # at once: many may come before it is lost
            oldest.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self._timer.cancel()
        self.strangers.pop(self, None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take some; a head that does not come to its end is not kept, before a body or after."""
        self._goes_on = False
        super().data_received(data)
        is_head = self._in_message and not self._goes_on
        self._head = self._head + len(data) if is_head else 0
        if self._head > LONGEST_HEAD:
            self.transport.abort()

    def on_message_begin(self) -> None:
        """A request begins."""
        self._in_message = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Its head is whole."""
        self._goes_on = True
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A part of its body has come."""
        self._goes_on = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        """It is whole."""
        self._in_message, self._goes_on = False, True
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """An answer was sent: the head of the next request has its time from now on."""
        self._since = self.loop.time()
        super().on_response_complete()

    def pause_writing(self) -> None:
        """The client does not take the answer."""
        self._stuck = self.loop.time()
        super().pause_writing()

    def _look(self) -> None:
        """End a connection that is of no use."""
        now = self.loop.time()
        is_idle = self.cycle is None or self.cycle.response_complete
        if is_idle and now - self._since >= self._limits.seconds:
            self.transport.close()
        elif self.flow.write_paused and now - self._stuck >= STUCK:
            self.transport.abort()
        else:
            rest = self._since + self._limits.seconds - now if is_idle else self._limits.seconds
            self._timer = self.loop.call_later(max(rest, 0.01), self._look)


class _Joined:
    """A transport that sends the head of an answer together with what follows at once.

    uvicorn writes them one after the other: two calls of the system, which cost as much as most
    forecasts.
    """

    def __init__(self, transport: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop, self._head = transport, loop, b""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Send some, or keep it until the loop has its next turn."""
        if self._head:
            self._transport.write(self._head + data)
            self._head = b""
        else:
            self._head = data
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        if self._head:
            head, self._head = self._head, b""
            self._transport.write(head)

    def close(self) -> None:
        """Send what is left, and close."""
        self._flush()
        self._transport.close()
