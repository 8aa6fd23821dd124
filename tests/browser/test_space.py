"""A Space: the page in the frame of huggingface.co, on its own, and where Gradio renders on the server after all."""

from __future__ import annotations

import io
import json
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import Browser, Frame, Page

from headlight.viz.page import build_page, launch_page
from headlight.viz.settings import Settings
from headlight.viz.tabs import TABS
from headlight.viz.wire.static import SHARED_SIZE
from headlight.viz.words import words
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
# As Chromium refuses it where a visitor blocks the storage of other sites' frames.
REFUSED = """
for (const name of ['localStorage', 'sessionStorage'])
  Object.defineProperty(window, name, {
    get() { throw new DOMException(`Failed to read '${name}': Access is denied for this document.`, 'SecurityError'); },
  });
"""


@pytest.fixture(scope="module")
def space(browser: Browser, chromium: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser that finds the Space and the Hub by their own addresses."""
    folder = tmp_path_factory.mktemp("space")
    with running(folder / "said.log") as port, at_the_hub(port, folder) as rules:
        hub = browser.browser_type.launch(executable_path=chromium, args=[*ARGUMENTS, *rules])
        yield hub
        hub.close()


@contextmanager
def visited(space: Browser, address: str, *, refused: bool = False) -> Iterator[Page]:
    """A visitor of an address, whom no cookie of another site follows; what goes wrong is an error."""
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
    """The Hub's page of the Space, and the Space in its frame."""
    with visited(space, FRAMED, **options) as page:
        frame = next(each for each in page.frames if each.parent_frame)
        frame.wait_for_selector(DRAWN)
        yield page, frame


def take(page: Page, frame: Frame, form: str) -> bytes:
    """A file of the export menu."""
    frame.click(".take-away > .link")
    with page.expect_download() as held:
        frame.click(f".take-away [role=menuitem]:has(b:text-is('{form}'))")
    return Path(held.value.path()).read_bytes()


def pasted(page: Page, frame: Frame) -> str:
    """What a visitor pastes, who gave the page no leave to read the clipboard."""
    frame.evaluate("document.body.append(Object.assign(document.createElement('textarea'), { id: 'pasted' }))")
    frame.focus("#pasted")
    page.keyboard.press("Control+V")
    text = frame.input_value("#pasted")
    frame.evaluate("document.querySelector('#pasted').remove()")
    return text


@pytest.mark.parametrize("refused", [False, True])
def test_every_view_opens_in_the_frame_of_the_hub(space: Browser, refused: bool) -> None:
    with framed(space, refused=refused) as (_, frame):
        assert frame.evaluate("[...location.ancestorOrigins]") == [f"https://{HUB}"]
        assert frame.evaluate("document.cookie = 'a=1; SameSite=None; Secure'; document.cookie") == ""
        page: Any = frame  # it has a page's methods
        assert translate(page, QUESTION) == ANSWER
        for name in TABS:
            open_tab(page, name)
        open_tab(page, "learn")
        stays = words("en")["lesson_stays_for_now" if refused else "lesson_stays_here"]
        assert stays in frame.inner_text("#panel-learn")


def test_files_and_texts_leave_the_frame(space: Browser) -> None:
    with framed(space) as (page, frame):
        assert translate(frame, QUESTION) == ANSWER  # type: ignore[arg-type]
        with Image.open(io.BytesIO(take(page, frame, "PNG"))) as picture:
            assert picture.width > 1000
        assert QUESTION in json.dumps(json.loads(take(page, frame, "JSON")))
        assert b"station" in take(page, frame, "CSV")
        for form, told, copied in (
            ("form_link", "link_copied", rf"^{SPACE}#text=Wo\+ist\+der\+Bahnhof"),
            ("form_python", "python_copied", "Wo ist der Bahnhof"),
            ("form_iframe", "iframe_copied", rf'<iframe src="{SPACE}\?embed=head'),
        ):
            frame.click(".take-away > .link")
            frame.click(f".take-away [role=menuitem]:has(b:text-is('{words('en')[form]}'))")
            frame.wait_for_selector(f".take-away .toast:text-is('{words('en')[told]}')")
            assert re.search(copied, pasted(page, frame))


def test_on_its_own_address_the_space_asks_no_other_host_and_says_what_it_is(space: Browser) -> None:
    with visited(space, SPACE) as page:
        page.wait_for_selector(DRAWN)
        assert translate(page, QUESTION) == ANSWER
        told = page.eval_on_selector_all(
            "meta", "(all) => all.map((each) => [each.getAttribute('property') ?? each.name, each.content])"
        )
        named = dict(told)
        assert named["og:url"] == SPACE
        assert named["og:image"] == named["twitter:image"]
        assert named["og:image"].startswith(f"{SPACE}gradio_api/headlight/")
        assert "twitter:creator" not in named
        links = page.eval_on_selector_all(
            "link[rel=icon], link[rel=apple-touch-icon], link[rel=manifest]", "(all) => all.map(({ href }) => href)"
        )
        assert len(links) == 3
        for address in (named["og:image"], f"{SPACE}favicon.ico", *links):
            status, content = page.evaluate(FETCHED, address)
            assert status == 200, address
            if address == named["og:image"]:
                assert Image.open(io.BytesIO(bytes(content))).size == SHARED_SIZE


@pytest.mark.parametrize("root", ["", "/lessons/headlight"])
def test_the_page_lives_where_gradio_renders_on_the_server(
    browser: Browser, monkeypatch: pytest.MonkeyPatch, root: str
) -> None:
    monkeypatch.setenv("GRADIO_NODE_PATH", str(NODE))
    handlers = {each: signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGINT)}
    settings = Settings(port=free_port())
    page = build_page(settings)
    launch_page(page, settings, ssr_mode=True, prevent_thread_lock=True, root_path=root or None)
    try:
        assert page.node_process is not None
        address = f"http://127.0.0.1:{settings.port}/"
        with visiting(browser, address) as visit:
            assert translate(visit(), QUESTION) == ANSWER
    finally:
        page.node_process.terminate()
        page.node_process.wait(60)
        page.close(verbose=False)
        for each, handler in handlers.items():
            signal.signal(each, handler)
