"""The OpenAPI document of the endpoints, made from Gradio's: our version and description, and only the served paths."""

from __future__ import annotations

import json
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headlight import __version__
from headlight.viz.api.routes import is_served
from headlight.viz.figure_phrases import phrase

OPENAPI_PATH = "/gradio_api/openapi.json"


async def send_openapi(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """Forward a request for the document to Gradio, and rewrite its response."""
    start: Message = {}
    parts: list[bytes] = []

    async def rewrite(message: Message) -> None:
        if message["type"] == "http.response.start":
            start.update(message)
            return
        parts.append(message.get("body", b""))
        if message.get("more_body", False):
            return
        body = b"".join(parts)
        if start["status"] == 200 and body:
            body = rewrite_openapi(body)
        headers = [(name, value) for name, value in start["headers"] if name != b"content-length"]
        await send({**start, "headers": [*headers, (b"content-length", str(len(body)).encode())]})
        await send({"type": "http.response.body", "body": body})

    # Without these headers, the response is neither compressed nor partial.
    skipped = (b"accept-encoding", b"range", b"if-none-match", b"if-modified-since")
    headers = [(name, value) for name, value in scope["headers"] if name not in skipped]
    await app({**scope, "headers": headers}, receive, rewrite)


def rewrite_openapi(body: bytes) -> bytes:
    """Return the document with Headlight's name, version and description, without paths that are not served."""
    document: dict[str, Any] = json.loads(body)
    document["info"] = {"title": "Headlight", "description": phrase("line"), "version": __version__}
    document["paths"] = {
        path: methods
        for path, methods in document.get("paths", {}).items()
        if any(is_served(method.upper(), path) for method in methods)
    }
    return json.dumps(document, ensure_ascii=False).encode()
