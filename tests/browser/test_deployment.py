"""Deployment locations: below a path of another site, in a frame, over plain http."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from threading import Thread

import httpx
import pytest
import uvicorn
from playwright.sync_api import Browser, Frame, Page
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Route

from headlight.viz.page import build_page, launch_page
from headlight.viz.settings import Settings
from tests.browser.acting import translate, translation
from tests.browser.conftest import PATIENCE, Watch
from tests.browser.polling import wait_for_function

BELOW = "/lessons/headlight"
HOP_BY_HOP = {"content-length", "transfer-encoding", "connection"}


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


@contextmanager
def served(app: Starlette, port: int) -> Iterator[None]:
    """Serve the app in a separate thread."""
    server = uvicorn.Server(
        uvicorn.Config(app, host="127.0.0.1", port=port, log_level="error", timeout_graceful_shutdown=1)
    )
    thread = Thread(target=server.run, daemon=True)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive(), "the site in front did not start"
        yield
    finally:
        server.should_exit = True
        thread.join()


async def stream_upstream(answer: httpx.Response) -> AsyncIterator[bytes]:
    """Stream the upstream response until the client disconnects."""
    try:
        async for part in answer.aiter_raw():
            yield part
    finally:
        await answer.aclose()


def site(behind: str, port: int) -> Starlette:
    """Return a site that serves the page below a path, and a lesson page that embeds it in a frame."""
    client = httpx.AsyncClient(timeout=300)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with client:
            yield

    async def forward(request: Request) -> Response:
        headers = [(name, value) for name, value in request.headers.raw if name != b"host"]
        headers.append((b"x-forwarded-host", request.headers["host"].encode()))
        address = behind + request.url.path.removeprefix(BELOW) + (f"?{request.url.query}" if request.url.query else "")
        upstream_request = client.build_request(request.method, address, headers=headers, content=await request.body())
        answer = await client.send(upstream_request, stream=True)
        response_headers = {name: value for name, value in answer.headers.items() if name not in HOP_BY_HOP}
        return StreamingResponse(stream_upstream(answer), status_code=answer.status_code, headers=response_headers)

    async def lesson(_: Request) -> Response:
        frame = f'<iframe src="http://127.0.0.1:{port}{BELOW}/" width="1100" height="800"></iframe>'
        return HTMLResponse(f'<!doctype html><link rel="icon" href="data:,"><title>A lesson</title>{frame}')

    async def icon(_: Request) -> Response:  # browsers request it from the site, not from the page
        return Response(status_code=204)

    below = Route(f"{BELOW}/{{rest:path}}", forward, methods=["GET", "HEAD", "POST"])
    return Starlette(routes=[Route("/lesson", lesson), Route("/favicon.ico", icon), below], lifespan=lifespan)


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """Yield the port of a site that serves the page below a path."""
    settings = Settings(port=free_port(), frames=("http://localhost:*",))
    page = build_page(settings)
    launch_page(page, settings, prevent_thread_lock=True, root_path=BELOW)
    port = free_port()
    with served(site(page.local_url.rstrip("/"), port), port):
        yield port
    page.close(verbose=False)


@pytest.fixture
def watched(browser: Browser, port: int) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1280, "height": 900}, locale="en-US")
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    watch = Watch(f"http://127.0.0.1:{port}", [])
    leave = watch.follow(page)
    yield page
    leave()  # pending requests from the page, such as the back-translation, are aborted
    context.close()
    faults = [fault for fault in watch.faults if not fault.endswith("/lesson")]  # the page on another host
    assert not faults, "\n".join(faults)


def assert_page_works(place: Page | Frame) -> None:
    place.wait_for_selector(".explorer .plot .main-svg")
    translate(place, "Die Katze schläft.")
    assert translation(place) == "The cat is sleeping."
    place.click('.tabs button:has-text("Learn")')
    place.click(".explorer-link[data-tab=positions]")
    place.wait_for_selector("#panel-positions .main-svg")


@pytest.mark.journey
def test_page_works_below_a_path(watched: Page, port: int) -> None:
    watched.goto(f"http://127.0.0.1:{port}{BELOW}/")
    assert_page_works(watched)
    watched.wait_for_url(lambda url: url.startswith(f"http://127.0.0.1:{port}{BELOW}/#"))


@pytest.mark.journey
def test_page_works_in_cross_origin_frame(watched: Page, port: int) -> None:
    watched.goto(f"http://localhost:{port}/lesson")  # for a browser, another host name is another site
    frame = watched.query_selector("iframe").content_frame()
    assert_page_works(frame)


def test_link_is_copied_without_clipboard_api(watched: Page, port: int) -> None:
    watched.add_init_script("Object.defineProperty(navigator, 'clipboard', { value: undefined })")  # as on plain http
    watched.goto(f"http://127.0.0.1:{port}{BELOW}/")
    watched.wait_for_selector(".explorer .plot .main-svg")
    watched.evaluate(
        "document.addEventListener('copy', () => { window.copied = String(document.activeElement.value); })"
    )
    wait_for_function(watched, "location.hash !== ''")  # the page updates its permalink shortly after it is drawn
    watched.click(".take-away button")
    watched.click("[role=menuitem] >> nth=0")
    wait_for_function(watched, "window.copied !== undefined")
    assert watched.evaluate("window.copied") == watched.url
