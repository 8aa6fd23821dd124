"""Imports run downward: app → viz → model, and within both in the order of `ROOMS`.

A file belongs to the first room whose pattern matches its path. It may import its own room, every room below it, and
the third-party packages that its room lists. Imports within functions count, and so do module names in strings.
"""

from __future__ import annotations

import ast
import functools
import graphlib
import subprocess
import sys
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# From the highest to the lowest layer: a room, and the third-party packages that it may import.
ROOMS = {
    "headlight.py": "",
    "viz/public/*": "",
    "viz/run_command.py": "",
    "viz/serve_command.py": "ray",
    "viz/static_site/*": "gradio",
    "viz/space/*": "huggingface_hub httpx2 yaml",
    "viz/survey_command.py": "",
    "app.py": "spaces",
    "viz/single_tab.py": "",
    "viz/page.py": "gradio",
    "viz/tabs/*": "anyio gradio numpy",
    "viz/lessons/*": "numpy pandas",
    "viz/widgets/*": "",
    "viz/api/*": "anyio fastapi gradio numpy starlette",
    "viz/notebook/*": "anywidget numpy plotly traitlets",
    "viz/export/*": "PIL numpy pandas plotly",
    "viz/server/*": "anyio gradio prometheus_client starlette",
    "viz/backends/*": "ray spaces starlette",
    "viz/service/*": "markdown_it numpy valkey",
    "viz/figures/*": "numpy plotly",
    "viz/browser_files/*": "plotly",
    "viz/request_fields.py": "",
    "viz/field_values.py": "",
    "viz/settings.py": "",
    "viz/errors.py": "",
    "viz/figure_phrases.py": "",
    "viz/token_labels.py": "",
    "viz/theme.py": "plotly",
    "viz/__init__.py": "",
    "model/commands/*": "",
    "model/training/*": "jieba numpy sacrebleu safetensors torch",
    "model/experiments/*": "numpy polars ray torch",
    "model/external/*": "numpy torch",
    "model/translate/*": "numpy torch",
    "model/families/*": "httpx2 huggingface_hub torch",
    "model/recordings/*": "numpy",
    "model/checkpoints/*": "numpy safetensors torch",
    "model/text/*": "tokenizers sentencepiece",
    "model/measures/*": "numpy",
    "model/decoding/*": "torch",
    "model/core/*": "torch",
    "model/records.py": "numpy",
    "model/intervention_records.py": "",
    "model/files.py": "",
    "model/errors.py": "",
    "model/phrases.py": "",
    "model/__init__.py": "",
}
DYNAMIC_IMPORTS = ("import_module", "__import__")
# The reading order of model/core: a module never imports a later one.
READING_ORDER = ("masks", "positions", "attention", "blocks", "transformer", "classifier")


def files() -> list[str]:
    """The path of every Python file of the app, relative to the root."""
    roots = [ROOT / name for name in ("app.py", "headlight.py")]
    paths = [*roots, *(ROOT / "model").rglob("*.py"), *(ROOT / "viz").rglob("*.py")]
    return sorted(path.relative_to(ROOT).as_posix() for path in paths)


def sources() -> dict[str, str]:
    return {path: (ROOT / path).read_text(encoding="utf-8") for path in files()}


def module(path: str) -> str:
    """The module name of a file."""
    name = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return name if name == "headlight" else f"headlight.{name}"


def room(path: str) -> str | None:
    return next((pattern for pattern in ROOMS if fnmatch(path, pattern)), None)


@functools.cache
def nodes(source: str) -> list[ast.AST]:
    """The syntax nodes of source code; cached, because most files are read several times."""
    return list(ast.walk(ast.parse(source)))


@pytest.fixture(scope="module", autouse=True)
def _clear_cache() -> Iterator[None]:
    """Free the nodes, more than 100 MB, after these tests."""
    yield
    nodes.cache_clear()


def called_name(node: ast.Call) -> str:
    """The name of a called function, without its module."""
    return getattr(node.func, "attr", None) or getattr(node.func, "id", "")


