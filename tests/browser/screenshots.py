"""Screenshots of the README: `make screenshots` writes `docs/images/*.webp`, each below 200 kB."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from headlight.viz.page import build_page, launch_page
from headlight.viz.settings import Settings
from tests.browser.acting import choose_panel
from tests.browser.browsers import ARGUMENTS, find_chromium
from tests.browser.polling import wait_for_function

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"
LARGEST = 200_000  # bytes
PATIENCE = 180_000  # milliseconds, for a busy machine
Act = Callable[[Page], None]


def tab(name: str) -> Act:
    """Return an action that opens a tab and waits until it is drawn."""

    def act(page: Page) -> None:
        choose_panel(page, name)
        page.wait_for_selector(f"#panel-{name} .main-svg")

    return act


def point(page: Page) -> None:
    """Hover a row in the middle of the map."""
    page.hover(".explorer .rows .label >> nth=6")


def ask(page: Page) -> None:
    """Open the question whether the word needs the initial head."""
    page.click(".question.head-needed summary")
    page.wait_for_selector(".question .track.without")
    page.mouse.move(5, 700)


def compare(page: Page) -> None:
    """Compare two heads."""
    page.keyboard.press("p")
    page.click('.wall-grid button[data-layer="1"][data-head="1"]')
    point(page)


def lines(page: Page) -> None:
    """Open the lines view and hover a word."""
    page.click("[data-view=lines]")
    page.hover(".lines .label.row >> nth=6")


def change(page: Page) -> None:
    """Open Change with the loss of each head and two heads off."""
    choose_panel(page, "whatif")
    page.click(".headlight-whatif .importance button")
    page.wait_for_selector(".headlight-whatif .importance [role=status]:has-text('most important')")
    page.click('.headlight-whatif .thumb[data-layer="0"][data-head="3"]')
    page.wait_for_selector(".headlight-whatif .total:not(.unchanged)")
    page.click('.headlight-whatif .thumb[data-layer="2"][data-head="2"]')
    page.wait_for_timeout(3000)  # both answers
    page.evaluate("scrollTo(0, 0)")


def word(page: Page) -> None:
    """Open Word with the scores of all methods."""
    choose_panel(page, "word")
    wait_for_function(page, "() => document.querySelectorAll('.headlight-word .lens td').length > 9")
    text = "document.querySelector('.headlight-word').textContent"
    wait_for_function(page, f"() => !{text}.includes('…')")  # integrated gradients take seconds


def why(page: Page) -> None:
    """Open Why for a row of the initial head."""
    choose_panel(page, "why")
    page.wait_for_selector(".headlight-why .stream tfoot")
    page.wait_for_selector(".headlight-why:not(:has(.loading))")


def lesson(page: Page) -> None:
    """Open the walkthrough at the softmax of a row."""
    choose_panel(page, "learn")
    page.wait_for_timeout(3000)
    page.evaluate("location.hash = '#tab=learn&lesson=walk.softmax.3'")
    page.wait_for_selector("#panel-learn math")
    page.wait_for_timeout(3000)


def at_step(choice: str, act: Act | None = None) -> Act:
    """Return an action that opens a step of a lesson, waits until it is drawn, and then runs `act`."""

    def open_it(page: Page) -> None:
        page.evaluate("(choice) => { location.hash = `#tab=learn&lesson=${choice}`; }", choice)
        wait_for_function(
            page, "(step) => document.querySelector('.lesson')?.dataset.step === step", arg=choice.split(".")[1]
        )
        page.wait_for_selector("#panel-learn:not(:has([data-asks]))")
        if act is not None:
            act(page)

    return open_it


def reveal(page: Page) -> None:
    """Show the answer of the step's question."""
    page.click(".lesson-ask .answer .link")


