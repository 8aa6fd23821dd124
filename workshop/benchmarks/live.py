"""Live typing: latency per keystroke, and the slowdown of full requests.

All but one of the typists speak to the server as the page does, by the rules of `viz/widgets/translate/live.js`; one
types in a real browser, where an answer counts once it is painted. Another visitor requests full answers, first
alone and then among all that typing. Whatever the machine's load, all of it ends: an answer that is not there after
`FULL_PATIENCE` is counted as that late, and one to a typist after `PATIENCE` as lost.
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
from workshop.benchmarks.arithmetic import spread, summary
from workshop.benchmarks.page import HUNDRED, MODULES, PAINTED, PORT, STREAM, THIRTY, Log, _memory, _open, _serve

KEYS_PER_SECOND = 4  # keystrokes a second
PAUSE, FIRST_STEP, LONGEST, LATE, PATIENCE = 0.12, 0.5, 4.0, 1.0, 8.0  # seconds, as live.js has them
SKIPPED = 3
FULL_TIMEOUT = 20.0  # seconds
WORDS = THIRTY[:-1].replace(",", "").split()
WATCH = f"""async () => {{
  const {{ on, state }} = (await import({MODULES})).modules['core/state.js'];
  const painted = {PAINTED};
  window.typed = [];
  const waits = [];
  document.getElementById('sentence').addEventListener('input', (event) => {{
    waits.push({{ at: performance.now(), text: event.target.value }});
  }});
  on(['translation'], async () => {{
    const last = waits.findLastIndex(({{ text }}) => text === state.translation.request.text);
    const now = await painted();
    for (const {{ at }} of waits.splice(0, last + 1)) typed.push((now - at) / 1000);
  }});
}}"""


def measure(typists: int, seconds: float, say: Log) -> dict[str, Any]:
    """Measure full answers alone, then during typing; also what the typists saw, and the load of the server."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright, _serve([sys.executable, "app.py"], PORT) as server:
        wire = _Client()
        _time_full_requests(wire, 4.0)  # loads the model
        alone = _time_full_requests(wire, seconds / 2)  # before and after, as the machine has slow moments
        say(f"full answers alone: {sorted(alone)[len(alone) // 2]:.3f} s")
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox", "--disable-gpu"])
        page = _open(browser, PORT)
        page.evaluate(WATCH)
        over = threading.Event()
        crowd = [_Typist(wire, number, over) for number in range(typists - 1)]
        for typist in crowd:
            typist.start()
        among: list[float] = []
        asks = threading.Thread(target=lambda: among.extend(_time_full_requests(wire, seconds)))
        began, spent = time.monotonic(), _cpu_seconds(server.pid)
        asks.start()
        _type(page, seconds)
        spent, passed = _cpu_seconds(server.pid) - spent, time.monotonic() - began
        memory = _memory(server.pid)
        asks.join(timeout=2 * FULL_TIMEOUT)
        page.wait_for_timeout(1000 * LONGEST)
        painted = page.evaluate("typed")
        over.set()
        for typist in crowd:
            typist.join()
        browser.close()
        alone += _time_full_requests(wire, seconds / 2)
    waits = [wait for typist in crowd for wait in typist.waits]
    result = {
        "typists": typists,
        "keys": KEYS_PER_SECOND,
        "seconds": seconds,
        "answers": sum(typist.answers for typist in crowd),
        "busy": sum(typist.busy for typist in crowd),
        "lost": sum(typist.lost for typist in crowd),
        "answered": spread(waits),
        "painted": spread(painted),
        "alone": summary(alone),
        "among": summary(among),
        "ratio": summary(among)["median"] / summary(alone)["median"],
        "load": spent / passed,
        "memory": memory,
    }
    say(str(result))
    return result


# ---------------------------------------------------------------- the wire


