"""The page as a folder of files, behind a plain file server: everything is computed in the browser."""

from __future__ import annotations

import base64
import functools
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Browser, Page, expect

from headlight import Translator
from headlight.model.phrases import phrases
from headlight.model.records import KINDS
from headlight.viz.lessons.walk import WALK
from headlight.viz.service.examples import EXAMPLES
from headlight.viz.service.payload import make_reliability_values
from headlight.viz.settings import MODELS
from headlight.viz.static_site.lesson_content import SENTENCE_STEPS, STEPS
from headlight.viz.static_site.page_content import PANELS
from headlight.viz.tabs import panels_by_view
from tests.browser.acting import page_weights, state, switch_language, translate, translation, wait_until_idle
from tests.browser.conftest import PATIENCE, Watch
from tests.browser.polling import wait_for_function
from tests.browser.test_exporting import save

TEXT = "Die Katze trinkt heute keine Milch."
MAX_FIRST_REQUESTS = 15
CALL_WORDS = ("/call/", "/stream/", "/queue/")  # parts of the URLs of calls to a server


class Host(ThreadingHTTPServer):
    """A file server that records its requests. `base`: how it answers."""

    def __init__(self, folder: Path, base: type[SimpleHTTPRequestHandler] = SimpleHTTPRequestHandler) -> None:
        self.requests: list[tuple[str, str]] = []
        host = self

        class Handler(base):  # type: ignore[valid-type, misc] # a variable as a base class
            def log_request(self, code: Any = "-", size: Any = "-") -> None:
                host.requests.append((self.command, self.path))

            def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002 - the name of the base class
                pass

        super().__init__(("127.0.0.1", 0), functools.partial(Handler, directory=str(folder)))
        self.address = f"http://127.0.0.1:{self.server_port}/"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.shutdown()
        self.server_close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_folder(tmp_path_factory.mktemp("static"), "de-en,toy")


def write_folder(path: Path, models: str) -> Path:
    command = [sys.executable, "-m", "headlight", "static", str(path), "--models", models]
    one_thread = {**os.environ, "OMP_NUM_THREADS": "1"}  # as in tests/conftest.py
    subprocess.run(command, check=True, env=one_thread)  # Playwright's event loop runs in this process
    return path


@pytest.fixture(scope="module")
def host(folder: Path) -> Iterator[Host]:
    server = Host(folder)
    yield server
    server.close()


@pytest.fixture(scope="module")
def exact() -> Translator:
    """The model without rounded copies of its weights."""
    return Translator.load(MODELS / "de-en", "cpu", step_weights="plain")


@contextmanager
def visit(browser: Browser, address: str, *, width: int = 1280, live: bool = False, **options: Any) -> Iterator[Page]:
    """A new visitor's page. Errors and requests to other hosts fail the test."""
    context = browser.new_context(viewport={"width": width, "height": 900}, **{"locale": "en-US", **options})
    context.set_default_timeout(PATIENCE)
    context.add_init_script(f"localStorage.setItem('headlight-live', '{'on' if live else 'off'}')")
    context.add_init_script("localStorage.setItem('headlight-start', 'done')")
    page, faults = context.new_page(), list[str]()
    Watch(address, faults).follow(page)
    page.goto(address)
    page.wait_for_selector(".explorer .plane")
    try:
        yield page
    finally:
        context.close()
    assert not faults


def open_panel(page: Page, name: str) -> None:
    """Open a panel by its view, or from the model menu."""
    views = panels_by_view(PANELS)
    view = next(view for view, panels in views.items() if name in panels)
    page.locator(".tabs [role=tab]").nth(list(views).index(view)).click()
    if name == "own":
        page.click(".models-picker .opens")
        page.click(".menu-link[data-panel=own]")
    elif len(views[view]) > 1 and name != "heads":
        page.click(f".subtabs [aria-controls=panel-{name}]")


@pytest.mark.journey
def test_translation_and_maps_are_those_of_python(browser: Browser, host: Host, exact: Translator) -> None:
    with visit(browser, host.address) as page:
        before = translation(page)
        translate(page, TEXT)
        expected = exact.translate(TEXT, beam_size=4, no_repeat=4)
        assert before != translation(page) == expected.text
        for kind in KINDS:
            visible = page_weights(page, kind)
            maps = expected.attention.of(kind)
            cells = np.tri(*maps.shape[-2:], dtype=bool) if kind == "decoder" else np.ones(maps.shape[-2:], dtype=bool)
            np.testing.assert_allclose(visible[..., cells], maps[..., cells], atol=1.5e-4)
        probabilities = page.evaluate("headlight.translation.target.map((token) => token.probability)")
        np.testing.assert_allclose(probabilities, [token.probability for token in expected.target_tokens], atol=1e-4)


