"""The page on a Space: in the frame of huggingface.co, on its own address, and with server-side rendering."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import gradio as gr
import httpx
import pytest
from PIL import Image
from playwright.sync_api import Browser, Frame, Page

from headlight.viz.browser_files.static_files import SHARE_PICTURE_SIZE
from headlight.viz.figure_phrases import phrases
from headlight.viz.page import Page as HeadlightPage
from headlight.viz.tabs import TABS
from tests.browser.acting import open_tab, translate
from tests.browser.browsers import ARGUMENTS
from tests.browser.conftest import PATIENCE, Watch, visiting
from tests.browser.space import HOST, HUB, ID, NODE, at_the_hub, free_port, running

SPACE, FRAMED = f"https://{HOST}/", f"https://{HUB}/spaces/{ID}"
QUESTION, ANSWER = "Wo ist der Bahnhof?", "Where's the station?"
DRAWN = ".explorer .plot .main-svg"
FETCHED = """async (address) => {
  const answer = await fetch(address);
  return [answer.status, [...new Uint8Array(await answer.arrayBuffer())]];
}"""
# Chromium's behaviour if a visitor blocks the storage of cross-site frames.
REFUSED = """
for (const name of ['localStorage', 'sessionStorage'])
  Object.defineProperty(window, name, {
    get() { throw new DOMException(`Failed to read '${name}': Access is denied for this document.`, 'SecurityError'); },
  });
"""


@pytest.fixture(scope="module")
def space(browser: Browser, chromium: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Start a browser that resolves the addresses of the Space and the Hub."""
    folder = tmp_path_factory.mktemp("space")
    with running(folder / "said.log") as port, at_the_hub(port, folder) as rules:
        hub = browser.browser_type.launch(executable_path=chromium, args=[*ARGUMENTS, *rules])
        yield hub
        hub.close()


@contextmanager
def visited(space: Browser, address: str, *, refused: bool = False) -> Iterator[Page]:
    """Open an address without third-party cookies; page errors fail the test."""
    context = space.new_context(ignore_https_errors=True, locale="en-US", viewport={"width": 1280, "height": 900})
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    session = context.new_cdp_session(page)
    session.send("Network.enable")
    session.send("Network.setCookieControls", {"enableThirdPartyCookieRestriction": True})
    if refused:
        page.add_init_script(REFUSED)
    watch = Watch(SPACE, [])
    watch.follow(page)
    page.goto(address)
    yield page
    context.close()
    assert [fault for fault in watch.faults if fault != f"another host: {FRAMED}"] == []


@contextmanager
def framed(space: Browser, **options: Any) -> Iterator[tuple[Page, Frame]]:
    """Open the Hub's page of the Space; yield the page and the frame of the Space."""
    with visited(space, FRAMED, **options) as page:
        frame = next(each for each in page.frames if each.parent_frame)
        frame.wait_for_selector(DRAWN)
        yield page, frame


def download(page: Page, frame: Frame, form: str) -> bytes:
    """Download a file from the export menu."""
    frame.click(".take-away > .link")
    with page.expect_download() as download_info:
        frame.click(f".take-away [role=menuitem]:has(b:text-is('{form}'))")
    return Path(download_info.value.path()).read_bytes()


def clipboard_text(page: Page, frame: Frame) -> str:
    """Return the clipboard text by pasting it, because the page may not read the clipboard."""
    frame.evaluate("document.body.append(Object.assign(document.createElement('textarea'), { id: 'pasted' }))")
    frame.focus("#pasted")
    page.keyboard.press("Control+V")
    text = frame.input_value("#pasted")
    frame.evaluate("document.querySelector('#pasted').remove()")
    return text


