"""Delay from the model's result to the painted answer: sentences of four lengths in a browser on the same machine.

The delay has four stages: the server's work outside the model (validation, tokens, base64, JSON), the transfer
(threads, the network, and immediate drawing of views before the answer counts as received), parsing (JSON and base64
to arrays), and drawing.
"""

from __future__ import annotations

import sys
import time
from statistics import median
from typing import Any

from tests.browser.browsers import find_chromium
from workshop.benchmarks.arithmetic import summarise_quartiles
from workshop.benchmarks.page import (
    BUNDLE_URL,
    ENVIRONMENT,
    LIMITS,
    PORT,
    SENTENCE_20_TOKENS,
    STATE,
    WAIT_FOR_PAINT,
    Log,
    _open,
    serve,
)

MORE_SENTENCES = (
    "Am Abend liest er seiner Frau aus der Zeitung vor, während sie in der Küche das Essen kocht.",
    "Die Kinder spielen im Garten, weil heute die Sonne scheint und die Schule schon zu Ende ist.",
    "Meine Schwester hat gestern ein neues Buch gekauft, das sie ihrem Lehrer schenken will.",
    "Wir fahren im Sommer mit dem Zug ans Meer und bleiben dort zwei Wochen bei unseren Freunden.",
    "Ein Mann mit einem roten Hut steht auf der Straße und wartet auf den nächsten Bus.",
    "Wenn es morgen regnet, gehen wir nicht in den Park, sondern sehen uns einen Film an.",
    "Zwei Frauen sitzen an einem Tisch vor dem Café und trinken Kaffee.",
    "Der Zug kam zu spät, deshalb haben wir den Anfang des Konzerts leider verpasst.",
    "Mein Bruder arbeitet in einer großen Stadt und kommt nur am Wochenende nach Hause.",
)
SENTENCES = {
    "8": "Das Haus ist alt und klein.",
    "20": SENTENCE_20_TOKENS,
    "60": " ".join([SENTENCE_20_TOKENS, *MORE_SENTENCES[:2]]),
    "200": " ".join([SENTENCE_20_TOKENS, *MORE_SENTENCES]),
}
PAUSE_MS = 3_000
TIMEOUT_MS = 60_000  # a missing answer raises an error
# Returns the milliseconds of the model, until the answer is received and until it is painted, and the token counts.
TRANSLATE_SCRIPT = f"""async (text) => {{
  const {{ on, state }} = {STATE};
  const waitForPaint = {WAIT_FOR_PAINT};
  document.getElementById('sentence').value = text;
  const answered = new Promise((done, fail) => {{
    setTimeout(() => fail(new Error(document.querySelector('.translate').innerText)), {TIMEOUT_MS});
    on(['translation'], () => state.translation.request.text === text && done());
  }});
  const start = performance.now();
  document.querySelector('.translate .go').click();
  await answered;
  const received = performance.now() - start;
  const painted = (await waitForPaint()) - start;
  const {{ seconds, source, target }} = state.translation;
  return [1000 * seconds, received, painted, source.length, target.length];
}}"""
# Waits for the back-translation, if there is one, so that it does not overlap the next request.
WAIT_FOR_BACK_TRANSLATION = f"""async () => {{
  const {{ state }} = {STATE};
  const end = performance.now() + {PAUSE_MS};
  while (state.translation.way_back && !state.translation.reliability?.back && performance.now() < end) {{
    await new Promise((done) => setTimeout(done, 50));
  }}
}}"""
MEASURE_PARSING = f"""async ([answer, turns]) => {{
  const {{ Translation }} = (await import({BUNDLE_URL})).modules['core/translation.js'];
  const times = [];
  for (let turn = 0; turn < turns; turn++) {{
    const start = performance.now();
    new Translation(JSON.parse(answer));
    times.push(performance.now() - start);
  }}
  return times;
}}"""


def measure(repetitions: int, log: Log) -> dict[str, Any]:
    """Measure each length repeatedly, with distinct sentences that are not cached."""
    from playwright.sync_api import sync_playwright

    from headlight.viz.service.service import Service
    from headlight.viz.settings import Settings

    service = Service(Settings(**LIMITS))  # type: ignore[arg-type]
    cases = []
    with sync_playwright() as playwright, serve([sys.executable, "app.py"], PORT, **ENVIRONMENT):
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox", "--disable-gpu"])
        page = _open(browser, PORT)
        for name, text in SENTENCES.items():
            delays = []
            for turn in range(repetitions + 1):
                delays.append(page.evaluate(TRANSLATE_SCRIPT, text.replace(" ", " " * (turn + 1), 1)))
                page.evaluate(WAIT_FOR_BACK_TRANSLATION)
            delays = delays[1:]  # the first request warms up the model and the page
            model, received, painted = ([delay[index] / 1000 for delay in delays] for index in range(3))
            after_model = [painted_at - model_time for model_time, painted_at in zip(model, painted, strict=True)]
            case = {"name": name, "source_tokens": delays[0][3], "target_tokens": delays[0][4]}
            times = {"model": model, "there": received, "painted": painted, "beyond": after_model}
            case |= {key: summarise_quartiles(seconds) for key, seconds in times.items()}
            server, answer = _measure_server(service, text, repetitions)
            parsing = median(page.evaluate(MEASURE_PARSING, [answer, repetitions])) / 1000
            transfer = (
                median(received_at - model_time for received_at, model_time in zip(received, model, strict=True))
                - server
                - parsing
            )
            drawing = median(
                painted_at - received_at for received_at, painted_at in zip(received, painted, strict=True)
            )
            case |= {
                "bytes": len(answer.encode()),
                "stages": {"server": server, "way": transfer, "read": parsing, "draw": drawing},
            }
            cases.append(case)
            stages = ", ".join(f"{stage} {1000 * seconds:.0f}" for stage, seconds in case["stages"].items())
            log(
                f"{name} tokens: painted {1000 * case['beyond']['median']:.0f} ms after the model's own time ({stages})"
            )
        browser.close()
    return {"repetitions": repetitions, "sentences": cases}


def _measure_server(service: Any, text: str, repetitions: int) -> tuple[float, str]:
    """Return the median seconds to validate a request and serialise its answer, and the answer."""
    from headlight.viz.service.model_json import answer_json

    translation = service.translate(service.check({"text": text}, model_defaults=True))
    times = []
    for _ in range(repetitions):
        start = time.perf_counter()
        service.check({"text": text}, model_defaults=True)
        answer = answer_json(service, translation)
        times.append(time.perf_counter() - start)
    return median(times), answer
