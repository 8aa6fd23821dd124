"""Live typing: latency per keystroke, and the slowdown of full requests.

All typists but one call the server by the rules of `viz/widgets/translate/live.js`. The last types in a real browser,
where an answer counts when it is painted. Another visitor requests full answers, first alone and then while the others
type. The run ends under any load: a full answer that is missing after `FULL_TIMEOUT` counts with that latency, and a
live answer that is missing after `PATIENCE` counts as lost.
"""

from __future__ import annotations

import contextlib
import json
import random
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

from tests.browser.browsers import find_chromium
from workshop.benchmarks.arithmetic import summarise_percentiles, summarise_quartiles
from workshop.benchmarks.page import (
    BUNDLE_URL,
    PORT,
    SENTENCE_30_TOKENS,
    SENTENCE_100_TOKENS,
    STREAM,
    WAIT_FOR_PAINT,
    Log,
    _open,
    _read_memory,
    serve,
)

KEYS_PER_SECOND = 4
PAUSE, FIRST_STEP, MAX_PAUSE, LATE, PATIENCE = 0.12, 0.5, 4.0, 1.0, 8.0  # seconds, the same as in live.js
MAX_SKIPPED = 3
FULL_TIMEOUT = 20.0  # seconds
WORDS = SENTENCE_30_TOKENS[:-1].replace(",", "").split()
WATCH = f"""async () => {{
  const {{ on, state }} = (await import({BUNDLE_URL})).modules['core/state.js'];
  const waitForPaint = {WAIT_FOR_PAINT};
  window.typed = [];
  const waits = [];
  document.getElementById('sentence').addEventListener('input', (event) => {{
    waits.push({{ at: performance.now(), text: event.target.value }});
  }});
  on(['translation'], async () => {{
    const last = waits.findLastIndex(({{ text }}) => text === state.translation.request.text);
    const now = await waitForPaint();
    for (const {{ at }} of waits.splice(0, last + 1)) typed.push((now - at) / 1000);
  }});
}}"""


def measure(typists: int, seconds: float, log: Log) -> dict[str, Any]:
    """Measure full answers alone and during typing, the latencies of the typists, and the load of the server."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright, serve([sys.executable, "app.py"], PORT) as server:
        client = _Client()
        _time_full_requests(client, 4.0)  # loads the model
        alone = _time_full_requests(client, seconds / 2)  # before and after, because the speed of the machine varies
        log(f"full answers alone: {sorted(alone)[len(alone) // 2]:.3f} s")
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox", "--disable-gpu"])
        page = _open(browser, PORT)
        page.evaluate(WATCH)
        stop_event = threading.Event()
        typing_visitors = [_Typist(client, number, stop_event) for number in range(typists - 1)]
        for typist in typing_visitors:
            typist.start()
        during: list[float] = []
        request_thread = threading.Thread(target=lambda: during.extend(_time_full_requests(client, seconds)))
        start, used_seconds = time.monotonic(), _cpu_seconds(server.pid)
        request_thread.start()
        _type(page, seconds)
        used_seconds, elapsed = _cpu_seconds(server.pid) - used_seconds, time.monotonic() - start
        memory = _read_memory(server.pid)
        request_thread.join(timeout=2 * FULL_TIMEOUT)
        page.wait_for_timeout(1000 * MAX_PAUSE)
        painted = page.evaluate("typed")
        stop_event.set()
        for typist in typing_visitors:
            typist.join()
        browser.close()
        alone += _time_full_requests(client, seconds / 2)
    waits = [wait for typist in typing_visitors for wait in typist.waits]
    result = {
        "typists": typists,
        "keys": KEYS_PER_SECOND,
        "seconds": seconds,
        "answers": sum(typist.answers for typist in typing_visitors),
        "busy": sum(typist.busy for typist in typing_visitors),
        "lost": sum(typist.lost for typist in typing_visitors),
        "answered": summarise_percentiles(waits),
        "painted": summarise_percentiles(painted),
        "alone": summarise_quartiles(alone),
        "among": summarise_quartiles(during),
        "ratio": summarise_quartiles(during)["median"] / summarise_quartiles(alone)["median"],
        "load": used_seconds / elapsed,
        "memory": memory,
    }
    log(str(result))
    return result


# ---------------------------------------------------------------- client


class _Client:
    """Client that speaks the page's protocol."""

    def __init__(self) -> None:
        self.base = f"http://127.0.0.1:{PORT}"
        self.client = httpx.Client(timeout=60, limits=httpx.Limits(max_connections=None))  # shared by all threads
        config = self.client.get(f"{self.base}/config").json()
        widget = next(
            component for component in config["components"] if component["props"].get("elem_id") == "widget-translate"
        )
        self.request = json.loads(widget["props"]["props"]["config"])["defaults"]

    def send_request(self, session: str, patience: float, **values: Any) -> Iterator[dict[str, Any]]:
        """Send a request and yield its messages until the stream ends or times out."""
        body = {"session": session, "values": {**self.request, **values}}
        with self.client.stream("POST", f"{self.base}{STREAM}", json=body, timeout=patience) as response:
            response.raise_for_status()
            for line in response.iter_lines():
                if line.startswith("data:"):
                    yield json.loads(line[5:])


