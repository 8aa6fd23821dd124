"""The notebooks run completely and display views that need no network."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.jupyter import isolate_kernel

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
VIEWS = {"first_look": 1, "bert_and_gpt": 3, "vision_transformer": 2, "interventions": 2, "survey": 1}


def test_notebooks_are_stored_without_outputs() -> None:
    assert {path.stem for path in NOTEBOOKS} == set(VIEWS)
    for path in NOTEBOOKS:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        assert not [cell for cell in cells if cell.get("outputs") or cell.get("execution_count")], path.name


# ZeroMQ sockets and the kernel process are closed with the client's event loop, after Python's resource check.
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs_and_displays_views(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import nbformat  # imported late: both take seconds, which would slow down every collection
    from nbclient import NotebookClient

    isolate_kernel(monkeypatch, tmp_path)
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook, timeout=None, store_widget_state=False, resources={"metadata": {"path": tmp_path}}
    )
    asyncio.run(client.async_execute())
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", []) if "data" in output]
    views = [output["data"]["text/html"] for output in outputs if "srcdoc=" in str(output["data"].get("text/html"))]
    assert len(views) == VIEWS[path.stem]
    assert all(
        "widget-view+json" in " ".join(each["data"]) for each in outputs if each["data"].get("text/html") in views
    )
    assert not [view for view in views if "https://" in view.split("srcdoc=")[0]]
