"""The routes of a service."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
from fastapi import FastAPI, Request
from fastapi.responses import Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.routing import Route as Plain

from mixable._config import __version__
from mixable.events.decisions import Decisions
from mixable.events.events import Event, RefusedError
from mixable.events.serve import bodies, deciding
from mixable.events.serve.bodies import EVENT, FORECAST, OPTIONS, OUTCOME, decoded, read, unpacked
from mixable.events.serve.figures import Metrics, explained, figures
from mixable.events.serve.guard import Guard, Receive, Scope, Send, as_json, whole_body
from mixable.events.serve.schema import EVENTS, LINES, METRICS, ROUTES, described, paths
from mixable.events.serve.service import Service
from mixable.events.serve.shown import DEFAULT, Answer, Held, Limits, busy
from mixable.events.serve.worker import Worker
from mixable.events.store import Store

MOST = 256  # events that are learned with one fsync
REFRESH = 1.0  # seconds between two pictures of a model, for those who watch
PAGES = {
    # Pages ask nobody else, and nobody else shows them.
    "Content-Security-Policy": "default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; img-src data:; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}
_encoded = msgspec.json.encode


def make_app(service: Service | Worker, token: str | None = None, log: Path | None = None) -> Guard:
    """An ASGI application; the service starts and stops with it. `log` gets all requests."""

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        service.start()
        yield
        await service.stop()

    app = FastAPI(
        title="mixable",
        version=__version__,
        description="Forecasts over HTTP; labels come later, and are learned.",
        lifespan=lifespan,
        docs_url=None,  # that page asks another host for its scripts; ours is at /docs
        redoc_url=None,
        redirect_slashes=False,
    )
    app.router.route_class = _Route
    metrics = Metrics(service)
    _Routes(app, service, metrics)

    def observe(route: str, status: int, seconds: float, path: str) -> None:
        metrics.observe(route, status, seconds)
        service.count(path, status, seconds)

    async def routed(scope: Scope, receive: Receive, send: Send) -> None:
        scope["app"] = app
        try:
            await app.router(scope, receive, send)
        except HTTPException as error:  # no such route
            scope["reason"] = error.detail
            answer = as_json({"error": error.detail}, error.status_code, error.headers)
            await answer(scope, receive, send)
        except RefusedError as refused:
            service.reject(scope["path_params"].get("name", DEFAULT), refused.reason)
            raise

    limits, say = service.limits, service.say
    return Guard(routed, token=token, limits=limits, observe=observe, log=log, say=say)


class _Route(APIRoute):
    """A route that gets the request as it is; FastAPI has its path and its schema.

    What FastAPI does for parameters that it reads itself takes longer than most models.
    """

    def __init__(self, path: str, endpoint: Callable[[Request], Any], **given: Any) -> None:
        super().__init__(path, endpoint, **given)

        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            response = await endpoint(Request(scope, receive, send))
            await response(scope, receive, send)

        self.app = answer


class _Streamed(Response):
    """An answer piece by piece, whose work is all done while it is sent.

    `StreamingResponse` would take pieces of the request for itself, to notice who hangs up.
    """

    def __init__(
        self,
        room: contextlib.AbstractContextManager[None],
        begun: Callable[[], Awaitable[AsyncIterator[bytes]]],
        kind: str,
    ) -> None:
        super().__init__(headers={"Cache-Control": "no-store"}, media_type=kind)
        del self.headers["content-length"]
        self._room, self._begun = room, begun

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send all, as long as somebody takes it."""
        with self._room:
            pieces = await self._begun()
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            with contextlib.suppress(ClientDisconnect):
                async for piece in pieces:
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b""})


