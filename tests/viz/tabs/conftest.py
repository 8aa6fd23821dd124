"""Fixtures: the service of the bundled models and the translate widget; modules may define their own."""

from __future__ import annotations

import pytest

from headlight.viz.service.service import Service
from headlight.viz.settings import Settings
from headlight.viz.tabs.translate import TranslateWidget


@pytest.fixture(scope="module")
def service() -> Service:
    return Service(Settings())


@pytest.fixture
def translate_widget(service: Service) -> TranslateWidget:
    return TranslateWidget(service)
