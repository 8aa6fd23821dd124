"""Fixtures: the service of each module, served to real requests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headlight.viz.service.service import Service
from tests.viz.serving import Server, served


@pytest.fixture(scope="module")
def server(service: Service) -> Iterator[Server]:
    """The endpoints over the file's own `service`."""
    with served(service) as running:
        yield running
