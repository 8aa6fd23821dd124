"""Outcomes and latencies when a class behind one address presses Translate at the same time.

Each simulated pupil behaves like the page: the pupil requests the next sentence after the previous answer, and retries
after the page's pauses (`viz/widgets/core/retry.js`). In half of the lessons, another address has just sent hundreds
of requests. During each lesson, a visitor from a third address requests one sentence after another. The run ends under
any load, because a request without an answer after `TIMEOUT_SECONDS` counts as failed.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import sys
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import count, islice
from typing import Any

import httpx

from workshop.benchmarks.arithmetic import summarise_percentiles, summarise_quartiles
from workshop.benchmarks.page import PORT, STREAM, Log, serve

LESSONS = ((30, 1), (60, 3))  # pupils, and sentences per pupil
HOSTILE_REQUESTS = 500
REQUESTS_ALONE = 15  # requests of the single visitor, before and after the lessons
SCHOOL_ADDRESS, HOSTILE_ADDRESS, THIRD_ADDRESS = "203.0.113.5", "192.0.2.9", "198.51.100.7"
TIMEOUT_SECONDS = 600.0  # for one sentence, including retries
RETRY_SECONDS = (2.0, 4.0, 8.0, 15.0, 30.0)  # before each retry, as in retry.js
RETRIED_ERRORS = {"line_full", "cluster_busy"}
CLASS_DELAY_SECONDS = 1.0  # from the hostile requests to the requests of the class
WORDS = (
    ("Anna", "Ben", "Clara", "David", "Eva", "Felix", "Greta", "Hans", "Ida", "Jan"),
    ("heute", "morgen", "gern", "oft", "nie", "wieder", "dort", "bald", "manchmal", "jetzt"),
    ("Hund", "Mann", "Vogel", "Baum", "Zug", "Wagen", "Fisch", "Stein", "Ball", "Film"),
    ("Katze", "Frau", "Blume", "Tasse", "Stadt", "Uhr", "Lampe", "Schule", "Kirche", "Insel"),
)


class Visitors:
    """Simulated visitors at one address in one event loop, with their outcomes and latencies."""

    def __init__(self, client: httpx.AsyncClient, defaults: dict[str, Any], address: str) -> None:
        self.client, self.defaults, self.address = client, defaults, address
        # "answered"; "refused": retried automatically; "again": the visitor has to press again
        self.outcomes: Counter[str] = Counter()
        self.seconds: list[float] = []  # latencies of answers, including pauses

    async def press(self, session: str, text: str) -> None:
        """Request a sentence until an answer arrives, or an error that the page does not retry."""
        start = time.perf_counter()
        outcome = "again"
        with contextlib.suppress(TimeoutError, httpx.HTTPError):
            async with asyncio.timeout(TIMEOUT_SECONDS):
                outcome = await self._retry_until_final(session, text)
        self.outcomes[outcome] += 1
        if outcome == "answered":
            self.seconds.append(time.perf_counter() - start)

    async def _retry_until_final(self, session: str, text: str) -> str:
        for turn in count(1):
            message = await self.ask(session, text, turn)
            if message.get("what") == "answer":
                return "answered"
            if message.get("word") not in RETRIED_ERRORS:
                break
            self.outcomes["refused"] += 1
            pause = max(RETRY_SECONDS[min(turn, len(RETRY_SECONDS)) - 1], message.get("values", {}).get("seconds", 0))
            await asyncio.sleep(pause * (1 + random.random() / 2))  # noqa: S311 (desynchronises the retries)
        return "again"

    async def ask(self, session: str, text: str, turn: int = 1) -> dict[str, Any]:
        """Send one request and return its last message."""
        body = {"session": session, "values": self.defaults | {"turn": turn, "text": text}}
        headers = {"x-forwarded-for": self.address}
        message: dict[str, Any] = {}
        request = self.client.stream("POST", STREAM, json=body, headers=headers)
        async with request as response:
            response.raise_for_status()
            async for line in response.aiter_lines():
                if line.startswith("data:"):
                    message = json.loads(line[5:])
        return message

    async def press_in_turn(self, texts: Iterator[str]) -> None:
        """Request sentences as one visitor, each after the previous answer."""
        session = uuid.uuid4().hex
        for text in texts:
            await self.press(session, text)

    async def press_once(self, text: str) -> None:
        """Send one request as a new visitor; ignore failures."""
        with contextlib.suppress(httpx.HTTPError):
            answer = await self.ask(uuid.uuid4().hex, text)
            self.outcomes["answered" if answer.get("what") == "answer" else "refused"] += 1


def measure(lessons: Sequence[tuple[int, int]], hostile: int, log: Log) -> dict[str, Any]:
    """Serve the page and measure each lesson, without and with hostile requests, and a single visitor."""
    with serve([sys.executable, "app.py"], PORT):
        return asyncio.run(measure_running_page(f"http://127.0.0.1:{PORT}", lessons, hostile, log))


async def measure_running_page(base: str, lessons: Sequence[tuple[int, int]], hostile: int, log: Log) -> dict[str, Any]:
    """Run the measurements of `measure` against a running page."""
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=base, timeout=TIMEOUT_SECONDS, limits=limits) as client:
        config = (await client.get("/config")).json()
        widget = next(
            component for component in config["components"] if component["props"].get("elem_id") == "widget-translate"
        )
        visitor_values = client, json.loads(widget["props"]["props"]["config"])["defaults"]
        texts = sentences()
        await Visitors(*visitor_values, THIRD_ADDRESS).press_in_turn(islice(texts, 3))  # loads the model
        single_visitor = Visitors(*visitor_values, THIRD_ADDRESS)
        await single_visitor.press_in_turn(islice(texts, REQUESTS_ALONE))
        results = []
        for pupils, sentence_count in lessons:
            for requests in (0, hostile):
                results.append(await _measure_lesson(visitor_values, texts, pupils, sentence_count, requests))
                log(str(results[-1]))
        # Before and after the lessons, because the speed of the machine varies.
        await single_visitor.press_in_turn(islice(texts, REQUESTS_ALONE))
    return {"alone": summarise_quartiles(single_visitor.seconds), "lessons": results}


async def _measure_lesson(
    addresses: Any, texts: Iterator[str], pupils: int, requests_per_pupil: int, hostile: int
) -> dict[str, Any]:
    school, attackers, third = (
        Visitors(*addresses, address) for address in (SCHOOL_ADDRESS, HOSTILE_ADDRESS, THIRD_ADDRESS)
    )
    attack_tasks = [asyncio.create_task(attackers.press_once(text)) for text in islice(texts, hostile)]
    await asyncio.sleep(CLASS_DELAY_SECONDS if hostile else 0)
    third_task = asyncio.create_task(third.press_in_turn(texts))
    texts_by_pupil = [iter(list(islice(texts, requests_per_pupil))) for _ in range(pupils)]
    start = time.perf_counter()
    await asyncio.gather(*map(school.press_in_turn, texts_by_pupil))
    elapsed = time.perf_counter() - start
    for task in (*attack_tasks, third_task):
        task.cancel()
    await asyncio.gather(*attack_tasks, third_task, return_exceptions=True)
    return {
        "pupils": pupils,
        "sentences": requests_per_pupil,
        **{outcome: school.outcomes[outcome] for outcome in ("answered", "refused", "again")},
        "seconds": elapsed,
        "waits": summarise_percentiles(school.seconds),
        "third": summarise_percentiles(third.seconds),
        "third_again": third.outcomes["again"],
        "hostile": {"requests": hostile}
        | {outcome: attackers.outcomes[outcome] for outcome in ("answered", "refused")},
    }


def sentences() -> Iterator[str]:
    """Yield German sentences of ten words without end. The first 10,000 are distinct, so no answer is cached."""
    for number in count():
        name, adverb, masculine, feminine = (column[number // 10**digit % 10] for digit, column in enumerate(WORDS))
        yield f"{name} sieht {adverb} einen alten {masculine} und eine kleine {feminine}."