class _Routes:
    """What `ROUTES` names."""

    def __init__(self, app: FastAPI, service: Service | Worker, metrics: Metrics) -> None:
        self._service, self._metrics = service, metrics
        self._streams = {"events": 0, "live": 0}
        for route in ROUTES:
            for path in paths(route):
                request, answers = described(route, path)
                call, verbs = getattr(self, route.call), [route.verb]
                app.add_api_route(
                    path, call, methods=verbs, openapi_extra=request, responses=answers
                )
        for path, file in (("/", "page.html"), ("/docs", "docs.html"), ("/agent", "agent.html")):
            text = files("mixable.events.serve").joinpath(file).read_bytes()
            page = Response(text, media_type="text/html; charset=utf-8", headers=PAGES)
            app.router.routes.append(Plain(path, page, methods=["GET"], include_in_schema=False))

    async def predict(self, request: Request) -> Response:
        """Forecast one record. With an id, its label may come later, to /learn."""
        body = await self._body(request)
        event = read(body, FORECAST)
        answer = await self._one(request, event, body)
        if _query(request, bodies.Explain).explain:
            held = await self._held(request)
            answer = {**answer, **explained(held.model, event.features or {})}
        return as_json(answer)

    async def learn(self, request: Request) -> Response:
        """Learn a label: of an earlier forecast by its id, or of features."""
        body = await self._body(request)
        return as_json(await self._one(request, read(body, OUTCOME), body))

    async def _one(self, request: Request, event: Event, body: bytes) -> dict[str, Any]:
        (answer,) = await self._service.submit(_name(request), [event], len(body))
        if isinstance(answer, RefusedError):
            raise answer
        return answer

    async def decide(self, request: Request) -> Response:
        """Choose an action for a context; its reward may come later, to /reward."""
        return await self._by_agent(request, deciding.decision_of)

    async def reward(self, request: Request) -> Response:
        """Learn the reward of a decision by its id, at any time, once."""
        return await self._by_agent(request, deciding.reward_of)

    async def _by_agent(self, request: Request, read_event: Callable[[bytes], Event]) -> Response:
        body, held = await self._body(request), await self._held(request)
        if not isinstance(held.model, Decisions):
            raise RefusedError(422, f"{held.name} is no agent: PUT /models/NAME with its kind")
        event = read_event(body)
        try:
            return as_json(await self._one(request, event, body))
        except RefusedError as refused:
            found = None
            if refused.status == 409:
                found = await self._service.read(deciding.repeated, held.key, event)
            if found is None:
                raise
            return as_json(found)

    async def decisions(self, request: Request) -> Response:
        """Rewards, shares of actions and exploration of an agent; what others would have earned."""
        held = await self._held(request)
        return as_json(await self._service.read(deciding.picture, held.name, held.key))

    async def events(self, request: Request) -> Response:
        """Forecast and learn many: JSON lines in, JSON lines out, in the same order."""
        service, name = self._service, _name(request)

        async def begun() -> AsyncIterator[bytes]:
            await service.held(name)  # refused before the answer begins
            pieces = _pieces(request)
            if "content-length" in request.headers:
                # Many clients send all before they read: to answer meanwhile would block both.
                body = await whole_body(pieces, service.limits.bulk, service.limits.seconds)
                pieces = _at_once(body)
            return _answered(service, name, pieces)

        return _Streamed(self._room("events"), begun, LINES)

    async def model(self, request: Request) -> Response:
        """Settings, columns, classes, counts, scores, weights."""
        held = await self._held(request)
        return as_json({"name": held.name, **figures(held)})

    async def live(self, request: Request) -> Response:
        """The same once a second, as server-sent events, while it changes."""

        async def begun() -> AsyncIterator[bytes]:
            await self._service.held(_name(request))  # refused before the answer begins
            return self._pictures(_name(request), request)

        return _Streamed(self._room("live"), begun, EVENTS)

    async def names(self, request: Request) -> Response:
        """The names of all models and agents, or of one kind."""
        kind, names = _query(request, bodies.Which).kind, set(self._service.known())
        if kind is not None:
            agents = await self._service.read(Store.agents)
            names = names & agents if kind == "agent" else names - agents
        return as_json({"models": sorted(names)})

    async def make(self, request: Request) -> Response:
        """Make a model, if there is none of that name. The body may have options."""
        name, text = _name(request), await self._body(request)
        try:
            is_new = await self._service.make(name, decoded(text, OPTIONS) if text.strip() else {})
        except ValueError as error:
            raise RefusedError(422, str(error)) from None
        return as_json({"name": name, "made": is_new}, 201 if is_new else 200)

    async def delete(self, request: Request) -> Response:
        """Delete a model, with all that it has learned and all its events."""
        await self._service.delete(_name(request))
        return as_json({"name": _name(request), "deleted": True})

    async def recent(self, request: Request) -> Response:
        """The last events with forecast and outcome, the newest first."""
        return as_json({"events": await self._service.recent(_name(request))})

    async def series(self, request: Request) -> Response:
        """Requests, errors, latency and losses of the last hours, by the clock."""
        hours = _query(request, bodies.Hours).hours
        return as_json(await self._service.over_time(_name(request), hours))

    async def versions(self, request: Request) -> Response:
        """The checkpoints that are kept, the newest first."""
        return as_json({"versions": await self._service.versions(_name(request))})

    async def name_version(self, request: Request) -> Response:
        """Save the model as it is now, under a name that is kept."""
        version = await self._given(request, bodies.Named)
        await self._service.name_version(_name(request), version.name)
        return as_json({"name": _name(request), "version": version.name}, 201)

    async def roll_back(self, request: Request) -> Response:
        """Let the model be what it was at a version; later events are kept, and not part of it."""
        back = await self._given(request, bodies.Rollback)
        await self._service.roll_back(_name(request), back.version)
        return as_json({"name": _name(request), "version": back.version})

    async def refer(self, request: Request) -> Response:
        """Measure drift of columns against events of a time; null: against the first ones."""
        of = await self._given(request, bodies.Reference)
        found = await self._service.refer(_name(request), of.name, of.since, of.until)
        return as_json({"name": _name(request), "reference": of.name, "events": found})

    async def healthz(self, request: Request) -> Response:
        """Whether the service is alive."""
        return as_json({"status": "ok"})

    async def readyz(self, request: Request) -> Response:
        """Whether the service learns."""
        reason = self._service.trouble
        return as_json({"status": reason or "ok"}, 503 if reason else 200)

    async def version(self, request: Request) -> Response:
        """The version of mixable."""
        return as_json({"version": __version__})

    async def metrics(self, request: Request) -> Response:
        """Figures for Prometheus."""
        return Response(self._metrics.text(), media_type=METRICS)

    async def _held(self, request: Request) -> Held:
        return await self._service.held(_name(request))

    async def _body(self, request: Request) -> bytes:
        limits = self._service.limits
        return await whole_body(_pieces(request), limits.body, limits.seconds)

    async def _given(self, request: Request, kind: type[bodies.Kind]) -> bodies.Kind:
        return decoded(await self._body(request), msgspec.json.Decoder(kind))

    @contextlib.contextmanager
    def _room(self, kind: str) -> Iterator[None]:
        """A place among the streams of a kind, taken before anything is read."""
        if self._streams[kind] >= self._service.limits.streams:
            raise busy(f"{self._streams[kind]} streams of /{kind} are under way")
        self._streams[kind] += 1
        try:
            yield
        finally:
            self._streams[kind] -= 1

    async def _pictures(self, name: str, request: Request) -> AsyncIterator[bytes]:
        """Pictures of a model, until it is deleted or nobody looks any more."""
        last, quiet = b"", 0
        while not (self._service.closing or await request.is_disconnected()):
            try:
                held = await self._service.held(name)
            except RefusedError:
                return
            rejected = [
                {"time": when, "model": model, "reason": why}
                for when, model, why in self._service.rejected
            ]
            groups = [
                {"reason": reason, "n": n}
                for (of, reason), n in self._service.rejects.most_common()
                if of == name
            ][:20]
            events = await self._service.recent(name)
            picture = {"name": name, **figures(held), "rejected": rejected}
            picture |= {"rejects": groups, "events": events}
            text, quiet = _encoded(picture), quiet + 1
            if text != last:
                yield b"data: " + text + b"\n\n"
                last, quiet = text, 0
            elif quiet >= 15:
                yield b": still here\n\n"
                quiet = 0
            await asyncio.sleep(REFRESH)


