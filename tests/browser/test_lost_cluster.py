"""A page without its cluster: it reports the problem, keeps its content, and recovers automatically."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from playwright.sync_api import Browser, Page, expect

from headlight.model.phrases import phrases
from headlight.viz.backends import cluster_backend
from headlight.viz.page import build_page, launch_page
from headlight.viz.settings import Settings
from tests.browser.acting import switch_language, translate, translation, wait_for_translation
from tests.browser.conftest import visiting
from tests.viz.backends.machine import Machine, served

FIRST, SECOND = "Das Haus ist alt.", "Der Hund schläft im Garten."


class Elsewhere:
    """A machine that computes for a page and can be unreachable."""

    def __init__(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self.stack = ExitStack()

    def come(self) -> Machine:
        return self.stack.enter_context(served(self.port))

    def leave(self) -> None:
        self.stack.close()


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[Elsewhere]:
    monkeypatch.setattr(cluster_backend, "RETRY_DELAY_SECONDS", 0.0)
    monkeypatch.setattr(cluster_backend, "BACK_OFF_SECONDS", 0.0)
    machine = Elsewhere()
    yield machine
    machine.leave()


@pytest.fixture
def own_address(elsewhere: Elsewhere) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = Settings(port=port, backend="ray", ray_address=f"http://127.0.0.1:{elsewhere.port}")
    page = build_page(settings)
    launch_page(page, settings, prevent_thread_lock=True)
    yield str(page.local_url)
    page.close(verbose=False)


def submit(page: Page, text: str) -> None:
    page.fill("#sentence", text)
    page.press("#sentence", "Enter")


def test_unreachable_cluster_is_reported_and_retried(browser: Browser, own_address: str, elsewhere: Elsewhere) -> None:
    elsewhere.come()
    with visiting(browser, own_address) as visit:
        page = visit()
        before = translate(page, FIRST)
        elsewhere.leave()
        error, sign = page.locator("#sentence-error"), page.locator(".line-sign")
        button = page.locator(".translate .go")
        for language, width in (("en", 1280), ("zh", 360)):
            page.set_viewport_size({"width": width, "height": 800})
            switch_language(page, language)
            submit(page, SECOND)
            table = phrases(language)
            expect(error).to_have_text(table["error_cluster_gone"])
            expect(button).to_have_text(table["translate"])
            assert translation(page) == before  # the last translation stays, with its maps
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        # A tab's requests wait for the machines and are answered when these are back.
        page.evaluate("location.hash = 'tab=why'")
        expect(sign).to_have_text(phrases("zh")["line_away"])
        box = sign.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 360
        machine = elsewhere.come()
        expect(sign).to_have_text("")
        expect(page.locator("#panel-why table.row [role=row]").first).to_be_visible()
        assert not any(page.locator("#panel-why .error").all_inner_texts())
        assert machine.calls
        # A sentence typed meanwhile waits, too.
        page.evaluate("location.hash = 'tab=heads'")
        elsewhere.leave()
        page.locator(".live input").check()
        page.fill("#sentence", SECOND)
        expect(page.locator(".live-says")).to_have_text(phrases("zh")["live_away"])
        elsewhere.come()
        wait_for_translation(page, SECOND)
        # On a slow machine another status may be shown.
        expect(page.locator(".live-says")).not_to_have_text(phrases("zh")["live_away"])
        assert translation(page) != before
        # A submitted sentence waits, too.
        submit(page, FIRST)
        wait_for_translation(page, FIRST)
        expect(error).to_have_text("")
        assert translation(page) == before