class _Client:
    """Client that speaks the page's protocol."""

    def __init__(self) -> None:
        self.base = f"http://127.0.0.1:{PORT}"
        self.client = httpx.Client(timeout=60, limits=httpx.Limits(max_connections=None))  # threads share it
        config = self.client.get(f"{self.base}/config").json()
        widget = next(each for each in config["components"] if each["props"].get("elem_id") == "widget-translate")
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
    """Writes sentences at a steady pace, each key of which may ask for the sentence as it stands."""

    def __init__(self, wire: _Client, number: int, over: threading.Event) -> None:
        super().__init__(daemon=True)
        self.wire, self.over, self.session = wire, over, uuid.uuid4().hex
        self.chance = random.Random(number)  # noqa: S311 (the same letters in each run)
        self.waits: list[float] = []  # seconds from each keystroke to the answer that it is in
        self.answers = self.busy = self.lost = 0
        self.keys: list[tuple[float, str]] = []
        self.text, self.turn, self.pause, self.skipped = "", 0, PAUSE, 0
        self.due: float | None = None  # when the sentence is looked at
        self.asked: tuple[int, str, float] | None = None
        self.missed = False
        self.lock = threading.RLock()

    def run(self) -> None:
        """Type until the end of the measurement; pending answers are abandoned."""
        time.sleep(self.chance.random())
        letters = self._letters()
        key = time.monotonic()
        while not self.over.is_set():
            now = time.monotonic()
            with self.lock:
                if now >= key:
                    key += 1 / KEYS_PER_SECOND
                    self.text = next(letters)
                    self.keys.append((now, self.text))
                    if self.due is None or self.pause <= PAUSE:
                        self.due = now + self.pause
                if self.asked and now - self.asked[2] > PATIENCE:
                    self.lost += 1
                    self.asked = None
                    self.due = now
                if self.due is not None and now >= self.due:
                    self._look(now)
            time.sleep(min(0.03, max(0.002, min(key, self.due or key) - time.monotonic())))

    def _letters(self) -> Iterator[str]:
        """A sentence letter by letter, then another one."""
        while True:
            text = ""
            for letter in " ".join(self.chance.sample(WORDS, 12)) + ".":
                text += letter
                yield text

    def _look(self, now: float) -> None:
        self.due = None
        self.missed = self.asked is not None and (self.pause > PAUSE or self.skipped >= SKIPPED)
        if self.missed or (self.asked and self.asked[1] == self.text):
            return
        self.skipped = self.skipped + 1 if self.asked else 0
        self.turn += 1
        self.asked = (self.turn, self.text, now)
        threading.Thread(target=self._ask, args=self.asked[:2], daemon=True).start()

    def _ask(self, turn: int, text: str) -> None:
        with contextlib.suppress(httpx.HTTPError):
            for message in self.wire.send_request(self.session, PATIENCE, text=text, turn=turn, live=True):
                self._on_message(message)

    def _on_message(self, message: dict[str, Any]) -> None:
        now = time.monotonic()
        with self.lock:
            if self.asked is None or message.get("turn") != self.asked[0]:
                return
            _, text, at = self.asked
            self.asked, self.skipped = None, 0
            if message["what"] == "busy":
                self.busy += 1
                self.pause = min(LONGEST, max(FIRST_STEP, 2 * self.pause))
                self.due = now + self.pause
                return
            if message["what"] == "answer":
                self.answers += 1
                place = max(place for place, (_, each) in enumerate(self.keys) if each == text)
                self.waits += [now - key for key, _ in self.keys[: place + 1]]
                del self.keys[: place + 1]
                slow = now - at > LATE
                self.pause = max(self.pause, FIRST_STEP) if slow else max(PAUSE, self.pause / 2)
            if self.missed and self.due is None:
                self.due = now + self.pause
            self.missed = False


def _type(page: Any, seconds: float) -> None:
    """The same in the browser, whose own rules apply."""
    page.click("#sentence")
    page.keyboard.press("Control+A")
    end, turn = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        page.keyboard.type((" ".join(WORDS) + ". ")[turn % 100], delay=0)
        turn += 1
        page.wait_for_timeout(1000 / KEYS_PER_SECOND)


# ---------------------------------------------------------------- full translations


def _time_full_requests(wire: _Client, seconds: float) -> list[float]:
    """Seconds of full answers, one after the other with a rest between, as the page asks for them."""
    session, times, turn = uuid.uuid4().hex, [], 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        turn += 1
        text = f"{HUNDRED[: HUNDRED.index('.') + 1][:-1]} um {turn} Uhr {uuid.uuid4().hex[:4]}."
        start, took = time.monotonic(), FULL_TIMEOUT
        with contextlib.suppress(httpx.HTTPError):
            for message in wire.send_request(session, FULL_TIMEOUT, text=text, turn=turn):
                if message["what"] == "answer" and message.get("turn") == turn:
                    took = time.monotonic() - start
        times.append(took)
        time.sleep(0.5)
    return times


def _cpu_seconds(process: int) -> float:
    """CPU seconds of a process; the increase per second is the number of busy cores."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100
