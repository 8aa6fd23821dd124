"""First visit: number of requests, and a canvas map that is drawn before Plotly with the same pixels."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, Route

from tests.browser.acting import wait_for_translation
from tests.browser.conftest import PATIENCE, Visit, newcomer
from tests.browser.polling import wait_for_function

MAX_REQUESTS = 42  # including 35 from Gradio
LONG = " ".join(["Der alte Mann wohnt hier."] * 8)
QUICK = ".explorer .plot > canvas"
DRAWN = ".explorer .plot .main-svg"
HINT = re.compile(r'<link rel="(?:module)?preload" [^>]*href="([^"]+)">')


@contextmanager
def without_plotly(
    browser: Browser, address: str, hash_: str = "", **options: Any
) -> Iterator[tuple[Page, list[Route]]]:
    """Open a page whose requests for Plotly are delayed; return both."""
    with newcomer(browser, address, **options) as page:
        pending_routes: list[Route] = []
        page.route("**/plotly.js", lambda route: pending_routes.append(route))  # Playwright accepts only functions
        page.goto(f"{address}{hash_}", wait_until="commit")  # the `load` event waits for Plotly
        page.wait_for_selector(QUICK)
        wait_for_function(page, "() => document.querySelector('.explorer .plot > canvas').width > 0")
        yield page, pending_routes


def release_plotly(page: Page, pending_routes: list[Route]) -> None:
    """Release Plotly and wait until it has drawn the map."""
    while not pending_routes:
        page.wait_for_timeout(20)
    pending_routes.pop().continue_()
    page.wait_for_selector(DRAWN)
    page.wait_for_selector(QUICK, state="detached")


def pixels(page: Page) -> np.ndarray:
    picture = page.locator(".explorer .plane").first.screenshot(animations="disabled")
    return np.asarray(Image.open(io.BytesIO(picture)).convert("RGB")).astype(int)


@pytest.mark.journey
def test_first_visit_sends_few_requests(visit: Visit) -> None:
    page = visit()
    requested = page.evaluate("performance.getEntriesByType('resource').map((each) => each.name)")
    files = [name for name in requested if not name.endswith("icon.png")]  # the browser may request it again
    assert len(files) == len(set(files))  # a hint with the wrong CORS mode would load its file twice
    ours = [name.rpartition("/")[2] for name in files if "/headlight/" in name]
    assert sorted(ours) == ["headlight.js", "plotly.js"]  # phrases, colours and styles are loaded with them
    assert 1 + len([name for name in requested if name.startswith("http")]) <= MAX_REQUESTS


def test_preload_hints_match_requested_files(browser: Browser, address: str) -> None:
    hints: list[str] = []

    def without_hints(route: Route) -> None:
        answer = route.fetch()
        hints.extend(HINT.findall(answer.text()))
        route.fulfill(response=answer, body=HINT.sub("", answer.text()))

    context = browser.new_context()
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url.removeprefix(f"{address}")))
    page.route(address, without_hints)
    page.goto(address)
    page.wait_for_selector(DRAWN)
    context.close()
    assert len(hints) > 20
    assert set(hints) <= set(requested)
    modules = {name for name in requested if name.startswith("assets/") and name.endswith(".js")}
    assert modules <= set(hints)


@pytest.mark.parametrize(
    ("hash_", "options"),
    [
        ("", {}),
        ("", {"color_scheme": "dark"}),
        ("#kind=decoder&layer=1&head=2", {}),
        ("#kind=encoder&scale=log&palette=cividis", {}),
        ("#scale=row", {"width": 360, "height": 740, "device_scale_factor": 2}),
        (f"#text={LONG.replace(' ', '%20')}", {}),
    ],
)
def test_canvas_map_matches_plotly_pixels(browser: Browser, address: str, hash_: str, options: dict[str, Any]) -> None:
    with without_plotly(browser, address, hash_, **options) as (page, pending_routes):
        if "text=" in hash_:
            wait_for_translation(page, LONG)
        before = pixels(page)
        release_plotly(page, pending_routes)
        after = pixels(page)
    assert before.shape == after.shape
    assert before.std() > 5  # something is drawn
    most = 8 if "width" in options else 2  # on a phone, cells end between two pixels with mixed colours
    assert np.abs(before - after).max() <= most


def test_canvas_map_is_usable_before_plotly_loads(browser: Browser, address: str) -> None:
    with without_plotly(browser, address) as (page, pending_routes):
        first = pixels(page)
        page.locator(".wall-grid button[data-layer='2'][data-head='0']").click()
        assert page.locator(DRAWN).count() == 0
        rotated_pixels = pixels(page)
        assert np.abs(first - rotated_pixels).max() > 20
        release_plotly(page, pending_routes)
        assert np.abs(pixels(page) - rotated_pixels).max() <= 2
