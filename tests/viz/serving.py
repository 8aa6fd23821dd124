"""A small page with only the endpoints, served to real requests."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import gradio as gr
import httpx
from anyio import CapacityLimiter

from headlight.viz.api.api_blocks import ApiBlocks
from headlight.viz.api.endpoints import register_api
from headlight.viz.api.middleware import app_kwargs
from headlight.viz.server.gradio_queue import install_queue
from headlight.viz.service.service import Service

# Warnings that Gradio's own code causes.
GRADIO_WARNS = (
    ".*no_silent_downcasting.*:pandas.errors.Pandas4Warning",
    "The copy keyword is deprecated:pandas.errors.Pandas4Warning",
)
LEAKS = (
    "Traceback",
    'File "',
    "/work",
    "/home",
    "/root",
    "site-packages",
    ".py",
    "Error:",
    "Exception",
    "object at 0x",
)


class Answer(NamedTuple):
    """A response, or an event of a stream."""

    status: int
    values: Any  # the result, or the error as an object
    error: str  # message of the error; empty if there is none
    text: str  # the complete response


class Server:
    """A served page."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.client = httpx.Client(base_url=f"{url}gradio_api/", timeout=60)

    def post(self, path: str, body: Any = None, *, content: Any = None, headers: Any = None) -> Answer:
        """Send a request. If it is queued, also fetch its result."""
        if content is None:
            content = json.dumps(body).encode()  # half a surrogate pair as an escape, as browsers send it
        reply = self.client.post(path, content=content, headers={"content-type": "application/json"} | (headers or {}))
        if reply.status_code != 200:
            values = reply.json()
            return Answer(reply.status_code, values, values["error"], reply.text)
        event_id = reply.json().get("event_id")
        name = path.rstrip("/").rpartition("/")[2]
        events = self.client.get(f"call/{name}/{event_id}").text
        kind, data = [line.partition(": ")[2] for line in events.splitlines() if ": " in line][-2:]
        values = json.loads(data)
        if kind == "error":
            return Answer(200, values, values["error"], events)
        return Answer(200, values[0], "", events)

    def call(self, name: str, *data: Any) -> Answer:
        """Call an endpoint with positional arguments."""
        return self.post(f"call/{name}", {"data": list(data)})


async def launched(service: Service) -> tuple[gr.Blocks, str]:
    """A page with the endpoints, a queued event and one that is not. In a loop: outside, Gradio leaves some open."""
    with ApiBlocks(analytics_enabled=False) as page:
        gr.Markdown("Headlight")
        box = gr.Textbox()
        box.submit(lambda text, more: text, [box, box], box, api_name="inside", api_visibility="private")
        box.blur(lambda text: text, box, box, queue=False, api_name="at_once", api_visibility="private")
        register_api(service, CapacityLimiter(40))
    install_queue(page, service.request_queue)
    with socket.socket() as free:  # tests run in parallel, and all would try the same ports
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    kwargs = app_kwargs(service.settings, page)
    _, url, _ = page.launch(prevent_thread_lock=True, quiet=True, app_kwargs=kwargs, show_error=False, server_port=port)
    return page, str(url)


@contextmanager
def served(service: Service) -> Iterator[Server]:
    """Serve the endpoints of a service with the middleware on a free port."""
    logging.getLogger("httpx").setLevel(logging.WARNING)
    page, url = asyncio.run(launched(service))
    server = Server(url)
    try:
        yield server
    finally:
        server.client.close()
        page.close(verbose=False)


def assert_clean(text: str) -> None:
    """Check that a text reveals no internals."""
    assert [leak for leak in LEAKS if leak in text] == []
