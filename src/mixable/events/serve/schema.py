"""What requests and answers look like, for OpenAPI."""

from __future__ import annotations

from typing import Any

from mixable.events.options import ModelOptions
from mixable.events.serve.shown import NAME

Schema = dict[str, Any]

JSON = "application/json"
LINES = "application/x-ndjson"
EVENTS = "text/event-stream"
METRICS = "text/plain; version=0.0.4; charset=utf-8"

TEXT, NUMBER, INTEGER, BOOLEAN = ({"type": t} for t in ("string", "number", "integer", "boolean"))
TEXT_OR_NUMBER = {"anyOf": [TEXT, NUMBER]}
NULL = {"type": "null"}
CELL = {"anyOf": [*({"type": t} for t in ("number", "string", "boolean")), NULL]}
NAMED = {"type": "string", "pattern": f"^{NAME.pattern}$"}


def _object(properties: dict[str, Any], required: str = "", **more: Any) -> Schema:
    names = required.split()
    return {
        "type": "object",
        "properties": properties,
        **({"required": names} if names else {}),
    } | more


def _list(of: Schema, **more: Any) -> Schema:
    return {"type": "array", "items": of, **more}


def _or_null(of: Schema) -> Schema:
    return {"anyOf": [of, NULL]}


RECORD = {
    "id": {
        "anyOf": [TEXT, NUMBER, NULL],
        "description": "By it, a label finds its forecast, and a request may be repeated.",
    },
    "features": {
        "type": "object",
        "additionalProperties": {"anyOf": [CELL, _list(CELL)]},
        "description": "The record: names and values; null and what is not there are missing.",
    },
}
LABELLED = {
    **RECORD,
    "label": {
        "anyOf": [TEXT, NUMBER, BOOLEAN],
        "description": "The outcome: a class (1 and the text 1 are the same), or a number.",
    },
}
FORECAST = {
    "id": TEXT,
    "probabilities": _object({}, additionalProperties={"type": "number", "minimum": 0}),
    "mean": NUMBER,
    "std": _or_null(NUMBER),
    "interval": _list(_or_null(NUMBER), minItems=2, maxItems=2),
}
LEARNED = _object({**FORECAST, "learned": BOOLEAN, "step": INTEGER}, "learned step")
VERSIONS = {"version": INTEGER, "name": _or_null(TEXT), "time": NUMBER, "learned": INTEGER}
EVENT = {
    "time": NUMBER,
    "id": _or_null(TEXT),
    "features": {"type": "object"},
    "forecast": {"type": "object"},
    "outcome": _or_null(TEXT_OR_NUMBER),
}
MODEL = _object({"name": TEXT, "learned": INTEGER, "scores": {"type": "object"}}, "name learned")
STATUS = _object({"status": TEXT}, "status")

# Of each route without the name of a model: the body and an example, and the answer.
BODIES: dict[str, tuple[Schema, Any]] = {
    "POST /predict": (
        _object(RECORD, "features", additionalProperties=False),
        {"id": "visit-7", "features": {"hour": 21, "visits": 7}},
    ),
    "POST /learn": (
        _object(LABELLED, "label", additionalProperties=False),
        {"id": "visit-7", "label": "yes"},
    ),
    "POST /events": (
        _object(LABELLED, additionalProperties=False),
        {"features": {"hour": 9, "visits": 1}, "label": "no"},
    ),
    "PUT ": (
        _object(ModelOptions.schema(), additionalProperties=False),
        {"kinds": {"user": "category"}, "regression": True},
    ),
    "POST /versions": (
        _object({"name": NAMED}, "name", additionalProperties=False),
        {"name": "good"},
    ),
    "POST /rollback": (
        _object({"version": {"anyOf": [TEXT, INTEGER]}}, "version", additionalProperties=False),
        {"version": "good"},
    ),
}
TIME = {"type": "number", "minimum": 0, "maximum": 1e11}
BODIES["POST /reference"] = (
    _object({"name": _or_null(NAMED), "since": TIME, "until": TIME}, additionalProperties=False),
    {"name": "june", "since": 1.78e9},
)
ANSWERS: dict[str, Schema] = {
    "POST /predict": _object(FORECAST),
    "POST /learn": LEARNED,
    "GET /recent": _object({"events": _list(_object(EVENT, " ".join(EVENT)))}, "events"),
    "GET /series": {"type": "object"},
    "GET /versions": _object({"versions": _list(_object(VERSIONS, "version"))}, "versions"),
    "POST /versions": _object({"name": TEXT, "version": TEXT}, "name version"),
    "POST /rollback": _object({"name": TEXT}, "name version"),
    "POST /reference": _object({"reference": _or_null(TEXT), "events": INTEGER}, "events"),
    "GET /model": MODEL,
    "GET ": MODEL,
    "GET /models": _object({"models": _list(TEXT)}, "models"),
    "PUT ": _object({"name": TEXT, "made": BOOLEAN}, "name made"),
    "DELETE ": _object({"name": TEXT, "deleted": BOOLEAN}, "name deleted"),
    "GET /healthz": STATUS,
    "GET /readyz": STATUS,
    "GET /version": _object({"version": TEXT}, "version"),
}
OTHERS = {"POST /events": LINES, "GET /live": EVENTS, "GET /metrics": METRICS}  # than JSON
REFUSED = {
    "description": "It is refused, and changes nothing",
    "content": {JSON: {"schema": _object({"error": TEXT}, "error")}},
}


def described(verb: str, path: str) -> tuple[Schema, dict[int | str, Schema]]:
    """The request of a route, and its answers by status."""
    route = f"{verb} {path.removeprefix('/models/{name}')}"
    kind = OTHERS.get(route, JSON)
    answer = {"description": "Done", "content": {kind: {"schema": ANSWERS.get(route, TEXT)}}}
    answers: dict[int | str, Schema] = {"default": REFUSED, 200: answer}
    if route in ("PUT ", "POST /versions"):
        answers[201] = answer
    if route == "GET /readyz":
        answers[503] = {**answer, "description": "It does not learn"}
    request: Schema = {}
    if route in BODIES:
        schema, example = BODIES[route]
        given = LINES if kind == LINES else JSON
        content = {given: {"schema": schema, "example": example}}
        request["requestBody"] = {"required": "required" in schema, "content": content}
    if "{name}" in path:
        about = {"description": "The name of the model.", "schema": NAMED}
        request["parameters"] = [{"name": "name", "in": "path", "required": True, **about}]
    return request, answers
