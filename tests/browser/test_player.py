"""The player: visible parts at each word, navigation, and the GIF export."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from headlight.model.records import Translation
from tests.browser.acting import expose_state, state, translate, translation
from tests.browser.conftest import Visit
from tests.browser.polling import wait_for_function

COUNT = 5  # number of target tokens at which a test stops


def scrub(page: Page, count: int) -> None:
    expose_state(page)
    page.locator(".player input").fill(str(count))
    wait_for_function(page, "(count) => headlight.written === count", arg=count)


def unwritten(page: Page, selector: str) -> int:
    return page.locator(f"{selector}.unwritten").count()


def test_player_shows_written_tokens_and_highlights_row(page: Page, example: Translation) -> None:
    count = len(example.target_tokens)
    scrub(page, COUNT)
    assert state(page, "row") == COUNT - 1
    plane = page.locator(".explorer .plane").bounding_box()
    cover = page.locator(".explorer .cover").bounding_box()
    assert plane
    assert cover
    assert cover["height"] / plane["height"] == pytest.approx((count - COUNT) / count, abs=0.01)
    assert unwritten(page, ".explorer .rows .label") == count - COUNT
    assert unwritten(page, ".explorer .columns .label") == 0
    assert unwritten(page, ".translate .word") == count - COUNT - 1  # the end token is not a word
    visible = page.locator(".translate .word:not(.unwritten)").last
    assert visible.inner_text() == example.target_tokens[COUNT - 1].text.strip()
    box = page.locator(".translate .out .text").bounding_box()
    page.keyboard.press("Escape")
    wait_for_function(page, "headlight.written === null")
    assert page.locator(".unwritten").count() == 0
    expect(page.locator(".explorer .cover")).to_be_hidden()
    assert page.locator(".translate .out .text").bounding_box() == box  # hidden words keep their space


def test_player_hides_unwritten_decoder_columns(page: Page, example: Translation) -> None:
    page.click("[data-kind=decoder]")
    scrub(page, COUNT)
    count = len(example.target_tokens)
    assert unwritten(page, ".explorer .rows .label") == count - COUNT
    assert unwritten(page, ".explorer .columns .label") == count - COUNT
    page.click("[data-kind=encoder]")
    assert unwritten(page, ".explorer .map .label") == 0


def test_player_rows_match_in_lines_and_numbers(page: Page) -> None:
    scrub(page, COUNT)
    columns = len(state(page, "translation")["source"])
    page.click("[data-view=numbers]")
    cells = page.locator(".explorer .numbers tbody td:not(.unwritten)")
    expect(cells).to_have_count(COUNT * columns)
    page.click("[data-view=lines]")
    some = page.locator(".explorer .lines path").count()
    page.keyboard.press("Escape")
    wait_for_function(page, "(some) => document.querySelectorAll('.explorer .lines path').length > some", arg=some)


def test_player_shows_alternatives_and_beam(page: Page, example: Translation) -> None:
    expect(page.locator(".writing")).to_be_hidden()
    scrub(page, COUNT)
    token = example.target_tokens[COUNT - 1]
    lists = page.locator(".writing .rows")
    assert lists.nth(0).locator(".numeric").all_inner_texts() == [
        f"{each.probability:.3f}" for each in token.alternatives
    ]
    assert lists.nth(0).locator(".own").inner_text().split()[0] == token.text.strip()
    nodes = [node for node in example.tree.nodes if node.step == COUNT - 1]
    best = sorted((node.score for node in nodes), reverse=True)[:6]
    assert lists.nth(1).locator(".numeric").all_inner_texts() == [f"{score:.2f}".replace("-", "−") for score in best]
    expect(lists.nth(1).locator(".own")).to_contain_text("kept")


@pytest.mark.journey
def test_space_toggles_playback_and_end_shows_all(page: Page, example: Translation) -> None:
    expose_state(page)
    page.evaluate("window.seen = []")
    page.evaluate(
        "() => new MutationObserver(() => seen.at(-1) === headlight.row || seen.push(headlight.row)).observe("
        "document.querySelector('.player .far'), { childList: true })"
    )
    play = page.locator(".player button")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Space")
    wait_for_function(page, "headlight.written >= 2")  # a slow machine may see only a later word
    expect(play).to_have_attribute("aria-label", "Pause")
    page.keyboard.press("Space")
    expect(play).to_have_attribute("aria-label", "Play")
    stands = state(page, "written")
    page.wait_for_timeout(900)
    assert state(page, "written") == stands
    page.locator(".writing select").select_option("4")
    play.click()
    wait_for_function(page, "headlight.written === null")
    expect(play).to_have_attribute("aria-label", "Play")
    count = len(example.target_tokens)
    assert state(page, "row") == count - 1
    seen = page.evaluate("seen")
    assert seen == sorted(seen)
    assert set(range(1, count)) <= set(seen)


def test_reduced_motion_advances_one_word_per_press(visit: Visit) -> None:
    page = visit(reduced_motion="reduce")
    expose_state(page)
    for count in (1, 2, 3):
        page.locator(".player button").click()
        assert state(page, "written") == count
    page.wait_for_timeout(900)
    assert state(page, "written") == 3
    expect(page.locator(".player button")).to_have_attribute("aria-label", "Play")


def test_arrow_keys_scrub_focused_slider(page: Page) -> None:
    scrub(page, COUNT)
    slider = page.locator(".player input")
    slider.focus()
    head = state(page, "head")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    assert (state(page, "written"), state(page, "head")) == (COUNT + 1, head)
    token = state(page, "translation")["target"][COUNT]["label"]
    expect(slider).to_have_attribute("aria-valuetext", f"{COUNT + 1} of {slider.get_attribute('max')}: {token}")


def test_permalink_restores_player_position(page: Page, visit: Visit) -> None:
    scrub(page, COUNT)
    wait_for_function(page, "(count) => location.hash.includes(`written=${count}`)", arg=COUNT)
    other = visit(page.evaluate("location.hash"))
    expose_state(other)
    assert (state(other, "written"), state(other, "row")) == (COUNT, COUNT - 1)
    expect(other.locator(".writing")).to_be_visible()
    expect(other.locator(".explorer .cover")).to_be_visible()
    beyond = visit("#written=300")
    expose_state(beyond)
    assert state(beyond, "written") is None


def test_new_translation_resets_player(page: Page) -> None:
    scrub(page, COUNT)
    translate(page, "Das Haus ist alt.")
    assert state(page, "written") is None
    assert page.locator(".unwritten").count() == 0
    assert translation(page) == state(page, "translation")["text"]


@pytest.mark.parametrize("look", [{}, {"locale": "zh-CN", "color_scheme": "dark"}])
def test_gif_has_one_word_per_frame(visit: Visit, folder: Path, example: Translation, look: dict[str, Any]) -> None:
    page = visit(**look)
    page.locator(".take-away > button").click()
    with page.expect_download() as download:
        page.locator(".take-away [role=menuitem]", has_text="GIF").last.click()
    file = folder / download.value.suggested_filename
    download.value.save_as(file)
    layer, head = state(page, "layer"), state(page, "head")
    assert file.name == f"headlight-cross-{layer + 1}-{head + 1}.gif"
    ink = []
    with Image.open(file) as picture:
        assert picture.n_frames == len(example.target_tokens)  # type: ignore[attr-defined]
        delays = []
        ground = picture.convert("RGB").getpixel((0, 0))
        for frame in range(picture.n_frames):  # type: ignore[attr-defined]
            picture.seek(frame)
            delays.append(picture.info["duration"])
            pixels = picture.convert("RGB").tobytes()
            ink.append(sum(pixels[at : at + 3] != bytes(ground) for at in range(0, len(pixels), 3)))  # type: ignore[arg-type]
    assert ink == sorted(ink)  # each frame shows more than the previous one
    assert len(set(ink)) == len(ink)
    assert delays == [650] * (len(delays) - 1) + [2600]
