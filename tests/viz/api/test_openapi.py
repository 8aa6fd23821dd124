"""Programs that read Gradio's documentation find only what is served, and errors say what to do instead."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from typing import Any

import pytest

from headlight import __version__
from headlight.viz.api.endpoints import ENDPOINTS
from headlight.viz.api.routes import is_served
from headlight.viz.figure_phrases import phrase
from headlight.viz.service.service import Service
from headlight.viz.settings import Settings
from tests.viz.serving import GRADIO_WARNS, Server, assert_clean, served

pytestmark = [pytest.mark.filterwarnings(f"ignore:{message}") for message in GRADIO_WARNS]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with served(Service(Settings(model="toy"))) as server:
        yield server


def test_openapi_document_lists_served_paths_with_our_version(server: Server) -> None:
    reply = server.client.get("openapi.json")
    assert (reply.status_code, reply.headers["content-type"]) == (200, "application/json")
    document = reply.json()
    assert document["info"] == {"title": "Headlight", "description": phrase("line"), "version": __version__}
    assert any(path.endswith("/translate") for path in document["paths"])
    for path, methods in document["paths"].items():
        assert all(is_served(method.upper(), path) for method in methods), path
    assert "/gradio_api/upload" not in document["paths"]


def test_openapi_document_describes_our_endpoints_alone(server: Server) -> None:
    """A client that reads only the document can make each call, by name and by place."""
    document = server.client.get("openapi.json").json()
    ways = ("run/{}", "call/v2/{}", "call/v2/{}/{{event_id}}")
    paths = {f"/gradio_api/{way.format(name)}" for name in ENDPOINTS for way in ways}
    assert set(document["paths"]) == paths
    operations = [operation for methods in document["paths"].values() for operation in methods.values()]
    assert len({operation["operationId"] for operation in operations}) == len(paths)
    assert all(len(operation["summary"]) > 10 for operation in operations)
    assert "gradio" not in json.dumps([operation["summary"] for operation in operations]).casefold()
    for name, signature in ENDPOINTS.items():
        body = document["paths"][f"/gradio_api/call/v2/{name}"]["post"]["requestBody"]
        schema = body["content"]["application/json"]["schema"]
        assert list(schema["properties"]) == list(signature.parameters)
        for parameter, described in schema["properties"].items():
            assert described["description"] == phrase(f"api_{parameter}")
            default = signature.parameters[parameter].default
            assert described.get("default", inspect.Parameter.empty) == default
        assert schema["required"] == [
            parameter.name for parameter in signature.parameters.values() if parameter.default is parameter.empty
        ]
    event = server.client.post("call/v2/translate", json={"text": "ein bier"}).json()["event_id"]
    assert "event: complete" in server.client.get(f"call/v2/translate/{event}").text
    assert server.client.post("run/translate", json={"data": ["ein bier"]}).json()["data"][0]["text"]


def test_wrong_arguments_of_a_tool_are_a_json_rpc_error(server: Server) -> None:
    deep: Any = []
    for _ in range(40):
        deep = [deep]
    for arguments in ({"text": {"meta": {}}}, {"text": deep}):
        for request_id in ("a", 7):
            params = {"name": "translate", "arguments": arguments}
            message = {"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": params}
            reply = server.client.post("mcp/", json=message)
            values = reply.json()
            assert (reply.status_code, values["jsonrpc"], values["id"]) == (200, "2.0", request_id)
            assert values["error"]["code"] == -32602
            assert_clean(values["error"]["message"])
    without_id = server.client.post("mcp/", json={"jsonrpc": "2.0", "params": {"arguments": {"x": {"meta": {}}}}})
    assert without_id.status_code == 422
