"""Waiting for a condition in a page whose content security policy forbids `eval`.

Playwright's `wait_for_function` calls `eval` at each step, which the policy rejects. Here the browser's debugger
compiles the condition once, before the first step.
"""

from __future__ import annotations

import re
import time
from typing import Any

from playwright.sync_api import Error, Frame, Page

from tests.browser.conftest import PATIENCE

FUNCTION = re.compile(r"\s*(async\b|function\b|\([^()]*\)\s*=>|\w+\s*=>)")
POLL = """async ([arg, patience]) => {
  const condition = CONDITION;
  const end = performance.now() + patience;
  while (performance.now() < end) {
    const value = await condition(arg);
    if (value) return [value];
    await new Promise((next) => requestAnimationFrame(next));
  }
  return [];
}"""


def wait_for_function(page: Page | Frame, expression: str, *, arg: Any = None, timeout: float = PATIENCE) -> Any:
    """Wait until a JavaScript function or expression is true in a frame, and return its value. `timeout`: ms."""
    condition = expression if FUNCTION.match(expression) else f"() => ({expression})"
    end = time.monotonic() + timeout / 1000
    while True:
        left = max(0.0, end - time.monotonic())
        try:
            values = page.evaluate(POLL.replace("CONDITION", condition), [arg, 1000 * left])
        except Error as error:
            if "context was destroyed" not in str(error) and "navigation" not in str(error):
                raise
            continue  # the page loads anew
        assert values, f"not true after {timeout / 1000:g} s: {expression}"
        return values[0]
