"""Programs that read Gradio's documentation find only what is served, and errors say what to do instead."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from headlight import __version__
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


@pytest.mark.parametrize("way", ["run", "api"])
def test_direct_call_of_a_queued_endpoint_names_the_right_route(server: Server, way: str) -> None:
    answer = server.post(f"{way}/translate", {"data": ["ein bier"]})
    assert (answer.status, answer.values["word"]) == (404, "queued_endpoint")
    assert "POST to /gradio_api/call/translate" in answer.error


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
