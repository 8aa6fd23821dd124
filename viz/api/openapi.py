"""The OpenAPI document of the endpoints: three paths each, with our names, types and descriptions."""

from __future__ import annotations

from functools import cache
from typing import Any

from headlight import __version__
from headlight.viz.api.endpoints import ENDPOINTS, STREAMING
from headlight.viz.api.routes import API
from headlight.viz.figure_phrases import phrase

OPENAPI_PATH = f"{API}/openapi.json"
JsonObject = dict[str, Any]
_JSON = "application/json"
_TYPES: dict[Any, JsonObject] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    int | str: {"oneOf": [{"type": "integer"}, {"type": "string"}]},
    list[str]: {"type": "array", "items": {"type": "string"}},
    list[dict[str, Any]]: {"type": "array", "items": {"type": "object"}},
}


@cache
def make_openapi_document() -> JsonObject:
    """Return the OpenAPI 3.0 document as a dictionary."""
    error = {
        "type": "object",
        "required": ["error"],
        "properties": {"error": {"type": "string"}, "field": {"type": "string"}, "word": {"type": "string"}},
    }
    paths: JsonObject = {}
    for name in ENDPOINTS:
        paths[f"{API}/run/{name}"] = {"post": _make_direct_operation(name)}
        paths[f"{API}/call/v2/{name}"] = {"post": _start_operation(name)}
        paths[f"{API}/call/v2/{name}/{{event_id}}"] = {"get": _make_events_operation(name)}
    return {
        "openapi": "3.0.3",
        "info": {"title": "Headlight", "description": phrase("line"), "version": __version__},
        "paths": paths,
        "components": {"schemas": {"Error": error}},
    }


def _make_direct_operation(name: str) -> JsonObject:
    names = ", ".join(ENDPOINTS[name].parameters)
    data = {"type": "array", "items": {}, "minItems": 1, "description": f"{phrase('openapi_in_order')} {names}."}
    result = {"type": "array", "items": {"type": "object"}, "description": phrase(f"api_{name}_returns")}
    properties = {"data": result, "is_generating": {"type": "boolean"}, "duration": {"type": "number"}}
    return {
        "operationId": name,
        "summary": phrase(f"api_{name}"),
        "requestBody": _body({"type": "object", "required": ["data"], "properties": {"data": data}}),
        "responses": _responses(_JSON, {"type": "object", "properties": properties}),
    }


def _start_operation(name: str) -> JsonObject:
    parameters = ENDPOINTS[name].parameters.values()
    required = [parameter.name for parameter in parameters if parameter.default is parameter.empty]
    properties = {
        parameter.name: {
            **_TYPES[parameter.annotation],
            "description": phrase(f"api_{parameter.name}"),
            **({} if parameter.name in required else {"default": parameter.default}),
        }
        for parameter in parameters
    }
    schema = {"type": "object", "required": required, "properties": properties, "additionalProperties": False}
    event = {"type": "object", "required": ["event_id"], "properties": {"event_id": {"type": "string"}}}
    return {
        "operationId": f"start_{name}",
        "summary": phrase(f"api_{name}"),
        "description": phrase("openapi_start"),
        "requestBody": _body(schema),
        "responses": _responses(_JSON, event),
    }


def _make_events_operation(name: str) -> JsonObject:
    event_id = {"name": "event_id", "in": "path", "required": True, "schema": {"type": "string"}}
    return {
        "operationId": f"{name}_events",
        "summary": phrase("openapi_events_partial" if name in STREAMING else "openapi_events"),
        "description": phrase(f"api_{name}_returns"),
        "parameters": [event_id],
        "responses": _responses("text/event-stream", {"type": "string"}),
    }


def _body(schema: JsonObject) -> JsonObject:
    return {"required": True, "content": {_JSON: {"schema": schema}}}


def _responses(media_type: str, schema: JsonObject) -> JsonObject:
    error = {"content": {_JSON: {"schema": {"$ref": "#/components/schemas/Error"}}}}
    return {
        "200": {"description": phrase("openapi_ok"), "content": {media_type: {"schema": schema}}},
        "422": {"description": phrase("openapi_wrong"), **error},
        "503": {"description": phrase("openapi_busy"), **error},
    }
