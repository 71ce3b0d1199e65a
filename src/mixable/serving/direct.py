"""The two requests that come most often, without what a framework does for each.

`POST /predict` and `POST /learn`, alone or below `/models/NAME`, are answered here if `wire` left
them to uvicorn. FastAPI has the same routes: they describe them at /docs, and answer requests with
a query.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from typing import Any

from mixable.serving.events import KEYS, Event, read
from mixable.serving.guard import App, Receive, Scope, Send, answer_with, whole_body
from mixable.serving.limits import RefusedError
from mixable.serving.service import Service
from mixable.serving.store import DEFAULT

PATH = re.compile(r"(?:/models/([^/]+))?(/predict|/learn)")
ALLOWED = {"/predict": {"id", "features"}, "/learn": KEYS}
GONE = RefusedError(400, "the request ended early")


def event_of(service: Service, route: str, body: bytes) -> Event:
    """The event that the body of a request is; what is refused is raised."""
    event = read(body, service.limits.model, ALLOWED[route])
    if route == "/predict" and event.features is None:
        raise RefusedError(422, "features are missing")
    if route == "/learn" and event.label is None:
        raise RefusedError(422, "the label is missing")
    return event


async def submitted(service: Service, name: str, event: Event) -> dict[str, Any]:
    """The answer of a model to an event; what is refused is raised."""
    held = await service.held(name)
    (answer,) = await service.submit(held, [event])
    if isinstance(answer, RefusedError):
        raise answer
    return answer


async def answered(service: Service, name: str, route: str, body: bytes) -> dict[str, Any]:
    """The answer to the body of a request; what is refused is raised."""
    return await submitted(service, name, event_of(service, route, body))


class Direct:
    """Answers those requests, and lets `app` answer all others."""

    def __init__(self, app: App, service: Service) -> None:
        self._app, self._service = app, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        is_post = scope["type"] == "http" and scope["method"] == "POST"
        found = PATH.fullmatch(scope["path"]) if is_post and not scope["query_string"] else None
        if found is None:
            await self._app(scope, receive, send)
            return
        name, route = found[1] or DEFAULT, found[2]
        scope["route"] = f"/models/{{name}}{route}" if found[1] else route
        limits = self._service.limits
        try:
            body = await whole_body(_pieces(receive), limits.body, limits.seconds)
            answer = await answered(self._service, name, route, body)
        except RefusedError as refused:
            self._service.reject(name, refused.reason)
            await answer_with(refused, send)
            return
        text = json.dumps(answer).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(text))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": text})


async def _pieces(receive: Receive) -> AsyncIterator[bytes]:
    """The body of a request as it comes."""
    more = True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            raise GONE
        yield message.get("body", b"")
        more = message.get("more_body", False)
