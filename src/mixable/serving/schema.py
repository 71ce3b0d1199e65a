"""What requests look like, for OpenAPI."""

from __future__ import annotations

from typing import Any

from mixable.records.declaration import KINDS
from mixable.serving.store import NAME

ID = {
    "anyOf": [{"type": "string"}, {"type": "number"}],
    "description": "By it, a label finds its forecast, and a request may be repeated.",
}
FEATURES = {
    "type": "object",
    "additionalProperties": {
        "anyOf": [{"type": kind} for kind in ("number", "string", "boolean", "array", "null")]
    },
    "description": "The record: names and values; null and what is not there are missing.",
}
LABEL = {
    "anyOf": [{"type": "string"}, {"type": "number"}],
    "description": "The class. 1 and the text 1 are the same.",
}


def _body(kind: str, properties: dict[str, Any], required: list[str], example: Any) -> Any:
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    content = {"schema": {**schema, "required": required}, "example": example}
    return {"requestBody": {"required": True, "content": {kind: content}}}


PREDICT = _body(
    "application/json",
    {"id": ID, "features": FEATURES},
    ["features"],
    {"id": "visit-7", "features": {"hour": 21, "visits": 7}},
)
LEARN = _body(
    "application/json",
    {"id": ID, "features": FEATURES, "label": LABEL},
    ["label"],
    {"id": "visit-7", "label": "yes"},
)
EVENTS = _body(
    "application/x-ndjson",
    {"id": ID, "features": FEATURES, "label": LABEL},
    [],
    {"features": {"hour": 9, "visits": 1}, "label": "no"},
)
KIND = {"type": "string", "enum": list(KINDS)}
MAKE = _body(
    "application/json",
    {
        "kinds": {
            "type": "object",
            "additionalProperties": KIND,
            "description": "What columns are; those that are not named are guessed.",
        },
        "cross": {
            "type": "array",
            "items": {"type": "array", "items": {"type": "string"}},
            "description": "Pairs of columns whose values count together.",
        },
    },
    [],
    {"kinds": {"user": "category", "query": "text"}},
)
MAKE["requestBody"]["required"] = False
NAMED = {
    "parameters": [
        {
            "name": "name",
            "in": "path",
            "required": True,
            "schema": {"type": "string", "pattern": f"^{NAME.pattern}$"},
            "description": "The name of the model.",
        }
    ]
}
