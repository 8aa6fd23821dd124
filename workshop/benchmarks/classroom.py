"""A class behind one address presses Translate together: outcomes and latencies.

Each simulated pupil behaves like the page: it requests the next sentence when the last one is finished, and retries
when the page would, after the same pause (`viz/widgets/core/retry.js`). In half of the lessons another address has
just sent hundreds of requests. During each class, one more visitor from a third address requests one sentence after
another. The run ends under any load: a request without an answer after `PATIENCE` counts as one to be retried.
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

from workshop.benchmarks.arithmetic import spread, summary
from workshop.benchmarks.page import PORT, STREAM, Log, _serve

LESSONS = ((30, 1), (60, 3))  # pupils, and sentences of each
HOSTILE_REQUESTS = 500
ALONE = 15  # answers to one visitor alone, before and after the lessons
SCHOOL, HOSTILE, THIRD = "203.0.113.5", "192.0.2.9", "198.51.100.7"
PATIENCE = 600.0  # seconds for one sentence, all its pauses counted
PAUSES = (2.0, 4.0, 8.0, 15.0, 30.0)  # seconds, as retry.js has them
BUSY = {"line_full", "cluster_busy"}
ARRIVAL = 1.0  # seconds in which the hostile requests arrive before the class asks
WORDS = (
    ("Anna", "Ben", "Clara", "David", "Eva", "Felix", "Greta", "Hans", "Ida", "Jan"),
    ("heute", "morgen", "gern", "oft", "nie", "wieder", "dort", "bald", "manchmal", "jetzt"),
    ("Hund", "Mann", "Vogel", "Baum", "Zug", "Wagen", "Fisch", "Stein", "Ball", "Film"),
    ("Katze", "Frau", "Blume", "Tasse", "Stadt", "Uhr", "Lampe", "Schule", "Kirche", "Insel"),
)


class Visitors:
    """Pages of many visitors at one address, in one event loop: outcomes and waiting times."""

    def __init__(self, client: httpx.AsyncClient, defaults: dict[str, Any], address: str) -> None:
        self.client, self.defaults, self.address = client, defaults, address
        self.told: Counter[str] = (
            Counter()
        )  # answered; refused: retried automatically; again: the visitor has to press again
        self.seconds: list[float] = []  # of answers, from the press, pauses counted

    async def press(self, session: str, text: str) -> None:
        """Ask for a sentence until the answer is there, or an error that the page shows and leaves at that."""
        began = time.perf_counter()
        word = "again"
        with contextlib.suppress(TimeoutError, httpx.HTTPError):
            async with asyncio.timeout(PATIENCE):
                word = await self._until_told(session, text)
        self.told[word] += 1
        if word == "answered":
            self.seconds.append(time.perf_counter() - began)

    async def _until_told(self, session: str, text: str) -> str:
        for turn in count(1):
            last = await self.ask(session, text, turn)
            if last.get("what") == "answer":
                return "answered"
            if last.get("word") not in BUSY:
                break
            self.told["refused"] += 1
            pause = max(PAUSES[min(turn, len(PAUSES)) - 1], last.get("values", {}).get("seconds", 0))
            await asyncio.sleep(pause * (1 + random.random() / 2))  # noqa: S311 (pages do not ask in step)
        return "again"

    async def ask(self, session: str, text: str, turn: int = 1) -> dict[str, Any]:
        """The last message of one request."""
        body = {"session": session, "values": self.defaults | {"turn": turn, "text": text}}
        headers = {"x-forwarded-for": self.address}
        last: dict[str, Any] = {}
        request = self.client.stream("POST", STREAM, json=body, headers=headers)
        async with request as response:
            response.raise_for_status()
            async for line in response.aiter_lines():
                if line.startswith("data:"):
                    last = json.loads(line[5:])
        return last

    async def press_in_turn(self, texts: Iterator[str]) -> None:
        """One visitor that requests each sentence after the last one is finished."""
        session = uuid.uuid4().hex
        for text in texts:
            await self.press(session, text)

    async def press_once(self, text: str) -> None:
        """A visitor that sends one request and ignores failures."""
        with contextlib.suppress(httpx.HTTPError):
            answer = await self.ask(uuid.uuid4().hex, text)
            self.told["answered" if answer.get("what") == "answer" else "refused"] += 1


def measure(lessons: Sequence[tuple[int, int]], hostile: int, say: Log) -> dict[str, Any]:
    """One visitor alone, then each lesson without and with hostile requests, then one visitor alone again."""
    with _serve([sys.executable, "app.py"], PORT):
        return asyncio.run(attended(f"http://127.0.0.1:{PORT}", lessons, hostile, say))


async def attended(base: str, lessons: Sequence[tuple[int, int]], hostile: int, say: Log) -> dict[str, Any]:
    """The same, of a page that is served already."""
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=base, timeout=PATIENCE, limits=limits) as client:
        config = (await client.get("/config")).json()
        widget = next(each for each in config["components"] if each["props"].get("elem_id") == "widget-translate")
        asked = client, json.loads(widget["props"]["props"]["config"])["defaults"]
        texts = sentences()
        await Visitors(*asked, THIRD).press_in_turn(islice(texts, 3))  # loads the model
        one = Visitors(*asked, THIRD)
        await one.press_in_turn(islice(texts, ALONE))
        results = []
        for pupils, each in lessons:
            for requests in (0, hostile):
                results.append(await _lesson(asked, texts, pupils, each, requests))
                say(str(results[-1]))
        await one.press_in_turn(islice(texts, ALONE))  # before and after, as the machine has slow moments
    return {"alone": summary(one.seconds), "lessons": results}


async def _lesson(asked: Any, texts: Iterator[str], pupils: int, each: int, hostile: int) -> dict[str, Any]:
    school, enemy, third = (Visitors(*asked, address) for address in (SCHOOL, HOSTILE, THIRD))
    attack = [asyncio.create_task(enemy.press_once(text)) for text in islice(texts, hostile)]
    await asyncio.sleep(ARRIVAL if hostile else 0)
    beside = asyncio.create_task(third.press_in_turn(texts))
    own = [iter(list(islice(texts, each))) for _ in range(pupils)]
    began = time.perf_counter()
    await asyncio.gather(*map(school.press_in_turn, own))
    took = time.perf_counter() - began
    for task in (*attack, beside):
        task.cancel()
    await asyncio.gather(*attack, beside, return_exceptions=True)
    return {
        "pupils": pupils,
        "sentences": each,
        **{word: school.told[word] for word in ("answered", "refused", "again")},
        "seconds": took,
        "waits": spread(school.seconds),
        "third": spread(third.seconds),
        "third_again": third.told["again"],
        "hostile": {"requests": hostile} | {word: enemy.told[word] for word in ("answered", "refused")},
    }


def sentences() -> Iterator[str]:
    """German sentences of ten words without an end; ten thousand of them differ, so that no answer is in the cache."""
    for number in count():
        who, when, what, which = (words[number // 10**place % 10] for place, words in enumerate(WORDS))
        yield f"{who} sieht {when} einen alten {what} und eine kleine {which}."
