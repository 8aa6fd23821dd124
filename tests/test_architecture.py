"""Imports run downward only: app → viz → model, and within these floors as the table of rooms says.

An import counts wherever it stands: at the top, late in a function, or as a module's name in a table of names that
are imported when they are needed. A new file gets a line in `ROOMS` that names all it may import, beside the standard
library; a name there that nothing imports has to go.
"""

from __future__ import annotations

import ast
import graphlib
import subprocess
import sys
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# What a file may import, from the ground up. `model.*` is anything in model/; the first pattern that fits counts.
ROOMS = {
    "model/errors.py": "",
    "model/segmentation.py": "",
    "model/text.py": "model.errors",
    "model/config.py": "model.errors",
    "model/confidence.py": "model.errors",
    "model/records.py": "numpy model.errors",
    "model/measures/*": "numpy model.errors model.measures model.records",
    "model/device.py": "torch model.errors",
    "model/dumps.py": "numpy model.records",
    "model/hub/*": "httpx2 huggingface_hub model.errors model.forms model.hub",
    "model/shelf.py": "",
    "model/storage.py": "safetensors torch model.errors",
    "model/checksums.py": "model.errors model.storage",
    "model/probes.py": "torch model.errors",
    "model/masks.py": "torch",
    "model/positions.py": "torch model.config model.errors",
    "model/attention.py": "torch model.masks model.positions model.probes",
    "model/blocks.py": "torch model.config model.positions model.probes",
    "model/transformer.py": "torch model.attention model.blocks model.config model.masks model.positions model.records",
    "model/classifier.py": "torch model.blocks model.config model.masks model.positions model.probes model.transformer",
    "model/interventions.py": "torch model.config model.errors model.probes model.records model.transformer",
    "model/fast.py": "torch model.attention model.probes",
    "model/habits.py": "model.errors model.records",
    "model/language_identification.py": "",
    "model/languages.py": "model.errors model.records",
    "model/decoding/*": "torch model.config model.decoding model.habits model.records model.transformer",
    "model/capture.py": "numpy torch model.attention model.probes model.records model.transformer",
    "model/tokenizer.py": "tokenizers model.errors model.records model.segmentation model.vocabulary",
    "model/sentencepiece.py": "model.errors",
    "model/normaliser.py": "model.errors model.sentencepiece",
    "model/subwords.py": "model.normaliser model.sentencepiece",
    "model/vocabulary.py": "model.errors model.records",
    "model/pieces.py": (
        "model.errors model.normaliser model.records model.segmentation model.sentencepiece model.subwords"
        " model.tokenizer model.vocabulary"
    ),
    "model/forms.py": "",
    "model/pickled.py": "torch model.errors model.storage",
    "model/reader.py": "torch model.habits model.languages model.storage model.vocabulary",
    "model/checkpoint.py": (
        "torch model.checksums model.classifier model.config model.errors model.families model.forms model.habits"
        " model.languages model.pieces model.reader model.storage model.transformer model.vocabulary"
    ),
    "model/families/*": (
        "torch model.config model.errors model.families model.forms model.habits model.languages model.pickled"
        " model.pieces model.positions model.reader model.sentencepiece model.storage model.transformer"
        " model.vocabulary"
    ),
    "model/importing.py": (
        "model.checkpoint model.checksums model.errors model.habits model.languages model.reader model.storage"
    ),
    "model/answers.py": (
        "numpy model.capture model.confidence model.decoding model.records model.transformer model.vocabulary"
    ),
    "model/jobs.py": (
        "torch model.errors model.habits model.interventions model.languages model.masks model.probes model.records"
        " model.text model.transformer model.vocabulary"
    ),
    "model/translator.py": (
        "torch model.answers model.attention model.capture model.checkpoint model.confidence model.decoding"
        " model.device model.errors model.fast model.habits model.interventions model.jobs model.languages"
        " model.probes model.records model.transformer model.vocabulary"
    ),
    "model/judge.py": (
        "numpy torch model.checkpoint model.classifier model.device model.jobs model.masks model.probes model.records"
        " model.text model.vocabulary"
    ),
    "model/training/*": "numpy torch safetensors sacrebleu jieba model.*",
    "model/commands/*": "model.*",
    "model/__main__.py": "model.*",
    "model/__init__.py": "model.*",
    "viz/theme.py": "plotly",
    "viz/words.py": "",
    "viz/labels.py": "model.records",
    "viz/errors.py": "model.errors",
    "viz/settings.py": "model.errors model.hub",
    "viz/session.py": "model.errors model.records viz.errors viz.settings",
    "viz/store.py": "model.records",
    "viz/cards.py": "model.families model.languages viz.errors",
    "viz/downloads.py": "model.hub",
    "viz/library.py": "model.families model.hub model.languages viz.cards viz.downloads viz.errors viz.settings",
    "viz/gpu.py": "spaces model.records",
    "viz/arguments.py": "viz.errors",
    "viz/service.py": (
        "model.errors model.hub model.judge model.records model.shelf model.text model.transformer model.translator"
        " viz.cards viz.errors viz.gpu viz.library viz.line viz.manners viz.session viz.settings viz.store"
    ),
    "viz/api.py": (
        "gradio numpy model.records viz.arguments viz.errors viz.hints viz.line viz.service viz.session viz.visitors"
    ),
    "viz/line.py": "viz.errors",
    "viz/addresses.py": "",
    "viz/called.py": "viz.errors viz.line viz.payload",
    "viz/listening.py": "gradio viz.errors viz.line viz.visitors",
    "viz/leaving.py": "gradio viz.listening",
    "viz/door.py": (
        "fastapi gradio starlette viz.addresses viz.api viz.arguments viz.called viz.errors viz.line viz.listening"
        " viz.settings viz.visitors"
    ),
    "viz/payload.py": "numpy model.measures model.records viz.labels",
    "viz/calls.py": "viz.errors viz.payload",
    "viz/files.py": "plotly starlette viz.theme viz.words",
    "viz/examples.py": "",
    "viz/markdown.py": "markdown_it",
    "viz/standalone.py": "viz.files viz.session viz.words",
    "viz/export.py": (
        "numpy pandas model.dumps model.measures model.records viz.errors viz.labels viz.model_values viz.pictures"
        " viz.service viz.session viz.standalone viz.theme viz.words"
    ),
    "viz/pictures.py": "plotly model.records viz.figures viz.labels viz.session viz.theme viz.words",
    "viz/first.py": "numpy model.records viz.examples viz.model_values viz.payload viz.service viz.settings",
    "viz/manners.py": "model.habits model.records model.translator viz.errors viz.session viz.settings",
    "viz/hints.py": "model.language_identification model.records viz.cards viz.service viz.words",
    "viz/model_values.py": "model.records viz.cards viz.hints viz.manners viz.payload viz.service",
    "viz/visitors.py": "gradio viz.line",
    "viz/fetching.py": (
        "gradio model.hub model.languages viz.calls viz.errors viz.line viz.model_values viz.payload viz.service"
        " viz.visitors viz.widgets"
    ),
    "viz/desk.py": (
        "gradio viz.calls viz.errors viz.examples viz.first viz.model_values viz.payload viz.service viz.settings"
        " viz.visitors viz.widgets"
    ),
    "viz/widgets/*": "gradio viz.files viz.widgets",
    "viz/tabs/*": "gradio numpy model.* viz.*",
    "viz/page.py": (
        "gradio viz.api viz.desk viz.door viz.fetching viz.files viz.leaving viz.listening viz.service viz.settings"
        " viz.tabs viz.theme viz.widgets"
    ),
    "viz/figures/*": "numpy plotly model.errors model.records viz.figures viz.labels viz.theme",
    "viz/alone.py": "viz.page viz.settings viz.tabs",
    "viz/__init__.py": "",
    "app.py": "spaces model.errors viz.page",
}
# For whole floors: what nothing on them imports.
NEVER = {
    "model/*": "app viz gradio plotly transformers tests benchmarks",
    "viz/*": "app torch transformers tests benchmarks",
    "app.py": "torch transformers tests benchmarks",
}


