"""The Heads tab as one self-contained HTML file, with the same modules and numbers as the page."""

from __future__ import annotations

import dataclasses
import html
import json
from collections.abc import Sequence

from headlight import __version__
from headlight.viz.browser_files.static_files import main_bundle, plotly_file, styles
from headlight.viz.figure_phrases import phrase
from headlight.viz.request_fields import Selection

START_CALL = "modules['offline.js'].open(document.getElementById('headlight'));"


def standalone_page(answer: str, selection: Selection, language: str) -> bytes:
    """Return the HTML of the page for an answer, which is given as JSON."""
    data = {"answer": json.loads(answer), "selection": dataclasses.asdict(selection), "language": language}
    data["version"] = __version__
    return _answer_page(phrase("title_offline", language), language, data_script(data)).encode()


def standalone_template() -> bytes:
    """Return the page with `{{title}}`, `{{language}}` and `{{data}}`, which `engine/standalone.js` replaces."""
    return _answer_page("{{title}}", "{{language}}", "globalThis.headlightData = {{data}};").encode()


def _answer_page(title: str, language: str, data: str) -> str:
    scripts = [data, plotly_file().read_text(encoding="utf-8")]
    return html_page(title, language, styles(), scripts, main_bundle().code + START_CALL)


def data_script(state: object) -> str:
    """Return the script with the data of a standalone page."""
    return global_script("headlightData", state)


def global_script(name: str, value: object) -> str:
    """Return the script that sets a global variable of a page."""
    return f"globalThis.{name} = {_script_json(value)};"


def html_page(title: str, language: str, style: str, scripts: Sequence[str], module: str) -> str:
    """Return a page in one file: its scripts, then its module, which renders into the element `headlight`."""
    parts = [
        f'<!doctype html>\n<html lang="{language}">\n<head>\n<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{html.escape(title)}</title>\n<style>{style}</style>",
        *(f"<script>{script}</script>" for script in scripts),
        '</head>\n<body>\n<div class="gradio-container"><main class="app" id="headlight"></main></div>',
        f'<script type="module">{module}</script>\n</body>\n</html>\n',
    ]
    return "\n".join(parts)


def _script_json(values: object) -> str:
    """Return JSON for a script element, escaped so that it cannot end the script or begin a comment."""
    text = json.dumps(values, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
