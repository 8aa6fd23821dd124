"""A complete page, served to real requests, and typical requests."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import httpx

from headlight.viz.browser_files.static_files import FOLDER
from headlight.viz.page import Page, build_page, launch_page
from headlight.viz.settings import Settings

JSON = {"content-type": "application/json"}
CLOSED = '"close_stream"'
STREAM = f"/{FOLDER}/stream/stream_messages"


class Site:
    """A served page, and one visitor of it at a time."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.http = httpx.Client(base_url=url, timeout=60)

    def event(self, function: str) -> int:
        """The number of a function of the page, in the order in which the page adds them."""
        return next(number for number, each in self.page.fns.items() if each.name == function)

    def ask(
        self, function: str, values: Any, *, session: str = "s", ticket: str = "", address: str = "127.0.0.1"
    ) -> Any:
        """The immediate response to a call of a widget."""
        body = {"session": session, "values": values, "ticket": ticket}
        reply = self.http.post(f"/{FOLDER}/call/{function}", json=body, headers={"x-forwarded-for": address})
        assert reply.status_code == 200, reply.text
        return reply.json()

    def stream_messages(
        self, values: Any, *, session: str, then: Callable[[dict[str, Any]], None] = lambda received: None
    ) -> list[Any]:
        """All messages of a translation request, as the page sends it. `then` is called with each message."""
        received = []
        body = {"session": session, "values": values}
        with self.http.stream("POST", STREAM, json=body) as reply:
            for line in reply.iter_lines():
                if line.startswith("data: "):
                    received.append(json.loads(line.removeprefix("data: ")))
                    then(received[-1])
        return received

    def join(self, event_data: Any, *, session: str, function: str = "stream_through_gradio") -> httpx.Response:
        body = {"data": [], "fn_index": self.event(function), "session_hash": session, "event_data": event_data}
        return self.http.post("/gradio_api/queue/join", content=json.dumps(body).encode(), headers=JSON)

    def messages(self, session: str, then: Callable[[str], None] = lambda text: None) -> str:
        """All messages of a stream, as the page reads them: up to the message that closes it.

        `then` is called with the text received so far.
        """
        text = ""
        with self.http.stream("GET", "/gradio_api/queue/data", params={"session_hash": session}) as reply:
            for each in reply.iter_text():
                text += each
                then(text)
                if CLOSED in text:
                    break
        return text

    def call(self, text: Any, address: str = "127.0.0.1") -> str:
        reply = self.http.post(
            "/gradio_api/call/translate", json={"data": [text]}, headers={"x-forwarded-for": address}
        )
        return str(reply.json()["event_id"])

    def answer(self, event_id: str) -> str:
        return self.http.get(f"/gradio_api/call/translate/{event_id}").text


@contextmanager
def opened(settings: Settings) -> Iterator[Site]:
    """The page on a free port."""
    with socket.socket() as free:  # Gradio's own search leaves a socket open for each port that is taken
        free.bind(("127.0.0.1", 0))
        settings = replace(settings, port=free.getsockname()[1])

    async def launch() -> Page:  # in a loop: outside, Gradio leaves some open
        page = build_page(settings)
        launch_page(page, settings, prevent_thread_lock=True)
        return page

    logging.getLogger("httpx").setLevel(logging.WARNING)
    page = asyncio.run(launch())
    site = Site(page, page.local_url)
    try:
        yield site
    finally:
        site.http.close()
        page.close(verbose=False)
