"""A stub Hub with an account that may write."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.space_server import SpaceHub, running_space_hub


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[SpaceHub]:
    monkeypatch.setenv("HF_TOKEN", "hf_ada")
    for name in ("HF_HUB_OFFLINE", "HF_HUB_DISABLE_XET"):
        monkeypatch.delenv(name, raising=False)
    with running_space_hub() as running:
        monkeypatch.setenv("HF_ENDPOINT", running.address)
        yield running
