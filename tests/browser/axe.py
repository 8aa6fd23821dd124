"""What axe-core finds on a page: barriers for people who see, hear or move differently."""

from __future__ import annotations

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page


def barriers(page: Page, part: str) -> list[str]:
    """Each rule that is broken within a part of the page, and where."""
    found = Axe().run(page, context=part, options={"resultTypes": ["violations"]})
    return [
        f"{rule['id']}: {node['target']} {node['failureSummary']}"
        for rule in found.response["violations"]
        for node in rule["nodes"]
    ]
