"""A real browser on the real page. Whatever it complains of, and whatever it asks of another host, fails the test."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gradio as gr
import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request, expect, sync_playwright

from headlight import Translator
from headlight.model.records import Translation
from headlight.viz.answers.examples import EXAMPLES
from headlight.viz.page import build_page, launch_page
from headlight.viz.settings import MODELS, Settings
from headlight.viz.tabs.translate import TranslateWidget
from tests.browser.browsers import ARGUMENTS, find_chromium

PATIENCE = 60_000  # milliseconds until something that never comes counts as missing; tests wait for facts alone


@pytest.fixture(scope="package")
def chromium() -> str:
    """Without one the tests fail: they are the page's only proof."""
    return find_chromium()


# Playwright keeps an event loop running in this thread; tests elsewhere run their own.
@pytest.fixture(scope="package")
def browser(chromium: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        expect.set_options(timeout=PATIENCE)
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def served() -> Iterator[gr.Blocks]:
    """The page, served by this process."""
    with socket.socket() as free:  # Gradio's own search leaves a socket open for each port that is taken
        free.bind(("127.0.0.1", 0))
        settings = Settings(port=free.getsockname()[1])
    page = build_page(settings)
    launch_page(page, settings, prevent_thread_lock=True, quiet=True)
    yield page
    page.close(verbose=False)


@pytest.fixture(scope="package")
def address(served: gr.Blocks) -> str:
    return str(served.local_url)


@pytest.fixture(scope="package")
def translate_widget(served: gr.Blocks) -> TranslateWidget:
    """What the served page's translations come from."""
    owners = (getattr(event.fn, "__self__", None) for event in served.fns.values())
    return next(owner for owner in owners if isinstance(owner, TranslateWidget))


@pytest.fixture(scope="package")
def translator() -> Translator:
    return Translator.load(MODELS / "de-en")


@pytest.fixture(scope="package")
def example(translator: Translator) -> Translation:
    """The translation that a first visit finds."""
    return translator.translate(EXAMPLES[0].text, beam_size=4, no_repeat=4)


@dataclass
class Watch:
    """What went wrong on a page."""

    address: str
    faults: list[str]

    def follow(self, page: Page) -> None:
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.faults.append(f"uncaught: {error}"))
        page.on("requestfailed", self._failed)
        page.on("request", self._asked)
        page.on("response", lambda answer: answer.status >= 400 and self.faults.append(f"{answer.status} {answer.url}"))

    def _said(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.faults.append(f"console: {message.text}")

    def _failed(self, request: Request) -> None:
        # A page that closes drops what it was listening to.
        if "queue/data" not in request.url and "heartbeat" not in request.url:
            self.faults.append(f"failed: {request.url} {request.failure}")

    def _asked(self, request: Request) -> None:
        if not request.url.startswith((self.address, "data:", "blob:", "file:")):
            self.faults.append(f"another host: {request.url}")


Visit = Callable[..., Page]


@contextmanager
def visiting(browser: Browser, address: str) -> Iterator[Visit]:
    """Visits until the end of the block; what went wrong in them by then is an error."""
    contexts: list[BrowserContext] = []
    watch = Watch(address, [])

    def open_page(
        hash_: str = "",
        *,
        width: int = 1280,
        height: int = 900,
        live: bool | None = False,
        script: str = "",
        **options: Any,
    ) -> Page:
        """`live`: the page translates while one types, or not; `None`: as it does for a new visitor."""
        options.setdefault("locale", "en-US")
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        if live is not None:  # by default nothing is asked that a test does not ask for itself
            choice = f"localStorage.setItem('headlight-live', '{'on' if live else 'off'}')"
            context.add_init_script(f"localStorage.getItem('headlight-live') ?? {choice}")
        if script:
            context.add_init_script(script)
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        page = context.new_page()
        watch.follow(page)
        page.goto(address + hash_)
        page.wait_for_selector(".explorer .plot .main-svg")
        return page

    try:
        yield open_page
    finally:
        for context in contexts:
            context.close()
    assert not watch.faults, "\n".join(watch.faults)


@pytest.fixture
def visit(browser: Browser, address: str) -> Iterator[Visit]:
    """Open the page as a new visitor; `hash_` is what stands behind the address."""
    with visiting(browser, address) as open_page:
        yield open_page


@pytest.fixture
def page(visit: Visit) -> Page:
    return visit()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path
