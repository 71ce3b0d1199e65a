"""Connections: none may be kept for nothing, and strangers cannot take the places of others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, MutableMapping
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

from mixable.serving.limits import Limits

STUCK = 300.0  # seconds in which a client has not taken any of an answer


def mark_known(scope: MutableMapping[str, Any]) -> None:
    """Say that the connection of a request is not a stranger's."""
    connection = scope.get("state", {}).get("connection")
    if connection is not None:
        connection.strangers.pop(connection, None)


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
        super().connection_made(transport)
        self._since = self._stuck = self.loop.time()
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
