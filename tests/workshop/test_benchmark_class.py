"""The benchmark of a class counts what pupils are told: an answer, a refusal, or to press again."""

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
from workshop.benchmarks.classroom import HOSTILE, REQUESTS_ALONE, SCHOOL, THIRD, Visitors, sentences

FULL = {"what": "error", "word": "line_full", "values": {"seconds": 0}}
ANSWER = {"what": "answer"}


def visitors(last: Sequence[Any], address: str = SCHOOL) -> tuple[Visitors, list[httpx.Request]]:
    """Those to whom a page says this, one request after the other; a number is a status."""
    asked: list[httpx.Request] = []

    def told(request: httpx.Request) -> httpx.Response:
        said = last[min(len(asked), len(last) - 1)]
        asked.append(request)
        if isinstance(said, int):
            return httpx.Response(said)
        return httpx.Response(
            200, text="".join(f"data: {json.dumps(each)}\n\n" for each in ({"what": "waiting"}, said))
        )

    client = httpx.AsyncClient(base_url="http://page", transport=httpx.MockTransport(told))
    return Visitors(client, {"beam_size": 4}, address), asked


@pytest.mark.parametrize(
    ("last", "told"),
    [
        ([ANSWER], {"answered": 1}),
        ([FULL, FULL, ANSWER], {"refused": 2, "answered": 1}),
        ([FULL, {"what": "error", "word": "our_fault"}], {"refused": 1, "again": 1}),
        ([503], {"again": 1}),
        ([{"what": "written"}], {"again": 1}),  # the answer itself never comes
    ],
)
def test_what_a_pupil_is_told_is_counted_as_the_page_takes_it(
    last: list[Any], told: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(classroom, "PAUSES", (0.0,))
    found, asked = visitors(last)
    asyncio.run(found.press("pupil", "Ich trinke ein Bier."))
    assert found.outcomes == told
    assert len(found.seconds) == told.get("answered", 0)
    bodies = [json.loads(request.content) for request in asked]
    assert {(body["session"], body["values"]["beam_size"]) for body in bodies} == {("pupil", 4)}
    assert [body["values"]["turn"] for body in bodies] == list(range(1, len(bodies) + 1))
    assert {request.headers["x-forwarded-for"] for request in asked} == {SCHOOL}


def test_a_lesson_of_a_served_page_is_counted_whole() -> None:
    asked: Counter[str] = Counter()

    async def told(request: httpx.Request) -> httpx.Response:
        await asyncio.sleep(0.001)  # others have their turn
        asked[request.headers["x-forwarded-for"]] += 1
        return httpx.Response(200, text=f"data: {json.dumps(ANSWER)}\n\n")

    async def attended() -> dict[str, Any]:
        client = httpx.AsyncClient(base_url="http://page", transport=httpx.MockTransport(told))
        return await classroom._lesson((client, {}), sentences(), 5, 3, 11)

    found = asyncio.run(attended())
    assert (found["answered"], found["refused"], found["again"]) == (15, 0, 0)
    assert (found["waits"]["count"], found["hostile"]) == (15, {"requests": 11, "answered": 11, "refused": 0})
    assert asked[SCHOOL] == 15
    assert asked[HOSTILE] == 11
    assert asked[THIRD] >= found["third"]["count"] > 0


def test_no_sentence_comes_twice() -> None:
    most = (
        sum(pupils * each for pupils, each in classroom.LESSONS) + 2 * classroom.HOSTILE_REQUESTS + 2 * REQUESTS_ALONE
    )
    assert len(set(islice(sentences(), 5 * most))) == 5 * most