def imports(source: str, path: str) -> Iterator[str]:
    """All imports of source code as dotted names, including the names that are imported from modules."""
    for node in nodes(source):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = ["headlight", *Path(path).parts[: -node.level]] if node.level else []
            name = ".".join([*above, *([node.module] if node.module else [])])
            yield from (f"{name}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and called_name(node) in DYNAMIC_IMPORTS:
            first = node.args[0] if node.args else None
            if isinstance(first, ast.Constant):
                yield str(first.value)


def dynamic_import_prefixes(source: str) -> Iterator[str]:
    """Constant prefixes of dynamic imports: `import_module(f"headlight.model.{name}")`."""
    for node in nodes(source):
        if isinstance(node, ast.Call) and called_name(node) in DYNAMIC_IMPORTS:
            argument = node.args[0] if node.args else None
            if isinstance(argument, ast.JoinedStr) and isinstance(argument.values[0], ast.Constant):
                yield str(argument.values[0].value)


def named_modules(source: str, modules: Iterable[str]) -> Iterator[str]:
    """Modules that source code names in strings: complete names, or the prefix of an f-string."""
    texts = {node.value for node in nodes(source) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    yield from (name for name in modules if "." in name and name in texts)
    for call in nodes(source):
        if isinstance(call, ast.Call) and called_name(call) == "import_module":
            parts = [node.value for node in ast.walk(call) if isinstance(node, ast.Constant)]
            starts = tuple(part for part in parts if isinstance(part, str) and part.endswith("."))
            yield from (name for name in modules if starts and name.startswith(starts))


def import_graph(sources: dict[str, str]) -> dict[str, set[str]]:
    """The files that each file imports, at the top or within functions."""
    paths = {module(path): path for path in sources}
    graph: dict[str, set[str]] = {}
    for path, source in sources.items():
        names = {*imports(source, path), *named_modules(source, paths)}
        # `from a.b import c`: c is a module, or a name in a.b.
        imported = {name if name in paths else name.rpartition(".")[0] for name in names}
        graph[path] = {paths[name] for name in imported if name in paths} - {path}
    return graph


def upward_imports(graph: dict[str, set[str]]) -> list[str]:
    """Imports of a higher room, and files without a room."""
    order = list(ROOMS)
    errors = [f"{path} has no room: give it one in tests/test_architecture.py" for path in graph if room(path) is None]
    for path, imported in graph.items():
        own_room = room(path)
        for other in imported:
            other_room = room(other)
            # headlight.py only has lazy public names, so every room may import it, for example for its version.
            if (
                own_room
                and other_room
                and other_room != "headlight.py"
                and order.index(other_room) < order.index(own_room)
            ):
                errors.append(f"{path} imports {other}, which is above it")
    return sorted(errors)


def disallowed_imports(path: str, source: str) -> list[str]:
    """Imports of packages that a file's room does not list, and of `model` or `viz` without `headlight.`."""
    allowed = {*(ROOMS.get(room(path) or "") or "").split(), *sys.stdlib_module_names, "headlight", "__future__"}
    names = {name for name in imports(source, path) if name.partition(".")[0] not in allowed}
    return sorted(names | {text for text in dynamic_import_prefixes(source) if text.startswith(("model.", "viz."))})


def test_imports_run_downward_only() -> None:
    assert upward_imports(import_graph(sources())) == []


def test_rooms_import_only_listed_packages() -> None:
    disallowed = {path: disallowed_imports(path, source) for path, source in sources().items()}
    assert {path: names for path, names in disallowed.items() if names} == {}


def test_files_without_a_page_need_no_server() -> None:
    for path, imported in import_graph(sources()).items():
        if path.startswith(("viz/notebook/", "viz/export/", "viz/public/", "viz/browser_files/")):
            assert not {other for other in imported if other.startswith(("viz/server/", "viz/api/"))}, path


def test_imports_have_no_cycles() -> None:
    graph = import_graph(sources())
    assert "model/core/masks.py" in graph["model/core/attention.py"]
    assert "model/commands/train.py" in graph["model/commands/main.py"]  # imported within a function
    assert "model/families/t5.py" in graph["model/families/__init__.py"]  # imported for folders of this family
    del graph["headlight.py"]  # its names are imported lazily
    graphlib.TopologicalSorter(graph).prepare()


def test_core_modules_follow_reading_order() -> None:
    graph = import_graph(sources())
    for place, name in enumerate(READING_ORDER):
        later = {f"model/core/{other}.py" for other in READING_ORDER[place + 1 :]}
        assert not later & graph[f"model/core/{name}.py"]


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("model/core/masks.py", "def late():\n    from headlight.viz.page import build_page"),
        ("model/text/tokenizer.py", "from headlight.model.translate.translator import Translator"),
        ("model/core/masks.py", "from ..decoding import search"),
        ("model/checkpoints/storage.py", "HOMES = {'hub': 'headlight.model.families.hub'}"),
        ("viz/figures/heatmap.py", "from headlight.viz.service import service"),
        ("viz/service/service.py", "if TYPE_CHECKING:\n    import headlight.viz.api.endpoints"),
        ("model/records.py", "def late(name):\n    import_module(f'headlight.model.commands.{name}')"),
        ("viz/novelty.py", "import math"),
    ],
)
def test_upward_imports_are_detected(path: str, source: str) -> None:
    assert upward_imports(import_graph({**sources(), path: source}))