@pytest.mark.slow
def test_grade_without_the_reverse_model_is_that_of_python(browser: Browser, host: Host, exact: Translator) -> None:
    with visit(browser, host.address) as page:
        for text in (TEXT, "Der Zug fährt um halb acht von Gleis drei ab, Frau Przybylski."):
            expected = exact.translate(text, beam_size=4, no_repeat=4).reliability
            assert expected is not None
            translate(page, text)
            values = json.loads(json.dumps(make_reliability_values(expected)))
            own = state(page, "translation")["reliability"]
            assert own["probability"] == pytest.approx(values["probability"], abs=1e-3)
            assert own | {"probability": 0} == values | {"probability": 0}
            expect(page.locator(".judgement .grade")).to_have_text(phrases("en")[f"reliable_{expected.grade}"])
            page.wait_for_timeout(600)  # longer than the page waits before it asks for a back-translation
            page.locator(".judgement summary").click()
            expect(page.locator(".judgement .back")).to_be_hidden()
            page.locator(".judgement summary").click()
        page.click("[aria-controls=options]")
        expect(page.locator("#options [data-field=back_weight]")).to_have_count(0)


@pytest.mark.slow
def test_a_visit_is_a_few_downloads_and_no_calls(browser: Browser, host: Host) -> None:
    host.requests.clear()
    with visit(browser, host.address) as page:
        first = {path for _, path in host.requests}
        translate(page, TEXT)
        open_panel(page, "whatif")
        page.get_by_text(phrases("en")["whatif_pane_map"], exact=True).first.click()
        downloads = list(host.requests)
    assert not any("models/" in path for path in first)  # the first map needs no model
    assert len({path for _, path in downloads}) <= MAX_FIRST_REQUESTS
    assert {method for method, _ in downloads} == {"GET"}
    assert not [path for _, path in downloads if any(word in path for word in CALL_WORDS)]


def test_heads_are_switched_off_in_the_browser(browser: Browser, host: Host, exact: Translator) -> None:
    off = [{"kind": "cross", "layer": 0, "head": 0, "action": "remove"}]
    with visit(browser, host.address) as page:
        translate(page, TEXT)
        open_panel(page, "whatif")
        page.locator("#panel-whatif .wall-grid .thumb").first.click()
        wait_for_function(page, "() => document.querySelector('#panel-whatif .chips').childElementCount > 0")
        original = exact.translate(TEXT, beam_size=4, no_repeat=4)
        ids = tuple(token.id for token in original.target_tokens)
        changed = exact.translate(TEXT, target=ids, interventions=off)
        loss = changed.log_probability - original.log_probability
        assert state(page, "kind") == "cross"
        expect(page.locator("#panel-whatif .ask")).to_contain_text(f"{abs(loss):.2f} nats")


@pytest.mark.slow
def test_rows_and_search_are_explained_in_the_browser(browser: Browser, host: Host) -> None:
    with visit(browser, host.address) as page:
        translate(page, TEXT)
        page.locator(".ask .weight-computed button, .ask .weight-computed summary").first.click()
        expect(page.locator(".weight-computed table td").first).to_be_visible()
        open_panel(page, "decoding")
        expect(page.locator("#panel-decoding")).to_contain_text(translation_words(page))


def translation_words(page: Page) -> str:
    """The displayed translation, also on tabs that fold the form."""
    return str(page.evaluate("headlight.translation.text"))


@pytest.mark.journey
def test_the_walk_is_computed_in_the_browser(browser: Browser, host: Host, exact: Translator) -> None:
    names = ("encoder.layers.0.self_attention.queries", "decoder.layers.0.cross_attention.scores")
    with visit(browser, host.address) as page:
        translate(page, TEXT)
        open_panel(page, "learn")
        page.click(".lesson-row[data-lesson=walk]")
        for language in ("en", "zh"):
            switch_language(page, language)
            for step in WALK.steps:
                page.locator(f".lesson-drawing [data-part='{step.node}']").click()
                wait_for_function(
                    page, "(step) => document.querySelector('.lesson').dataset.step === step", arg=step.name
                )
                wait_until_idle(page)
                title = phrases(language)[f"lesson_walk_{step.name}_title"]
                if not page.locator(
                    ".lesson-ask:not([hidden]) .answer .link"
                ).count():  # it may hide a part of the title
                    expect(page.locator(".lesson h2")).to_have_text(title)
                expect(page.locator(".lesson .error")).to_be_hidden()
                assert page.locator(".lesson-source .lit").count() > 0
        values = {"request": page.evaluate("headlight.translation.requestValues()"), "names": list(names)}
        answer = page.evaluate("(values) => headlightModules['core/server.js'].server.lesson_tensors(values)", values)
        ids = tuple(page.evaluate("headlight.translation.target.map(({ id }) => id)"))
        captured = exact.translate(TEXT, target=ids, capture=names).captured
        for name in names:
            tensor = answer["tensors"][name]
            numbers = np.frombuffer(base64.b64decode(tensor["numbers"]), dtype="<f4").reshape(tensor["shape"])
            np.testing.assert_allclose(numbers, captured[name], atol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "zh"])