@pytest.mark.parametrize("refused", [False, True])
def test_every_view_opens_in_hub_frame(space: Browser, refused: bool) -> None:
    with framed(space, refused=refused) as (_, frame):
        assert frame.evaluate("[...location.ancestorOrigins]") == [f"https://{HUB}"]
        assert frame.evaluate("document.cookie = 'a=1; SameSite=None; Secure'; document.cookie") == ""
        page: Any = frame  # a frame has the methods of a page
        assert translate(page, QUESTION) == ANSWER
        for name in TABS:
            open_tab(page, name)
        open_tab(page, "learn")
        stays = phrases("en")["lesson_stays_for_now" if refused else "lesson_stays_here"]
        assert stays in frame.inner_text("#panel-learn")


def test_downloads_and_copies_work_in_hub_frame(space: Browser) -> None:
    with framed(space) as (page, frame):
        assert translate(frame, QUESTION) == ANSWER  # type: ignore[arg-type]
        with Image.open(io.BytesIO(download(page, frame, "PNG"))) as picture:
            assert picture.width > 1000
        assert QUESTION in json.dumps(json.loads(download(page, frame, "JSON")))
        assert b"station" in download(page, frame, "CSV")
        for form, toast, copied in (
            ("form_link", "link_copied", rf"^{SPACE}#text=Wo\+ist\+der\+Bahnhof"),
            ("form_python", "python_copied", "Wo ist der Bahnhof"),
            ("form_iframe", "iframe_copied", rf'<iframe src="{SPACE}\?embed=head'),
        ):
            frame.click(".take-away > .link")
            frame.click(f".take-away [role=menuitem]:has(b:text-is('{phrases('en')[form]}'))")
            frame.wait_for_selector(f".take-away .toast:text-is('{phrases('en')[toast]}')")
            assert re.search(copied, clipboard_text(page, frame))


def test_space_contacts_no_other_host_and_has_metadata(space: Browser) -> None:
    with visited(space, SPACE) as page:
        page.wait_for_selector(DRAWN)
        assert translate(page, QUESTION) == ANSWER
        meta_tags = page.eval_on_selector_all(
            "meta", "(all) => all.map((each) => [each.getAttribute('property') ?? each.name, each.content])"
        )
        tags = dict(meta_tags)
        assert tags["og:url"] == SPACE
        assert tags["og:image"] == tags["twitter:image"]
        assert tags["og:image"].startswith(f"{SPACE}gradio_api/headlight/")
        assert "twitter:creator" not in tags
        links = page.eval_on_selector_all(
            "link[rel=icon], link[rel=apple-touch-icon], link[rel=manifest]", "(all) => all.map(({ href }) => href)"
        )
        assert len(links) == 3
        for address in (tags["og:image"], f"{SPACE}favicon.ico", *links):
            status, content = page.evaluate(FETCHED, address)
            assert status == 200, address
            if address == tags["og:image"]:
                assert Image.open(io.BytesIO(bytes(content))).size == SHARE_PICTURE_SIZE


@pytest.fixture
def rendered(served: HeadlightPage) -> Iterator[str]:
    """Yield the address of Gradio's Node server, which renders the page and forwards other requests."""
    templates, port = Path(gr.__file__).parent / "templates", free_port()
    python = {"GRADIO_PYTHON_HOST": "127.0.0.1", "GRADIO_PYTHON_PORT": str(served.server_port)}
    process = subprocess.Popen(
        [NODE, "--import", str(templates / "register.mjs"), str(templates / "node" / "build")],
        env={**os.environ, **python, "HOST": "127.0.0.1", "PORT": str(port)},
    )
    address = f"http://127.0.0.1:{port}/"
    try:
        while process.poll() is None:
            with suppress(httpx.HTTPError):
                if httpx.get(address, timeout=60).is_success:
                    break
            time.sleep(0.2)
        yield address
    finally:
        process.kill()  # open streams would keep it alive
        process.wait()


def test_page_works_with_gradio_ssr(browser: Browser, rendered: str) -> None:
    with visiting(browser, rendered) as visit:
        page = visit()
        assert "data-sveltekit-preload-data" in page.content()  # the page of Node, not of Python
        assert translate(page, QUESTION) == ANSWER
        for name in ("learn", "models"):  # one of them loads our second bundle
            open_tab(page, name)