@pytest.mark.parametrize(
    ("path", "source", "package"),
    [
        ("model/core/masks.py", "import gradio as gr", "gradio"),
        ("model/training/loop.py", "import plotly.express", "plotly.express"),
        (
            "model/checkpoints/checkpoint.py",
            "import importlib\nimportlib.import_module('transformers')",
            "transformers",
        ),
        ("viz/tabs/why.py", "def late():\n    import torch", "torch"),
        ("app.py", "from model import records", "model.records"),
        ("viz/page.py", "import viz.words", "viz.words"),
        ("viz/figure_phrases.py", "import_module(f'viz.figures.{name}')", "viz.figures."),
    ],
)
def test_disallowed_packages_are_detected(path: str, source: str, package: str) -> None:
    assert disallowed_imports(path, source) == [package]


def test_import_cycles_are_detected() -> None:
    cycle = {"viz/tabs/a.py": "from headlight.viz.tabs.b import B", "viz/tabs/b.py": "def f():\n    from . import a"}
    with pytest.raises(graphlib.CycleError):
        graphlib.TopologicalSorter(import_graph(cycle)).prepare()


def test_rooms_have_files_and_use_listed_packages() -> None:
    used: dict[str, set[str]] = {pattern: set() for pattern in ROOMS}
    for path, source in sources().items():
        used[room(path) or ""] |= {name.partition(".")[0] for name in imports(source, path)}
    assert [pattern for pattern in ROOMS if not any(room(path) == pattern for path in files())] == []
    assert [
        f"{room}: {name}" for room, names in ROOMS.items() for name in names.split() if name not in used[room]
    ] == []


@pytest.mark.parametrize("folder", ["tests", "workshop", "docs"])
def test_tests_and_tools_import_through_headlight(folder: str) -> None:
    for path in (ROOT / folder).rglob("*.py"):
        names = set(imports(path.read_text(encoding="utf-8"), path.relative_to(ROOT).as_posix()))
        assert not {name for name in names if name.partition(".")[0] in ("model", "viz", "app")}, path


# Importing torch takes two seconds, which records, settings and figures do not need.
LIGHT = ["headlight", "headlight.model.records", "headlight.model.core.config", "headlight.model.errors"]


def light_modules() -> list[str]:
    """The modules above, all figures and all measures."""
    return LIGHT + [module(path) for path in files() if path.startswith(("viz/figures/", "model/measures/"))]


def heavy_imports(names: Iterable[str], heavy: Iterable[str]) -> str:
    """Import modules one after the other in a new process; return the heavy packages that each loads first."""
    code = f"""
import sys, importlib
for name in {list(names)}:
    before = set(sys.modules)
    importlib.import_module(name)
    loaded = sorted({set(heavy)} & (set(sys.modules) - before))
    if loaded:
        print(name, *loaded)
"""
    process = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    return process.stdout


def test_light_modules_do_not_import_torch() -> None:
    assert heavy_imports(light_modules(), {"torch", "gradio", "transformers"}) == ""


def test_heavy_imports_are_detected() -> None:
    output = heavy_imports(["headlight.viz.figure_phrases", "headlight.viz.figures.heatmap"], {"plotly"})
    assert output == "headlight.viz.figures.heatmap plotly\n"