def test_lines_are_chosen_and_have_their_verdict(browser: Browser, host: Host, language: str) -> None:
    words = phrases(language)
    with visit(browser, host.address, width=390, has_touch=True) as page:
        switch_language(page, language)
        open_panel(page, "learn")
        expect(page.get_by_text(words["lesson_others_need_app"])).to_be_visible()
        expect(page.locator(".lesson-row")).to_have_count(2 + len(STEPS))
        page.click(".lesson-row[data-lesson=build]")
        page.wait_for_selector(".build[data-part=words]")
        expect(page.locator(".build .own-line")).to_be_hidden()
        page.get_by_role("button", name="ids @ E", exact=True).click()
        expect(page.locator(".line-verdict")).to_contain_text("RuntimeError: mat1 and mat2 shapes cannot be multiplied")
        page.get_by_role("button", name="E[ids]", exact=True).click()
        expect(page.locator(".line-verdict")).to_contain_text(words["build_passes_words"])
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "zh"])
def test_stored_experiments_follow_their_controls(browser: Browser, host: Host, language: str) -> None:
    example = next(example.text for example in EXAMPLES if example.model == "de-en")
    note = phrases(language)["lesson_stored_sentence"].format(sentence=example)
    with visit(browser, host.address, width=1280 if language == "en" else 390) as page:
        switch_language(page, language)
        translate(page, TEXT)
        open_panel(page, "learn")
        for lesson in STEPS.keys() - {"walk"}:
            page.click(f".lesson-row[data-lesson={lesson}]")
            for step in STEPS[lesson]:
                wait_for_function(page, "(step) => document.querySelector('.lesson').dataset.step === step", arg=step)
                wait_until_idle(page)
                show = page.locator(".lesson-ask:not([hidden]) .answer .link")
                if show.count():
                    show.click()  # a question hides the figures and the controls
                expect(page.locator(".lesson .figure > *").first).to_be_visible()
                for control in page.locator(".lesson-controls input[type=range]").filter(visible=True).all():
                    control.press("ArrowLeft")
                for control in page.locator(".lesson-controls button").filter(visible=True).all():
                    control.click()
                wait_until_idle(page)
                expect(page.locator(".lesson .error")).to_be_hidden()
                is_on_sentence = step in SENTENCE_STEPS.get(lesson, ())
                expect(page.locator(".lesson .stored-note")).to_have_text([note] if is_on_sentence else [])
                assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), step
                if step != STEPS[lesson][-1]:
                    page.locator(".lesson .ways button").nth(1).click()
            page.locator(".lesson .crumb .link").first.click()
        translate(page, example)
        page.click(".lesson-row[data-lesson=norms]")
        page.locator(".lesson .ways button").nth(1).click()
        wait_for_function(page, "() => document.querySelector('.lesson').dataset.step === 'axes'")
        expect(page.locator(".lesson .stored-note")).to_have_count(0)


@pytest.mark.slow
def test_the_quiz_has_no_classes(browser: Browser, host: Host) -> None:
    words = phrases("en")
    with visit(browser, host.address) as page:
        for step in ("quiz", "quiz.class-ABCDE-secret"):
            page.evaluate("(step) => (location.hash = `#tab=learn&lesson=${step}`)", step)
            expect(page.locator(".quiz-stages li")).to_have_count(3)
            expect(page.get_by_text(words["quiz_privacy_alone"])).to_be_visible()
            expect(page.locator(".quiz-class, .quiz-live:not([hidden])")).to_have_count(0)


@pytest.mark.slow
def test_typing_translates_at_once(browser: Browser, host: Host) -> None:
    with visit(browser, host.address, live=True) as page:
        page.fill("#sentence", "")
        page.locator("#sentence").press_sequentially("Das Haus ist alt.", delay=60)
        state(page, "busy")  # exposes the state
        wait_for_function(page, "() => window.headlight.translation.request.text === 'Das Haus ist alt.'")
        assert state(page, "translation")["live"] is True