def present(page: Page) -> None:
    """Open the step in presentation mode."""
    page.locator(".lesson-kit .link").nth(2).click()
    page.click(".deck-button")
    page.locator(".deck-list textarea").fill("Which word does gestern attend to most? Guess, then look at the weights.")
    page.click(".deck-panel .go")
    page.wait_for_selector(".beamer-bar:not([hidden])")


SMALL = {"viewport": {"width": 1280, "height": 800}, "device_scale_factor": 1}
WIDE = {"viewport": {"width": 1440, "height": 1000}}
FOLD = {"viewport": {"width": 1440, "height": 900}}
PICTURES: dict[str, tuple[dict[str, Any], Act, bool]] = {  # context, what to do, whole page
    "hero": (FOLD, ask, False),
    "explore": (FOLD, lambda page: page.click("[data-kind=decoder]"), False),
    "compare": (WIDE, compare, True),
    "lines": (FOLD, lines, False),
    "positions": (WIDE, tab("positions"), True),
    "beam": (WIDE, tab("decoding"), False),
    "dark": (FOLD | {"color_scheme": "dark"}, point, False),
    "phone": ({"viewport": {"width": 390, "height": 844}, "device_scale_factor": 2}, point, False),
    "whatif": ({"viewport": {"width": 1440, "height": 1200}}, change, False),
    "word": (WIDE, word, False),
    "why": (WIDE, why, True),
    "learn": (WIDE, lesson, False),
    "lesson-question": (SMALL, at_step("walk.cross.0"), False),
    "lesson-heads": (SMALL, at_step("heads.spread.0", reveal), False),
    "lesson-class": (SMALL, at_step("walk.softmax.3", present), False),
    "chinese": (FOLD | {"locale": "zh-CN"}, ask, False),
    "zh-hero": (FOLD | {"locale": "zh-CN"}, ask, False),
    "zh-learn": (WIDE | {"locale": "zh-CN"}, at_step("walk.qkv.0"), False),
    "zh-mask": (WIDE | {"locale": "zh-CN"}, at_step("walk.mask.0", reveal), False),
    "zh-why": (WIDE | {"locale": "zh-CN"}, why, False),
    "zh-phone": (
        {"viewport": {"width": 390, "height": 844}, "device_scale_factor": 2, "locale": "zh-CN"},
        point,
        False,
    ),
}


def take(browser: Browser, address: str, name: str) -> Path:
    """Write one screenshot at the highest quality below the size limit."""
    options, act, whole = PICTURES[name]
    context = browser.new_context(**{"device_scale_factor": 1.5, "locale": "en-US"} | options)
    context.add_init_script("localStorage.setItem('headlight-start', 'done')")
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(address)
    page.wait_for_selector(".explorer .plot .main-svg")
    if str(options.get("locale", "")).startswith("zh"):  # the page begins with a Chinese sentence
        wait_for_function(page, "() => document.querySelector('.explorer .columns')?.textContent.includes('喜欢')")
    act(page)
    page.wait_for_timeout(500)  # the shades of the hovered row fade in
    picture = Image.open(io.BytesIO(page.screenshot(full_page=whole)))
    context.close()
    IMAGES.mkdir(parents=True, exist_ok=True)
    path = IMAGES / f"{name}.webp"
    for quality in (90, 80, 70, 55, 40):
        picture.save(path, quality=quality, method=6)
        if path.stat().st_size < LARGEST:
            break
    return path


@contextmanager
def browsing() -> Iterator[tuple[Browser, str]]:
    """Yield a browser and the address of the served page."""
    settings = Settings()
    page = build_page(settings)
    launch_page(page, settings, prevent_thread_lock=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=ARGUMENTS)
        yield browser, page.local_url
        browser.close()
    page.close(verbose=False)


def main() -> None:
    """Write all screenshots."""
    with browsing() as (browser, address):
        for name in sys.argv[1:] or PICTURES:
            path = take(browser, address, name)
            sys.stdout.write(f"{path}: {path.stat().st_size:,} bytes\n")


if __name__ == "__main__":
    main()
