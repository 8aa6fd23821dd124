"""Imports run downward: app → viz → model, and within both floors from room to room as `ROOMS` lists them.

A file belongs to the first room that fits its path. It may import its own room, every room below, and of other
packages those that its room names. Late imports count, and so do modules that are named as text.
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

# From the top of the house to its cellar: a room, and the packages that it may import beside the standard library.
ROOMS = {
    "headlight.py": "",
    "viz/run_command.py": "",
    "viz/serve_command.py": "ray",
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
    "viz/export/*": "numpy pandas plotly",
    "viz/server/*": "anyio gradio plotly prometheus_client starlette",
    "viz/backends/*": "ray spaces starlette",
    "viz/service/*": "markdown_it numpy valkey",
    "viz/figures/*": "numpy plotly",
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
    "model/errors.py": "",
    "model/phrases.py": "",
    "model/__init__.py": "",
}
# Within a room, too, the evening's reading goes one way.
READING = ("masks", "positions", "attention", "blocks", "transformer", "classifier")


def files() -> list[str]:
    """Every Python file of the house, by its path from the root."""
    found = [ROOT / "app.py", ROOT / "headlight.py", *(ROOT / "model").rglob("*.py"), *(ROOT / "viz").rglob("*.py")]
    return sorted(path.relative_to(ROOT).as_posix() for path in found)


def sources() -> dict[str, str]:
    return {path: (ROOT / path).read_text(encoding="utf-8") for path in files()}


def module(path: str) -> str:
    """What a file is imported as."""
    name = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return name if name == "headlight" else f"headlight.{name}"


def room(path: str) -> str | None:
    return next((pattern for pattern in ROOMS if fnmatch(path, pattern)), None)


@functools.cache
def nodes(source: str) -> list[ast.AST]:
    """What code consists of; most of it is asked for many times."""
    return list(ast.walk(ast.parse(source)))


@pytest.fixture(scope="module", autouse=True)
def _forgotten() -> Iterator[None]:
    """All nodes take more than 100 MB: no test after these has to carry them."""
    yield
    nodes.cache_clear()


def imports(source: str, path: str) -> Iterator[str]:
    """What code imports, wherever in it, as dotted names; from packages, the names that are taken, too."""
    for node in nodes(source):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = ["headlight", *Path(path).parts[: -node.level]] if node.level else []
            name = ".".join([*above, *([node.module] if node.module else [])])
            yield from (f"{name}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__")):
            first = node.args[0] if node.args else None
            if isinstance(first, ast.Constant):
                yield str(first.value)


def beginnings(source: str) -> Iterator[str]:
    """How names begin that code makes of parts and imports: `import_module(f"headlight.model.{name}")`."""
    for node in nodes(source):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__")):
            whole = node.args[0] if node.args else None
            if isinstance(whole, ast.JoinedStr) and isinstance(whole.values[0], ast.Constant):
                yield str(whole.values[0].value)


def named_modules(source: str, modules: Iterable[str]) -> Iterator[str]:
    """What code can import by a name that it holds as text: a whole one, or the beginning of one in an f-string."""
    texts = {node.value for node in nodes(source) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    yield from (name for name in modules if "." in name and name in texts)
    for call in nodes(source):
        if isinstance(call, ast.Call) and ast.unparse(call.func).endswith("import_module"):
            parts = [node.value for node in ast.walk(call) if isinstance(node, ast.Constant)]
            starts = tuple(part for part in parts if isinstance(part, str) and part.endswith("."))
            yield from (name for name in modules if starts and name.startswith(starts))


def needs(sources: dict[str, str]) -> dict[str, set[str]]:
    """Which of these files each file imports, early or late."""
    paths = {module(path): path for path in sources}
    graph: dict[str, set[str]] = {}
    for path, source in sources.items():
        names = {*imports(source, path), *named_modules(source, paths)}
        # `from a.b import c`: c is a module, or a name in a.b.
        found = {name if name in paths else name.rpartition(".")[0] for name in names}
        graph[path] = {paths[name] for name in found if name in paths} - {path}
    return graph


def upward(graph: dict[str, set[str]]) -> list[str]:
    """Every import that goes to a higher room, and every file that has no room."""
    order = list(ROOMS)
    found = [f"{path} has no room: give it one in tests/test_architecture.py" for path in graph if room(path) is None]
    for path, needed in graph.items():
        here = room(path)
        for other in needed:
            there = room(other)
            # The package itself holds public names only, which load late: whoever stands below it may ask its version.
            if here and there and there != "headlight.py" and order.index(there) < order.index(here):
                found.append(f"{path} imports {other}, which is above it")
    return sorted(found)


def strangers(path: str, source: str) -> list[str]:
    """Imports of packages that the room of a file does not name, and of our floors without the package's name."""
    allowed = {*(ROOMS.get(room(path) or "") or "").split(), *sys.stdlib_module_names, "headlight", "__future__"}
    found = {name for name in imports(source, path) if name.partition(".")[0] not in allowed}
    return sorted(found | {text for text in beginnings(source) if text.startswith(("model.", "viz."))})