@pytest.mark.slow
def test_a_second_visit_needs_no_network(browser: Browser, folder: Path) -> None:
    host = Host(folder)
    with visit(browser, host.address) as page:
        page.evaluate("navigator.serviceWorker.ready.then(() => null)")
        page.wait_for_load_state("networkidle")
        page.reload()  # from here the service worker answers
        page.wait_for_selector(".explorer .plane")
        first = translate(page, TEXT)
        wait_for_function(
            page,
            """async () => {
              const cache = await caches.open((await caches.keys())[0]);
              return (await cache.keys()).some((file) => /safetensors/.test(file.url));
            }""",
        )
        page.wait_for_load_state("networkidle")
        host.close()
        page.reload()
        page.wait_for_selector(".explorer .plane")
        assert translate(page, TEXT) == first
        assert translate(page, "Der Hund schläft.") != first


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["missing", "damaged"])
def test_bad_files_give_one_sentence(browser: Browser, folder: Path, tmp_path: Path, fault: str) -> None:
    copy = tmp_path / "site"
    shutil.copytree(folder, copy)
    (file, *_) = copy.glob("models/de-en/*/tokenizer.json.deflate")
    if fault == "missing":
        file.unlink()
    else:
        file.write_bytes(bytes(file.stat().st_size))
    host = Host(copy)
    context = browser.new_context(locale="en-US")
    page = context.new_page()
    page.goto(host.address)
    page.wait_for_selector(".explorer .plane")
    visible = translation(page)
    page.fill("#sentence", TEXT)
    page.press("#sentence", "Enter")
    name = file.relative_to(copy).as_posix()
    expect(page.get_by_text(phrases("en")[f"error_file_{fault}"].format(file=name, given="de-en"))).to_be_visible()
    assert translation(page) == visible
    context.close()
    host.close()


FORMS = {  # of the export menu, with the names of their files
    "PNG": "headlight-cross-2-3.png",
    "SVG": "headlight-cross-2-3.svg",
    "CSV": "headlight-cross-2-3.csv",
    "NPZ": "headlight.npz",
    "JSON": "headlight.json",
    "HTML": "headlight.html",
}


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "zh"])
def test_files_of_the_export_menu_are_written_in_the_browser(
    browser: Browser, host: Host, exact: Translator, tmp_path: Path, language: str
) -> None:
    with visit(browser, host.address) as page:
        switch_language(page, language)
        translate(page, TEXT)
        page.click('.wall-grid button[data-layer="1"][data-head="2"]')
        paths = {form: save(page, form, tmp_path) for form in FORMS}
        assert {form: path.name for form, path in paths.items()} == FORMS
        for form in ("png", "svg"):
            name = phrases(language)[f"form_wall_{form}"]
            assert save(page, re.escape(name), tmp_path).name == f"headlight-cross-all.{form}"
        expect(page.locator(".toast")).to_contain_text(phrases(language)["saved"].format(form=name))
    expected = exact.translate(TEXT, beam_size=4, no_repeat=4)
    table = pd.read_csv(paths["CSV"], index_col=0, encoding="utf-8-sig")
    np.testing.assert_allclose(table.to_numpy(), expected.attention.cross[1, 2], atol=1e-4)
    arrays, content = np.load(paths["NPZ"]), json.loads(paths["JSON"].read_text(encoding="utf-8"))
    for kind in KINDS:
        np.testing.assert_allclose(arrays[kind], expected.attention.of(kind), atol=1e-4)
        np.testing.assert_array_equal(arrays[kind], np.array(content[kind], dtype=np.float32))


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "zh"])
def test_only_what_is_computed_here_is_offered(browser: Browser, host: Host, language: str) -> None:
    with visit(browser, host.address, width=390, has_touch=True) as page:
        if language == "zh":
            switch_language(page, "zh")
        words = phrases(language)
        views = panels_by_view(PANELS)
        expect(page.locator(".top .tabs [role=tab]")).to_have_text([words[f"view_{view}"] for view in views])
        expect(page.get_by_text(words["footer_in_browser"])).to_be_visible()
        for panel in PANELS:
            open_panel(page, panel)
            expect(page.locator(f"#panel-{panel}")).to_be_visible()
            assert page.evaluate("document.documentElement.scrollWidth") <= 390
        expect(page.locator(".findings, .methods, .patching").filter(visible=True)).to_have_count(0)
        open_panel(page, "whatif")
        expect(page.locator(".predicted-heads .bars button").first).to_be_visible()
