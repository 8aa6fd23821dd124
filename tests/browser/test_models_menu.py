"""The model menu: local models, Hub models by language or id, and downloads."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from headlight import Translator
from headlight.model.records import Translation
from headlight.viz.page import Page as HeadlightPage
from headlight.viz.page import build_page, launch_page
from headlight.viz.service import reach
from headlight.viz.service.examples import EXAMPLES
from headlight.viz.settings import ANY_MODEL, Settings, load_hub_list
from headlight.viz.tabs.download import Downloads
from tests.browser.acting import (
    expose_state,
    open_tab,
    page_weights,
    translate,
    translation,
    until,
    wait_for_translation,
)
from tests.browser.axe import SERIOUS, barriers
from tests.browser.conftest import Answered, Visit, visiting
from tests.browser.polling import wait_for_function
from tests.browser.test_deployment import free_port
from tests.hub_server import Hub, Repository, local_hub
from tests.model.families import folders

FIRST = EXAMPLES[0].text
HELLO = "Guten Tag."
LISTED = [each["id"] for each in load_hub_list() if "kind" not in each]  # translators
PROGRESS = "Helsinki-NLP/opus-mt-fr-en"
BROKEN = "Helsinki-NLP/opus-mt-es-en"
STOPPED = "Helsinki-NLP/opus-mt-ru-en"
LINKED = "Helsinki-NLP/opus-mt-ja-en"
REFUSED = "Helsinki-NLP/opus-mt-en-fr"
SPOILT = "Helsinki-NLP/opus-mt-en-ru"
LATER = "Helsinki-NLP/opus-mt-en-es"
CARD = "Helsinki-NLP/opus-mt-zh-en"
OTHERS = "google-t5/t5-small"
MISSING = "Helsinki-NLP/opus-mt-en-zh"  # listed, but missing on the Hub
MANY = "somebody/opus-mt-en-mul"
CODES = ("fra", "deu", "spa")
WEIGHTS = "model.safetensors"
NEAR = 1.01 / 20_000  # weights are sent with about four decimals
SPEAK = """async (language) => {
  const script = performance.getEntriesByType('resource').find((each) => each.name.endsWith('/headlight.js'));
  await (await import(script.name)).modules['core/i18n.js'].setLanguage(language);
}"""


class Place(NamedTuple):
    """The address of a page, its Hub, and its model folders."""

    address: str
    downloads: Downloads
    hub: Hub
    one: Path
    many: Path


@pytest.fixture(scope="module")
def hub_and_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Hub, Path, Path]]:
    """Create a Hub with small models of the right family under the names of large ones."""
    home = tmp_path_factory.mktemp("hub")
    one, many = folders.marian(home / "one"), folders.marian(home / "many", codes=CODES)
    rules = many / "generation_config.json"
    settings = json.loads(rules.read_text(encoding="utf-8")) | {"repetition_penalty": 1.5}  # not supported by Headlight
    rules.write_text(json.dumps(settings), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch, local_hub(patch, home / "cache") as hub:
        for name in (*LISTED, MANY):
            if name != MISSING:
                hub.repositories[name] = Repository()
                files = {path.name: path.read_bytes() for path in (many if name == MANY else one).iterdir()}
                hub.repositories[name].push(files)
        yield hub, one, many


def serve(models: tuple[str, ...]) -> HeadlightPage:
    settings = Settings(port=free_port(), models=models)
    page = build_page(settings)
    launch_page(page, settings, prevent_thread_lock=True)
    return page


@pytest.fixture(scope="module")
def place(hub_and_folders: tuple[Hub, Path, Path]) -> Iterator[Place]:
    """Serve a page that allows any model."""
    page = serve((*LISTED, ANY_MODEL))
    downloads: Downloads = page.calls.streams["fetch_model"].__self__  # type: ignore[attr-defined]
    yield Place(str(page.local_url), downloads, *hub_and_folders)
    page.close(verbose=False)


@pytest.fixture(scope="module")
def strict(hub_and_folders: tuple[Hub, Path, Path]) -> Iterator[str]:
    """Serve a page that allows only the models of a long list."""
    page = serve(
        (*LISTED, *(f"somebody/opus-mt-en-{code}" for code in ("it", "nl", "pl", "pt", "sv", "uk", "xx", "yy")))
    )
    yield str(page.local_url)
    page.close(verbose=False)


@pytest.fixture
def visit(browser: Browser, place: Place) -> Iterator[Visit]:
    with visiting(browser, place.address) as open_page:
        yield open_page
    place.hub.resumed.set()
    place.hub.paused.clear()
    place.hub.cut_after.clear()


@pytest.fixture
def page(visit: Visit) -> Page:
    return visit()


@pytest.fixture
def hub(place: Place) -> Hub:
    place.hub.requests.clear()
    return place.hub


def option(page: Page, name: str) -> Locator:
    return page.locator(f'.models-picker [role=option][data-value="{name}"]')


def choose(page: Page, name: str) -> None:
    """Select a model in the menu."""
    page.click(".models-picker .opens")
    option(page, name).click()


def download_offer(page: Page) -> Locator:
    """Return the download offer, once the Hub has described the model."""
    page.wait_for_selector(".offer .fetch[aria-disabled=false]")
    return page.locator(".offer")


def choose_by_id(page: Page, name: str) -> None:
    page.click(".models-picker .opens")
    if not page.is_visible("#hub-id"):
        page.click(".models-picker .by-id")
    page.fill("#hub-id", name)
    page.press("#hub-id", "Enter")


def wait_until_downloaded(page: Page, name: str) -> None:
    """Wait until the model is downloaded and has translated the sentence."""
    expose_state(page)
    wait_for_function(
        page, "(name) => !window.headlight.busy && window.headlight.translation.request.model === name", arg=name
    )
    expect(page.locator(".offer")).to_be_hidden()


def files_asked(hub: Hub) -> list[str]:
    return [each.path for each in hub.requests if "/resolve/" in each.path]


def assert_shows(page: Page, expected: Translation) -> None:
    """Check the displayed translation and all of its weights."""
    assert translation(page) == " ".join(expected.text.split())
    for kind in ("encoder", "decoder", "cross"):
        assert np.abs(page_weights(page, kind) - expected.attention.of(kind)).max() <= NEAR


# ---------------------------------------------------------------- the menu


def test_menu_lists_local_models_then_hub_pairs_by_language(page: Page, hub: Hub) -> None:
    button = page.locator(".models-picker .opens")
    expect(button).to_have_accessible_name("Model: German → English")
    button.click()
    groups = page.locator(".models-picker [role=group]")
    assert [each.get_attribute("aria-label") for each in groups.all()] == ["Installed", "Download from Hugging Face"]
    here = groups.nth(0).locator("[role=option]").all_inner_texts()
    assert " ".join(here[0].split()) == "German → English de-en"
    pairs = groups.nth(1).locator("[role=option] .what").all_inner_texts()
    of_pairs = [pair for pair in pairs if "→" in pair]
    assert pairs[: len(of_pairs)] == sorted(of_pairs)  # then multilingual models
    assert len(of_pairs) < len(pairs) == len(LISTED)
    expect(option(page, LATER)).to_contain_text("↓ 315 MB")
    expect(option(page, LATER)).to_have_accessible_name("English → Spanish · OPUS-MT, not installed, 315 MB")
    expect(option(page, "de-en")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Escape")
    expect(button).to_be_focused()
    expect(button).to_have_attribute("aria-expanded", "false")
    assert hub.requests == []


def test_hub_models_are_hidden_while_hub_is_unreachable(visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reach, "CACHE_SECONDS", dict.fromkeys((True, False), -1.0))
    monkeypatch.setattr(reach, "MIN_RECHECK_SECONDS", -1.0)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    page = visit()
    away = "127.0.0.1 cannot be reached, so no other models can be downloaded at present."
    page.click(".models-picker .opens")
    expect(page.locator(".models-picker .hub-away p")).to_have_text(away)
    expect(option(page, LATER)).to_have_count(0)
    expect(page.locator(".models-picker .by-id")).to_be_hidden()
    page.keyboard.press("Escape")
    open_tab(page, "models")
    expect(page.locator(".hub .hub-away p")).to_have_text(away)
    expect(page.locator(".hub button:visible")).to_have_text(["Try again"])
    expect(page.locator(".hub details")).not_to_have_attribute("open", "")
    page.evaluate(
        "(name) => { location.hash = `#text=Hello.&model=${name}` }", LATER
    )  # a link from a visitor who was online
    expect(page.locator(".model-offer .error")).to_have_text(away)
    expect(page.locator(".model-offer details p")).to_be_hidden()
    monkeypatch.delenv("HF_HUB_OFFLINE")
    open_tab(page, "models")
    expect(page.locator(".hub .hub-away")).to_have_count(0)  # automatically, at the next visit
    expect(page.locator(".hub li .link").first).to_be_visible()
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    open_tab(page, "heads")
    page.click(".models-picker .opens")
    expect(page.locator(".models-picker .hub-away p")).to_have_text(away)
    monkeypatch.delenv("HF_HUB_OFFLINE")
    page.click(".models-picker .hub-away button")
    expect(option(page, LATER)).to_be_visible()
    expect(page.locator(".models-picker .hub-away")).to_be_hidden()


def test_language_names_use_page_language(visit: Visit) -> None:
    page = visit(locale="zh-CN")
    page.click(".models-picker .opens")
    expect(option(page, LATER).locator(".what")).to_have_text("英语 → 西班牙语")


@pytest.mark.parametrize(
    ("locale", "named"),
    [
        (
            "en-US",
            "German,Traditional Chinese,Chinese,Japanese,Korean,English → Romanian,French,Klingonisch,qqq_Latn,?!",
        ),
        ("zh-CN", "德语,繁体中文,中文,日语,韩语,英语 → 罗马尼亚语,法语,Klingonisch,qqq_Latn,?!"),
    ],
)
def test_language_names_are_independent_of_model_codes(visit: Visit, locale: str, named: str) -> None:
    names = visit(locale=locale).evaluate(
        """async (codes) => {
          const script = performance.getEntriesByType('resource').find((each) => each.name.endsWith('/headlight.js'));
          return codes.map((await import(script.name)).modules['core/i18n.js'].languageName).join();
        }""",
        ["deu_Latn", "zho_Hant", "zho_Hans", "jap", "kor_Hang", "en→ro", "french", "Klingonisch", "qqq_Latn", "?!"],
    )
    assert names == named


def test_menu_shows_models_downloaded_by_others(visit: Visit) -> None:
    first, second = visit(), visit()
    choose(second, OTHERS)
    download_offer(second).get_by_role("button", name="Download").click()
    wait_until_downloaded(second, OTHERS)
    first.click(".models-picker .opens")
    expect(option(first, OTHERS).locator(".mark")).to_have_text("")
    option(first, OTHERS).click()
    wait_until_downloaded(first, OTHERS)


def test_selecting_local_model_translates_current_sentence(page: Page, hub: Hub) -> None:
    page.fill("#sentence", HELLO)
    choose(page, "toy")
    wait_until_downloaded(page, "toy")
    assert page.input_value("#sentence") == HELLO
    expect(page.locator(".models-picker .opens")).to_have_text("toy")
    assert hub.requests == []


def test_model_can_be_selected_by_keyboard(page: Page) -> None:
    page.focus(".models-picker .opens")
    page.keyboard.press("ArrowDown")
    for key in ("End", "ArrowUp", "Home", "ArrowDown"):
        page.keyboard.press(key)
    assert page.locator(".models-picker .at").inner_text().split()[:3] == ["English", "→", "German"]
    active = page.locator(".models-picker .choices").get_attribute("aria-activedescendant")
    assert page.locator(".models-picker .at").get_attribute("id") == active
    page.keyboard.type("s")
    expect(page.locator(".models-picker .at .what")).to_have_text("Spanish → English")
    page.keyboard.press("1")  # elsewhere, letters are keyboard shortcuts
    page.keyboard.press("Home")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    wait_until_downloaded(page, "en-de")
    expect(page.locator(".models-picker .opens")).to_be_focused()


def test_list_updates_keep_active_item(page: Page) -> None:
    page.focus(".models-picker .opens")
    for key in ("ArrowDown", "Home", "ArrowDown"):
        page.keyboard.press(key)
    at = page.locator(".models-picker .at")
    value, before = at.get_attribute("data-value"), at.locator(".what").inner_text()
    page.evaluate(SPEAK, "zh")
    expect(at.locator(".what")).not_to_have_text(before)  # the complete list was redrawn
    assert at.get_attribute("data-value") == value
    active = page.locator(".models-picker .choices").get_attribute("aria-activedescendant")
    assert at.get_attribute("id") == active


def test_list_update_is_deferred_while_item_is_pressed(page: Page) -> None:
    page.click(".models-picker .opens")
    choice = option(page, "toy")
    before = choice.locator(".what").inner_text()
    choice.hover()
    page.mouse.down()
    page.evaluate(SPEAK, "zh")
    expect(page.locator(".models-picker .opens")).to_have_attribute(
        "aria-label", "模型：德语 → 英语"
    )  # the page has received the change
    assert choice.locator(".what").inner_text() == before
    page.mouse.up()
    wait_until_downloaded(page, "toy")


def test_a_long_list_can_be_searched(browser: Browser, strict: str) -> None:
    with visiting(browser, strict) as visit:
        page = visit()
        page.click(".models-picker .opens")
        search = page.get_by_role("combobox", name="Search")
        expect(search).to_be_focused()
        rows = page.locator(".models-picker [role=option]")
        page.keyboard.type("POLISH")
        expect(rows).to_have_count(1)
        page.keyboard.press("Control+A")
        page.keyboard.type("nobody")
        expect(page.locator(".models-picker .none")).to_have_text("No match.")
        page.keyboard.press("Control+A")
        page.keyboard.type("en-de")
        page.keyboard.press("ArrowUp")
        page.keyboard.press("Enter")
        wait_until_downloaded(page, "en-de")


def test_changed_options_stay_and_others_get_model_defaults(page: Page) -> None:
    page.click("text=Options")
    page.fill("[data-field=beam_size]", "2")
    choose(page, "toy")
    wait_until_downloaded(page, "toy")
    expect(page.locator("[data-field=beam_size]")).to_have_value("2")
    page.fill("[data-field=beam_size]", "")
    choose(page, "de-en")
    wait_until_downloaded(page, "de-en")
    expect(page.locator("[data-field=beam_size]")).to_have_value("4")


# ---------------------------------------------------------------- it is offered, and comes


@pytest.mark.journey
def test_offered_model_downloads_with_progress_and_translates(page: Page, place: Place, hub: Hub) -> None:
    choose(page, PROGRESS)
    panel = download_offer(page)
    size = sum(path.stat().st_size for path in place.one.iterdir()) / 1e6
    revision = hub.repositories[PROGRESS].references["main"][:8]
    expect(panel).to_contain_text(f"French → English · OPUS-MT{PROGRESS}")
    expect(panel).to_contain_text(f"{size:.1f} MB · licence cc-by-4.0 · revision {revision}")
    expect(panel).to_contain_text("At 50 Mbit/s that takes about 5 seconds.")
    expect(panel.get_by_role("button", name="Download")).to_be_focused()
    assert files_asked(hub) == []
    assert page.input_value("#sentence") == FIRST
    hub.resumed.clear()
    panel.get_by_role("button", name="Download").click()
    assert hub.paused.wait(60)
    expect(panel.get_by_role("progressbar")).to_be_visible()
    expect(panel.locator(".far")).to_contain_text(f"of {size:.1f} MB")
    expect(panel.get_by_role("button", name="Stop")).to_be_visible()
    assert translate(page, HELLO)  # translations do not wait for a download
    hub.resumed.set()
    wait_until_downloaded(page, PROGRESS)
    assert page.input_value("#sentence") == HELLO
    expected = Translator.load(place.one, device="cpu").translate(HELLO)
    assert expected.text
    assert_shows(page, expected)
    expect(page.locator(".wall-grid button[data-layer='2'][data-head='6']")).to_be_visible()
    expect(page.locator(".models-picker .opens")).to_have_text("OPUS-MT")
    wait_for_function(page, "location.hash.includes('model=Helsinki-NLP%2Fopus-mt-fr-en')")
    assert "beam_size" not in page.evaluate("location.hash")  # the default of this model
    page.click(".models-picker .opens")
    expect(option(page, PROGRESS).locator(".mark")).to_have_text("")

    translate(page, "Der alte ☃ fährt.")  # the page names words that the vocabulary lacks
    expect(page.locator(".looks-like")).to_contain_text("Not in this model’s vocabulary: ☃.")
    expect(page.locator(".translate .shades .token.unknown")).to_have_text("☃")
    translate(page, "Der alte Müller fährt.")
    expect(page.locator(".looks-like .unread")).to_have_count(0)


def test_interrupted_download_resumes(page: Page, place: Place, hub: Hub) -> None:
    choose(page, BROKEN)
    panel = download_offer(page)
    hub.cut_after = [
        10**9,
        10**9,
        40_009,
        0,
        0,
        0,
    ]  # the vocabularies are complete; most of the weights is missing
    panel.get_by_role("button", name="Download").click()
    expect(page.locator("#option-model-error")).to_contain_text("The connection broke after 40,009 of")
    panel.get_by_role("button", name="Continue").click()
    wait_until_downloaded(page, BROKEN)
    assert hub.body_ranges(WEIGHTS) == [None, *["bytes=40009-"] * 4]
    assert_shows(page, Translator.load(place.one, device="cpu").translate(FIRST))


def test_stopped_download_keeps_partial_files(page: Page, place: Place, hub: Hub) -> None:
    hub.resumed.clear()
    choose(page, STOPPED)
    panel = download_offer(page)
    panel.get_by_role("button", name="Download").click()
    assert hub.paused.wait(60)
    ((stop, _),) = place.downloads._running.values()
    panel.get_by_role("button", name="Stop").click()
    until(page, stop.is_set)  # the server has received the cancellation before the last bytes arrive
    hub.resumed.set()
    expect(panel).to_contain_text("kept; the download resumes from there.")
    panel.get_by_role("button", name="Not now").click()
    expect(panel).to_be_hidden()
    choose(page, STOPPED)
    panel = download_offer(page)
    expect(panel).to_contain_text("already downloaded")
    panel.get_by_role("button", name="Continue").click()
    wait_until_downloaded(page, STOPPED)


def test_model_selected_during_download_is_kept(page: Page, hub: Hub) -> None:
    hub.resumed.clear()
    choose(page, LATER)
    download_offer(page).get_by_role("button", name="Download").click()
    assert hub.paused.wait(60)
    choose(page, "toy")
    expose_state(page)
    wait_for_function(page, "!window.headlight.busy && window.headlight.translation.request.model === 'toy'")
    hub.resumed.set()
    expect(page.locator(".offer")).to_contain_text(f"{LATER} is installed now.")
    expect(page.locator(".models-picker .opens")).to_have_text("toy")
    page.locator(".offer").get_by_role("button", name="Use this model").click()
    wait_until_downloaded(page, LATER)


def test_permalink_with_missing_model_offers_download(visit: Visit, place: Place, hub: Hub, answered: Answered) -> None:
    page = visit(f"#text=Guten+Tag.&model={LINKED}&beam_size=2&kind=encoder&layer=1&head=3")
    panel = download_offer(page)
    expect(panel).to_contain_text("Japanese → English · OPUS-MT")
    wait_for_translation(page, HELLO)
    assert translation(page) == answered(HELLO, beam_size=2).text  # by the default model
    assert files_asked(hub) == []
    panel.get_by_role("button", name="Download").click()
    wait_until_downloaded(page, LINKED)
    assert_shows(page, Translator.load(place.one, device="cpu").translate(HELLO, beam_size=2))
    expect(page.locator(".explorer .turn h2")).to_have_text("Layer 2 · Head 4")
    wait_for_function(page, "location.hash.includes('beam_size=2')")


def test_downloaded_model_has_card(page: Page) -> None:
    open_tab(page, "models")
    line = page.locator(".headlight-models .hub li", has_text=CARD)
    expect(line).to_contain_text("Chinese → English")
    line.get_by_role("button", name="Download and use").click()
    download_offer(page).get_by_role("button", name="Download").click()
    wait_until_downloaded(page, CARD)
    open_tab(page, "models")
    card = page.locator(f'.headlight-models tr.model[data-model="{CARD}"]')
    expect(card).to_contain_text("Translates Chinese → English")
    expect(card).to_contain_text("in use")


# ---------------------------------------------------------------- what may go wrong


def test_invalid_model_id_is_rejected_without_hub_request(page: Page, hub: Hub) -> None:
    choose_by_id(page, "nonsense")
    expect(page.locator("#hub-id-error")).to_contain_text(
        "“nonsense” is not the id of a model on Hugging Face. Write owner/name"
    )
    expect(page.locator("#hub-id")).to_be_focused()
    expect(page.locator("#hub-id")).to_have_attribute("aria-invalid", "true")
    assert hub.requests == []


@pytest.mark.parametrize(
    ("locale", "says"),
    [("en-US", "has no model somebody/nothing with revision main"), ("zh-CN", "上没有模型 somebody/nothing")],
)
def test_unknown_hub_model_is_reported_missing(visit: Visit, locale: str, says: str) -> None:
    page = visit(locale=locale)
    choose_by_id(page, "https://huggingface.co/somebody/nothing")
    expect(page.locator("#option-model-error")).to_contain_text(says)
    page.locator(".offer .link").click()
    expect(page.locator(".offer")).to_be_hidden()
    expect(page.locator("#option-model-error")).to_be_empty()
    assert translate(page, HELLO)


def test_removed_listed_model_can_be_requested_again(page: Page, hub: Hub) -> None:
    choose(page, MISSING)
    expect(page.locator("#option-model-error")).to_contain_text("has no model")
    expect(page.locator(".offer")).to_contain_text("about 315 MB")
    page.locator(".offer").get_by_role("button", name="Try again").click()
    expect(page.locator("#option-model-error")).to_contain_text("has no model")


def test_gated_model_explains_access(page: Page, hub: Hub) -> None:
    hub.repositories[REFUSED].gated = True
    choose(page, REFUSED)
    download_offer(page).get_by_role("button", name="Download").click()
    expect(page.locator("#option-model-error")).to_contain_text("asks for consent first. Accept its licence")
    hub.repositories[REFUSED].gated = False


def test_unsupported_family_is_rejected_before_download(page: Page, hub: Hub) -> None:
    hub.repositories["somebody/bert"] = Repository(config={"model_type": "gpt2"})
    hub.repositories["somebody/bert"].push({"config.json": b'{"model_type": "gpt2"}', WEIGHTS: b"x" * 99})
    choose_by_id(page, "somebody/bert")
    expect(page.locator("#option-model-error")).to_contain_text('is of the family "gpt2", which cannot be read here')
    assert files_asked(hub) == []


def test_unloadable_model_leaves_page_unchanged(page: Page, place: Place, hub: Hub) -> None:
    before = translation(page)
    files = {path.name: path.read_bytes() for path in place.one.iterdir()}
    config = files["config.json"].replace(b'"encoder_layers": 2', b'"encoder_layers": 5')
    assert config != files["config.json"]
    hub.repositories[SPOILT].push(files | {"config.json": config})
    choose(page, SPOILT)
    download_offer(page).get_by_role("button", name="Download").click()
    expect(page.locator("#option-model-error")).to_contain_text(f"The model {SPOILT} cannot be loaded.")
    assert translation(page) == before
    expect(page.locator(".models-picker .opens")).to_have_text("German → English")
    assert translate(page, HELLO)


def test_allowlist_restricts_requested_models(browser: Browser, strict: str, hub: Hub) -> None:
    with visiting(browser, strict) as visit:
        page = visit(f"#text=Guten+Tag.&model={MANY}")
        expect(page.locator("#option-model-error")).to_contain_text("is not offered here")
        wait_for_translation(page, HELLO)
        page.click(".models-picker .opens")
        expect(page.locator(".models-picker .by-id")).to_be_hidden()
    assert hub.requests == []


# ---------------------------------------------------------------- several languages


def test_multilingual_model_has_language_menu(visit: Visit, place: Place) -> None:
    page = visit()
    choose_by_id(page, MANY)
    download_offer(page).get_by_role("button", name="Download").click()
    wait_until_downloaded(page, MANY)
    alone = Translator.load(place.many, device="cpu")
    assert_shows(page, alone.translate(FIRST))
    rules = page.locator(".translate .rules")
    expect(rules).to_have_text("This model also asks for repetition_penalty = 1.5. Headlight does not apply that.")
    button = page.locator(".translate .of-target .opens")
    expect(button).to_have_accessible_name("Language of the translation: French")
    for code, name in (("spa", "Spanish"), ("deu", "German")):
        button.click()
        page.locator(".language-side [role=option]", has_text=name).click()
        expect(button).to_have_text(name)
        wait_until_downloaded(page, MANY)
        assert_shows(page, alone.translate(FIRST, target_language=code))
        wait_for_function(page, "(code) => location.hash.includes(`target_language=${code}`)", arg=code)
    linked = visit(page.evaluate("location.hash"))
    wait_for_translation(linked, FIRST)
    wait_until_downloaded(linked, MANY)
    assert_shows(linked, alone.translate(FIRST, target_language="deu"))
    expect(linked.locator(".translate .of-target .opens")).to_have_text("German")
    button.click()
    page.locator(".language-side [role=option]", has_text="French").click()
    wait_for_function(page, "!location.hash.includes('target_language')")
    choose(page, "de-en")  # disabled
    wait_until_downloaded(page, "de-en")
    expect(button).to_be_hidden()
    expect(rules).to_be_hidden()
    expect(page.locator(".translate .of-target b")).to_have_text("English")


# ---------------------------------------------------------------- for everybody, everywhere


@pytest.mark.parametrize("width", [360, 820, 1440])
def test_menu_and_offer_fit_and_pass_axe(visit: Visit, width: int) -> None:
    page = visit(width=width, height=780, reduced_motion="reduce")

    def check() -> None:
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert barriers(page, ".translate", impacts=SERIOUS) == []

    tabs = page.locator(".tabs").bounding_box()
    page.click(".models-picker .opens")
    page.click(".models-picker .by-id")
    assert page.locator(".tabs").bounding_box() == tabs  # the menu overlays the page, so nothing moves
    box = page.locator(".models-picker .panel-of-picker").bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width
    check()
    page.keyboard.press("Escape")
    choose(page, "Helsinki-NLP/opus-mt-de-en")
    download_offer(page)
    check()
