"""Fixtures for browser tests. Page errors and requests to other hosts fail the test."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from weakref import WeakKeyDictionary

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, Response, expect, sync_playwright

from headlight import Translator
from headlight.model.records import Translation
from headlight.viz.page import Page as HeadlightPage
from headlight.viz.page import build_page, launch_page
from headlight.viz.service.backend import LocalBackend
from headlight.viz.service.examples import EXAMPLES
from headlight.viz.settings import MODELS, Settings
from headlight.viz.tabs.translate import TranslateWidget
from tests.browser.browsers import ARGUMENTS, find_chromium

Answered = Callable[..., Translation]
PATIENCE = 60_000  # timeout in milliseconds; tests wait for conditions, never for a time


@pytest.fixture(scope="package")
def chromium() -> str:
    """Return the path of a browser; without one the tests fail."""
    return find_chromium(windowless=True)


# Playwright keeps an event loop running in this thread; tests elsewhere run their own.
@pytest.fixture(scope="package")
def browser(chromium: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        expect.set_options(timeout=PATIENCE)
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def served() -> Iterator[HeadlightPage]:
    """Serve the page in this process."""
    yield from _serve()


@pytest.fixture(scope="package")
def served_on_zero_gpu() -> Iterator[HeadlightPage]:
    """Serve the page as on ZeroGPU, where requests use Gradio's queue."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LocalBackend, "uses_gradio_queue", True)
        yield from _serve()


def _serve() -> Iterator[HeadlightPage]:
    with socket.socket() as free:  # Gradio's search for a port leaves a socket open for each port in use
        free.bind(("127.0.0.1", 0))
        settings = Settings(port=free.getsockname()[1])
    page = build_page(settings)
    launch_page(page, settings, prevent_thread_lock=True)
    yield page
    page.close(verbose=False)


@pytest.fixture(scope="package")
def address(served: HeadlightPage) -> str:
    return str(served.local_url)


@pytest.fixture(scope="package")
def translate_widget(served: HeadlightPage) -> TranslateWidget:
    """Return the translate widget of the served page."""
    return find_translate_widget(served)


@pytest.fixture(scope="package")
def translator() -> Translator:
    return Translator.load(MODELS / "de-en")


@pytest.fixture(scope="package")
def answered(translator: Translator) -> Answered:
    """Return a function that translates with the page's default options."""
    reverse = Translator.load(MODELS / "en-de", "cpu")

    def answer(text: str, beam_size: int = 4, **more: Any) -> Translation:
        options = {"beam_size": beam_size, "no_repeat": 4, **more}
        alone = beam_size == 1 or "target" in more
        return translator.translate(text, **options, way_back=None if alone else reverse)

    return answer


@pytest.fixture(scope="package")
def example(answered: Answered) -> Translation:
    """Return the translation of a first visit."""
    return answered(EXAMPLES[0].text)


@dataclass
class Watch:
    """Records errors on a page."""

    address: str
    faults: list[str]

    def follow(self, page: Page) -> Callable[[], None]:
        """Record errors on a page until the returned function is called."""
        listeners: dict[Any, Callable[[Any], None]] = {
            "console": self._on_console,
            "pageerror": lambda error: self.faults.append(f"uncaught: {error}"),
            "requestfailed": self._failed,
            "request": self._on_request,
            "response": self._answered,
        }
        for event, listener in listeners.items():
            page.on(event, listener)

        def leave() -> None:
            for event, listener in listeners.items():
                page.remove_listener(event, listener)

        return leave

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.faults.append(f"console: {message.text}")

    def _failed(self, request: Request) -> None:
        # A page that closes or reloads aborts its streams and background requests.
        ours = "/headlight/call/" in request.url or "/headlight/stream/" in request.url
        dropped = request.failure == "net::ERR_ABORTED" and ours
        if not dropped and "queue/data" not in request.url and "heartbeat" not in request.url:
            self.faults.append(f"failed: {request.url} {request.failure}")

    def _on_request(self, request: Request) -> None:
        if not request.url.startswith((self.address, "data:", "blob:", "file:")):
            self.faults.append(f"another host: {request.url}")

    def _answered(self, response: Response) -> None:
        if response.status >= 400:
            self.faults.append(f"{response.status} {response.url}")


Visit = Callable[..., Page]
SPARE = 4  # contexts that later visits reuse


def find_translate_widget(page: HeadlightPage) -> TranslateWidget:
    widget: TranslateWidget = page.calls.streams["stream_messages"].__self__  # type: ignore[attr-defined]
    return widget


MEDIA = {"color_scheme": "light", "reduced_motion": "no-preference"}  # changeable within a context
_spare: WeakKeyDictionary[Browser, list[tuple[dict[str, Any], Page]]] = WeakKeyDictionary()


