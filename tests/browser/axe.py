"""Accessibility checks with axe-core."""

from __future__ import annotations

from collections.abc import Sequence

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

SERIOUS = ("serious", "critical")
EVERYTHING = ("minor", "moderate", *SERIOUS)

# Without transitions: during one, a colour has another contrast for a tenth of a second.
LOOK = """async ([where, options]) => {
  for (;;) {
    const moves = document.getAnimations().filter(({ effect }) => Number.isFinite(effect.getComputedTiming().endTime));
    const moving = moves.filter(({ playState }) => playState === 'running');
    if (!moving.length) break;
    await Promise.allSettled(moving.map(({ finished }) => finished));
  }
  return axe.run(where, { resultTypes: ['violations'], selectors: false, ...options });
}"""


def barriers(
    page: Page,
    where: str | dict[str, list[str]],
    *,
    impacts: Sequence[str] = EVERYTHING,
    rules: Sequence[str] = (),
) -> list[str]:
    """Return the violations of rules (default: all rules) within a part of the page, with their elements."""
    if page.evaluate("typeof axe === 'undefined'"):
        page.evaluate(Axe().axe_script)
    violations = page.evaluate(LOOK, [where, {"runOnly": list(rules)} if rules else {}])
    return [
        f"{rule['id']}: {node['html']} {node['failureSummary']}"
        for rule in violations["violations"]
        if rule["impact"] in impacts
        for node in rule["nodes"]
    ]