def test_imports_run_downward_only() -> None:
    assert upward(needs(sources())) == []


@pytest.mark.parametrize("path", files())
def test_a_room_imports_only_the_packages_that_it_names(path: str) -> None:
    assert strangers(path, (ROOT / path).read_text(encoding="utf-8")) == []


def test_no_two_files_need_each_other() -> None:
    graph = needs(sources())
    assert "model/core/masks.py" in graph["model/core/attention.py"]
    assert "model/commands/train.py" in graph["model/commands/main.py"]  # imported when it is called
    assert "model/families/t5.py" in graph["model/families/__init__.py"]  # imported when a folder of its own comes
    del graph["headlight.py"]  # its names load late, and each from below
    graphlib.TopologicalSorter(graph).prepare()


def test_the_evenings_reading_goes_one_way() -> None:
    graph = needs(sources())
    for place, name in enumerate(READING):
        later = {f"model/core/{other}.py" for other in READING[place + 1 :]}
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
def test_an_import_that_goes_upward_would_be_found(path: str, source: str) -> None:
    assert upward(needs({**sources(), path: source}))


@pytest.mark.parametrize(
    ("path", "source", "stranger"),
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
def test_a_strange_package_would_be_found(path: str, source: str, stranger: str) -> None:
    assert strangers(path, source) == [stranger]


def test_a_circle_would_be_found() -> None:
    circle = {"viz/tabs/a.py": "from headlight.viz.tabs.b import B", "viz/tabs/b.py": "def f():\n    from . import a"}
    with pytest.raises(graphlib.CycleError):
        graphlib.TopologicalSorter(needs(circle)).prepare()


def test_no_room_is_empty_and_no_package_named_in_vain() -> None:
    used: dict[str, set[str]] = {pattern: set() for pattern in ROOMS}
    for path, source in sources().items():
        used[room(path) or ""] |= {name.partition(".")[0] for name in imports(source, path)}
    assert [pattern for pattern in ROOMS if not any(room(path) == pattern for path in files())] == []
    assert [
        f"{room}: {name}" for room, names in ROOMS.items() for name in names.split() if name not in used[room]
    ] == []


@pytest.mark.parametrize("folder", ["tests", "workshop", "docs"])
def test_nothing_outside_imports_a_floor_without_the_packages_name(folder: str) -> None:
    for path in (ROOT / folder).rglob("*.py"):
        names = set(imports(path.read_text(encoding="utf-8"), path.relative_to(ROOT).as_posix()))
        assert not {name for name in names if name.partition(".")[0] in ("model", "viz", "app")}, path


# Torch takes two seconds to load: whoever needs records, settings or figures alone does not wait for it.
LIGHT = ["headlight", "headlight.model.records", "headlight.model.core.config", "headlight.model.errors"]


def light_modules() -> list[str]:
    """The above, and all that draws and measures."""
    return LIGHT + [module(path) for path in files() if path.startswith(("viz/figures/", "model/measures/"))]


def load_in_turn(names: Iterable[str], heavy: Iterable[str]) -> str:
    """Load modules one after the other in a new process; what each is the first to bring along of what is heavy."""
    code = f"""
import sys, importlib
for name in {list(names)}:
    before = set(sys.modules)
    importlib.import_module(name)
    found = sorted({set(heavy)} & (set(sys.modules) - before))
    if found:
        print(name, *found)
"""
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_what_needs_no_tensors_does_not_load_torch() -> None:
    assert load_in_turn(light_modules(), {"torch", "gradio", "transformers"}) == ""


def test_a_module_that_loads_something_heavy_would_be_named() -> None:
    found = load_in_turn(["headlight.viz.figure_phrases", "headlight.viz.figures.heatmap"], {"plotly"})
    assert found == "headlight.viz.figures.heatmap plotly\n"