# ---------------------------------------------------------------- typing visitors


class _Typist(threading.Thread):
    """Types sentences at a steady pace. A keystroke may request a translation of the unfinished sentence."""

    def __init__(self, client: _Client, number: int, stop_event: threading.Event) -> None:
        super().__init__(daemon=True)
        self.client, self.stop_event, self.session = client, stop_event, uuid.uuid4().hex
        self.rng = random.Random(number)  # noqa: S311 (deterministic keystrokes)
        self.waits: list[float] = []  # seconds from each keystroke to the first answer that includes it
        self.answers = self.busy = self.lost = 0
        self.keys: list[tuple[float, str]] = []
        self.text, self.turn, self.pause, self.skipped = "", 0, PAUSE, 0
        self.due: float | None = None  # time of the next check for a changed sentence
        self.pending: tuple[int, str, float] | None = None
        self.has_missed_change = False
        self.lock = threading.RLock()

    def run(self) -> None:
        """Type until the end of the measurement, without waiting for pending answers."""
        time.sleep(self.rng.random())
        letters = self._type_letters()
        key = time.monotonic()
        while not self.stop_event.is_set():
            time_now = time.monotonic()
            with self.lock:
                if time_now >= key:
                    key += 1 / KEYS_PER_SECOND
                    self.text = next(letters)
                    self.keys.append((time_now, self.text))
                    if self.due is None or self.pause <= PAUSE:
                        self.due = time_now + self.pause
                if self.pending and time_now - self.pending[2] > PATIENCE:
                    self.lost += 1
                    self.pending = None
                    self.due = time_now
                if self.due is not None and time_now >= self.due:
                    self._send_if_changed(time_now)
            time.sleep(min(0.03, max(0.002, min(key, self.due or key) - time.monotonic())))

    def _type_letters(self) -> Iterator[str]:
        """Yield random sentences, each with one more character at a time."""
        while True:
            text = ""
            for character in " ".join(self.rng.sample(WORDS, 12)) + ".":
                text += character
                yield text

    def _send_if_changed(self, now: float) -> None:
        self.due = None
        self.has_missed_change = self.pending is not None and (self.pause > PAUSE or self.skipped >= MAX_SKIPPED)
        if self.has_missed_change or (self.pending and self.pending[1] == self.text):
            return
        self.skipped = self.skipped + 1 if self.pending else 0
        self.turn += 1
        self.pending = (self.turn, self.text, now)
        threading.Thread(target=self._send, args=self.pending[:2], daemon=True).start()

    def _send(self, turn: int, text: str) -> None:
        with contextlib.suppress(httpx.HTTPError):
            for message in self.client.send_request(self.session, PATIENCE, text=text, turn=turn, live=True):
                self._on_message(message)

    def _on_message(self, message: dict[str, Any]) -> None:
        received_at = time.monotonic()
        with self.lock:
            if self.pending is None or message.get("turn") != self.pending[0]:
                return
            _, text, sent_at = self.pending
            self.pending, self.skipped = None, 0
            if message["what"] == "busy":
                self.busy += 1
                self.pause = min(MAX_PAUSE, max(FIRST_STEP, 2 * self.pause))
                self.due = received_at + self.pause
                return
            if message["what"] == "answer":
                self.answers += 1
                index = max(index for index, (_, typed) in enumerate(self.keys) if typed == text)
                self.waits += [received_at - key for key, _ in self.keys[: index + 1]]
                del self.keys[: index + 1]
                is_slow = received_at - sent_at > LATE
                self.pause = max(self.pause, FIRST_STEP) if is_slow else max(PAUSE, self.pause / 2)
            if self.has_missed_change and self.due is None:
                self.due = received_at + self.pause
            self.has_missed_change = False


def _type(page: Any, seconds: float) -> None:
    """Type in the browser, where the page decides when to send requests."""
    page.click("#sentence")
    page.keyboard.press("Control+A")
    end, turn = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        page.keyboard.type((" ".join(WORDS) + ". ")[turn % 100], delay=0)
        turn += 1
        page.wait_for_timeout(1000 / KEYS_PER_SECOND)


# ---------------------------------------------------------------- full translations


def _time_full_requests(client: _Client, seconds: float) -> list[float]:
    """Request full answers one after another, with a pause between, and return their latencies."""
    session, times, turn = uuid.uuid4().hex, [], 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        turn += 1
        text = f"{SENTENCE_100_TOKENS[: SENTENCE_100_TOKENS.index('.') + 1][:-1]} um {turn} Uhr {uuid.uuid4().hex[:4]}."
        start, latency = time.monotonic(), FULL_TIMEOUT
        with contextlib.suppress(httpx.HTTPError):
            for message in client.send_request(session, FULL_TIMEOUT, text=text, turn=turn):
                if message["what"] == "answer" and message.get("turn") == turn:
                    latency = time.monotonic() - start
        times.append(latency)
        time.sleep(0.5)
    return times


def _cpu_seconds(process: int) -> float:
    """Return the CPU seconds of a process. Their increase per second is the number of busy cores."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100
