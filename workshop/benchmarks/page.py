"""The page in a real browser: time until painted, bytes transferred and memory growth.

The same run measures a baseline: a `gr.Plot` with a subplot per head.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO
from urllib.request import urlopen

from headlight.viz.browser_files.static_files import FOLDER
from tests.browser.browsers import find_chromium
from workshop.benchmarks.arithmetic import summarise_quartiles

Log = Callable[[str], None]
PORT = 7894
STREAM = f"/{FOLDER}/stream/stream_messages"  # endpoint for the page's requests
SENTENCE_20_TOKENS = "Der alte Mann, der neben uns wohnt, geht jeden Morgen mit seinem kleinen Hund am Fluss spazieren."
SENTENCE_30_TOKENS = SENTENCE_20_TOKENS[:-1] + ", und abends liest er seiner Frau aus der Zeitung vor."
SENTENCE_100_TOKENS = " ".join([SENTENCE_30_TOKENS] * 3)
SENTENCE_200_TOKENS = " ".join([SENTENCE_30_TOKENS] * 6)
# The default limits of the page are too low for the longest sentences.
LIMITS = {"max_characters": 5_000, "max_tokens": 1_000}
# The benchmark has 30 visitors at one address. One address may fill half of the queue.
ENVIRONMENT = {f"HEADLIGHT_{name.upper()}": str(value) for name, value in (LIMITS | {"line": 64}).items()}
WAIT_FOR_PAINT = """() => new Promise((done) => requestAnimationFrame(() => {
  const channel = new MessageChannel();
  channel.port1.onmessage = () => done(performance.now());
  channel.port2.postMessage(0);
}))"""
BUNDLE_URL = """performance.getEntriesByType('resource').find((entry) => entry.name.endsWith('/headlight.js')).name"""
STATE = f"(await import({BUNDLE_URL})).modules['core/state.js']"
TRANSLATE_SCRIPT = f"""async (text) => {{
  const {{ on, state }} = {STATE};
  const waitForPaint = {WAIT_FOR_PAINT};
  const sentence = document.getElementById('sentence');
  sentence.value = text;
  const answered = new Promise((done) => on(['translation'], () => state.translation.request.text === text && done()));
  const start = performance.now();
  document.querySelector('.translate .go').click();
  await answered;
  return await waitForPaint() - start;
}}"""
SWITCH = f"""async (count) => {{
  const waitForPaint = {WAIT_FOR_PAINT};
  const all = [...document.querySelectorAll('.wall-grid button')];
  const thumbs = all.filter((button) => /^[0-9]+$/.test(button.dataset.head));
  const times = [];
  for (let turn = 0; turn < count; turn++) {{
    await waitForPaint();
    // Clicks are spread over the time between two frames.
    await new Promise((done) => setTimeout(done, (turn * 7) % 17));
    const start = performance.now();
    thumbs[(turn * 5) % thumbs.length].click();
    times.push(await waitForPaint() - start);
  }}
  return times;
}}"""
BASELINE_SWITCH = f"""async () => {{
  const waitForPaint = {WAIT_FOR_PAINT};
  const chart = () => document.querySelector('.js-plotly-plot');
  const title = () => chart()?.layout?.title?.text;
  const before = title();
  const start = performance.now();
  [...document.querySelectorAll('button')].find((button) => button.textContent.trim() === 'next').click();
  while (title() === before) await new Promise((done) => requestAnimationFrame(done));
  return await waitForPaint() - start;
}}"""
HEAP = "async () => { if (window.gc) { window.gc(); window.gc(); } return performance.memory.usedJSHeapSize; }"


def measure(repetitions: int, log: Log) -> dict[str, Any]:
    """Run all measurements in sequence. The machine should be idle."""
    from playwright.sync_api import sync_playwright

    is_quick = repetitions < 5
    cold_starts = [_measure_cold_start(log) for _ in range(1 if is_quick else 3)]
    with sync_playwright() as playwright, serve([sys.executable, "app.py"], PORT, **ENVIRONMENT) as server:
        browser = playwright.chromium.launch(
            executable_path=find_chromium(),
            args=["--no-sandbox", "--disable-gpu", "--js-flags=--expose-gc", "--enable-precise-memory-info"],
        )
        result = _measure_page(browser, server, repetitions, log)
        result["cold_start"] = summarise_quartiles(cold_starts)
        result["growth"] = _measure_growth(browser, server, 20 if is_quick else 200, 100 if is_quick else 1000, log)
        result["visitors"] = _measure_visitors(5 if is_quick else 30, 5, log)
        command = [sys.executable, "-m", "workshop.benchmarks.gr_plot_page"]
        with serve(command, PORT + 1) as _:
            result["plain"] = _measure_baseline(browser, repetitions, log)
        browser.close()
    return result


def _measure_cold_start(log: Log) -> float:
    """Return the seconds from process start to the first page. Drop the file cache first, if permitted."""
    with suppress(OSError):
        os.sync()
        Path("/proc/sys/vm/drop_caches").write_text("3")
    start = time.perf_counter()
    with serve([sys.executable, "app.py"], PORT), urlopen(f"http://127.0.0.1:{PORT}") as response:
        response.read()
        seconds = time.perf_counter() - start
    log(f"cold start: {seconds:.1f} s")
    return seconds


def _measure_page(browser: Any, process: Any, repetitions: int, log: Log) -> dict[str, Any]:
    page = _open(browser, PORT)
    page.evaluate(TRANSLATE_SCRIPT, "Das Haus ist alt.")  # the first request loads the model
    texts = [SENTENCE_20_TOKENS.replace("alte", f"alte{' ' * turn}") for turn in range(2 * repetitions)]
    times = [page.evaluate(TRANSLATE_SCRIPT, text) for text in texts]
    log(f"translate, 20 tokens: {sorted(times)[len(times) // 2]:.0f} ms")
    result: dict[str, Any] = {"translate": summarise_quartiles([milliseconds / 1000 for milliseconds in times])}
    for name, text in (("switch_30", SENTENCE_30_TOKENS), ("switch_200", SENTENCE_200_TOKENS)):
        page.evaluate(TRANSLATE_SCRIPT, text)
        page.click("[data-kind=cross]")
        switches = page.evaluate(SWITCH, 10 * repetitions)[5:]
        log(f"{name}: {sorted(switches)[len(switches) // 2]:.1f} ms")
        result[name] = summarise_quartiles([milliseconds / 1000 for milliseconds in switches])
        result[f"{name}_tokens"] = page.evaluate(f"async () => {STATE}.state.translation.source.length")
    result["payload"] = _measure_payload(log)
    page.context.close()
    return result


def _measure_payload(log: Log) -> dict[str, Any]:
    """Measure the bytes of an answer and the number of its weights."""
    from headlight.model.records import KINDS
    from headlight.viz.service.model_json import answer_json
    from headlight.viz.service.service import Service
    from headlight.viz.settings import Settings

    service = Service(Settings())
    sizes = []
    for text in (SENTENCE_20_TOKENS, SENTENCE_30_TOKENS, SENTENCE_100_TOKENS):
        translation = service.translate(service.check({"text": text}))
        weights = sum(translation.attention.of(kind).size for kind in KINDS)
        sizes.append({"weights": weights, "bytes": len(answer_json(service, translation).encode())})
    log(f"payload: {sizes}")
    return {"answers": sizes}


def _measure_growth(browser: Any, process: Any, translations: int, switches: int, log: Log) -> dict[str, Any]:
    page = _open(browser, PORT)
    for turn in range(5):
        page.evaluate(TRANSLATE_SCRIPT, f"Wir sind {turn} Leute.")
    page.evaluate(SWITCH, 20)
    heap, memory = page.evaluate(HEAP), _read_memory(process.pid)
    for turn in range(translations):
        page.evaluate(TRANSLATE_SCRIPT, f"Im Haus wohnen {turn} Leute.")
    page.evaluate(SWITCH, switches)
    growth = {"heap": page.evaluate(HEAP) - heap, "server": _read_memory(process.pid) - memory}
    log(f"after {translations} translations and {switches} switches: {growth}")
    page.context.close()
    return growth | {"translations": translations, "switches": switches}


def _measure_visitors(count: int, sentences: int, log: Log) -> dict[str, Any]:
    """Run concurrent clients of the endpoint with distinct sentences, and check that each gets its answers."""
    from gradio_client import Client

    times: list[float] = []
    wrong: list[str] = []

    def visit(number: int) -> None:
        client = Client(f"http://127.0.0.1:{PORT}", verbose=False)
        for turn in range(sentences):
            text = f"Mein Bruder hat {number} Hunde und {turn} Katzen."
            start = time.perf_counter()
            answer = client.predict(text, api_name="/translate")
            times.append(time.perf_counter() - start)
            if str(number) not in answer["text"]:
                wrong.append(f"{text} → {answer['text']}")

    threads = [threading.Thread(target=visit, args=(10 + number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    times.sort()
    result = {"count": count, "answers": len(times), "expected": count * sentences, "wrong": wrong}
    result |= {"p50": times[len(times) // 2], "p95": times[int(0.95 * len(times))]}
    log(f"visitors: {result}")
    return result


def _measure_baseline(browser: Any, repetitions: int, log: Log) -> dict[str, Any]:
    page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    page.goto(f"http://127.0.0.1:{PORT + 1}")
    page.wait_for_selector(".js-plotly-plot .main-svg")
    page.evaluate(BASELINE_SWITCH)
    times = [page.evaluate(BASELINE_SWITCH) for _ in range(repetitions)]
    log(f"baseline: {sorted(times)[len(times) // 2]:.0f} ms")
    page.context.close()
    return {"switch": summarise_quartiles([milliseconds / 1000 for milliseconds in times])}


def _open(browser: Any, port: int) -> Any:
    page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    page.goto(f"http://127.0.0.1:{port}")
    page.wait_for_selector(".explorer .plot .main-svg")
    return page


@contextmanager
def serve(command: list[str], port: int, **settings: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a page until the end of the block. `settings`: environment variables."""
    environment = os.environ | {"HEADLIGHT_PORT": str(port), "PYTHONUNBUFFERED": "1"} | settings
    with tempfile.TemporaryFile() as output:  # an unread pipe would fill up and block the server
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=subprocess.STDOUT)
        try:
            while b"Running on" not in _read_output(output):
                if process.poll() is not None:
                    raise RuntimeError(
                        f"{command} exited before it served a page: {_read_output(output).decode()[-2000:]}"
                    )
                time.sleep(0.01)
            length_before = len(_read_output(output))
            yield process
            if new_output := _read_output(output)[length_before:].decode(errors="replace").strip():
                end = new_output[-2000:]
                print(f"The server printed {len(new_output)} characters. The last of them: {end}", file=sys.stderr)
        finally:
            process.terminate()
            process.wait()


def _read_output(file: BinaryIO) -> bytes:
    """Return the output that a process has written to a file, without moving the file offset."""
    return os.pread(file.fileno(), 100_000_000, 0)


def _read_memory(pid: int) -> int:
    """Return the resident memory of a process in bytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS"))) * 1024
