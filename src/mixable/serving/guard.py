"""What every request passes before it reaches a route: who asks, how much, how often."""

from __future__ import annotations

import asyncio
import hmac
import json
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any

from mixable.serving.connections import mark_known
from mixable.serving.limits import Limits, RefusedError, busy

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

OPEN = {"/", "/docs", "/healthz", "/openapi.json"}  # without a token: they tell nothing of a model
# A whole header, with or without a port: browsers cut what is not part of a name, and go there.
LOCAL = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(:\d{1,5})?", re.ASCII | re.IGNORECASE)


MORE = {401: (b"www-authenticate", b"Bearer"), 503: (b"retry-after", b"1")}


class Guard:
    """Refuses, counts and times requests. `observe` gets route, status and seconds.

    Without a token, only programs of this machine may ask, and no web page of another site that
    happens to be open in a browser here: a browser tells by the headers Host and Origin.
    """

    def __init__(
        self,
        app: App,
        *,
        token: str | None,
        limits: Limits,
        observe: Callable[[str, int, float], None],
    ) -> None:
        self._app, self._limits, self._observe = app, limits, observe
        self._token = None if token is None else f"Bearer {token}".encode()
        self._active = 0  # requests under way

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
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
                mark_known(scope)
            await self._app(scope, receive, seen)
        except RefusedError as refused:
            await answer_with(refused, seen)
        finally:
            self._active -= 1
            route = scope.get("route", "other")
            self._observe(str(getattr(route, "path", route)), status, time.perf_counter() - began)

    def _check(self, path: str, headers: dict[bytes, bytes]) -> None:
        """Refuse a request, one of those under way, that may not be answered."""
        if self._active > self._limits.requests and path != "/healthz":
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


async def answer_with(refused: RefusedError, send: Send) -> None:
    """Answer with a reason."""
    body = json.dumps({"error": refused.reason}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    if refused.status in MORE:
        headers.append(MORE[refused.status])
    start = {"type": "http.response.start", "status": refused.status, "headers": headers}
    await send(start)
    await send({"type": "http.response.body", "body": body})


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
