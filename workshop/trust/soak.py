"""Soak: visitors for a long time, with memory, threads and descriptors sampled.

The second quarter of the time is compared with the last one. The first quarter warms the caches up; they are small,
so that they are full before the comparison begins.
"""

from __future__ import annotations

import json
import random
import statistics
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx

from workshop.benchmarks.classroom import sentences
from workshop.trust.checks import Check, Log, Options
from workshop.trust.page_process import STREAM, PageProcess, Usage, run_page

VISITORS = 4
SAMPLES = 120  # at equal intervals
MAX_MORE_MEGABYTES, MAX_MORE_SHARE = 30.0, 0.05  # growth of memory: the larger one counts
MAX_MORE_THREADS, MAX_MORE_DESCRIPTORS = 3, 5
SETTINGS = {"HEADLIGHT_CACHE_MB": "16"}


class SoakVisitor(threading.Thread):
    """Requests translations, analyses, exports and pages, and sometimes leaves in the middle of an answer."""

    def __init__(self, page: PageProcess, number: int, seed: int, texts: Iterator[str], end: float) -> None:
        super().__init__(daemon=True)
        self.page, self.end, self.texts = page, end, texts
        self.session, self.address = f"soak{number}", f"203.0.113.{number + 1}"
        self.random = random.Random(seed + number)
        self.outcomes: Counter[str] = Counter()

    def run(self) -> None:
        """Act until the end."""
        actions = [self.translate] * 5 + [
            self.translate_without_head,
            self.export,
            self.predict_losses,
            self.disconnect,
            self.load,
            self.send_malformed,
        ]
        while time.monotonic() < self.end:
            action = self.random.choice(actions)
            try:
                outcome = action(next(self.texts))
            except httpx.HTTPError as error:
                outcome = f"failed: {type(error).__name__}"
            self.outcomes[outcome] += 1

    def translate(self, text: str) -> str:
        """Translate a sentence."""
        message = self.page.translate(text, session=self.session, address=self.address)
        return "answered" if message.get("what") == "answer" else f"failed: {message.get('word')}"

    def translate_without_head(self, text: str) -> str:
        """Translate with a head removed."""
        removed = [{"action": "remove", "kind": "cross", "layer": 0, "head": self.random.randrange(4)}]
        return self._call("changed_translation", {"request": self._make_values(text), "interventions": removed})

    def export(self, text: str) -> str:
        """Export the maps."""
        form = self.random.choice(["csv", "json", "npz", "html"])
        return self._call(
            "export", {"form": form, "theme": "light", "language": "en", "request": self._make_values(text)}
        )

    def predict_losses(self, text: str) -> str:
        """Compute the effects of all heads on a word."""
        return self._call("predict_losses", {"request": self._make_values(text)})

    def disconnect(self, text: str) -> str:
        """Disconnect after the first message."""
        body = {"session": self.session, "values": {"turn": 1, "text": text}}
        with self.page.http.stream("POST", STREAM, json=body, headers={"x-forwarded-for": self.address}) as reply:
            next(reply.iter_lines(), None)
        return "left"

    def load(self, text: str) -> str:
        """Load the page."""
        return "answered" if self.page.http.get("").status_code == 200 else "failed: page"

    def send_malformed(self, text: str) -> str:
        """Send a request that must be refused."""
        reply = self.page.http.post(
            "gradio_api/call/translate",
            content=b'{"data": [[' + text.encode(),
            headers={"content-type": "application/json"},
        )
        return "refused" if reply.status_code == 400 else f"failed: {reply.status_code}"

    def _make_values(self, text: str) -> dict[str, Any]:
        return {"text": text, "model": "de-en", "beam_size": 1}

    def _call(self, name: str, values: dict[str, Any]) -> str:
        reply = self.page.call(name, values, self.address, self.session)
        values = (
            json.loads(reply.content) if reply.status_code == 200 else {"what": "error", "word": str(reply.status_code)}
        )
        return f"failed: {values.get('word')}" if values.get("what") == "error" else "answered"


def check(options: Options, log: Log) -> Iterator[Check]:
    """Let visitors act, and compare the resources."""
    seconds = 60 * options.soak_minutes
    with tempfile.TemporaryDirectory() as folder, run_page(Path(folder), SETTINGS) as page:
        end, lock = time.monotonic() + seconds, threading.Lock()
        texts = (text for text in _synchronised(sentences(), lock))
        visitors = [SoakVisitor(page, number, options.seed, texts, end) for number in range(VISITORS)]
        for visitor in visitors:
            visitor.start()
        samples = []
        for _ in range(SAMPLES):
            time.sleep(seconds / SAMPLES)
            samples.append(page.usage())
        for visitor in visitors:
            visitor.join(120)
        tracebacks = page.text().count("Traceback")
    yield from compare(options.soak_minutes, visitors, samples, tracebacks, log)


class _synchronised(Iterator[str]):  # noqa: N801 - used like a function
    """An iterator that several threads may use."""

    def __init__(self, texts: Iterator[str], lock: threading.Lock) -> None:
        self.texts, self.lock = texts, lock

    def __next__(self) -> str:
        with self.lock:
            return next(self.texts)


def compare(
    minutes: float, visitors: Sequence[SoakVisitor], samples: Sequence[Usage], tracebacks: int, log: Log
) -> Iterator[Check]:
    """Compare the medians of the second and the last quarter of the samples."""
    outcomes = sum((visitor.outcomes for visitor in visitors), Counter[str]())
    log(f"soak: {dict(outcomes)}")
    failed = {name: count for name, count in outcomes.items() if name.startswith("failed")}
    name = f"soak of {minutes:g} minutes"
    yield Check(
        "soak",
        f"{name}: {sum(outcomes.values()):,} requests of {len(visitors)} visitors",
        "0 failures, 0 tracebacks",
        f"{sum(failed.values())} failures, {tracebacks} tracebacks",
        not failed and not tracebacks,
    )
    quarter = len(samples) // 4
    early, late = samples[quarter : 2 * quarter], samples[-quarter:]
    before, after = ([statistics.median(values) for values in zip(*part, strict=True)] for part in (early, late))
    limits = (max(MAX_MORE_MEGABYTES, MAX_MORE_SHARE * before[0]), MAX_MORE_THREADS, MAX_MORE_DESCRIPTORS)
    for resource, early_value, late_value, limit in zip(
        ("memory, MB", "threads", "descriptors"), before, after, limits, strict=True
    ):
        yield Check(
            "soak",
            f"{resource}, second and last quarter",
            f"at most {limit:.0f} more",
            f"{early_value:.0f} → {late_value:.0f}",
            late_value - early_value <= limit,
        )
