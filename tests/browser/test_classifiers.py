"""Classifiers of other makers in Sentiment: menu, classes, words for each class, heads; and one that is downloaded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from headlight.model.records import Judgement
from headlight.model.translate.judge import Judge
from headlight.viz.page import build_page, launch_page
from headlight.viz.settings import MODELS, Settings
from headlight.viz.tabs import sentiment
from tests.browser.acting import at_rest, open_tab, traces
from tests.browser.conftest import Visit, visiting
from tests.browser.test_places import free_port
from tests.hub_server import Repository, hub_of_our_own
from tests.model.foreign.classifier_folders import bert, distilbert, roberta

TEXT = "The quiet film was dull, but the old cats were lovely."
ON_THE_HUB = "somebody/judge"
NEAR = 1.01 / 20_000  # a weight travels as one letter, known to a unit of the fourth decimal
TAB = ".headlight-sentiment"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the toy, the shipped classifier, one of three classes, and one asked class by class."""
    folder = tmp_path_factory.mktemp("models")
    for name in ("toy", "sentiment"):
        (folder / name).symlink_to(MODELS / name)
    bert(folder / "feelings", classes=3, num_hidden_layers=6)  # 30 heads: a wall with a row for each layer
    roberta(folder / "moods", classes=5, problem_type="multi_label_classification")
    return folder


@pytest.fixture(scope="module")
def address(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A page with these models, which may ask a Hub for one more."""
    home = tmp_path_factory.mktemp("hub")
    hub_folder = distilbert(home / "judge", id2label={0: "NEGATIVE", 1: "POSITIVE"})
    with pytest.MonkeyPatch.context() as patch, hub_of_our_own(patch, home / "cache") as hub:
        hub.repositories[ON_THE_HUB] = Repository(config={"model_type": "distilbert"})
        hub.repositories[ON_THE_HUB].push({path.name: path.read_bytes() for path in hub_folder.iterdir()})
        settings = Settings(port=free_port(), models_folder=folder, models=(ON_THE_HUB,))
        page = build_page(settings)
        launch_page(page, settings, prevent_thread_lock=True, quiet=True)
        yield str(page.local_url)
        page.close(verbose=False)


@pytest.fixture
def visit(browser: Browser, address: str) -> Iterator[Visit]:
    with visiting(browser, address) as open_page:
        yield open_page


def judged(page: Page, model: str, text: str = TEXT) -> None:
    page.fill("#review", text)
    page.locator(f"{TAB} .answer select").select_option(label=model)
    page.press("#review", "Enter")
    at_rest(page)


def signed(number: float, digits: int) -> str:
    return f"{number:+.{digits}f}".replace("-", "−")


def word_effects(judge: Judge, judgement: Judgement, about: int) -> list[str]:
    """What each word does for a class, as the bars say it."""
    effects = judge.erased(judgement)[about]
    places = {token.word: place for place, token in reversed(list(enumerate(judgement.tokens)))}
    return [signed(effects[places[word]], 2) for word in sorted(word for word in places if word is not None)]


def test_other_classifiers_say_their_own_classes_what_each_word_does_and_where_heads_look(
    visit: Visit, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = visit(drawn=".tabs")
    open_tab(page, "sentiment")
    listed = page.locator(f"{TAB} .answer select option").all_inner_texts()
    assert listed[:3] == ["sentiment", "feelings", "moods"]
    expect(page.locator(f"{TAB} .verdict b")).to_have_text("Positive")  # the shipped one judges an example
    expect(page.locator(f"{TAB} .classes")).to_be_hidden()
    monkeypatch.setattr(sentiment, "QUICK", 0)  # as if the models were large: words are left out by a second call
    judged(page, "feelings")

    judge = Judge.load(folder / "feelings", device="cpu")
    truth = judge.judge(TEXT)
    order = sorted(range(3), key=lambda place: -truth.probabilities[place])
    expect(page.locator(f"{TAB} .verdict b")).to_have_text(truth.verdict)
    lines = page.locator(f"{TAB} .class-lines button")
    expect(lines.locator(".name")).to_have_text([truth.classes[place] for place in order])
    expect(lines.locator(".numeric")).to_have_text([f"{truth.probabilities[place]:.3f}" for place in order])
    expect(page.locator(f"{TAB} .below")).to_contain_text("Contributions are not shown")
    expect(page.locator(f"{TAB} .accounts")).to_be_hidden()
    effects = page.locator(f"{TAB} .bars .cell small")
    expect(effects).to_have_text(word_effects(judge, truth, order[0]))
    lines.nth(2).click()  # words are weighed for another class
    expect(lines.nth(2)).to_have_attribute("aria-pressed", "true")
    expect(lines.nth(2)).to_be_focused()
    expect(effects).to_have_text(word_effects(judge, truth, order[2]))

    thumbs = page.locator(f"{TAB} .wall-grid button")
    expect(thumbs).to_have_count(7 * 6)  # layers and their average by heads and their average
    for place, expected in ((6, truth.attention[1, 0]), (11, truth.attention[1].mean(axis=0))):
        thumbs.nth(place).click()
        (drawn,) = (trace["z"] for trace in traces(page, f"{TAB} .plot") if trace["type"] == "heatmap")
        np.testing.assert_allclose(drawn, expected, atol=NEAR)
    page.evaluate(Axe().axe_script)
    found = page.evaluate(f"() => axe.run('{TAB}', {{ resultTypes: ['violations'] }})")
    assert [each["id"] for each in found["violations"] if each["impact"] in ("serious", "critical")] == []

    judged(page, "moods")
    several = Judge.load(folder / "moods", device="cpu").judge(TEXT)
    assert len(several.verdicts) > 1
    expect(page.locator(f"{TAB} .class-lines button")).to_have_count(5)
    expect(page.locator(f"{TAB} .classes")).to_contain_text("Each class is asked for by itself")


def test_a_classifier_that_is_downloaded_judges_at_once(visit: Visit) -> None:
    page = visit(drawn=".tabs", width=360, height=780)
    page.click(".tabs [aria-controls=panel-models]")
    page.locator(".hub li").get_by_role("button").click()
    page.locator(".offer .fetch:not([aria-disabled=true])").click()
    page.wait_for_selector(f"{TAB} .verdict b")
    at_rest(page)
    expect(page.locator(f"{TAB} .answer select option:checked")).to_have_text("judge")
    expect(page.locator(f"{TAB} .axis")).to_contain_text("Positive")  # its classes NEGATIVE and POSITIVE, in words
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.click(".tabs [aria-controls=panel-models]")
    page.locator("tr.model[data-model=feelings] .use").click()
    at_rest(page)
    expect(page.locator(f"{TAB} .answer select option:checked")).to_have_text("feelings")
    expect(page.locator(f"{TAB} .class-lines button")).to_have_count(3)
