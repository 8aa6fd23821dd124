"""What a visitor does, and what they see."""

from __future__ import annotations

from typing import Any

import numpy as np
from playwright.sync_api import Page

from model.records import FloatArray


def translate(page: Page, text: str) -> str:
    """Type, press Enter, wait for the answer."""
    page.fill("#sentence", text)
    page.press("#sentence", "Enter")
    settled(page, text)
    return translation(page)


def settled(page: Page, text: str) -> None:
    """The answer to this sentence stands there."""
    modules(page)
    # Not an asynchronous function: its promise would count as true at once.
    page.wait_for_function(
        "(text) => !window.headlight.busy && window.headlight.answer.request.text === text", arg=text
    )


def modules(page: Page) -> None:
    """Let later scripts read the page's own state: the very one that it runs on."""
    page.evaluate(
        """async () => {
          const script = performance.getEntriesByType('resource').find((each) => each.name.endsWith('/state.js'));
          window.headlight ??= (await import(script.name)).state;
        }"""
    )


def state(page: Page, field: str) -> Any:
    """A field of the page's state."""
    modules(page)
    return page.evaluate("(field) => window.headlight[field]", field)


def translation(page: Page) -> str:
    """The translation as a reader sees it."""
    return " ".join(page.inner_text(".desk .out").split())


def drawn(page: Page, number: int = 0) -> FloatArray:
    """The numbers that a heatmap of Plotly's holds; NaN where it is masked."""
    rows = page.evaluate(
        """(number) => {
          const traces = document.querySelectorAll('.explorer .plot')[number].data;
          return traces.find((trace) => trace.name === 'weights').z;
        }""",
        number,
    )
    return np.array(rows, dtype=np.float32)


def title(page: Page) -> str:
    return page.inner_text(".explorer .turn h2")
