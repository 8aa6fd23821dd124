"""Third-party classifiers in Sentiment: menu, classes, contributions per class, heads, and a download."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from headlight.model.records import Judgement
from headlight.model.translate.judge import Judge
from headlight.viz.figure_phrases import phrases
from headlight.viz.page import build_page, launch_page
from headlight.viz.settings import MODELS, Settings
from headlight.viz.tabs import classifier
from tests.browser.acting import choose_panel, open_tab, traces, wait_until_idle
from tests.browser.axe import SERIOUS, barriers
from tests.browser.conftest import Visit, visiting
from tests.browser.polling import wait_for_function
from tests.browser.test_deployment import free_port
from tests.hub_server import Repository, local_hub
from tests.model.families.classifier_folders import bert, distilbert, roberta

TEXT = "The quiet film was dull, but the old cats were lovely."
ON_THE_HUB = "somebody/judge"
LISTED = "SamLowe/roberta-base-go_emotions"  # detected as a classifier before the download
NEAR = 1.01 / 20_000  # weights are sent with about four decimals
TAB = ".headlight-sentiment"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a folder with the toy, the bundled classifier, a three-class and a multi-label classifier."""
    folder = tmp_path_factory.mktemp("models")
    for name in ("toy", "sentiment"):
        (folder / name).symlink_to(MODELS / name)
    bert(folder / "feelings", classes=3, num_hidden_layers=6)  # 30 heads: the wall has a row for each layer
    roberta(folder / "moods", classes=5, problem_type="multi_label_classification")
    return folder


