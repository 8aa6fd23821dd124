"""Concurrent API clients: no answer is lost silently."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import pytest
from gradio_client import Client
from gradio_client.client import Job
from gradio_client.exceptions import AppError
from gradio_client.utils import QueueError

from headlight.viz.service.service import Service
from headlight.viz.settings import Settings
from tests.viz.serving import GRADIO_WARNS, Server

pytestmark = [pytest.mark.filterwarnings(f"ignore:{message}") for message in GRADIO_WARNS]
ELSEWHERE = {"x-forwarded-for": "203.0.113.5"}  # the loopback address has higher limits
WORDS = ("ein", "bier", "cola", "frau", "mann", "hund", "katze", "haus")
MANY = 64


@pytest.fixture(scope="module")
def service() -> Service:
    return Service(Settings(model="toy"))


@pytest.fixture
def client(server: Server) -> Iterator[Client]:
    gradio_client = Client(server.url, verbose=False, headers=ELSEWHERE, httpx_kwargs={"timeout": 300})
    yield gradio_client
    gradio_client.close()


def sentence(number: int) -> str:
    return f"{WORDS[number // 8 % 8]} {WORDS[number % 8]}"


def count_outcomes(jobs: Sequence[Job]) -> Counter[str]:
    """Wait for all jobs, and count answers and rejections."""
    outcomes: Counter[str] = Counter()
    for job in jobs:
        try:
            assert job.result(timeout=300)["text"]
            outcomes["answer"] += 1
        except QueueError:
            outcomes["refused"] += 1
    return outcomes


@pytest.mark.slow
def test_many_concurrent_jobs_are_answered(client: Client) -> None:
    jobs = [client.submit(sentence(number), api_name="/translate") for number in range(MANY)]
    outcomes = count_outcomes(jobs)
    assert outcomes == {"answer": MANY}


@pytest.mark.slow
def test_excess_jobs_are_rejected_and_others_answered(
    client: Client, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service.request_queue, "max_waiting", 8)
    jobs = [client.submit(sentence(number) + " und", api_name="/translate") for number in range(MANY)]
    outcomes = count_outcomes(jobs)
    assert outcomes.total() == MANY
    assert outcomes["answer"] >= 4  # half of the line


def test_results_are_kept_for_later_fetching(server: Server) -> None:
    jobs = []
    for number in range(MANY):
        reply = server.client.post("call/translate", json={"data": [sentence(number)]}, headers=ELSEWHERE)
        assert reply.status_code == 200
        jobs.append(reply.json()["event_id"])
    streams = [server.client.get(f"call/translate/{job}", headers=ELSEWHERE).text for job in jobs]
    assert sum("event: complete" in each for each in streams) == MANY


def test_invalid_value_error_is_unchanged(client: Client) -> None:
    with pytest.raises(AppError, match="beam_size"):
        client.predict("ein bier", beam_size="x", api_name="/translate")