def files() -> list[str]:
    """Every Python file of the three floors, by its path from the root."""
    found = [ROOT / "app.py", *(ROOT / "model").rglob("*.py"), *(ROOT / "viz").rglob("*.py")]
    return sorted(path.relative_to(ROOT).as_posix() for path in found if path.exists())


def imports(source: str, path: str) -> Iterator[str]:
    """What code imports, wherever in it, as dotted names; from packages, the names that are taken, too."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = list(Path(path).parts[: -node.level]) if node.level else []
            name = ".".join([*above, *([node.module] if node.module else [])])
            yield from (f"{name}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__")):
            first = node.args[0] if node.args else None
            if isinstance(first, ast.Constant):
                yield str(first.value)


def allows(allowed: str, name: str) -> bool:
    """Whether a name, or what it is part of, is in a list; `model.*` does not name `model` itself."""
    if name.partition(".")[0] in sys.stdlib_module_names or name.startswith("__future__"):
        return True
    return any(fnmatch(name, f"{part}.*" if part[-1] != "*" else part) or name == part for part in allowed.split())


def complaints(path: str, source: str) -> list[str]:
    """Why a file may not stay as it is."""
    names = sorted(set(imports(source, path)))
    found = [
        f"{path} imports {name}: nothing in {floor} may"
        for floor, never in NEVER.items()
        if fnmatch(path, floor)
        for name in names
        if name.partition(".")[0] in never.split()
    ]
    room = next((allowed for pattern, allowed in ROOMS.items() if fnmatch(path, pattern)), None)
    if room is not None:
        found += [f"{path} imports {name}, but only: {room or 'std'}" for name in names if not allows(room, name)]
    else:
        found.append(f"{path} is not in ROOMS of tests/test_architecture.py: add it with all that it may import")
    return found


@pytest.mark.parametrize("path", files())
def test_imports_run_downward_only(path: str) -> None:
    assert complaints(path, (ROOT / path).read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("path", "source", "complaint"),
    [
        ("model/masks.py", "import gradio as gr", "nothing in model"),
        ("model/translator.py", "def late():\n    from viz.store import Store", "nothing in model"),
        ("model/training/loop.py", "import plotly.express", "nothing in model"),
        ("model/checkpoint.py", "import importlib\nimportlib.import_module('transformers')", "nothing in model"),
        ("app.py", "from transformers import pipeline", "nothing in app.py"),
        ("viz/page.py", "from app import settings", "nothing in viz"),
        ("viz/tabs/explore.py", "import torch", "nothing in viz"),
        ("model/attention.py", "from model.blocks import RMSNorm", "imports model.blocks.RMSNorm, but only: torch"),
        ("model/attention.py", "from model import transformer", "imports model.transformer, but only"),
        ("model/attention.py", "from . import transformer", "imports model.transformer, but only"),
        ("model/decoding/step.py", "from ..translator import Translator", "imports model.translator.Translator"),
        ("model/masks.py", "from model.maskstore import x", "imports model.maskstore.x"),
        ("model/records.py", "import torch.nn.functional as F", "imports torch.nn.functional, but only: numpy"),
        ("model/errors.py", "import numpy", "imports numpy, but only: std"),
        ("viz/figures/heatmap.py", "import torch", "nothing in viz"),
        ("viz/figures/heatmap.py", "import gradio", "imports gradio, but only: numpy plotly"),
        ("viz/figures/heatmap.py", "from model import Translator", "imports model.Translator, but only"),
        ("model/novelty.py", "import math", "is not in ROOMS of tests/test_architecture.py: add it"),
        ("model/novelties/first.py", "", "is not in ROOMS"),
    ],
)
def test_an_import_that_goes_upward_is_reported(path: str, source: str, complaint: str) -> None:
    assert complaint in "\n".join(complaints(path, source))


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("model/attention.py", "import math\nimport torch.nn.functional as F\nfrom model.masks import split_mask"),
        ("model/decoding/search.py", "from model.decoding.step import Row\nfrom . import step"),
        ("model/training/loop.py", "from model.translator import Translator"),
        ("viz/figures/heatmap.py", "import plotly.graph_objects as go\nfrom model.records import AttentionMap"),
        ("viz/tabs/explore.py", "import gradio as gr\nfrom viz.figures import heatmap"),
        ("app.py", "from viz.page import build_page\nfrom model.errors import ModelError"),
    ],
)
def test_an_import_that_goes_downward_is_none_of_our_business(path: str, source: str) -> None:
    assert complaints(path, source) == []


def needs(sources: dict[str, str]) -> dict[str, set[str]]:
    """Which of these files each file imports, early or late."""
    modules = {_module(path): path for path in sources}
    graph: dict[str, set[str]] = {}
    for module, path in modules.items():
        names = set(imports(sources[path], path)) | set(named_modules(sources[path], modules))
        # `from a.b import c`: c is a module, or a name in a.b.
        found = {name if name in modules else name.rpartition(".")[0] for name in names}
        graph[module] = found & set(modules) - {module}
    return graph


def named_modules(source: str, modules: Iterable[str]) -> Iterator[str]:
    """What code can import by a name that it holds as text: a whole one, or the beginning of one in an f-string."""
    tree = ast.parse(source)
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    yield from (name for name in modules if "." in name and name in texts)
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and ast.unparse(call.func).endswith("import_module"):
            parts = [node.value for node in ast.walk(call) if isinstance(node, ast.Constant)]
            starts = tuple(part for part in parts if isinstance(part, str) and part.endswith("."))
            yield from (name for name in modules if starts and name.startswith(starts))


def by_folder(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    """The same with each folder of a floor as one: `model.hub` for all files in it."""
    folders: dict[str, set[str]] = {}
    for module, needed in graph.items():
        here = _folder(module)
        folders.setdefault(here, set()).update({_folder(name) for name in needed} - {here})
    return folders


def _module(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _folder(module: str) -> str:
    return ".".join(module.split(".")[:2])


def sources() -> dict[str, str]:
    return {path: (ROOT / path).read_text(encoding="utf-8") for path in files()}


def test_no_two_files_need_each_other() -> None:
    graph = needs(sources())
    assert "model.masks" in graph["model.attention"]
    assert "model.commands.train" in graph["model.__main__"]  # imported when it is called
    assert "model.families.t5" in graph["model.families"]  # imported when a folder of its own comes
    graphlib.TopologicalSorter(graph).prepare()


def test_no_two_folders_need_each_other() -> None:
    graph = by_folder(needs(sources()))
    assert "model.families" in graph["model.checkpoint"]
    graphlib.TopologicalSorter(graph).prepare()


@pytest.mark.parametrize(
    "back",
    [
        "import model.a",
        "def late():\n    from model.a import A",
        "def late():\n    import_module('model.a')",
        "LATE = {'a': 'model.a'}",
        "def late(name):\n    import_module(f'model.{name}')",
        "if TYPE_CHECKING:\n    from . import a",
    ],
)
def test_a_circle_of_imports_would_be_found(back: str) -> None:
    circle = {"model/a.py": "from model.b import B", "model/b.py": "from model import c", "model/c.py": back}
    with pytest.raises(graphlib.CycleError):
        graphlib.TopologicalSorter(needs(circle)).prepare()


def test_a_circle_of_folders_would_be_found() -> None:
    circle = {"viz/a/one.py": "import viz.b.two", "viz/b/two.py": "", "viz/b/three.py": "import viz.a.four"}
    graph = needs(circle | {"viz/a/four.py": ""})
    graphlib.TopologicalSorter(graph).prepare()
    with pytest.raises(graphlib.CycleError):
        graphlib.TopologicalSorter(by_folder(graph)).prepare()


def stale(rooms: dict[str, str], sources: dict[str, str]) -> list[str]:
    """Rules that hold nobody back any more: for no file, or about what no file there imports."""
    found = []
    for pattern, allowed in rooms.items():
        here = [path for path in sources if next((each for each in rooms if fnmatch(path, each)), "") == pattern]
        names = {name for path in here for name in imports(sources[path], path)}
        if not here:
            found.append(f"{pattern}: there is no such file")
        found += [f"{pattern}: nothing imports {part}" for part in allowed.split() if not _used(part, names)]
    return found


def _used(part: str, names: set[str]) -> bool:
    return any(allows(part, name) for name in names if name.partition(".")[0] not in sys.stdlib_module_names)


def test_no_rule_is_stale() -> None:
    assert stale(ROOMS, sources()) == []


def test_a_stale_rule_would_be_found() -> None:
    rooms = {"model/gone.py": "", "model/masks.py": "torch numpy"}
    assert stale(rooms, {"model/masks.py": "import torch"}) == [
        "model/gone.py: there is no such file",
        "model/masks.py: nothing imports numpy",
    ]


# Torch takes two seconds to load: whoever needs records, settings or figures alone does not wait for it.
LIGHT = ["model", "model.records", "model.config", "model.errors"]


def light_modules() -> list[str]:
    """The above, and all that exists of what draws and measures."""
    rest = [path for path in files() if path.startswith(("viz/figures/", "model/measures/"))]
    return LIGHT + [path.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for path in rest]


@pytest.mark.parametrize("name", light_modules())
def test_what_needs_no_tensors_does_not_load_torch(name: str) -> None:
    code = f"import sys, {name}\nprint(*sorted({{'torch', 'gradio', 'transformers'}} & set(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split() == []