def borrow(browser: Browser, options: dict[str, Any]) -> Page:
    """An empty page in a context of these options.

    For each context Chromium creates a window, and a process that compiles all scripts again: three times the work of
    the page itself. So visits share contexts, and `give_back` resets them.
    """
    spare = _spare.setdefault(browser, [])
    for place, (context_options, page) in enumerate(spare):
        if context_options == options:
            del spare[place]
            return page
    context = browser.new_context(**options)
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    context.set_default_timeout(PATIENCE)
    return context.new_page()


def give_back(browser: Browser, options: dict[str, Any], page: Page) -> None:
    context = page.context
    if page.is_closed():
        context.close()
        return
    page.unroute_all(behavior="ignoreErrors")
    context.set_offline(False)
    page.goto("about:blank")  # aborts its requests and streams
    page.mouse.up()
    page.mouse.move(0, 0)
    context.clear_cookies()
    _spare[browser].append((options, page))
    if len(_spare[browser]) > SPARE:
        _spare[browser].pop(0)[1].context.close()


@contextmanager
def newcomer(
    browser: Browser,
    address: str,
    *,
    width: int = 1280,
    height: int = 900,
    live: bool | None = False,
    greeted: bool = True,
    script: str = "",
    **options: Any,
) -> Iterator[Page]:
    """A page for a new visitor, before it is opened.

    `greeted`: the tour is no longer offered. `live`: whether the page translates during typing; `None`: the default.
    `script` runs at the start of each document.
    """
    media = MEDIA | {name: options.pop(name) for name in MEDIA if name in options}
    options.setdefault("locale", "en-US")
    page = borrow(browser, options)
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(**media)  # type: ignore[arg-type]
    page.goto(f"{address}robots.txt")  # gives access to the storage that the page reads
    page.evaluate("() => { localStorage.clear(); sessionStorage.clear(); }")
    if live is not None:  # by default, the page sends no request that the test does not cause
        page.evaluate("(live) => localStorage.setItem('headlight-live', live)", "on" if live else "off")
    if greeted:
        page.evaluate("localStorage.setItem('headlight-start', 'done')")
    session = page.context.new_cdp_session(page)
    session.send("Page.enable")
    session.send("Page.resetNavigationHistory")  # Chromium keeps at most fifty entries
    session.send("Page.addScriptToEvaluateOnNewDocument", {"source": script})
    try:
        yield page
    finally:
        if not page.is_closed():
            session.detach()  # this removes the script
        give_back(browser, options, page)


@contextmanager
def visiting(browser: Browser, address: str) -> Iterator[Visit]:
    """Yield a function that opens visits; errors in them fail the test at the end of the block."""
    watch = Watch(address, [])

    with ExitStack() as visits:

        def open_page(
            hash_: str = "",
            *,
            drawn: str = ".explorer :is(.plot .main-svg, .board .word)",
            local: bool = False,
            **options: Any,
        ) -> Page:
            """Wait for `drawn`, an element of the tab; `options`: those of `newcomer`.

            `local`: begin with the sentence of the page's language, as a visitor does.
            """
            if str(options.get("locale", "")).startswith("zh") and not local and "text=" not in hash_:
                german = urlencode({"text": EXAMPLES[0].text, "model": EXAMPLES[0].model})
                hash_ = f"{hash_}&{german}" if hash_ else f"#{german}"  # else the page begins in Chinese
            page = visits.enter_context(newcomer(browser, address, **options))
            visits.callback(watch.follow(page))
            page.goto(address + hash_)
            page.wait_for_selector(drawn)
            return page

        yield open_page
    assert not watch.faults, "\n".join(watch.faults)


@contextmanager
def saved_page(browser: Browser, path: Path, drawn: str, *, script: str = "") -> Iterator[Page]:
    """Open a page that was saved as a file, without a network; errors in it fail the test at the end of the block.

    `drawn`: an element to wait for. `script` runs at the start of each document.
    """
    context = browser.new_context(offline=True)
    context.set_default_timeout(PATIENCE)
    context.add_init_script(script)
    page = context.new_page()
    watch = Watch("file:", [])
    watch.follow(page)
    page.goto(path.as_uri())
    page.wait_for_selector(drawn)
    yield page
    context.close()
    assert not watch.faults, "\n".join(watch.faults)


@pytest.fixture
def visit(browser: Browser, address: str) -> Iterator[Visit]:
    """Open the page as a new visitor; `hash_`: the hash of the URL."""
    with visiting(browser, address) as open_page:
        yield open_page


@pytest.fixture
def page(visit: Visit) -> Page:
    return visit()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path
