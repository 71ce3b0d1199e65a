"""The routes: where they are, what they take, and what they answer; for OpenAPI, too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from mixable.events.decisions import AgentOptions
from mixable.events.options import ModelOptions
from mixable.events.serve import bodies, deciding

Schema = dict[str, Any]

JSON = "application/json"
LINES = "application/x-ndjson"
EVENTS = "text/event-stream"
METRICS = "text/plain; version=0.0.4; charset=utf-8"


class Forecast(msgspec.Struct):
    """What is answered to a record."""

    id: str = ""
    probabilities: dict[str, bodies.NotNegative] = {}
    mean: float = 0.0
    std: float | None = None
    interval: bodies.Ends = []


class Learned(Forecast, kw_only=True):
    """What is answered to an outcome."""

    learned: bool
    step: int


class Version(msgspec.Struct):
    """A checkpoint of a model."""

    version: int
    name: str | None
    time: float
    learned: int
    number: int


class Seen(msgspec.Struct):
    """An event, as those see it who watch."""

    time: float
    id: str | None
    features: dict[str, Any]
    forecast: dict[str, Any]
    outcome: str | float | None


def _answer(**fields: Any) -> type:
    return msgspec.defstruct("Answer", list(fields.items()))


MODEL = _answer(name=str, learned=int, scores=dict[str, Any])
STATUS = _answer(status=str)
NAMED = _answer(name=str, version=str | int)
REWARDED = _answer(id=str, learned=bool)
REFERENCE = _answer(reference=str | None, events=int)


class Route(NamedTuple):
    """What there is to know of a route; `call` is the method that answers."""

    call: str
    verb: str
    path: str  # those of a model are also there without its name, for the default one
    answer: Any = str
    body: Any = None
    query: Any = None
    kind: str = JSON  # of the answer
    status: int = 200  # another one than 200 is added


OF_A_MODEL = "/models/{name}"
ROUTES = (
    Route("predict", "POST", f"{OF_A_MODEL}/predict", Forecast, bodies.Forecast, bodies.Explain),
    Route("learn", "POST", f"{OF_A_MODEL}/learn", Learned, bodies.Outcome),
    Route("events", "POST", f"{OF_A_MODEL}/events", body=bodies.Line, kind=LINES),
    Route("decide", "POST", f"{OF_A_MODEL}/decide", deciding.Decided, deciding.Decide),
    Route("reward", "POST", f"{OF_A_MODEL}/reward", REWARDED, deciding.Reward),
    Route("decisions", "GET", f"{OF_A_MODEL}/decisions", dict[str, Any]),
    Route("live", "GET", f"{OF_A_MODEL}/live", kind=EVENTS),
    Route("recent", "GET", f"{OF_A_MODEL}/recent", _answer(events=list[Seen])),
    Route("series", "GET", f"{OF_A_MODEL}/series", dict[str, Any], query=bodies.Hours),
    Route("versions", "GET", f"{OF_A_MODEL}/versions", _answer(versions=list[Version])),
    Route("name_version", "POST", f"{OF_A_MODEL}/versions", NAMED, bodies.Named, status=201),
    Route("roll_back", "POST", f"{OF_A_MODEL}/rollback", NAMED, bodies.Rollback),
    Route("refer", "POST", f"{OF_A_MODEL}/reference", REFERENCE, bodies.Reference),
    Route("model", "GET", "/model", MODEL),
    Route("names", "GET", "/models", _answer(models=list[str]), query=bodies.Which),
    Route("model", "GET", OF_A_MODEL, MODEL),
    Route("make", "PUT", OF_A_MODEL, _answer(name=str, made=bool), ModelOptions, status=201),
    Route("delete", "DELETE", OF_A_MODEL, _answer(name=str, deleted=bool)),
    Route("healthz", "GET", "/healthz", STATUS),
    Route("readyz", "GET", "/readyz", STATUS, status=503),
    Route("version", "GET", "/version", _answer(version=str)),
    Route("metrics", "GET", "/metrics", kind=METRICS),
)
EXAMPLES: dict[Any, dict[str, Any]] = {
    bodies.Forecast: {"id": "visit-7", "features": {"hour": 21, "visits": 7}},
    bodies.Outcome: {"id": "visit-7", "label": "yes"},
    bodies.Line: {"features": {"hour": 9, "visits": 1}, "label": "no"},
    bodies.Named: {"name": "good"},
    bodies.Rollback: {"version": "good"},
    bodies.Reference: {"name": "june", "since": 1.78e9},
    deciding.Decide: {"id": "visit-7", "context": {"hour": 21, "country": "FR"}},
    deciding.Reward: {"id": "visit-7", "reward": 1},
    ModelOptions: {"kinds": {"user": "category"}, "regression": True},
}


def paths(route: Route) -> Iterator[str]:
    """Where a route is."""
    if len(route.path) > len(OF_A_MODEL):
        yield route.path.removeprefix(OF_A_MODEL)
    yield route.path


def described(route: Route, path: str) -> tuple[Schema, dict[int | str, Schema]]:
    """The request of a route at a path, and its answers by status."""

    def content(kind: str, of: Any, **more: Any) -> Schema:
        return {"content": {kind: {"schema": _schema(of), **more}}}

    refused = {"description": "It is refused, and changes nothing"}
    refused |= content(JSON, _answer(error=str))
    answer = {"description": "Done", **content(route.kind, route.answer)}
    answers: dict[int | str, Schema] = {"default": refused, 200: answer, route.status: answer}
    given = [("path", "name", _schema(bodies.Name))] if "{name}" in path else []
    if route.query is not None:
        found = _schema(route.query)["properties"].items()
        given += [("query", name, schema) for name, schema in found]
    names = ("in", "name", "schema", "required")
    parameters = [dict(zip(names, (*each, each[0] == "path"), strict=True)) for each in given]
    request: Schema = {"parameters": parameters}
    if route.body is not None:
        kind = LINES if route.kind == LINES else JSON
        body = content(kind, route.body, example=EXAMPLES[route.body])
        is_needed = bool(_schema(route.body).get("required"))
        request["requestBody"] = {"required": is_needed, **body}
    return request, answers


def _schema(kind: Any) -> Schema:
    """A type as JSON Schema, whole in one place."""
    if kind is ModelOptions:
        options = ModelOptions.schema()
        of_models = {"type": "object", "properties": options, "additionalProperties": False}
        of_agents = _schema(AgentOptions)
        of_agents["properties"]["kind"] = {"const": "agent"}
        return {"anyOf": [of_models, {**of_agents, "required": ["kind"]}]}
    (schema,), parts = msgspec.json.schema_components([kind], ref_template="{name}")

    def whole(part: Any) -> Any:
        if isinstance(part, list):
            return [whole(each) for each in part]
        if not isinstance(part, dict):
            return part
        if isinstance(name := part.get("$ref"), str):
            return whole(parts[name])
        return {key: whole(each) for key, each in part.items() if key != "title"}

    made: Schema = whole(schema)
    return made
