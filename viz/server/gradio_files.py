"""The files that Gradio's page loads, for preloading.

Gradio's page loads one module, which imports others at run time, and those import more: four sequential round trips.
Vite, which builds Gradio's frontend, writes the dependencies of dynamic imports into each module; these tables are read
here. If a version of Gradio has a different format, nothing is preloaded and the page loads as usual.
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
DEPENDENCY_TABLE = re.compile(r"\bm\.f=(\[[^\]]*\])")  # files needed by a module's dynamic imports
# A dynamic import, and the indices of its dependencies in the table.
DYNAMIC_IMPORT = re.compile(r"import\(`\./([\w.-]+)`\)[^`]*?__vite__mapDeps\(\[([\d,]*)\]\)")
COMPONENT = r"[{{,]`?{kind}`?:\{{(?:(?!\}},).)*?component:"  # text before a component type's import
RENDERED_AS = {"api": "state"}  # component types that Gradio renders as another type


@cache
def find_frontend_files(kinds: frozenset[str], folder: Path = FRONTEND) -> tuple[str, ...]:
    """Return the scripts and styles of a page with these component types, relative to the page, in loading order."""
    try:
        page = (folder / "index.html").read_text(encoding="utf-8")
        scripts, sheets = SCRIPT.findall(page), SHEET.findall(page)
        app = _find_dynamic_imports(folder, scripts[0], "Index-")
        core = _find_dynamic_imports(folder, scripts[0], "core-")
        blocks = _find_dynamic_imports(folder, app[0], "Blocks-")
        components = [_component(folder, core[0], RENDERED_AS.get(kind, kind)) for kind in sorted(kinds)]
    except (OSError, LookupError, StopIteration, ValueError):
        return ()
    return tuple(
        dict.fromkeys(
            [*scripts, *sheets, *app, *core, *blocks, *(file for component in components for file in component)]
        )
    )


def _find_dynamic_imports(folder: Path, module: str, name: str) -> list[str]:
    """Return the dynamically imported module whose file name starts with `name`, then its dependencies."""
    code = (folder / module).read_text(encoding="utf-8")
    return next(
        _find_module_files(code, module, match) for match in DYNAMIC_IMPORT.finditer(code) if match[1].startswith(name)
    )


def _component(folder: Path, core: str, kind: str) -> list[str]:
    """Return the files of one component type."""
    code = (folder / core).read_text(encoding="utf-8")
    prefix_match = re.search(COMPONENT.format(kind=re.escape(kind)), code)
    match = DYNAMIC_IMPORT.search(code, prefix_match.end()) if prefix_match else None
    return _find_module_files(code, core, match) if match else []


def _find_module_files(code: str, module: str, match: re.Match[str]) -> list[str]:
    table = DEPENDENCY_TABLE.search(code)
    files = json.loads(table[1]) if table else []
    names = [match[1], *(files[int(index)] for index in match[2].split(",") if index)]
    return list(dict.fromkeys((Path(module).parent / name).as_posix() for name in names))
