"""The notebooks run completely and display views that need no network."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.jupyter import isolate_kernel
from workshop.notebooks import VIEW_MIME_TYPES, digest_sources

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
VIEWS = {"first_look": 1, "bert_and_gpt": 3, "vision_transformer": 2, "interventions": 2, "survey": 1}


MAX_BYTES = 2_000_000  # of all notebooks together
SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_stored_outputs_are_current_and_show_pictures(path: Path) -> None:
    """After a change of a source, run `python -m workshop.notebooks`."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert notebook["metadata"]["headlight"] == {"sources": digest_sources(notebook["cells"])}
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell["outputs"]]
    pictures = ["".join(output["data"]["image/svg+xml"]) for output in outputs if is_view(output)]
    assert len(pictures) == VIEWS[path.stem]
    for picture in pictures:
        root = ElementTree.fromstring(picture)  # noqa: S314 (written by Headlight)
        assert len(list(root.iter(f"{SVG}image"))) >= 2  # heads
        assert len(list(root.iter(f"{SVG}text"))) > 4
        assert "<script" not in picture
    for output in outputs:
        assert output["output_type"] != "error"
        assert output.get("name") != "stderr"
        assert not is_view(output) or set(output["data"]) == set(VIEW_MIME_TYPES)


def is_view(output: Mapping[str, Any]) -> bool:
    return "image/svg+xml" in output.get("data", {})


def test_notebooks_are_small_and_have_no_paths_of_a_machine() -> None:
    assert {path.stem for path in NOTEBOOKS} == set(VIEWS)
    assert sum(path.stat().st_size for path in NOTEBOOKS) < MAX_BYTES
    for path in NOTEBOOKS:
        text = path.read_text(encoding="utf-8")
        assert str(ROOT) not in text
        assert tempfile.gettempdir() not in text
        assert "widget-view+json" not in text


def test_digest_changes_with_the_sources_alone() -> None:
    cells = json.loads(NOTEBOOKS[0].read_text(encoding="utf-8"))["cells"]
    digest = digest_sources(cells)
    assert digest_sources([{**cell, "outputs": []} for cell in cells]) == digest
    assert digest_sources([{**cells[0], "source": ["# Else"]}, *cells[1:]]) != digest
    assert digest_sources(cells[::-1]) != digest


# ZeroMQ sockets and the kernel process are closed with the client's event loop, after Python's resource check.
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs_and_displays_views(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import nbformat  # imported late: both take seconds, which would slow down every collection
    from nbclient import NotebookClient

    isolate_kernel(monkeypatch, tmp_path)
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(notebook, timeout=None, resources={"metadata": {"path": tmp_path}})
    asyncio.run(client.async_execute())
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", []) if "data" in output]
    views = [output["data"]["text/html"] for output in outputs if "srcdoc=" in str(output["data"].get("text/html"))]
    assert len(views) == VIEWS[path.stem]
    formats = [set(each["data"]) for each in outputs if each["data"].get("text/html") in views]
    # No widget: the state that nbclient stores would make an exported page load the widget's code.
    assert formats == [{"text/html", "text/plain", "image/svg+xml"}] * len(views)
    assert "widgets" not in notebook.metadata
    assert not [view for view in views if "https://" in view.split("srcdoc=")[0]]
