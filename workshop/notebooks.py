"""`python -m workshop.notebooks`: run the notebooks of docs/notebooks, and store their outputs with static pictures.

GitHub renders a stored notebook without running scripts. The output of a view therefore keeps the SVG and the text,
without the widget and the HTML, which are 300 times as large. The stored digest of the sources shows whether outputs
are current.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from headlight.model.files import write_file

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "notebooks"
VIEW_MIME_TYPES = ("image/svg+xml", "text/plain")  # stored output types of a view


def main() -> None:
    """Run the notebooks named on the command line, or all."""
    parser = argparse.ArgumentParser(prog="python -m workshop.notebooks", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="file name in docs/notebooks, without .ipynb")
    arguments = parser.parse_args()
    names = arguments.names or sorted(path.stem for path in FOLDER.glob("*.ipynb"))
    for name in names:
        path = FOLDER / f"{name}.ipynb"
        write_file(path, encode_notebook(asyncio.run(run_notebook(path))))
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size / 1000:.0f} kB")


async def run_notebook(path: Path) -> Any:
    """Return the notebook with its outputs, computed offline in an empty folder."""
    import nbformat  # imported late: each takes seconds
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        settings = dict.fromkeys(("JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"), folder)
        environment = {**os.environ, **settings, "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"}
        client = NotebookClient(notebook, timeout=None, resources={"metadata": {"path": folder}})
        await client.async_execute(env=environment)
    return keep_static_outputs(notebook)


def keep_static_outputs(notebook: Any) -> Any:
    """Remove outputs that GitHub does not render or that differ between runs: times, progress, Python's version."""
    notebook.metadata.pop("widgets", None)
    notebook.metadata["language_info"] = {"name": "python"}
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell["cell_type"] == "code":
            cell["outputs"] = [output for output in cell["outputs"] if output.get("name") != "stderr"]
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "image/svg+xml" in data:
                output["data"] = {mime_type: data[mime_type] for mime_type in VIEW_MIME_TYPES}
    notebook.metadata["headlight"] = {"sources": digest_sources(notebook.cells)}
    return notebook


def digest_sources(cells: Any) -> str:
    """Return the SHA-256 of the types and sources of all cells, in hexadecimal."""
    sources = [[cell["cell_type"], "".join(cell["source"])] for cell in cells]
    return hashlib.sha256(json.dumps(sources).encode()).hexdigest()


def encode_notebook(notebook: Any) -> bytes:
    """Return the bytes of the .ipynb file. Sources are lists of lines, as in files from Jupyter."""
    import nbformat

    return f"{nbformat.writes(notebook)}\n".encode()


if __name__ == "__main__":
    main()
