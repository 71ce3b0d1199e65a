"""The routes of a service."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

import msgspec
from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from mixable._config import __version__
from mixable.events.events import Event, RefusedError
from mixable.events.serve.bodies import EVENT, FORECAST, as_object, read, unpacked
from mixable.events.serve.figures import Metrics, explained, figures
from mixable.events.serve.guard import Guard, Receive, Scope, Send, pieces_of, send_json, whole_body
from mixable.events.serve.schema import EVENTS, JSON, LINES, METRICS, described
from mixable.events.serve.series import MOST_HOURS
from mixable.events.serve.service import Service
from mixable.events.serve.shown import DEFAULT, NAME, Answer, Held, Limits, busy
from mixable.events.serve.worker import Worker

SHORT = re.compile(r"(?:/models/([^/]+))?/(predict|learn)")
DECODERS: dict[str, msgspec.json.Decoder[Any]] = {"predict": FORECAST, "learn": EVENT}
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
    )
    metrics = Metrics(service)
    _Routes(app, service, metrics)

    def observe(route: str, status: int, seconds: float, path: str) -> None:
        metrics.observe(route, status, seconds)
        service.count(path, status, seconds)

    short = _Short(app, service)
    limits, say = service.limits, service.say
    return Guard(short, token=token, limits=limits, observe=observe, log=log, say=say)


class _Short:
    """The short way of what is asked most: /predict and /learn, as plain JSON and without a query.

    FastAPI takes longer than most models. It has all other requests, and these two in its schema.
    """

    def __init__(self, app: FastAPI, service: Service | Worker) -> None:
        self._app, self._service = app, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or let the application do so."""
        found = SHORT.fullmatch(scope["path"]) if scope["type"] == "http" else None
        if (
            found is None
            or scope["method"] != "POST"
            or scope["query_string"]
            or b"content-encoding" in dict(scope["headers"])
        ):
            await self._app(scope, receive, send)
            return
        name, verb = found.groups(DEFAULT)
        scope["route"] = scope["path"] if found[1] is None else "/models/{name}/" + verb
        service = self._service
        try:
            limits = service.limits
            body = await whole_body(pieces_of(receive), limits.body, limits.seconds)
            answer = await _one(service, name, body, verb)
        except ClientDisconnect:
            return
        except RefusedError as refused:
            service.reject(name, refused.reason)
            raise
        await send_json(msgspec.json.encode(answer), 200, send)


async def _one(service: Service | Worker, name: str, body: bytes, verb: str) -> dict[str, Any]:
    """The answer to one event."""
    event = read(body, DECODERS[verb])
    if verb == "learn" and event.label is None:
        raise RefusedError(422, "the label is missing")
    (answer,) = await service.submit(name, [event], len(body))
    if isinstance(answer, RefusedError):
        raise answer
    return answer


