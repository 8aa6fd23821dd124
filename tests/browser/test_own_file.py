"""Open your own: attention files are parsed in the browser, shown unchanged, or rejected with a message."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

import headlight
from headlight.model.records import Translation
from headlight.viz.figure_phrases import phrase
from tests.browser.acting import open_tab, page_weights
from tests.browser.conftest import Visit
from tests.model.recordings.test_reading import softmax
from tests.viz.notebook.test_vision import PIXELS, vision_view

NAMES = ["the", "cat", "sat", "on", "a", "<b>mat</b>", "</s>"]


def table(page: Page) -> np.ndarray:
    page.locator(".headlight-own-file button[data-view=numbers]").click()
    rows = page.locator(".headlight-own-file .numbers tbody").evaluate(
        "(body) => [...body.querySelectorAll('tr[aria-rowindex]')].map((row) => "
        "[...row.querySelectorAll('td')].map((cell) => cell.textContent))"
    )
    return np.array([[np.nan if cell == "–" else float(cell) for cell in row] for row in rows])


def rounded(weights: np.ndarray) -> np.ndarray:
    return np.array([[float(f"{weight:.3f}") for weight in row] for row in weights])


def archive(**arrays: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


@pytest.mark.journey
def test_own_file_is_parsed_locally_and_shown_unchanged(page: Page, folder: Path, example: Translation) -> None:
    requested: list[str] = []
    open_tab(page, "own")
    page.on("request", lambda request: requested.append(f"{request.method} {request.url}"))
    weights = softmax((2, 3, 7, 7), mask=np.tri(7))
    headlight.show(weights, tokens=NAMES).save(folder / "own.npz")
    file = page.locator(".headlight-own-file input[type=file]")
    file.set_input_files(folder / "own.npz")
    expect(page.locator(".headlight-own-file .recorded-name")).to_have_text("own")
    assert page.locator(".headlight-own-file .strips .token").all_inner_texts() == NAMES
    np.testing.assert_array_equal(table(page), np.where(np.tri(7) > 0, rounded(weights[0, 0]), np.nan))
    # Keys apply to the focused view: the page's head does not change.
    page.locator(".headlight-own-file .thumb[data-layer='1'][data-head='1']").click()
    before = page.locator("#panel-heads .topline h2").first.inner_text()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".headlight-own-file .topline h3")).to_have_text("Layer 2 · Head 3")
    assert page.locator("#panel-heads .topline h2").first.inner_text() == before
    np.testing.assert_array_equal(table(page), np.where(np.tri(7) > 0, rounded(weights[1, 2]), np.nan))
    # The page opens its own exports, also JSON, with rows that sum to less than one.
    headlight.show(example).save(folder / "page.json")
    file.set_input_files(folder / "page.json")
    expect(page.locator(".headlight-own-file .recorded-name")).to_have_text("page")
    assert page.locator(".headlight-own-file .kinds button").count() == 3
    np.testing.assert_array_equal(table(page), rounded(example.attention.cross[0, 0]))
    halved = io.BytesIO()
    np.savez(halved, self=softmax((1, 1, 2, 2)) / 2)
    file.set_input_files({"name": "half.npz", "mimeType": "", "buffer": halved.getvalue()})
    expect(page.locator(".headlight-own-file .remarks")).to_contain_text("2 rows do not sum to 1")
    # Invalid files are rejected with a message, and maps of the previous file are removed.
    good = softmax((1, 1, 2, 2))
    wrong: dict[str, bytes] = {
        "no_such_file": b"hello",
        "broken": archive(self=good)[:-30],
        "no_attention": archive(other=good),
        "no_weights": archive(self=good - 3),
        "shape": archive(self=good[0]),
        "sizes": archive(self=good, tokens=np.array(["a"])),
        "kind_of_array": archive(self=good.astype(np.complex64)),
        "ragged": json.dumps({"self": [[[[1.0], [0.5, 0.5]]]]}).encode(),
        "no_names": json.dumps({"self": good.tolist(), "tokens": [1, 2]}).encode(),
    }
    values = {"kind": "Self-attention", "shape": "1 × 2 × 2", "first": 1, "second": 2, "type": "<c8", "names": "other"}
    for word, content in wrong.items():
        suffix = "json" if word == "no_such_file" else "npz"
        file.set_input_files({"name": f"{word}.{suffix}", "mimeType": "", "buffer": content})
        expect(page.locator(".headlight-own-file .error")).to_have_text(phrase(f"opened_{word}", **values))
        expect(page.locator(".headlight-own-file .recorded-name")).to_have_count(0)
    bomb = io.BytesIO()
    np.savez_compressed(bomb, self=np.zeros((1, 1, 7000, 7000), dtype=np.float32))
    file.set_input_files({"name": "bomb.npz", "mimeType": "", "buffer": bomb.getvalue()})
    expect(page.locator(".headlight-own-file .error")).to_have_text(phrase("opened_too_large", limit=160))
    assert not [each for each in requested if not each.startswith("GET")], requested


def test_transformers_file_is_opened(page: Page) -> None:
    open_tab(page, "own")
    file = page.locator(".headlight-own-file input[type=file]")
    layers = softmax((2, 1, 6, 7, 7))  # outputs.attentions: one array per layer, with a batch of one
    for name, arrays in {
        "stacked": {"attentions": layers},
        "unnamed": {"arr_0": layers[0], "arr_1": layers[1]},
        "numbered": {"layer_0": layers[0], "layer_1": layers[1]},
        "one": {"attentions": layers[0]},
    }.items():
        file.set_input_files({"name": f"{name}.npz", "mimeType": "", "buffer": archive(**arrays)})
        expect(page.locator(".headlight-own-file .recorded-name")).to_have_text(name)
        np.testing.assert_array_equal(table(page), rounded(layers[0, 0, 0]))
    file.set_input_files(
        {"name": "own.json", "mimeType": "", "buffer": json.dumps({"attentions": layers.tolist()}).encode()}
    )
    expect(page.locator(".headlight-own-file .recorded-name")).to_have_text("own")
    np.testing.assert_array_equal(table(page), rounded(layers[0, 0, 0]))


def test_half_precision_and_names_of_bytes_are_read(page: Page) -> None:
    open_tab(page, "own")
    weights = softmax((2, 3, 4, 4)).astype(np.float16)
    names = np.array(["Der", "", "schläft", "."]).astype("U")
    encoded = np.char.encode(names, "utf-8")  # dtype |S8
    file = page.locator(".headlight-own-file input[type=file]")
    file.set_input_files({"name": "half.npz", "mimeType": "", "buffer": archive(attentions=weights, tokens=encoded)})
    expect(page.locator(".headlight-own-file .recorded-name")).to_have_text("half")
    np.testing.assert_array_equal(table(page), rounded(weights[0, 0].astype(np.float32)))
    assert page.locator(".headlight-own-file thead th").all_inner_texts()[-4:] == ["Der", "∅", "schläft", "."]


@pytest.mark.parametrize(("locale", "says"), [("en-US", "Choose a file"), ("zh-CN", "选择文件")])
def test_file_button_uses_page_language(visit: Visit, locale: str, says: str) -> None:
    page = visit(locale=locale)
    open_tab(page, "own")
    button = page.locator(".headlight-own-file .file-picker button")
    expect(button).to_have_text(says)
    with page.expect_file_chooser() as chosen:
        button.click()
    chosen.value.set_files({"name": "own.npz", "mimeType": "", "buffer": archive(self=softmax((1, 1, 2, 2)))})
    expect(page.locator(".headlight-own-file .recorded-name")).to_have_text("own")
    visible_count = page.locator("input[type=file]").evaluate_all(
        "(all) => all.filter((it) => it.checkVisibility()).length"
    )
    assert visible_count == 0  # the browser's own button is in the browser's language


def test_sample_file_matches_encoder_and_can_be_dropped(page: Page) -> None:
    open_tab(page, "own")
    page.get_by_role("button", name=phrase("own_sample")).click()
    expect(page.locator(".headlight-own-file .recorded-name")).to_have_text("sample")
    weights = page_weights(page, "encoder")
    np.testing.assert_allclose(table(page), weights[0, 0], atol=6e-4)  # three decimals
    with page.expect_download() as saved:
        page.get_by_role("button", name=phrase("own_save_sample")).click()
    content = Path(saved.value.path()).read_text()
    np.testing.assert_allclose(np.array(json.loads(content)["attentions"]), weights, atol=1e-6)
    page.locator(".panel-row .link").click()
    page.evaluate(
        """(content) => {
          const dataTransfer = new DataTransfer();
          dataTransfer.items.add(new File([content], 'dropped.json'));
          document.body.dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }));
        }""",
        content,
    )
    expect(page.locator(".headlight-own-file .recorded-name")).to_have_text("dropped")
    assert not page.locator(".headlight.translate").is_visible()


def test_a_dragged_file_shows_its_target_and_one_of_another_kind_is_refused_in_place(page: Page) -> None:
    act = """(type) => {
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File(['Hello'], 'notes.txt'));
      const event = new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true });
      return document.body.dispatchEvent(event);
    }"""
    target = page.locator(".drop-target")
    expect(target).to_be_hidden()
    assert page.evaluate(act, "dragover") is False  # else the browser would open the file instead of the page
    expect(target).to_have_text(phrase("own_drop"))
    assert page.evaluate(act, "dragleave") is True
    expect(target).to_be_hidden()
    assert page.evaluate(act, "drop") is False
    expect(page.locator(".headlight-own-file .error")).not_to_be_empty()


@pytest.mark.parametrize("name", ["view.npz", "view.json"])
def test_image_of_a_vision_model_is_shown(page: Page, folder: Path, name: str) -> None:
    view = vision_view()
    view.save(folder / name)
    open_tab(page, "own")
    page.locator(".headlight-own-file input[type=file]").set_input_files(folder / name)
    own = page.locator("#widget-own-file")
    expect(own.locator(".patches .token")).to_have_count(9)
    pixels = own.locator(".picture img").evaluate(
        """async (image) => {
          await image.decode();
          const canvas = document.createElement('canvas');
          [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
          const context = canvas.getContext('2d');
          context.drawImage(image, 0, 0);
          return [...context.getImageData(0, 0, canvas.width, canvas.height).data];
        }"""
    )
    np.testing.assert_array_equal(np.reshape(pixels, (24, 24, 4))[..., :3], PIXELS)
    own.locator(".strips .token").hover()  # [CLS], the only token without a patch
    weights = view.sources[0].attention.of("self")[0, 0, 0]
    expect(own.locator(".picture p b")).to_have_text("[CLS]")
    expect(own.locator(".picture p")).to_contain_text(f"{weights[1:].max():.4f}")
    expect(own).to_contain_text(phrase("recorded_self_image"))
