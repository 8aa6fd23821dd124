"""A class behind one address during hostile requests: every pupil gets every answer without a retry."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from threading import Event

import httpx
import pytest

from headlight.model.records import Progress, TranslationRequest
from headlight.viz.service.backend import last_progress
from headlight.viz.service.model_cards import ModelCard
from headlight.viz.service.request_queue import Visitor
from headlight.viz.settings import Settings
from tests.viz.api.site import STREAM, Site, opened
from tests.viz.serving import GRADIO_WARNS

pytestmark = [pytest.mark.filterwarnings(f"ignore:{message}") for message in GRADIO_WARNS]
SCHOOL, HOSTILE, OTHER = "203.0.113.5", "192.0.2.9", "198.51.100.7"
WORDS = ["ich", "mochte", "ein", "bier", "cola", "und", "zwei", "drei", "frau", "mann", "hund", "katze", "haus"]
PUPILS, SENTENCES, WAITING, HOSTILE_REQUESTS = 60, 3, 120, 500
MANY = httpx.Limits(max_connections=None)


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with opened(Settings(model="toy", max_wait_s=3600)) as running:  # however slow this machine is
        yield running


@pytest.fixture
def computed(site: Site, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sentences that were computed, in their order: each takes a moment, and has the answer of the first."""
    service = site.page.service
    answer = service.translate(service.check({"text": "ein bier", "model": "toy"}))
    texts: list[str] = []

    def stream(card: ModelCard, request: TranslationRequest, stop: Event) -> Generator[Progress]:
        texts.append(request.text)
        time.sleep(0.02)
        yield last_progress(answer)

    monkeypatch.setattr(service.backend, "stream", stream)
    return texts


def sentence(number: int) -> str:
    return " ".join(WORDS[number // len(WORDS) ** place % len(WORDS)] for place in range(3))


class Crowd:
    """Pages of many visitors in one loop."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self.client = client

    async def ask(self, text: str, session: str, address: str) -> str:
        """The type of the last message of a request."""
        values = {"turn": 1, "text": text, "model": "toy", "beam_size": 1}
        body = {"session": session, "values": values}
        reply = await self.client.post(STREAM, json=body, headers={"x-forwarded-for": address})
        messages = [json.loads(line[6:]) for line in reply.text.splitlines() if line.startswith("data: ")]
        return str(messages[-1].get("word", messages[-1]["what"]))


@pytest.mark.slow
@pytest.mark.usefixtures("computed")
def test_class_is_served_during_hostile_requests(site: Site) -> None:
    async def lesson() -> tuple[Counter[str], str, int]:
        async with httpx.AsyncClient(base_url=site.page.local_url, timeout=600, limits=MANY) as client:
            crowd = Crowd(client)
            hostile = [
                asyncio.create_task(crowd.ask(sentence(1000 + number), f"h{number}", HOSTILE))
                for number in range(HOSTILE_REQUESTS)
            ]

            async def pupil(number: int) -> list[str]:
                own = range(SENTENCES * number, SENTENCES * (number + 1))
                return [await crowd.ask(sentence(each), f"p{number}", SCHOOL) for each in own]

            outcomes = await asyncio.gather(*(pupil(number) for number in range(PUPILS)))
            other = await crowd.ask(sentence(900), "other", OTHER)
            for each in hostile:
                each.cancel()  # those that still wait
            answered = (await asyncio.gather(*hostile, return_exceptions=True)).count("answer")
            return Counter(word for words in outcomes for word in words), other, answered

    answers, other, answered = asyncio.run(lesson())
    assert (answers, other) == ({"answer": PUPILS * SENTENCES}, "answer")
    assert answered < HOSTILE_REQUESTS  # in the order of arrival, the class would have waited for all of them


def test_identical_requests_of_a_class_are_computed_once(site: Site, computed: list[str]) -> None:
    async def lesson() -> Counter[str]:
        async with httpx.AsyncClient(base_url=site.page.local_url, timeout=600, limits=MANY) as client:
            crowd = Crowd(client)
            tasks = [crowd.ask(sentence(950), f"p{number}", SCHOOL) for number in range(30)]
            return Counter(await asyncio.gather(*tasks))

    assert asyncio.run(lesson()) == {"answer": 30}
    assert computed == [sentence(950)]


def test_queued_visitors_hold_no_threads(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    line = site.page._queue.request_queue
    monkeypatch.setattr(line, "slots", 1)
    running = line.enqueue(Visitor(OTHER))

    async def lesson() -> tuple[int, int]:
        async with httpx.AsyncClient(base_url=site.page.local_url, timeout=600, limits=MANY) as client:
            crowd = Crowd(client)
            tasks = [asyncio.create_task(crowd.ask(sentence(1600 + n), f"w{n}", SCHOOL)) for n in range(WAITING)]
            while line.counts()["waiting"] < WAITING and not any(each.done() for each in tasks):
                await asyncio.sleep(0.05)
            waiting, threads = line.counts()["waiting"], site.page.calls.threads.borrowed_tokens
            end = time.monotonic() + 60
            while threads >= 20 and time.monotonic() < end:  # the last to come have one for the moment of their check
                await asyncio.sleep(0.05)
                threads = site.page.calls.threads.borrowed_tokens
            for each in tasks:
                each.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            return threads, waiting

    try:
        threads, waiting = asyncio.run(lesson())
    finally:
        running.release()
    assert (threads < 20, waiting) == (True, WAITING)
    assert eventually(lambda: line.counts()["waiting"] == 0)


def eventually(holds: Callable[[], bool], seconds: float = 60) -> bool:
    """Whether it holds at last: a request that its client has given up leaves the queue a moment later."""
    deadline = time.monotonic() + seconds
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.05)
    return holds()
