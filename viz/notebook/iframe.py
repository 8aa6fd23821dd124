"""The HTML of a notebook cell's iframe, with only the modules and phrases of the head view."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from headlight import __version__
from headlight.viz.export.standalone import data_script, html_page
from headlight.viz.figure_phrases import LANGUAGES, phrase, phrases
from headlight.viz.server.bundle import bundle, required_modules
from headlight.viz.server.static_files import WIDGETS, module, styles, tables

ENTRY, TRANSLATED, HOST = "notebook/notebook-page.js", "notebook/translation-page.js", "notebook/widget-host.js"
SHEETS = (
    "layout/gradio",
    "layout/page",
    "headview/headview",
    "recording/recording",
    "heads/explorer",
    "heads/roles",
    "heads/player",
    "notebook/notebook",
)
START = f"modules['{ENTRY}'].open(document.getElementById('headlight'));"
QUOTED_KEY = re.compile(r"['`](\w+)(?=['`]|\$\{)(\$?)")  # a string, or the prefix of a template with a value


@cache
def bundle_code(*, translated: bool) -> str:
    """The modules of the view and their tables as one script; translation modules only if one is shown."""
    names = (path.relative_to(WIDGETS).as_posix() for path in WIDGETS.rglob("*.js"))
    known = {name: module(name) for name in names if name != HOST}
    result = required_modules(ENTRY, known) | (required_modules(TRANSLATED, known) if translated else {})
    return bundle(result, {**tables(), "words": used_phrases(result), "versions": {}}).code


def used_phrases(sources: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """The phrases that modules can use: keys that equal a string in their code, or start with a template prefix."""
    texts = [each for source in sources.values() for each in QUOTED_KEY.findall(source)]
    whole = {text for text, goes_on in texts if not goes_on}
    begun = tuple({text for text, goes_on in texts if goes_on})
    table = phrases()
    # Phrase keys of choices consist of a field name and a value, both from the table of fields.
    fields = tuple(f"{name}_" for name in ("tool", "scale", "palette", "kind", "figure_any"))
    keys = [key for key in table if key in whole or key.startswith(begun + fields)]
    return {language: {key: phrases(language)[key] for key in keys} for language in LANGUAGES}


@cache
def stylesheet() -> str:
    """The style sheets of the view."""
    return styles(SHEETS)


def frame_page(shown: Mapping[str, Any] | None = None, language: str = "") -> str:
    """The whole page. Without `shown` it requests its data from the parent frame."""
    scripts = [] if shown is None else [data_script({**shown, "version": __version__})]
    chosen = language or LANGUAGES[0]
    translated = shown is None or any(view["what"] == "answer" for view in shown["views"])
    return html_page(
        phrase("title_offline", chosen), chosen, stylesheet(), scripts, bundle_code(translated=translated) + START
    )


@cache
def widget_module() -> str:
    """The JavaScript module of the widget, with its iframe's page embedded."""
    before, place, after = module(HOST).partition("const PAGE = ''")
    return f"{before}{place[:-2]}{json.dumps(frame_page(), ensure_ascii=False)}{after}"
