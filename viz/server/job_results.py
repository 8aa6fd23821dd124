"""Storage of the results of API jobs until clients fetch them by job id.

An API client posts its arguments, gets a job id and fetches the result with it: at once, minutes later, or again after
a broken connection. Gradio would send a job's messages to the stream that is open at the time and drop them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from headlight.viz.service.lru import ByteLru

RETENTION_SECONDS = 600.0  # seconds until a result, or a job without a client, is deleted
MAX_BYTES = 32_000_000  # size of all stored results; the oldest are evicted first


class JobResults:
    """Pending and finished results of API jobs. Not thread-safe: use it from one event loop."""

    def __init__(self, limit_bytes: int = MAX_BYTES) -> None:
        self._results: ByteLru[bytes] = ByteLru(limit_bytes)
        self._pending: dict[
            str, asyncio.Event
        ] = {}  # unfinished jobs; the event is set by a result or a partial result
        self._partials: dict[str, bytes] = {}  # the latest partial result of unfinished jobs
        self._readers: set[str] = set()  # jobs whose result a client waits for

    def __contains__(self, job: str) -> bool:
        return job in self._pending or self._results.peek(job) is not None

    def register(self, job: str) -> None:
        """Register a job."""
        self._pending[job] = asyncio.Event()

    def has_finished(self, job: str) -> bool:
        """Whether the job has finished."""
        return job not in self._pending

    def put(self, job: str, result: bytes) -> None:
        """Store the result of a job for `RETENTION_SECONDS`."""
        finished = self._pending.pop(job, None)
        self._partials.pop(job, None)
        if finished is None:
            return
        self._results.put(job, result, len(result))
        finished.set()
        asyncio.get_running_loop().call_later(RETENTION_SECONDS, self.delete, job)

    def put_partial(self, job: str, partial: bytes) -> None:
        """Store a partial result. It replaces the previous one, so a slow client skips some."""
        if (event := self._pending.get(job)) is not None:
            self._partials[job] = partial
            event.set()

    def take_partial(self, job: str) -> bytes | None:
        """Return a partial result that was not taken before."""
        if (event := self._pending.get(job)) is not None:
            event.clear()
        return self._partials.pop(job, None)

    async def wait(self, job: str, seconds: float) -> bytes | None:
        """Wait at most `seconds` for the result of a job. Returns `None` if it is missing, or after a partial one."""
        if (finished := self._pending.get(job)) is not None:
            try:
                await asyncio.wait_for(finished.wait(), seconds)
            except TimeoutError:
                return None
        return self._results.peek(job)

    def delete(self, job: str) -> None:
        """Delete a result that was fetched or has expired."""
        self._results.pop(job)
        self._pending.pop(job, None)
        self._partials.pop(job, None)

    @contextmanager
    def count_reader(self, job: str) -> Iterator[None]:
        """Count a client as waiting for this result during the block."""
        self._readers.add(job)
        try:
            yield
        finally:
            self._readers.discard(job)

    @property
    def reader_count(self) -> int:
        """Number of results that clients wait for."""
        return len(self._readers)
