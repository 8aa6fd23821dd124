"""Actions of a visitor, and readers of the page's content."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from playwright.sync_api import Locator, Page

from headlight.model.records import FloatArray
from headlight.viz.service.weight_encoding import LEVELS
from headlight.viz.tabs import VIEWS
from tests.browser.conftest import PATIENCE
from tests.browser.polling import wait_for_function


def translate(page: Page, text: str) -> str:
    """Type a text, press Enter, and return the translation."""
    unfold(page)
    page.fill("#sentence", text)
    page.press("#sentence", "Enter")
    wait_for_translation(page, text)
    return translation(page)


def unfold(page: Page) -> None:
    """Unfold the desk if a tab has folded it."""
    if page.locator(".translate.folded").count():
        page.click(".desk-line .change")


def wait_for_translation(page: Page, text: str) -> None:
    """Wait for the translation of this sentence."""
    expose_state(page)
    # Not an async function: its promise would count as true.
    wait_for_function(
        page, "(text) => !window.headlight.busy && window.headlight.translation.request.text === text", arg=text
    )


def expose_state(page: Page) -> None:
    """Expose the page's state module to later scripts."""
    wait_for_function(page, "() => Boolean(window.headlightModules)")
    page.evaluate("() => void (window.headlight ??= headlightModules['core/state.js'].state)")


def state(page: Page, field: str) -> Any:
    """Return a field of the page's state."""
    expose_state(page)
    return page.evaluate("(field) => window.headlight[field]", field)


def translation(page: Page) -> str:
    """Return the displayed translation."""
    return " ".join(page.inner_text(".translate .out").split())


def plotly_values(page: Page, number: int = 0) -> FloatArray:
    """Return the numbers of a Plotly heatmap; NaN if masked."""
    rows = page.evaluate(
        """(number) => {
          const traces = document.querySelectorAll('.explorer .plot')[number].data;
          return traces.find((trace) => trace.name === 'weights').z;
        }""",
        number,
    )
    return np.array(rows, dtype=np.float32)


def page_weights(page: Page, kind: str) -> FloatArray:
    """Return the page's weights of a kind, `[layer, head, query, key]`."""
    expose_state(page)
    shape, numbers = page.evaluate(
        "(kind) => [headlight.translation.tensors[kind].shape, [...headlight.translation.tensors[kind].numbers]]", kind
    )
    return np.array(numbers, dtype=np.float32).reshape(shape) / (2 * LEVELS)


# Selector of an element that exists when a tab is drawn.
DRAWN = {
    "heads": ".plot .main-svg",
    "whatif": ".word",
    "learn": ".lesson-row",
    "word": ".parts tfoot",
    "why": ".stream tfoot",
    "sentiment": ".plot .main-svg",
    "models": "tr.model",
    "own": ".file-picker button",
}


def choose_panel(page: Page, name: str) -> None:
    """Open the view of a panel, then the panel. The second panel of See is opened from the model menu."""
    view = next(view for view, panels in VIEWS.items() if name in panels)
    page.locator(".tabs button").nth(list(VIEWS).index(view)).click()
    if name in ("beside", "own"):
        page.click(".models-picker .opens")
        page.click(f".menu-link[data-word=tab_{name}]")
    elif name in ("positions", "sentiment"):  # opened by lessons
        page.wait_for_selector(".lesson-list:visible, .lesson:visible")
        for back in page.locator(".lesson .crumb .link:visible").all():  # leave an open lesson
            back.click()
        page.click(f".explorer-link[data-tab={name}]")
    elif len(VIEWS[view]) > 1 and name not in ("heads", "learn"):
        page.click(f".subtabs [aria-controls=panel-{name}]")


def open_alternatives(word: Locator) -> None:
    """Open the alternatives of a target word: click it, twice if the first click only selects it."""
    word.click()
    if word.get_attribute("aria-expanded") != "true":
        word.click()


def switch_language(page: Page, language: str) -> None:
    """Click the button of a language, unless it is the page's language."""
    if not page.evaluate("document.documentElement.lang").startswith(language):
        page.click(f".top [lang={language}]")
    page.wait_for_selector(f"html[lang^={language}]", state="attached")


def open_tab(page: Page, name: str, selector: str = "") -> None:
    """Open a tab and wait for its requests, and for an element of it."""
    choose_panel(page, name)
    page.wait_for_selector(f"#panel-{name} {selector or DRAWN.get(name, '.main-svg')}")
    wait_until_idle(page)


def wait_until_idle(page: Page) -> None:
    """Wait until no request is pending."""
    waits = ":is(.loading, .busy, [aria-busy], [data-asks])"
    waits = f".headlight{waits}, .headlight {waits}"
    wait_for_function(page, "(waits) => !document.querySelector(waits)", arg=waits)


def traces(page: Page, plot: str, number: int = 0) -> list[dict[str, Any]]:
    """Return the traces of a Plotly figure, with `z`, `x` and `y` as arrays."""
    figures = page.evaluate(
        """([plot, number]) => document.querySelectorAll(plot)[number].data.map((trace) => {
          const kept = ['type', 'x', 'y', 'z'].filter((name) => trace[name]);
          return Object.fromEntries(kept.map((name) => [name, trace[name]]));
        })""",
        [plot, number],
    )
    return [
        {name: value if name == "type" else decode_numbers(value) for name, value in trace.items()} for trace in figures
    ]


def decode_numbers(numbers: Any) -> FloatArray:
    """Decode numbers in one of Plotly's formats: lists, or base64."""
    if not isinstance(numbers, dict):
        return np.array(numbers, dtype=np.float64)
    values = np.frombuffer(base64.b64decode(numbers["bdata"]), dtype=f"<{numbers['dtype']}")
    return values.reshape([int(side) for side in str(numbers.get("shape", len(values))).split(",")])


def hold_calls(page: Page, *names: str) -> None:
    """Hold the page's calls of these server functions until `release_calls`."""
    page.evaluate(
        """(names) => {
          const asked = window.fetch;
          window.held = [];
          window.fetch = async (address, options) => {
            if (names.some((name) => String(address).endsWith(`/${name}`)))
              await new Promise((done) => held.push(done));
            return asked(address, options);
          };
        }""",
        names,
    )


def release_calls(page: Page) -> None:
    """Release all held calls and hold no others."""
    page.evaluate("() => { const all = held; held = { push: (go) => go() }; for (const go of all) go(); }")


def resize(page: Page, width: int, height: int = 900) -> None:
    """Resize the window and wait until the page has reacted."""
    page.set_viewport_size({"width": width, "height": height})
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    wait_until_idle(page)


def title(page: Page) -> str:
    return page.inner_text(".explorer .turn h2")


def until(page: Page, holds: Callable[[], object]) -> None:
    """Wait for a condition in this process, such as a received request."""
    end = time.monotonic() + PATIENCE / 1000
    while not holds():
        assert time.monotonic() < end
        page.wait_for_timeout(20)