def _name(request: Request) -> str:
    name: str = request.path_params.get("name", DEFAULT)
    return name


def _query(request: Request, kind: type[bodies.Kind]) -> bodies.Kind:
    """What stands behind the question mark."""
    if not request.scope["query_string"]:
        return kind()
    try:
        return msgspec.convert(dict(request.query_params), kind, strict=False)
    except msgspec.ValidationError as error:
        raise RefusedError(422, str(error)) from None


def _pieces(request: Request) -> AsyncIterator[bytes]:
    encoding = request.headers.get("content-encoding", "identity")
    pieces = request.stream()
    return pieces if encoding == "identity" else unpacked(pieces, encoding)


async def _at_once(body: bytes) -> AsyncIterator[bytes]:
    yield body


async def lines_of(pieces: AsyncIterator[bytes], limits: Limits) -> AsyncIterator[list[bytes]]:
    """Whole lines, some at a time; the last may lack its newline."""
    rest = b""
    async for piece in _in_time(pieces, limits.seconds):
        *lines, rest = (rest + piece).split(b"\n")
        if len(rest) > limits.body:
            raise RefusedError(413, f"a line may have {limits.body:,} bytes")
        for begin in range(0, len(lines), MOST):
            yield lines[begin : begin + MOST]
    if rest:
        yield [rest]


