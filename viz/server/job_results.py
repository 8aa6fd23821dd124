"""Storage of the results of API jobs until clients fetch them by job id.

An API client posts its arguments, gets a job id and fetches the result with it: at once, minutes later, or again after
a broken connection. Gradio would send a job's messages to the stream that is open at the time and drop them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from headlight.viz.service.lru import ByteLru

KEPT_S = 600.0  # seconds that a result or an unclaimed job is kept
MAX_BYTES = 32_000_000  # size of all stored results; the oldest are evicted first


class KeptAnswers:
    """Pending and finished results of API jobs. Not thread-safe: use it from one event loop."""

    def __init__(self, limit_bytes: int = MAX_BYTES) -> None:
        self._answers: ByteLru[bytes] = ByteLru(limit_bytes)
        self._pending: dict[str, asyncio.Event] = {}  # unfinished jobs
        self._readers: set[str] = set()

    def __contains__(self, job: str) -> bool:
        return job in self._pending or self._answers.peek(job) is not None

    def expect(self, job: str) -> None:
        """Register a job."""
        self._pending[job] = asyncio.Event()

    def is_over(self, job: str) -> bool:
        """Whether the job has finished."""
        return job not in self._pending

    def put(self, job: str, answer: bytes) -> None:
        """Store the result of a job for `KEPT_S`."""
        finished = self._pending.pop(job, None)
        if finished is None:
            return
        self._answers.put(job, answer, len(answer))
        finished.set()
        asyncio.get_running_loop().call_later(KEPT_S, self.forget, job)

    async def wait(self, job: str, seconds: float) -> bytes | None:
        """Wait at most `seconds` for the result of a job. Returns `None` if it is still missing."""
        if (finished := self._pending.get(job)) is not None:
            try:
                await asyncio.wait_for(finished.wait(), seconds)
            except TimeoutError:
                return None
        return self._answers.peek(job)

    def forget(self, job: str) -> None:
        """Delete a result that was fetched or has expired."""
        self._answers.pop(job)
        self._pending.pop(job, None)

    @contextmanager
    def reading(self, job: str) -> Iterator[None]:
        """Count a client as waiting for this result during the block."""
        self._readers.add(job)
        try:
            yield
        finally:
            self._readers.discard(job)

    @property
    def readers(self) -> int:
        """Number of results that clients wait for."""
        return len(self._readers)