@pytest.fixture(scope="module")
def address(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve a page with these models and a Hub with one more."""
    home = tmp_path_factory.mktemp("hub")
    hub_folder = distilbert(home / "judge", id2label={0: "NEGATIVE", 1: "POSITIVE"})
    with pytest.MonkeyPatch.context() as patch, local_hub(patch, home / "cache") as hub:
        hub.repositories[ON_THE_HUB] = Repository(config={"model_type": "distilbert"})
        hub.repositories[ON_THE_HUB].push({path.name: path.read_bytes() for path in hub_folder.iterdir()})
        settings = Settings(port=free_port(), models_folder=folder, models=(ON_THE_HUB, LISTED))
        page = build_page(settings)
        launch_page(page, settings, prevent_thread_lock=True)
        yield str(page.local_url)
        page.close(verbose=False)


@pytest.fixture
def visit(browser: Browser, address: str) -> Iterator[Visit]:
    with visiting(browser, address) as open_page:
        yield open_page


def classify(page: Page, model: str, text: str = TEXT) -> None:
    page.fill("#review", text)
    page.locator(f"{TAB} .answer select").select_option(label=model)
    page.press("#review", "Enter")
    wait_until_idle(page)


def signed(number: float, digits: int) -> str:
    return f"{number:+.{digits}f}".replace("-", "−")


def nearly(number: float, digits: int) -> re.Pattern[str]:
    """Return a pattern for a signed number that allows for a different rounding of the last digit."""
    numbers = {re.escape(signed(number + apart, digits)) for apart in (-1e-4, 0.0, 1e-4)}
    return re.compile(f"^({'|'.join(sorted(numbers))})$")


def word_effects(judge: Judge, judgement: Judgement, about: int) -> list[re.Pattern[str]]:
    """Return patterns of the displayed contribution of each word to a class."""
    effects = judge.erasure_effects(judgement)[about]
    places = {token.word: place for place, token in reversed(list(enumerate(judgement.tokens)))}
    return [nearly(effects[places[word]], 2) for word in sorted(word for word in places if word is not None)]


def test_other_classifiers_show_classes_contributions_and_heads(
    visit: Visit, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = visit(drawn=".tabs")
    open_tab(page, "sentiment")
    listed = page.locator(f"{TAB} .answer select option").all_inner_texts()
    assert listed[:3] == ["sentiment", "feelings", "moods"]
    expect(page.locator(f"{TAB} .verdict b")).to_have_text("Positive")  # the bundled model classifies an example
    expect(page.locator(f"{TAB} .classes")).to_be_hidden()
    monkeypatch.setattr(classifier, "FAST_WORK", 0)  # as for large models: a second call erases words
    classify(page, "feelings")

    judge = Judge.load(folder / "feelings", device="cpu")
    truth = judge.judge(TEXT)
    order = sorted(range(3), key=lambda place: -truth.probabilities[place])
    expect(page.locator(f"{TAB} .verdict b")).to_have_text(truth.verdict)
    lines = page.locator(f"{TAB} .class-lines button")
    expect(lines.locator(".name")).to_have_text([truth.classes[place] for place in order])
    expect(lines.locator(".numeric")).to_have_text([f"{truth.probabilities[place]:.3f}" for place in order])
    expect(page.locator(f"{TAB} .below")).to_contain_text("No contributions")
    expect(page.locator(f"{TAB} .methods")).to_be_hidden()
    effects = page.locator(f"{TAB} .bars .cell small")
    expect(effects).to_have_text(word_effects(judge, truth, order[0]))
    lines.nth(2).click()  # contributions to another class
    expect(lines.nth(2)).to_have_attribute("aria-pressed", "true")
    expect(lines.nth(2)).to_be_focused()
    expect(effects).to_have_text(word_effects(judge, truth, order[2]))

    thumbs = page.locator(f"{TAB} .wall-grid button")
    expect(thumbs).to_have_count(7 * 6)  # layers and their average by heads and their average
    for place, expected in ((6, truth.attention[1, 0]), (11, truth.attention[1].mean(axis=0))):
        thumbs.nth(place).click()
        (values,) = (trace["z"] for trace in traces(page, f"{TAB} .plot") if trace["type"] == "heatmap")
        np.testing.assert_allclose(values, expected, atol=NEAR)
    assert barriers(page, TAB, impacts=SERIOUS) == []

    classify(page, "moods")
    several = Judge.load(folder / "moods", device="cpu").judge(TEXT)
    assert len(several.verdicts) > 1
    expect(page.locator(f"{TAB} .class-lines button")).to_have_count(5)
    expect(page.locator(f"{TAB} .classes")).to_contain_text("Each class has its own probability")
    expect(page.locator(f"{TAB} .wall-grid .caption.row")).to_have_text(["L1", "L2", "L3", "avg"])
    expect(thumbs).to_have_count(4 * 6)


def test_permalink_restores_text_and_model_and_truncation_is_reported(visit: Visit) -> None:
    text = "A lovely 龘 film ☃."
    page = visit(f"#tab=sentiment&classifier=feelings&review={quote(text)}", drawn=f"{TAB} .class-lines button")
    wait_until_idle(page)
    expect(page.locator("#review")).to_have_value(text)
    expect(page.locator(f"{TAB} .answer select option:checked")).to_have_text("feelings")
    expect(page.locator(f"{TAB} .unread")).to_contain_text("龘 · ☃")
    expect(page.locator(f"{TAB} .shares .token.unknown")).to_have_text(["龘", "☃"])
    expect(page.locator(f"{TAB} .strips .token.unknown")).to_have_text(["龘", "☃"])

    classify(page, "moods")
    wait_for_function(page, "location.hash.includes('classifier=moods')")
    assert parse_qs(urlsplit(page.url).fragment)["review"] == [TEXT]
    expect(page.locator(f"{TAB} .unread")).to_be_empty()
    open_tab(page, "heads")
    wait_for_function(page, "!location.hash.includes('review')")  # the model is unknown on other pages
    open_tab(page, "sentiment")
    expect(page.locator("#review")).to_have_value(TEXT)
    wait_for_function(page, "location.hash.includes('review')")

    page.evaluate("location.hash = 'tab=sentiment'")  # the first class is the default of permalinks
    expect(page.locator(f"{TAB} .answer select option:checked")).to_have_text("sentiment")
    expect(page.locator("#review")).to_have_value(re.compile("^A quiet film"))
    wait_until_idle(page)
    page.evaluate("location.hash = 'tab=sentiment&review=Fine&classifier=nobody'")
    expect(page.locator("#review-error")).to_contain_text("There is no model nobody here")
    page.evaluate("(text) => { location.hash = `tab=sentiment&review=${text}`; }", "x" * 4001)
    expect(page.locator("#review-error")).to_contain_text("The review: 4001 characters; the limit is 4000")
    classify(page, "sentiment", "good 好 " * 400)
    expect(page.locator(f"{TAB} .sum")).to_contain_text("too long for the page’s address")
    wait_for_function(page, "!location.hash.includes('review')")

    open_tab(page, "heads")
    page.click(".take-away > .link")
    page.get_by_role("menuitem", name="Saved view").click()
    expect(page.locator(".deck-toast")).to_contain_text("Saved as view 1")
    page.evaluate("(text) => { location.hash = `tab=sentiment&review=${text}`; }", "x" * 9001)
    expect(page.locator("#review-error")).to_contain_text("9001 characters")
    page.click(".deck-button")
    page.locator(".deck-panel").get_by_role("button", name="Save this view").click()
    expect(page.locator(".deck-toast")).to_contain_text("This view was not saved")
    expect(page.locator(".deck-list li")).to_have_count(1)


@pytest.mark.journey
def test_downloaded_classifier_is_usable_immediately(visit: Visit) -> None:
    page = visit(drawn=".tabs", width=360, height=780)
    choose_panel(page, "models")
    listed, other = (page.locator(".hub li", has_text=name) for name in (LISTED, ON_THE_HUB))
    expect(listed.locator("b")).to_have_text("Classifies texts, English")
    other.get_by_role("button").click()
    page.locator(".offer .fetch:not([aria-disabled=true])").click()
    page.wait_for_selector(f"{TAB} .verdict b")
    wait_until_idle(page)
    expect(page.locator(f"{TAB} .answer select option:checked")).to_have_text("judge")
    expect(page.locator(f"{TAB} .axis")).to_contain_text("Positive")  # its classes NEGATIVE and POSITIVE, as phrases
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    choose_panel(page, "models")
    page.locator("tr.model[data-model=feelings] .use").click()
    wait_until_idle(page)
    expect(page.locator(f"{TAB} .answer select option:checked")).to_have_text("feelings")
    expect(page.locator(f"{TAB} .class-lines button")).to_have_count(3)


def test_back_weight_needs_a_reverse_model(visit: Visit) -> None:
    page = visit("#" + urlencode({"text": "ich mochte ein bier", "model": "toy"}))
    page.click("[aria-controls=options]")
    weight, reason = page.locator("#options [data-field=back_weight]"), phrases("en")["option_back_weight_off"]
    expect(weight).to_be_disabled()
    expect(weight).to_have_accessible_description(reason)
    expect(page.get_by_text(reason)).to_be_visible()