async def _in_time(pieces: AsyncIterator[bytes], seconds: float) -> AsyncIterator[bytes]:
    while True:
        try:
            yield await asyncio.wait_for(anext(pieces), seconds)
        except StopAsyncIteration:
            return
        except asyncio.TimeoutError:
            raise RefusedError(408, f"no line came for {seconds:g} seconds") from None


async def _answered(
    service: Service | Worker, name: str, pieces: AsyncIterator[bytes]
) -> AsyncIterator[bytes]:
    """The answers to lines of events, each with the number of its line."""
    number = 0
    try:
        async for lines in lines_of(pieces, service.limits):
            yield b"".join(await _some(service, name, lines, number))
            number += len(lines)
            if service.closing:
                raise RefusedError(503, "the service is stopping")
    except RefusedError as refused:
        yield _line(number + 1, {"error": refused.reason, "unread": True})


async def _some(
    service: Service | Worker, name: str, lines: list[bytes], before: int
) -> Iterator[bytes]:
    most = service.limits.body
    given = {n: _read(line, most) for n, line in enumerate(lines, before + 1) if line.strip()}
    good = [each for each in given.values() if isinstance(each, Event)]
    found = iter(await _patiently(service, name, good, sum(map(len, lines))))
    answers = {n: next(found) if isinstance(each, Event) else each for n, each in given.items()}
    service.count_lines(name, answers.values())
    return (_line(n, _as_json(service, name, each)) for n, each in answers.items())


def _read(line: bytes, most: int) -> Event | RefusedError:
    try:
        if len(line) > most:
            raise RefusedError(413, f"a line may have {most:,} bytes")
        return read(line, EVENT)
    except RefusedError as refused:
        return refused


async def _patiently(
    service: Service | Worker, name: str, good: list[Event], size: int
) -> list[Answer]:
    """Submit when there is room: who sends much at once can wait."""
    for _ in range(int(100 * service.limits.seconds)):
        if service.has_room(len(good), size):
            break
        await asyncio.sleep(0.01)
    try:
        return await service.submit(name, good, size)
    except RefusedError as refused:
        return [refused] * len(good)


def _as_json(service: Service | Worker, name: str, answer: Answer) -> dict[str, Any]:
    if isinstance(answer, RefusedError):
        service.reject(name, answer.reason)
        return {"error": answer.reason}
    return answer


def _line(number: int, answer: dict[str, Any]) -> bytes:
    return _encoded({"line": number, **answer}) + b"\n"