class _Streamed(Response):
    """An answer whose work is all done while it is sent, so that it ends with the request.

    `StreamingResponse` would take pieces of the request for itself, to notice who hangs up.
    """

    def __init__(self, work: Callable[[Send], Awaitable[None]]) -> None:
        super().__init__()
        self._work = work

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Do it."""
        await self._work(send)


async def _send_all(pieces: AsyncIterator[bytes], kind: str, send: Send) -> None:
    """Send an answer piece by piece, as long as somebody takes it."""
    headers = [(b"content-type", kind.encode()), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    with contextlib.suppress(ClientDisconnect):
        async for piece in pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


class _Routes:
    def __init__(self, app: FastAPI, service: Service | Worker, metrics: Metrics) -> None:
        self._service, self._metrics = service, metrics
        self._streams = {"events": 0, "live": 0}
        app.add_exception_handler(RefusedError, self._refused)
        app.add_exception_handler(HTTPException, self._unknown)
        app.add_exception_handler(RequestValidationError, self._invalid)
        app.add_exception_handler(ClientDisconnect, self._gone)
        both: list[Any] = [  # of the default model, and of one by its name
            ("POST", "/predict", self.predict),
            ("POST", "/learn", self.learn),
            ("POST", "/events", self.events),
            ("GET", "/live", self.live),
            ("GET", "/recent", self.recent),
            ("GET", "/series", self.series),
            ("GET", "/versions", self.versions),
            ("POST", "/versions", self.name_version),
            ("POST", "/rollback", self.roll_back),
            ("POST", "/reference", self.refer),
        ]
        for verb, path, method in (
            *both,
            *((verb, "/models/{name}" + path, *rest) for verb, path, *rest in both),
            ("GET", "/model", self.model),
            ("GET", "/models", self.names),
            ("GET", "/models/{name}", self.model),
            ("PUT", "/models/{name}", self.make),
            ("DELETE", "/models/{name}", self.delete),
            ("GET", "/healthz", self.healthz),
            ("GET", "/readyz", self.readyz),
            ("GET", "/version", self.version),
            ("GET", "/metrics", self.metrics),
        ):
            request, answers = described(verb, path)
            app.add_api_route(
                path, method, methods=[verb], openapi_extra=request, responses=answers
            )
        for path, file in (("/", "page.html"), ("/docs", "docs.html")):
            text = files("mixable.events.serve").joinpath(file).read_bytes()
            page = Response(text, media_type="text/html; charset=utf-8", headers=PAGES)
            app.add_api_route(path, _always(page), methods=["GET"], include_in_schema=False)

    async def predict(self, request: Request, explain: bool = False) -> Response:
        """Forecast one record. With an id, its label may come later, to /learn."""
        body = await self._body(request)
        answer = await _one(self._service, _name(request), body, "predict")
        if explain:
            held, features = await self._held(request), read(body, FORECAST).features
            answer = {**answer, **explained(held.model, features or {})}
        return _json(answer)

    async def learn(self, request: Request) -> Response:
        """Learn a label: of an earlier forecast by its id, or of features."""
        body = await self._body(request)
        return _json(await _one(self._service, _name(request), body, "learn"))

    async def events(self, request: Request) -> Response:
        """Forecast and learn many: JSON lines in, JSON lines out, in the same order."""
        service, name = self._service, _name(request)

        async def work(send: Send) -> None:
            with self._room("events"):
                await service.held(name)  # refused before the answer begins
                pieces = self._pieces(request)
                if "content-length" in request.headers:
                    # Many clients send all before they read: to answer meanwhile would block both.
                    body = await whole_body(pieces, service.limits.bulk, service.limits.seconds)
                    pieces = _at_once(body)
                await _send_all(_answered(service, name, pieces), LINES, send)

        return _Streamed(work)

    async def model(self, request: Request) -> Response:
        """Settings, columns, classes, counts, scores, weights."""
        held = await self._held(request)
        return _json({"name": held.name, **figures(held)})

    async def live(self, request: Request) -> Response:
        """The same once a second, as server-sent events, while it changes."""
        name = _name(request)

        async def work(send: Send) -> None:
            with self._room("live"):
                await self._service.held(name)  # refused before the answer begins
                await _send_all(self._pictures(name, request), EVENTS, send)

        return _Streamed(work)

    async def names(self) -> Response:
        """The names of all models."""
        return _json({"models": sorted(self._service.known())})

    async def make(self, request: Request) -> Response:
        """Make a model, if there is none of that name. The body may have options."""
        name, text = request.path_params["name"], await self._body(request)
        try:
            is_new = await self._service.make(name, as_object(text) if text.strip() else {})
        except ValueError as error:
            raise RefusedError(422, str(error)) from None
        return _json({"name": name, "made": is_new}, 201 if is_new else 200)

    async def delete(self, request: Request) -> Response:
        """Delete a model, with all that it has learned and all its events."""
        name = request.path_params["name"]
        await self._service.delete(name)
        return _json({"name": name, "deleted": True})

    async def recent(self, request: Request) -> Response:
        """The last events with forecast and outcome, the newest first."""
        return _json({"events": await self._service.recent(_name(request))})

    async def series(
        self, request: Request, hours: Annotated[int, Query(ge=1, le=MOST_HOURS)] = 24
    ) -> Response:
        """Requests, errors, latency and losses of the last hours, by the clock."""
        return _json(await self._service.over_time(_name(request), hours))

    async def versions(self, request: Request) -> Response:
        """The checkpoints that are kept, the newest first."""
        return _json({"versions": await self._service.versions(_name(request))})

    async def name_version(self, request: Request) -> Response:
        """Save the model as it is now, under a name that is kept."""
        name = as_object(await self._body(request), {"name"}).get("name")
        await self._service.name_version(_name(request), str(name))
        return _json({"name": _name(request), "version": name}, 201)

    async def roll_back(self, request: Request) -> Response:
        """Let the model be what it was at a version; later events are kept, and not part of it."""
        version = as_object(await self._body(request), {"version"}).get("version")
        if not isinstance(version, str | int):
            raise RefusedError(422, "version must be the name or the number of one")
        await self._service.roll_back(_name(request), version)
        return _json({"name": _name(request), "version": version})

    async def refer(self, request: Request) -> Response:
        """Measure drift of columns against events of a time; null: against the first ones."""
        given = as_object(await self._body(request), {"name", "since", "until"})
        name, times = given.get("name"), (given.get("since", 0.0), given.get("until", 1e11))
        if name is not None and not (isinstance(name, str) and NAME.fullmatch(name)):
            raise RefusedError(422, f"{name!r:.80} cannot be the name of a reference")
        if not all(type(each) in (int, float) and 0 <= each <= 1e11 for each in times):
            raise RefusedError(422, "since and until must be seconds since 1970")
        found = await self._service.refer(_name(request), name, *times)
        return _json({"name": _name(request), "reference": name, "events": found})

    async def healthz(self) -> Response:
        """Whether the service is alive."""
        return _json({"status": "ok"})

    async def readyz(self) -> Response:
        """Whether the service learns."""
        reason = self._service.trouble
        return _json({"status": reason or "ok"}, 503 if reason else 200)

    async def version(self) -> Response:
        """The version of mixable."""
        return _json({"version": __version__})

    async def metrics(self) -> Response:
        """Figures for Prometheus."""
        return Response(self._metrics.text(), media_type=METRICS)

    async def _held(self, request: Request) -> Held:
        return await self._service.held(_name(request))

    async def _body(self, request: Request) -> bytes:
        limits = self._service.limits
        return await whole_body(self._pieces(request), limits.body, limits.seconds)

    @staticmethod
    def _pieces(request: Request) -> AsyncIterator[bytes]:
        encoding = request.headers.get("content-encoding", "identity")
        return unpacked(pieces_of(request.receive), encoding)

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
        last, quiet = "", 0
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
            text, quiet = json.dumps(picture), quiet + 1
            if text != last:
                yield f"data: {text}\n\n".encode()
                last, quiet = text, 0
            elif quiet >= 15:
                yield b": still here\n\n"
                quiet = 0
            await asyncio.sleep(REFRESH)

    async def _refused(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, RefusedError)
        self._service.reject(_name(request), error.reason)
        request.scope["reason"] = error.reason
        headers = {"Retry-After": "1"} if error.status == 503 else None
        return _json({"error": error.reason}, error.status, headers)

    async def _gone(self, request: Request, error: Exception) -> Response:
        return _json({"error": "the request ended early"}, 400)  # nobody is there to read it

    async def _unknown(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return _json({"error": str(error.detail)}, error.status_code, error.headers)

    async def _invalid(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        first = error.errors()[0]
        return _json({"error": f"{'.'.join(map(str, first['loc']))}: {first['msg']}"}, 422)


def _name(request: Request) -> str:
    name: str = request.path_params.get("name", DEFAULT)
    return name


def _json(value: Any, status: int = 200, headers: Any = None) -> Response:
    return Response(json.dumps(value), status, headers, JSON)


async def _at_once(body: bytes) -> AsyncIterator[bytes]:
    yield body


def _always(page: Response) -> Any:
    async def show() -> Response:
        return page

    return show


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
    answers: dict[int, Any] = {}
    good: dict[int, Event] = {}
    limits, size = service.limits, 0
    for number, line in enumerate(lines, before + 1):
        if not line.strip():
            continue
        try:
            if len(line) > limits.body:
                raise RefusedError(413, f"a line may have {limits.body:,} bytes")
            good[number] = read(line, EVENT)
            size += len(line)
            answers[number] = None
        except RefusedError as refused:
            answers[number] = refused
    answers.update(
        zip(good, await _patiently(service, name, list(good.values()), size), strict=True)
    )
    service.count_lines(name, answers.values())
    return (_line(number, _as_json(service, name, each)) for number, each in answers.items())


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
    return json.dumps({"line": number, **answer}).encode() + b"\n"
