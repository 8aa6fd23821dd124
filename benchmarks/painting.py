"""How much later than the model an answer is painted: sentences of four lengths, in a browser on the same machine."""

from __future__ import annotations

import sys
from typing import Any

from benchmarks.arithmetic import summary
from benchmarks.page import PAINTED, PORT, STATE, THIRTY, TWENTY, Say, _open, _served
from tests.browser.browsers import find_chromium

SENTENCES = {
    "8": "Das Haus ist alt und klein.",
    "20": TWENTY,
    "60": f"{THIRTY} {TWENTY}",
    "200": " ".join([THIRTY, TWENTY] * 4),
}
# Milliseconds of the model's own, until the answer is there, and until the frame with it is painted.
TRANSLATE = f"""async (text) => {{
  const {{ on, state }} = {STATE};
  const painted = {PAINTED};
  document.getElementById('sentence').value = text;
  const answered = new Promise((done) => on(['translation'], () => state.translation.request.text === text && done()));
  const start = performance.now();
  document.querySelector('.translate .go').click();
  await answered;
  const there = performance.now() - start;
  const all = (await painted()) - start;
  const {{ seconds, source, target }} = state.translation;
  return [1000 * seconds, there, all, source.length, target.length];
}}"""


def measure(repetitions: int, say: Say) -> dict[str, Any]:
    """Each length so many times, each time another sentence; none of them is cached."""
    from playwright.sync_api import sync_playwright

    cases = []
    with sync_playwright() as playwright, _served([sys.executable, "app.py"], PORT):
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox", "--disable-gpu"])
        page = _open(browser, PORT)
        for name, text in SENTENCES.items():
            page.evaluate(TRANSLATE, text)  # the first one warms model and page
            told = [page.evaluate(TRANSLATE, text.replace(" ", " " * (turn + 2), 1)) for turn in range(repetitions)]
            model, there, painted = ([each[place] / 1000 for each in told] for place in range(3))
            beyond = [after - own for own, after in zip(model, painted, strict=True)]
            case = {"name": name, "source_tokens": told[0][3], "target_tokens": told[0][4]}
            times = {"model": model, "there": there, "painted": painted, "beyond": beyond}
            cases.append(case | {key: summary(seconds) for key, seconds in times.items()})
            say(f"{name} tokens: painted {1000 * cases[-1]['beyond']['median']:.0f} ms after the model's own time")
        browser.close()
    return {"repetitions": repetitions, "sentences": cases}
