"""The page's icon, and the picture of shared links: `make pictures` writes `assets/pictures/*.png`.

The picture shows one head of the page, next to the page's name and description.
"""

from __future__ import annotations

import base64
import sys
from urllib.parse import quote

from playwright.sync_api import Browser

from headlight.viz.browser_files.static_files import ICON, ICON_SIDE, PICTURES, SHARE_PICTURE, SHARE_PICTURE_SIZE
from headlight.viz.figure_phrases import phrases
from headlight.viz.theme import FONT, THEMES
from tests.browser.polling import wait_for_function
from tests.browser.screenshots import browsing

LARGEST = 300_000  # bytes; messengers do not show larger images
SENTENCE = "Ich habe gestern einen alten Freund getroffen."
HEAD = "kind=cross&layer=2&head=0"  # each predicted word attends to its source word
MARK = '<path d="M11 4a9 9 0 0 0 0 18z" fill="currentColor" stroke="none"/><path d="M15 6.5l8-2M15 13h9M15 19.5l8 2"/>'
LIGHT = THEMES["light"]
CARD = """
<style>
  body {{ margin: 0; background: {ground}; color: {ink}; font-family: {font}; }}
  main {{ display: flex; align-items: center; gap: 40px; box-sizing: border-box; width: {width}px; height: {height}px;
    padding: 32px 40px 32px 56px; border-top: 12px solid {accent}; }}
  div {{ flex: 1; }}
  svg {{ color: {accent}; display: block; }}
  h1 {{ font-size: 68px; letter-spacing: -0.02em; margin: 20px 0 16px; }}
  p {{ font-size: 34px; line-height: 1.3; margin: 0; color: {ink_2}; }}
  img {{ height: 554px; }}
</style>
<main>
  <div>
    <svg width="104" height="104" viewBox="0 0 26 26" fill="none" stroke="currentColor" stroke-width="2"
      stroke-linecap="round">{mark}</svg>
    <h1>Headlight</h1>
    <p>{line}</p>
  </div>
  <img src="data:image/png;base64,{head}" alt="">
</main>
"""
BADGE = """
<style>
  body {{ margin: 0; }}
  svg {{ display: block; border-radius: 22%; background: {accent}; color: {on_accent}; }}
</style>
<svg width="{side}" height="{side}" viewBox="-5 -5 36 36" fill="none" stroke="currentColor" stroke-width="2.4"
  stroke-linecap="round">{mark}</svg>
"""


def head(browser: Browser, address: str) -> bytes:
    """Return an image of one enlarged head of the page."""
    page = browser.new_page(viewport={"width": 1000, "height": 1200}, device_scale_factor=2, locale="en-US")
    page.add_init_script("localStorage.setItem('headlight-start', 'done')")
    page.goto(f"{address}#text={quote(SENTENCE)}&{HEAD}")
    wait_for_function(
        page,
        "(word) => document.querySelector('.translate .out')?.innerText.includes(word)",
        arg="friend",
        timeout=300_000,
    )
    page.wait_for_selector(".explorer .plot .main-svg")
    page.hover(".explorer .rows .label:has-text('friend')")
    page.wait_for_timeout(2000)  # the map is drawn after the answer, and its shades fade in
    picture = page.locator(".explorer .map").first.screenshot()
    page.close()
    return picture


def draw(browser: Browser, html: str, width: int, height: int) -> bytes:
    """Render an HTML document to an image."""
    page = browser.new_page(viewport={"width": width, "height": height})
    page.set_content(html)
    wait_for_function(page, "() => [...document.images].every((image) => image.complete)")
    picture = page.screenshot(omit_background=True)
    page.close()
    return picture


def main() -> None:
    """Write both images."""
    with browsing() as (browser, address):
        head_image = base64.b64encode(head(browser, address)).decode()
        width, height = SHARE_PICTURE_SIZE
        colours = {"ground": LIGHT.ground, "ink": LIGHT.ink, "ink_2": LIGHT.ink_2, "accent": LIGHT.accent}
        size = {"width": width, "height": height}
        card = CARD.format(**colours, **size, font=FONT, mark=MARK, line=phrases("en")["line"], head=head_image)
        badge = BADGE.format(accent=LIGHT.accent, on_accent=LIGHT.on_accent, side=ICON_SIDE, mark=MARK)
        PICTURES.mkdir(parents=True, exist_ok=True)
        for name, picture in (
            (SHARE_PICTURE, draw(browser, card, width, height)),
            (ICON, draw(browser, badge, ICON_SIDE, ICON_SIDE)),
        ):
            (PICTURES / name).write_bytes(picture)
            sys.stdout.write(f"{PICTURES / name}: {len(picture):,} bytes\n")
            if len(picture) > LARGEST:
                sys.exit(f"{name} has more than {LARGEST:,} bytes.")


if __name__ == "__main__":
    main()
