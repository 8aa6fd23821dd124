"""Lists the files that Gradio's page will load, for preloading.

Gradio's page names one module. That module imports others when it runs, and those import more: four round trips, one
after another. Gradio's build (Vite) writes into each module which files its later imports need; this module reads those
tables. A version of Gradio in another form gives no files here, and its page loads as it does by itself.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import gradio

FRONTEND = Path(gradio.__file__).parent / "templates" / "frontend"
SCRIPT = re.compile(r'<script type="module"[^>]* src="\./([\w./-]+\.js)"')
SHEET = re.compile(r'<link rel="stylesheet"[^>]* href="\./([\w./-]+\.css)"')
TABLE = re.compile(r"\bm\.f=(\[[^\]]*\])")  # the files that a module's later imports need
LATER = re.compile(
    r"import\(`\./([\w.-]+)`\)[^`]*?__vite__mapDeps\(\[([\d,]*)\]\)"
)  # an import; its places in the table
COMPONENT = r"[{{,]`?{kind}`?:\{{(?:(?!\}},).)*?component:"  # what stands before the import of a kind of component
DRAWN_AS = {"api": "state"}  # by name, Gradio draws these kinds as others


@cache
def frontend_files(kinds: frozenset[str], folder: Path = FRONTEND) -> tuple[str, ...]:
    """The scripts and styles of a page with these kinds of components, relative to the page; first needed, first."""
    try:
        page = (folder / "index.html").read_text(encoding="utf-8")
        scripts, sheets = SCRIPT.findall(page), SHEET.findall(page)
        app = _dynamic_imports(folder, scripts[0], "Index-")
        core = _dynamic_imports(folder, scripts[0], "core-")
        blocks = _dynamic_imports(folder, app[0], "Blocks-")
        drawn = [_component(folder, core[0], DRAWN_AS.get(kind, kind)) for kind in sorted(kinds)]
    except (OSError, LookupError, StopIteration, ValueError):
        return ()
    return tuple(dict.fromkeys([*scripts, *sheets, *app, *core, *blocks, *(file for each in drawn for file in each)]))


def _dynamic_imports(folder: Path, module: str, name: str) -> list[str]:
    """What a module's later import needs whose file's name begins so: the imported module first."""
    code = (folder / module).read_text(encoding="utf-8")
    return next(_needed(code, module, found) for found in LATER.finditer(code) if found[1].startswith(name))


def _component(folder: Path, core: str, kind: str) -> list[str]:
    """What one kind of component needs."""
    code = (folder / core).read_text(encoding="utf-8")
    start = re.search(COMPONENT.format(kind=re.escape(kind)), code)
    found = LATER.search(code, start.end()) if start else None
    return _needed(code, core, found) if found else []


def _needed(code: str, module: str, found: re.Match[str]) -> list[str]:
    table = TABLE.search(code)
    files = json.loads(table[1]) if table else []
    named = [found[1], *(files[int(place)] for place in found[2].split(",") if place)]
    return list(dict.fromkeys((Path(module).parent / each).as_posix() for each in named))
