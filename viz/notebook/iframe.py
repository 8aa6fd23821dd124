"""The HTML of a notebook cell's iframe, with only the modules and phrases of the head view."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from headlight import __version__
from headlight.viz.browser_files.bundle import bundle, required_modules
from headlight.viz.browser_files.static_files import WIDGETS, module, styles, tables
from headlight.viz.export.standalone import data_script, html_page
from headlight.viz.figure_phrases import LANGUAGES, phrase, phrases

PAGE_MODULE, TRANSLATION_MODULE, HOST_MODULE = (
    "notebook/notebook-page.js",
    "notebook/translation-page.js",
    "notebook/widget-host.js",
)
STYLE_SHEETS = (
    "layout/gradio",
    "layout/page",
    "headview/headview",
    "recording/recording",
    "heads/explorer",
    "heads/roles",
    "heads/player",
    "notebook/notebook",
)
START_CALL = f"modules['{PAGE_MODULE}'].open(document.getElementById('headlight'));"
QUOTED_KEY = re.compile(r"['`](\w+)(?=['`]|\$\{)(\$?)")  # a string, or the constant prefix of a template literal


@cache
def bundle_code(*, has_translation: bool) -> str:
    """Return the modules of the view and their tables as one script. `has_translation` includes translation modules."""
    names = (path.relative_to(WIDGETS).as_posix() for path in WIDGETS.rglob("*.js"))
    sources = {name: module(name) for name in names if name != HOST_MODULE}
    modules = required_modules(PAGE_MODULE, sources) | (
        required_modules(TRANSLATION_MODULE, sources) if has_translation else {}
    )
    return bundle(modules, {**tables(), "words": used_phrases(modules), "versions": {}}).code


def used_phrases(sources: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return the phrases that modules can use: a key equals a string in their code or starts with a prefix."""
    texts = [match for source in sources.values() for match in QUOTED_KEY.findall(source)]
    strings = {text for text, is_prefix in texts if not is_prefix}
    prefixes = tuple({text for text, is_prefix in texts if is_prefix})
    table = phrases()
    # The phrase key of a choice consists of a field name and a value.
    choice_prefixes = tuple(f"{name}_" for name in ("tool", "scale", "palette", "kind", "figure_any"))
    keys = [key for key in table if key in strings or key.startswith(prefixes + choice_prefixes)]
    return {language: {key: phrases(language)[key] for key in keys} for language in LANGUAGES}


@cache
def stylesheet() -> str:
    """Return the style sheets of the view."""
    return styles(STYLE_SHEETS)


def frame_page(state: Mapping[str, Any] | None = None, language: str = "") -> str:
    """Return the page of the iframe. Without `state`, the page requests its data from the parent frame."""
    scripts = [] if state is None else [data_script({**state, "version": __version__})]
    page_language = language or LANGUAGES[0]
    has_translation = state is None or any(view["what"] == "answer" for view in state["views"])
    return html_page(
        phrase("title_offline", page_language),
        page_language,
        stylesheet(),
        scripts,
        bundle_code(has_translation=has_translation) + START_CALL,
    )


@cache
def widget_module() -> str:
    """Return the JavaScript module of the widget, with the page of its iframe embedded."""
    before, assignment, after = module(HOST_MODULE).partition("const PAGE = ''")
    return f"{before}{assignment[:-2]}{json.dumps(frame_page(), ensure_ascii=False)}{after}"
