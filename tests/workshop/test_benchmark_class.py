"""The classroom benchmark counts answers, refusals and failed attempts."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import Any

import httpx
import pytest

from workshop.benchmarks import classroom
from workshop.benchmarks.classroom import (
    HOSTILE_ADDRESS,
    REQUESTS_ALONE,
    SCHOOL_ADDRESS,
    THIRD_ADDRESS,
    Visitors,
    sentences,
)

FULL = {"what": "error", "word": "line_full", "values": {"seconds": 0}}
ANSWER = {"what": "answer"}


def make_visitors(replies: Sequence[Any], address: str = SCHOOL_ADDRESS) -> tuple[Visitors, list[httpx.Request]]:
    """Visitors of a page that returns these replies in order; a number is a status code."""
    requests: list[httpx.Request] = []

    def respond(request: httpx.Request) -> httpx.Response:
        reply = replies[min(len(requests), len(replies) - 1)]
        requests.append(request)
        if isinstance(reply, int):
            return httpx.Response(reply)
        return httpx.Response(
            200, text="".join(f"data: {json.dumps(each)}\n\n" for each in ({"what": "waiting"}, reply))
        )

    client = httpx.AsyncClient(base_url="http://page", transport=httpx.MockTransport(respond))
    return Visitors(client, {"beam_size": 4}, address), requests


@pytest.mark.parametrize(
    ("replies", "expected"),
    [
        ([ANSWER], {"answered": 1}),
        ([FULL, FULL, ANSWER], {"refused": 2, "answered": 1}),
        ([FULL, {"what": "error", "word": "our_fault"}], {"refused": 1, "again": 1}),
        ([503], {"again": 1}),
        ([{"what": "written"}], {"again": 1}),  # the stream ends without an answer
    ],
)
def test_outcomes_of_requests_are_counted(
    replies: list[Any], expected: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(classroom, "RETRY_SECONDS", (0.0,))
    visitors, requests = make_visitors(replies)
    asyncio.run(visitors.press("pupil", "Ich trinke ein Bier."))
    assert visitors.outcomes == expected
    assert len(visitors.seconds) == expected.get("answered", 0)
    bodies = [json.loads(request.content) for request in requests]
    assert {(body["session"], body["values"]["beam_size"]) for body in bodies} == {("pupil", 4)}
    assert [body["values"]["turn"] for body in bodies] == list(range(1, len(bodies) + 1))
    assert {request.headers["x-forwarded-for"] for request in requests} == {SCHOOL_ADDRESS}


def test_every_request_of_a_lesson_is_counted() -> None:
    requests: Counter[str] = Counter()

    async def respond(request: httpx.Request) -> httpx.Response:
        await asyncio.sleep(0.001)  # let other requests run
        requests[request.headers["x-forwarded-for"]] += 1
        return httpx.Response(200, text=f"data: {json.dumps(ANSWER)}\n\n")

    async def run_lesson() -> dict[str, Any]:
        client = httpx.AsyncClient(base_url="http://page", transport=httpx.MockTransport(respond))
        return await classroom._measure_lesson((client, {}), sentences(), 5, 3, 11)

    result = asyncio.run(run_lesson())
    assert (result["answered"], result["refused"], result["again"]) == (15, 0, 0)
    assert (result["waits"]["count"], result["hostile"]) == (15, {"requests": 11, "answered": 11, "refused": 0})
    assert requests[SCHOOL_ADDRESS] == 15
    assert requests[HOSTILE_ADDRESS] == 11
    assert requests[THIRD_ADDRESS] >= result["third"]["count"] > 0


def test_sentences_are_unique() -> None:
    total = (
        sum(pupils * each for pupils, each in classroom.LESSONS) + 2 * classroom.HOSTILE_REQUESTS + 2 * REQUESTS_ALONE
    )
    assert len(set(islice(sentences(), 5 * total))) == 5 * total
