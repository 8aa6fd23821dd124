"""A new tab and a new page language, added to a copy of the code as described in CONTRIBUTING.md."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import PATIENCE
from tests.browser.polling import wait_for_function
from tests.installed import ROOT, served_at
from tests.test_adding import copy  # noqa: F401 (a fixture)

TAB = '''
"""How many tokens the sentence has."""

from headlight.viz.server.widget import widget


def build(service, calls):
    """Build the tab inside a `gr.Blocks`."""

    def count_models(values):
        return {"models": [card.name for card in service.models() if card.downloaded]}

    calls.add(count_models)
    return widget("novelty/novelty")
'''
WIDGET = """
import { callWithRetry } from '../core/boot.js';
import { make, replace } from '../core/dom.js';
import { ready } from '../core/page.js';
import { on, state } from '../core/state.js';
import { t } from '../core/i18n.js';

export async function mount({ element, server }) {
  await ready;
  const { models } = await callWithRetry(server.count_models, {});
  const draw = () => {
    const count = state.translation ? String(state.translation.source.length) : '';
    replace(element, make('p', { class: 'counted' }, `${t('tab_novelty')}: ${count} ${models.join()}`));
  };
  on(['translation', 'language'], draw);
  draw();
}
"""
STYLE = ".gradio-container {\n  .headlight .counted { color: rgb(1, 2, 3); }\n}\n"


def changed(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, (path, old)
    path.write_text(text.replace(old, new), encoding="utf-8")


@pytest.fixture
def folder(copy: Path) -> Path:  # noqa: F811
    """Return the copy of the code, with `app.py` and the corpora."""
    shutil.copy(ROOT / "app.py", copy / "app.py")
    return copy


def phrase_file(folder: Path, language: str) -> Path:
    return folder / "assets" / "words" / f"{language}.json"


def with_words(path: Path, **more: str) -> None:
    table = json.loads(path.read_text(encoding="utf-8")) | more
    path.write_text(json.dumps(table, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def test_tab_needs_two_files_and_one_line(folder: Path, browser: Browser) -> None:
    (folder / "viz/tabs/novelty.py").write_text(TAB, encoding="utf-8")
    (folder / "viz/widgets/novelty").mkdir()
    (folder / "viz/widgets/novelty/novelty.js").write_text(WIDGET, encoding="utf-8")
    (folder / "viz/widgets/novelty/novelty.css").write_text(STYLE, encoding="utf-8")
    tabs = folder / "viz/tabs/__init__.py"
    changed(tabs, "from headlight.viz.tabs.positions", "from headlight.viz.tabs.novelty import build as build_novelty\n"
            "from headlight.viz.tabs.positions")  # fmt: skip
    changed(tabs, '    "models": build_models,\n', '    "models": build_models,\n    "novelty": build_novelty,\n')
    changed(tabs, '"positions", "sentiment"),', '"positions", "sentiment", "novelty"),')
    changed(
        folder / "viz/browser_files/static_files.py",
        '    "compare/beside",\n',
        '    "compare/beside",\n    "novelty/novelty",\n',
    )
    for language in ("en", "zh"):
        with_words(phrase_file(folder, language), tab_novelty=f"Novelty {language}")
    with served_at(folder, "python", "app.py") as url:
        page = browser.new_page(locale="en-GB")
        page.set_default_timeout(PATIENCE)
        page.goto(url)
        page.get_by_role("tab", name="Learn").click()
        page.get_by_role("tab", name="Novelty en").click()
        line = page.locator("#panel-novelty .counted")
        expect(line).to_have_text("Novelty en: 5 toy")
        expect(line).to_have_css("color", "rgb(1, 2, 3)")
        page.click(".top [lang=zh]")
        expect(page.get_by_role("tab", name="Novelty zh")).to_have_attribute("aria-selected", "true")
        page.close()


def test_page_language_needs_table_and_two_lines(folder: Path, browser: Browser) -> None:
    shutil.copy(phrase_file(folder, "en"), phrase_file(folder, "eo"))
    with_words(phrase_file(folder, "eo"), view_see="Kapoj", footer_licence="Kodo: Apache-2.0.")
    changed(folder / "model/phrases.py", 'LANGUAGES = ("en", "zh")', 'LANGUAGES = ("en", "zh", "eo")')
    changed(
        folder / "viz/widgets/core/languages.js",
        "  en: { name",
        "  eo: { name: 'Esperanto', tag: 'eo', gap: ' ' },\n  en: { name",
    )
    with served_at(folder, "python", "app.py") as url:
        page = browser.new_page(locale="eo")  # the browser's language is selected
        page.set_default_timeout(PATIENCE)
        page.goto(url)
        expect(page.get_by_role("tab", name="Kapoj")).to_be_visible()
        assert page.evaluate("document.documentElement.lang") == "eo"
        expect(page.locator(".last-line .licence")).to_contain_text("Kodo: Apache-2.0.")
        page.click(".top [lang=en]")
        expect(page.get_by_role("tab", name="See")).to_be_visible()
        page.click(".top [lang=eo]")
        wait_for_function(page, "location.hash.includes('language=eo')")
        linked = browser.new_page(locale="en-GB")
        linked.set_default_timeout(PATIENCE)
        linked.goto(url + page.evaluate("location.hash"))
        expect(linked.get_by_role("tab", name="Kapoj")).to_be_visible()
        linked.close()
        page.close()
