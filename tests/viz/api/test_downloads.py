"""Downloads requested by a browser over real HTTP: only offered models, within the disk quota."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from headlight.viz.browser_files.static_files import FOLDER
from headlight.viz.page import Page, build_page, launch_page
from headlight.viz.settings import Settings
from tests.hub_server import Repository, local_hub
from tests.model.families import folders
from tests.viz.serving import GRADIO_WARNS

pytestmark = [pytest.mark.filterwarnings(f"ignore:{message}") for message in GRADIO_WARNS]

OFFERED = [f"somebody/opus-mt-en-{code}" for code in ("it", "nl", "pl", "pt")]
OTHER = "somebody/opus-mt-en-uk"  # on the Hub, but not offered by the page
QUOTA = 3  # megabytes: two of the models


class Door(NamedTuple):
    """A page over HTTP and its download cache."""

    address: str
    cache: Path

    def fetch(self, name: str) -> dict[str, Any]:
        """Ask for a model as the page's own widget does; the last message."""
        body = {"session": name.rpartition("-")[2], "values": {"name": name}}
        reply = httpx.post(f"{self.address}/{FOLDER}/stream/fetch_model", json=body, timeout=60)
        assert reply.status_code == 200
        messages: list[dict[str, Any]] = [
            json.loads(line[5:]) for line in reply.text.splitlines() if line.startswith("data:")
        ]
        return messages[-1]

    def cached_models(self) -> set[str]:
        """The ids whose weights lie on the disk."""
        return {path.parts[-4].removeprefix("models--").replace("--", "/") for path in self.weights()}

    def weights(self) -> list[Path]:
        """Each file of weights, as its model has it."""
        return [path for path in self.cache.rglob("snapshots/*/*.safetensors") if path.exists()]


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    home = tmp_path_factory.mktemp("downloads")
    model = folders.marian(home / "model")
    size = sum(path.stat().st_size for path in model.iterdir())
    assert 2 * size < QUOTA * 1e6 < 3 * size
    with pytest.MonkeyPatch.context() as patch, local_hub(patch, home / "cache") as hub:
        for name in (*OFFERED, OTHER):
            hub.repositories[name] = Repository()
            hub.repositories[name].push({path.name: path.read_bytes() for path in model.iterdir()})
        with socket.socket() as free:  # Gradio's own search leaves a socket open for each port that is taken
            free.bind(("127.0.0.1", 0))
            settings = Settings(models=tuple(OFFERED), hub_mb=QUOTA, port=free.getsockname()[1])

        async def launch() -> Page:  # in a loop: outside, Gradio leaves some open
            page = build_page(settings)
            launch_page(page, settings, prevent_thread_lock=True)
            return page

        page = asyncio.run(launch())
        yield Door(str(page.local_url).rstrip("/"), home / "cache")
        page.close(verbose=False)


@pytest.mark.slow
def test_least_recently_used_model_is_deleted_before_quota(door: Door) -> None:
    for place, name in enumerate(OFFERED, 1):
        assert door.fetch(name)["what"] == "fetched"
        assert door.cached_models() == set(OFFERED[max(0, place - 2) : place])
        stored_bytes = sum(
            path.stat().st_size for path in door.cache.rglob("*") if path.is_file() and not path.is_symlink()
        )
        assert stored_bytes <= QUOTA * 1e6


def test_unlisted_model_download_is_rejected(door: Door) -> None:
    refused = door.fetch(OTHER)
    assert (refused["what"], refused["word"]) == ("error", "model_not_allowed")
    assert OTHER not in door.cached_models()
