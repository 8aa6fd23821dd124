"""Answers of jobs that programs fetch in a second request, by the job's number.

A program posts its arguments, gets a number, and asks for the answer with that: at once, or minutes later, or once more
where the connection broke. Gradio sends what a job says to the stream that is open at that moment, and forgets it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from headlight.viz.service.lru import ByteLru

KEPT_S = 600.0  # that an answer waits for its program, and a job for somebody to ask for it
MAX_BYTES = 32_000_000  # of all answers that wait; the oldest leave first


class KeptAnswers:
    """What each job of a program is owed, until it is fetched. One event loop uses it."""

    def __init__(self, limit_bytes: int = MAX_BYTES) -> None:
        self._answers: ByteLru[bytes] = ByteLru(limit_bytes)
        self._owed: dict[str, asyncio.Event] = {}  # jobs that are not over
        self._readers: set[str] = set()

    def __contains__(self, job: str) -> bool:
        return job in self._owed or self._answers.peek(job) is not None

    def expect(self, job: str) -> None:
        """A job is taken."""
        self._owed[job] = asyncio.Event()

    def is_over(self, job: str) -> bool:
        """Whether the answer is there, or was."""
        return job not in self._owed

    def put(self, job: str, answer: bytes) -> None:
        """The answer of a job is there; it is kept for `KEPT_S`."""
        over = self._owed.pop(job, None)
        if over is None:
            return
        self._answers.put(job, answer, len(answer))
        over.set()
        asyncio.get_running_loop().call_later(KEPT_S, self.forget, job)

    async def wait(self, job: str, seconds: float) -> bytes | None:
        """The answer of a job, after at most so many seconds; `None` where there is none yet."""
        if (over := self._owed.get(job)) is not None:
            try:
                await asyncio.wait_for(over.wait(), seconds)
            except TimeoutError:
                return None
        return self._answers.peek(job)

    def forget(self, job: str) -> None:
        """The answer was fetched, or its time is over."""
        self._answers.pop(job)
        self._owed.pop(job, None)

    @contextmanager
    def reading(self, job: str) -> Iterator[None]:
        """Somebody waits for this answer for the length of the block."""
        self._readers.add(job)
        try:
            yield
        finally:
            self._readers.discard(job)

    @property
    def readers(self) -> int:
        """How many wait for an answer."""
        return len(self._readers)
