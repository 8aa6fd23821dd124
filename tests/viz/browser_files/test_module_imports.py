"""Browser modules: one-way imports between layers, without cycles."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from graphlib import TopologicalSorter

import pytest

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


@pytest.mark.parametrize("module", MODULES)
def test_modules_import_existing_lower_layers(module: str) -> None:
    for module_path in imported(module):
        assert (WIDGETS / module_path).is_file(), module_path
        assert module.startswith(TOGETHER) or posixpath.dirname(module_path) in may_use(module), module_path


def test_module_imports_have_no_cycles() -> None:
    order = TopologicalSorter({module: set(imported(module)) for module in MODULES}).static_order()
    assert set(order) == set(MODULES)


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_other_folder_is_one_widget(folder: str) -> None:
    assert any(MOUNT in path.read_text(encoding="utf-8") for path in (WIDGETS / folder).glob("*.js"))


@pytest.mark.parametrize("module", MODULES)
def test_module_size_is_limited(module: str) -> None:
    assert len((WIDGETS / module).read_text(encoding="utf-8").splitlines()) <= MAX_LINES
