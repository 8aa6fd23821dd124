"""The static page in headless Chromium: its translations and maps against Python's, their time, and visits.

A plain file server on this machine serves the folder; every other host is blocked. The engine answers in the page's
worker, and Python translates the same sentence next, so a slow moment of the machine affects both.
"""

from __future__ import annotations

import base64
import csv
import functools
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from headlight import Translator
from headlight.model.records import KINDS, Translation
from headlight.viz.service.weight_encoding import LEVELS
from headlight.viz.settings import MODELS, Settings
from headlight.viz.static_site.files import site_files, write_files
from headlight.viz.static_site.page_content import read_page
from tests.browser.browsers import find_chromium
from workshop.benchmarks.page import Log
from workshop.benchmarks.static_visits import measure_class, measure_first_map

TRANSLATORS = ("de-en", "en-de", "zh-en", "en-zh")
CORPUS = MODELS.parent / "corpora" / "mini.tsv"
SEARCHES = {"greedy": 1, "beam": 4}
# Sends a request to the engine, and decodes the maps of its answer.
TRANSLATE_SCRIPT = """async (values) => {
  const modules = headlightModules;
  const started = performance.now();
  let answer = null;
  await modules['core/server.js'].server.stream('stream_messages', values, (message) => (answer = message));
  const seconds = (performance.now() - started) / 1000;
  if (answer?.what !== 'answer') throw new Error(JSON.stringify(answer));
  const { tensors } = new modules['core/translation.js'].Translation(answer);
  const encode = ({ buffer }) => btoa(Array.from(new Uint8Array(buffer), (byte) => String.fromCharCode(byte)).join(''));
  const maps = Object.entries(tensors).map(([kind, { shape, numbers }]) => [kind, { shape, numbers: encode(numbers) }]);
  return { text: answer.text, maps: Object.fromEntries(maps), seconds };
}"""


REQUEST_VALUES = {"text": "Das Haus ist alt.", "model": "de-en", "beam_size": 1, "no_repeat": 4, "back_weight": 0}


def measure(sentences: int, log: Log) -> dict[str, Any]:
    """Compare `sentences` translations of each translator, greedily and with a beam."""
    with _open_folder_and_browser() as (folder, browser), _serve_folder(folder) as (address, requests):
        page = browser.new_page()
        page.route("**/*", lambda route: route.continue_() if route.request.url.startswith(address) else route.abort())
        page.goto(address)
        page.wait_for_selector(".explorer .plane")
        rows = {model: _compare(page, model, sentences, log) for model in TRANSLATORS}
        page.close()
    return {"rows": rows, "methods": sorted(set(requests))}


def measure_visits(visits: int, log: Log) -> dict[str, Any]:
    """Measure the sizes of the folder, a class, and `visits` first visits."""
    with _open_folder_and_browser() as (folder, browser):
        model_bytes = {model: _measure_folder(folder / "models" / model) for model in TRANSLATORS}
        return {
            "bytes": model_bytes,
            "shared_bytes": _measure_folder(folder) - sum(model_bytes.values()),
            "class": measure_class(browser, folder, lambda page: page.evaluate(TRANSLATE_SCRIPT, REQUEST_VALUES), log),
            "visit": measure_first_map(browser, folder, visits, log),
        }


@contextmanager
def _open_folder_and_browser() -> Iterator[tuple[Path, Any]]:
    """Write the page with all translators, and start a browser."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(folder, site_files(read_page(Settings(), TRANSLATORS)))
        with sync_playwright() as playwright:  # not earlier: its event loop keeps the page from being built
            browser = playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox"])
            yield folder, browser
            browser.close()


def _compare(page: Any, model: str, sentences: int, log: Log) -> dict[str, Any]:
    exact = Translator.load(MODELS / model, "cpu", step_weights="plain")
    server = Translator.load(MODELS / model, "cpu")
    row: dict[str, Any] = {}
    for search, beam in SEARCHES.items():
        differences, equal, ours, theirs = [], {"exact": 0, "server": 0}, [], []
        for number, text in enumerate(_read_sentences(model, sentences)):
            log(f"{model}, {search}: sentence {number + 1} of {sentences}")
            values = {"text": text, "model": model, "beam_size": beam, "no_repeat": 4, "back_weight": 0}
            answer = page.evaluate(TRANSLATE_SCRIPT, values)
            started = time.perf_counter()
            translation = server.translate(text, beam_size=beam, no_repeat=4)
            theirs.append(time.perf_counter() - started)
            ours.append(answer["seconds"])
            reference = exact.translate(text, beam_size=beam, no_repeat=4)
            equal["server"] += answer["text"] == translation.text
            equal["exact"] += answer["text"] == reference.text
            if answer["text"] == reference.text:
                differences.append(_find_largest_difference(answer["maps"], reference))
        row[search] = {
            "sentences": sentences,
            "equal": equal,
            "difference": max(differences, default=float("nan")),
            "seconds": median(ours),
            "server_seconds": median(theirs),
            "ratio": median(own / other for own, other in zip(ours, theirs, strict=True)),
        }
    return row


def _find_largest_difference(maps: Mapping[str, Any], translation: Translation) -> float:
    """The largest difference of a weight; the letters of the answer round to 5e-5."""
    differences = []
    for kind in KINDS:
        levels = np.frombuffer(base64.b64decode(maps[kind]["numbers"]), dtype="<u2").reshape(maps[kind]["shape"])
        differences.append(float(np.abs(levels / (2 * LEVELS) - translation.attention.of(kind)).max()))
    return max(differences)


def _read_sentences(model: str, count: int) -> Sequence[str]:
    with CORPUS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [row[model[:2]] for row in rows[:count]]


def _measure_folder(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


@contextmanager
def _serve_folder(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Serve a folder, and record the methods of all requests."""
    methods: list[str] = []

    class Handler(SimpleHTTPRequestHandler):
        def log_request(self, code: Any = "-", size: Any = "-") -> None:
            methods.append(self.command)

    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/", methods
    server.shutdown()
    server.server_close()
