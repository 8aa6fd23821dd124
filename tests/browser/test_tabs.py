"""Positions, Sentiment and Models show the numbers of the model, the classifier and the folders."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from headlight import Translator
from headlight.model.core.positions import POSITIONS, make_positions
from headlight.model.records import FloatArray, Translation
from headlight.model.translate.judge import Judge
from headlight.viz.figure_phrases import phrases
from headlight.viz.settings import MODELS
from tests.browser.acting import open_tab, traces, wait_until_idle
from tests.browser.conftest import Visit, visiting

NEAR = 1.01 / 20_000  # weights are sent with about four decimals
HALF = 0.51e-4  # tolerance of four decimals, which may be rounded twice
REVIEW = "The cast is wonderful, but the story is dull & far too long."
CHOSEN, PLOT = ".headlight-positions [aria-checked=true]", ".headlight-positions .plot"


@pytest.fixture(scope="module")
def page(browser: Browser, address: str) -> Iterator[Page]:
    """Share one visit; each test opens its tab."""
    with visiting(browser, address) as visit:
        yield visit()


def encoding(translator: Translator, name: str, length: int) -> FloatArray:
    """Return an encoding for a model of this size: `[position, width]` or `[head, query, key]`."""
    numbers: FloatArray = (
        make_positions(replace(translator.model.config, positions=name), causal=False).as_array(length).numpy()
    )
    return numbers


def choose(page: Page, name: str) -> None:
    page.click(f".headlight-positions [data-encoding={name}]")
    wait_until_idle(page)
    expect(page.locator(CHOSEN)).to_have_attribute("data-encoding", name)


def pick(page: Page, number: int) -> None:
    """Select a dimension or a head."""
    page.locator(".headlight-positions .figures .picker input").fill(str(number))


# ---------------------------------------------------------------- positions


@pytest.mark.journey
def test_model_position_encoding_is_shown_first(page: Page, example: Translation) -> None:
    open_tab(page, "positions")
    table = example.positions["encoder"]  # [position, width]
    expect(page.locator(".headlight-positions .own")).to_have_text("used by de-en")
    np.testing.assert_allclose(traces(page, PLOT, 0)[0]["z"], table, atol=1e-6)
    np.testing.assert_allclose(traces(page, PLOT, 1)[0]["z"], table @ table.T, rtol=1e-5, atol=1e-4)
    for dimension in (0, 37, table.shape[1] - 1):
        pick(page, dimension)
        np.testing.assert_allclose(traces(page, PLOT, 2)[0]["y"], table[:, dimension], atol=1e-6)
    block = page.locator(".headlight-positions .block").first
    block.locator("summary").click()
    expect(block.locator("tbody tr")).to_have_count(len(table))
    cells = block.locator("tbody tr").nth(3).locator("td").all_inner_texts()
    assert cells == [f"{number:.4f}" for number in table[3]]
    block.locator("summary").click()


@pytest.mark.parametrize("name", ["sinusoidal", "sinusoidal_halves"])
def test_position_formula_matches_displayed_numbers(page: Page, translator: Translator, name: str) -> None:
    open_tab(page, "positions")
    choose(page, name)
    lines = page.locator(".headlight-positions .formula div").evaluate_all("(all) => all.map((it) => it.innerHTML)")
    values = traces(page, PLOT, 0)[0]["z"]
    length, width = np.shape(values)
    table = np.full((length, width), np.nan)
    for line in lines:
        text = re.sub(r"<sup>(.*?)</sup>", r"**(\1)", line).replace("2i", "2 * i").replace("d/2", "d//2")
        matched = re.fullmatch(r"PE\(p, (.+)\) = (.+)", text)
        assert matched
        column, value = (compile(part, "formula", "eval") for part in matched.groups())
        for p, i in np.ndindex(length, width // 2):
            places = {"p": p, "i": i, "d": width, "sin": math.sin, "cos": math.cos}
            table[p, eval(column, places)] = eval(value, places)  # noqa: S307 (the page's own formula)
    np.testing.assert_allclose(values, table, atol=1e-6)
    np.testing.assert_allclose(table, encoding(translator, name, length), atol=1e-6)
    for dimension in (0, 5, width - 1):
        pick(page, dimension)
        expect(page.locator(".headlight-positions .block").last.locator("h3")).to_have_text(f"Dimension {dimension}")
        np.testing.assert_allclose(traces(page, PLOT, 2)[0]["y"], table[:, dimension], atol=1e-6)
    choose(page, "sinusoidal")


@pytest.mark.parametrize("width", [360, 1280])
def test_slider_values_are_not_clipped(visit: Visit, width: int) -> None:
    page = visit(width=width)
    open_tab(page, "positions")
    labels = page.locator(".headlight-positions label.picker")
    expect(labels).to_have_count(2)
    for label in labels.all():
        assert label.evaluate("(label) => label.scrollWidth <= label.clientWidth + 1")
        right = label.locator("output").evaluate("(output) => output.getBoundingClientRect().right")
        assert right <= width - 8


def test_other_encoding_matches_model_with_that_encoding(
    page: Page, translator: Translator, example: Translation
) -> None:
    open_tab(page, "positions")
    length = len(example.source_tokens)
    choose(page, "rotary")
    turns = encoding(translator, "rotary", length)
    np.testing.assert_allclose(traces(page, PLOT, 0)[0]["z"], turns, atol=1e-6)
    choose(page, "alibi")
    bias = encoding(translator, "alibi", length)  # [head, query, key]
    for head in (0, 5):
        pick(page, head)
        np.testing.assert_allclose(traces(page, PLOT, 0)[0]["z"], bias[head], atol=1e-6)
    lines = traces(page, PLOT, 1)
    assert len(lines) == len(bias)
    by_distance = np.concatenate([bias[:, -1, :-1], bias[:, 0]], axis=1)  # [head, distance], farthest earlier key first
    for line, values in zip(lines, by_distance, strict=True):
        np.testing.assert_allclose(line["x"], np.arange(1 - length, length))
        np.testing.assert_allclose(line["y"], values, atol=1e-6)


def test_arrow_keys_step_through_encodings(page: Page) -> None:
    open_tab(page, "positions")
    choose(page, "sinusoidal")
    page.locator(CHOSEN).focus()
    seen = {}
    for _ in POSITIONS:
        page.keyboard.press("ArrowDown")
        wait_until_idle(page)
        name = page.locator(CHOSEN).get_attribute("data-encoding")
        seen[name] = page.locator(".headlight-positions .figures").is_visible()
        assert page.evaluate("document.activeElement.dataset.encoding") == name
    assert set(seen) == set(POSITIONS)
    assert {name for name, has_figure in seen.items() if not has_figure} == {"none", "learned"}


# ---------------------------------------------------------------- sentiment


@pytest.mark.journey
def test_review_shows_class_probability_contributions_and_heads(page: Page) -> None:
    open_tab(page, "sentiment")
    page.fill("#review", REVIEW)
    page.press("#review", "Enter")
    wait_until_idle(page)
    truth = Judge.load(MODELS / "sentiment", device="cpu").judge(REVIEW)
    sure = max(truth.probability, 1 - truth.probability)
    verdict = page.locator(".headlight-sentiment .verdict")
    expect(verdict.locator("b")).to_have_text({"positive": "Positive", "negative": "Negative"}[truth.verdict])
    expect(verdict.locator("span")).to_have_attribute("title", f"{sure:.4f}")
    expect(verdict.locator("span")).to_have_text(f"probability {sure:.3f}")
    expect(page.locator(".headlight-sentiment .sum")).to_contain_text(f"log-odds are {signed(truth.log_odds)}.")
    page.click(".headlight-sentiment .below details summary")
    rows = page.locator(".headlight-sentiment .numbers tbody tr")
    expect(rows).to_have_count(len(truth.tokens))
    expect(rows.last).to_be_visible()
    rows_on_page = [row.split("\t") for row in rows.all_inner_texts()]
    assert [name for name, *_ in rows_on_page] == [token.text for token in truth.tokens]
    assert all(re.fullmatch(r"[+−]\d\.\d{4}", share) for _, share, _ in rows_on_page)
    shares = [float(share.replace("−", "-")) for _, share, _ in rows_on_page]
    assert shares == pytest.approx(truth.shares, abs=HALF)
    for head in (2, 6):
        page.click(f'.headlight-sentiment .wall-grid button[data-layer="0"][data-head="{head}"]')
        (map_values,) = (
            trace["z"] for trace in traces(page, ".headlight-sentiment .plot") if trace["type"] == "heatmap"
        )
        np.testing.assert_allclose(map_values, truth.attention[0, head], atol=NEAR)


def test_empty_review_shows_error_next_to_field(page: Page) -> None:
    open_tab(page, "sentiment")
    page.fill("#review", "  ")
    page.press("#review", "Enter")
    expect(page.locator("#review-error")).to_contain_text("Type a sentence first")
    expect(page.locator(".headlight-sentiment .verdict b")).to_be_visible()


def signed(number: float) -> str:
    return f"{number:+.4f}".replace("-", "−")


# ---------------------------------------------------------------- models


def test_licences_use_page_language(visit: Visit) -> None:
    page = visit(locale="zh-CN")
    open_tab(page, "models")
    for name, licence in {"de-en": phrases("zh")["models_licence_restricted"], "toy": "CC0 1.0"}.items():
        page.locator(f".headlight-models tr.model[data-model={name}] .card").click()
        expect(page.locator(f".headlight-models article[data-model={name}]")).to_contain_text(licence)


@pytest.mark.journey
def test_every_model_folder_has_card_with_its_numbers(page: Page) -> None:
    open_tab(page, "models")
    folders = {path.parent.name: path.parent for path in MODELS.glob("*/config.json")}
    lines = page.locator(".headlight-models tr.model")
    assert set(folders) <= {line.get_attribute("data-model") for line in lines.all()}
    expect(page.locator(".headlight-models article")).to_have_count(0)
    for name in folders:
        page.get_by_role("button", name=f"Card of {name}").click()
    for name, folder in folders.items():
        card = page.locator(f".headlight-models article[data-model={name}]")
        expect(card.locator("dl > dd").first).to_be_visible()  # the cards are loaded when they open
        facts = dict(zip(*(card.locator(f"dl > {tag}").all_inner_texts() for tag in ("dt", "dd")), strict=True))
        assert facts["Parameters"] == f"{parameters(folder):,}"
        number, unit = facts["On disk"].split()
        size = sum(path.stat().st_size for path in folder.iterdir()) / {"MB": 1e6, "kB": 1e3}[unit]
        assert number == f"{size:.0f}" if size >= 10 else f"{size:.1f}"
        line = page.locator(f".headlight-models tr.model[data-model={name}]")
        assert line.locator(".in-use").inner_text() == ("in use" if name == "de-en" else "")
        assert line.locator("td.numeric").inner_text() == facts["On disk"]
        own = "".join(re.findall(r"\w+", (folder / "README.md").read_text(encoding="utf-8")))
        assert "".join(re.findall(r"\w+", card.locator(".summary").inner_text())) in own
    names = [each.get_attribute("aria-label") for each in page.locator(".headlight-models [role=region]").all()]
    assert len(set(names)) == len(names) > len(folders)


def test_models_view_opens_sample_and_copies_notebook_code(page: Page) -> None:
    open_tab(page, "models")
    expect(page.locator("tr.model[data-model=de-en] .fails")).to_contain_text("That's sausage to me.")
    expect(page.locator(".own-models pre")).to_contain_text("headlight.show(")
    page.locator(".own-models").get_by_role("button", name="Open a sample").click()
    expect(page.locator("#panel-own .headlight-recorded")).to_contain_text("Layer 1 · Head 1")


def parameters(folder: Path) -> int:
    """Count the weights in a folder, without the scales of int8 and int4 tensors; a byte of int4 has two weights."""
    count = 0
    for path in folder.glob("*.safetensors"):
        content = path.read_bytes()
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
        tensors = {name: about for name, about in header.items() if name != "__metadata__"}
        for name, about in tensors.items():
            if not name.endswith(".scale"):
                count += math.prod(about["shape"]) * (2 if about["dtype"] == "U8" else 1)
    return count
