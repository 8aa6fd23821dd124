"""The Heads tab as one HTML file that opens offline: the same modules, the same numbers, nothing to fetch."""

from __future__ import annotations

import base64
import dataclasses
import html
import json
import posixpath
import re

from headlight.viz.session import Selection
from headlight.viz.wire.static import PLOTLY, contents, styles
from headlight.viz.words import LANGUAGES, say

IMPORT = re.compile(r"(from |import\()'(\.{1,2}/[\w./]+)'")
START = "import { open } from 'headlight/offline.js'; open(document.getElementById('headlight'));"


def standalone(answer: str, chosen: Selection, language: str) -> bytes:
    """`answer` is the JSON that the page got; it is shown as `chosen` says."""
    files = contents()
    modules = {f"headlight/{name}": _inline(name, read()) for name, read in files.items() if _is_module(name)}
    tables = ["theme.json", *(f"words/{each}.json" for each in LANGUAGES)]
    data = {name: json.loads(files[name]()) for name in tables}
    data["shown"] = {"answer": json.loads(answer), "selection": dataclasses.asdict(chosen), "language": language}
    title = html.escape(say("title_offline", language))
    parts = [
        f'<!doctype html>\n<html lang="{language}">\n<head>\n<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{title}</title>\n<style>{styles()}</style>",
        f'<script type="importmap">{json.dumps({"imports": modules})}</script>',
        f"<script>globalThis.headlightFiles = {_script(data)};</script>",
        f"<script>{PLOTLY.read_text(encoding='utf-8')}</script>",
        '</head>\n<body>\n<div class="gradio-container"><main class="app" id="headlight"></main></div>',
        f'<script type="module">{START}</script>\n</body>\n</html>\n',
    ]
    return "\n".join(parts).encode()


def _is_module(name: str) -> bool:
    return name.endswith(".js") and name != "plotly.js"


def _inline(name: str, source: bytes) -> str:
    """A module as an address of its own; what it imports is named by the map."""
    folder = posixpath.dirname(name)

    def named(found: re.Match[str]) -> str:
        return f"{found[1]}'headlight/{posixpath.normpath(posixpath.join(folder, found[2]))}'"

    plain = IMPORT.sub(named, source.decode())
    return "data:text/javascript;base64," + base64.b64encode(plain.encode()).decode("ascii")


def _script(values: object) -> str:
    """JSON inside a script: nothing in it may end the script or begin a comment."""
    text = json.dumps(values, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
