"""What a visitor does, and what they see."""

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


def translate(page: Page, text: str) -> str:
    """Type, press Enter, wait for the answer."""
    unfold(page)
    page.fill("#sentence", text)
    page.press("#sentence", "Enter")
    settled(page, text)
    return translation(page)


def unfold(page: Page) -> None:
    """The sentence can be typed, also in a tab that folds it away."""
    if page.locator(".translate.folded").count():
        page.click(".desk-line .change")


def settled(page: Page, text: str) -> None:
    """The answer to this sentence stands there."""
    modules(page)
    # Not an asynchronous function: its promise would count as true at once.
    page.wait_for_function(
        "(text) => !window.headlight.busy && window.headlight.translation.request.text === text", arg=text
    )


def modules(page: Page) -> None:
    """Let later scripts read the page's own state: the very one that it runs on."""
    page.evaluate(
        """async () => {
          const script = performance.getEntriesByType('resource').find((each) => each.name.endsWith('/headlight.js'));
          window.headlight ??= (await import(script.name)).modules['core/state.js'].state;
        }"""
    )


def state(page: Page, field: str) -> Any:
    """A field of the page's state."""
    modules(page)
    return page.evaluate("(field) => window.headlight[field]", field)


def translation(page: Page) -> str:
    """The translation as a reader sees it."""
    return " ".join(page.inner_text(".translate .out").split())


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


def held(page: Page, kind: str) -> FloatArray:
    """All weights of a kind, `[layer, head, query, key]`, as the page holds them."""
    modules(page)
    shape, numbers = page.evaluate(
        "(kind) => [headlight.translation.tensors[kind].shape, [...headlight.translation.tensors[kind].numbers]]", kind
    )
    return np.array(numbers, dtype=np.float32).reshape(shape) / (2 * LEVELS)


# What is there once a tab is drawn.
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
    """Click on the view that has a panel, and on the panel below it; See opens its second one from the models' menu."""
    view = next(view for view, panels in VIEWS.items() if name in panels)
    page.locator(".tabs button").nth(list(VIEWS).index(view)).click()
    if name in ("beside", "own"):
        page.click(".models-picker .opens")
        page.click(f".menu-link[data-word=tab_{name}]")
    elif name in ("positions", "sentiment"):  # the lessons about them open them
        page.wait_for_selector(".lesson-list:visible, .lesson:visible")
        for back in page.locator(".lesson .crumb .link:visible").all():  # out of an open lesson
            back.click()
        page.click(f".explorer-link[data-tab={name}]")
    elif len(VIEWS[view]) > 1 and name not in ("heads", "learn"):
        page.click(f".subtabs [aria-controls=panel-{name}]")


def open_alternatives(word: Locator) -> None:
    """Click a written word, twice if the first click has only selected it."""
    word.click()
    if word.get_attribute("aria-expanded") != "true":
        word.click()


def switch_language(page: Page, language: str) -> None:
    """Click the button of a language; the language of the page has none."""
    if not page.evaluate("document.documentElement.lang").startswith(language):
        page.click(f".top [lang={language}]")
    page.wait_for_selector(f"html[lang^={language}]", state="attached")


def open_tab(page: Page, name: str) -> None:
    """Another look at the sentence, with all that it asks the server for."""
    choose_panel(page, name)
    page.wait_for_selector(f"#panel-{name} {DRAWN.get(name, '.main-svg')}")
    at_rest(page)


def at_rest(page: Page) -> None:
    """Nothing is waited for."""
    waits = ":is(.loading, .busy, [aria-busy], [data-asks])"
    waits = f".headlight{waits}, .headlight {waits}"
    page.wait_for_function("(waits) => !document.querySelector(waits)", arg=waits)


def traces(page: Page, plot: str, number: int = 0) -> list[dict[str, Any]]:
    """What a picture of Plotly's shows: each trace with its numbers, `z`, `x` and `y`, as arrays."""
    found = page.evaluate(
        """([plot, number]) => document.querySelectorAll(plot)[number].data.map((trace) => {
          const kept = ['type', 'x', 'y', 'z'].filter((name) => trace[name]);
          return Object.fromEntries(kept.map((name) => [name, trace[name]]));
        })""",
        [plot, number],
    )
    return [{name: value if name == "type" else unpacked(value) for name, value in trace.items()} for trace in found]


def unpacked(numbers: Any) -> FloatArray:
    """Numbers as Plotly takes them: in lists, or packed."""
    if not isinstance(numbers, dict):
        return np.array(numbers, dtype=np.float64)
    values = np.frombuffer(base64.b64decode(numbers["bdata"]), dtype=f"<{numbers['dtype']}")
    return values.reshape([int(side) for side in str(numbers.get("shape", len(values))).split(",")])


def hold_calls(page: Page, *names: str) -> None:
    """From now on what the page asks of these functions of the server stays on its way, until `let_calls`."""
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


def let_calls(page: Page) -> None:
    """What is held goes on, and nothing more is held."""
    page.evaluate("() => { const all = held; held = { push: (go) => go() }; for (const go of all) go(); }")


def resize(page: Page, width: int, height: int = 900) -> None:
    """Another size of the window; the page has answered to it."""
    page.set_viewport_size({"width": width, "height": height})
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    at_rest(page)


def title(page: Page) -> str:
    return page.inner_text(".explorer .turn h2")


def until(page: Page, holds: Callable[[], object]) -> None:
    """Wait for what this process hears of the browser: a request, or its end."""
    end = time.monotonic() + PATIENCE / 1000
    while not holds():
        assert time.monotonic() < end
        page.wait_for_timeout(20)
