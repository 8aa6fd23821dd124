"""Browser modules: one-way imports between layers, without cycles."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from graphlib import TopologicalSorter

from headlight.viz.browser_files.static_files import WIDGETS

IMPORT = re.compile(r"(?:from |import\()'(\.[^']+)'")  # types come from `messages`, which is not a module
MODULES = sorted(path.relative_to(WIDGETS).as_posix() for path in WIDGETS.rglob("*.js"))
MOUNT = "function mount("
BELOW = ["core", "parts", "headview", "recording"]
# The page as a file, and the frame in a notebook: they put widgets together, as `viz/page.py` does on the server.
TOGETHER = ("offline.js", "notebook/")
ON_LESSONS = ("build", "quiz")  # lessons of their own
OTHER = {"", "core", "parts", "recording", "notebook", "engine"}  # the engine is a worker without elements
FOLDERS = sorted({posixpath.dirname(module) for module in MODULES} - OTHER)
MAX_LINES = 300  # lines; a longer one has more than one thing to do


def imported(module: str) -> Iterator[str]:
    """Paths below the widgets of the modules that a module imports."""
    for module_path in IMPORT.findall((WIDGETS / module).read_text(encoding="utf-8")):
        yield posixpath.normpath(posixpath.join(posixpath.dirname(module), module_path))


def may_use(module: str) -> set[str]:
    """The folders that a module may import from."""
    folder = posixpath.dirname(module)
    if folder in BELOW:
        return {*BELOW[: BELOW.index(folder)], folder}
    return {*BELOW, "lessons", folder} if folder in ON_LESSONS else {*BELOW, folder}


def test_modules_import_existing_files() -> None:
    missing = [(module, path) for module in MODULES for path in imported(module) if not (WIDGETS / path).is_file()]
    assert missing == []


def test_modules_import_lower_layers_only() -> None:
    parts = [module for module in MODULES if not module.startswith(TOGETHER)]
    upward = [
        (module, path)
        for module in parts
        for path in imported(module)
        if posixpath.dirname(path) not in may_use(module)
    ]
    assert upward == []


def test_module_imports_have_no_cycles() -> None:
    order = TopologicalSorter({module: set(imported(module)) for module in MODULES}).static_order()
    assert set(order) == set(MODULES)


def test_every_other_folder_is_one_widget() -> None:
    widgets = {
        folder for folder in FOLDERS for path in (WIDGETS / folder).glob("*.js") if MOUNT in path.read_text("utf-8")
    }
    assert widgets == set(FOLDERS)


def test_module_size_is_limited() -> None:
    lengths = {module: len((WIDGETS / module).read_text(encoding="utf-8").splitlines()) for module in MODULES}
    assert {module: lines for module, lines in lengths.items() if lines > MAX_LINES} == {}
