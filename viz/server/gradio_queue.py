"""A Gradio queue that starts a job only after its client has subscribed to the event stream.

Gradio starts every job it receives, so a client that submits jobs and reads no results would delay the rest. A session
that has subscribed before is trusted with one job, which starts while the stream is still being opened: on a slow
connection that takes as long as the answer. A job without a subscriber waits for at most `RETENTION_SECONDS` before its
function is called. It is rejected at once if too many wait; waiting jobs are never evicted. This uses private parts of
Gradio's queue, because the pinned version has no public interface for it.

The result of a job started by `call/NAME` is fetched by job id and stored until then (`JobResults`).
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import gradio as gr
from gradio.queueing import Event, Queue

from headlight.viz.errors import PageError
from headlight.viz.server.job_results import RETENTION_SECONDS, JobResults
from headlight.viz.server.visitors import ADDRESS, HAS_LEFT, PROGRAM, VISITOR
from headlight.viz.service.lru import ByteLru
from headlight.viz.service.request_queue import RequestQueue, Visitor, is_loopback

MAX_JOBS = 2000  # running or waiting; each is a task, and waiting ones use no thread
MAX_HELD_BYTES = 32_000_000  # size of all jobs without a subscriber; one address may use a quarter of it
JOB_BYTES = 32_000  # overhead per job in addition to its body: at most half of `MAX_JOBS` wait for a subscriber
RETRY_S = 30  # seconds in `retry-after` if the buffer is full
CLOSE_POLL_SECONDS = 0.02  # seconds between checks for closed streams
POLL_SECONDS = 0.05  # seconds between checks for undelivered messages
RESULT_TTL_SECONDS = 30.0  # seconds until unclaimed messages of a finished page job are dropped
MAX_KNOWN_SESSIONS = 10_000  # remembered sessions that have subscribed


class HeldJob(NamedTuple):
    """A job that waits for a subscriber."""

    subscriber: str  # the session, or the job's id if its result is fetched by id
    address: str
    size: int  # bytes
    may_start: asyncio.Future[bool]  # false: the job has expired


class SubscriberQueue(Queue):
    """A FIFO queue whose jobs wait until their session subscribes."""

    def __init__(self, page: gr.Blocks, request_queue: RequestQueue) -> None:
        super().__init__(live_updates=True, concurrency_count=MAX_JOBS, update_intervals=1, max_size=None, blocks=page)
        self.request_queue = request_queue
        self.results = JobResults()
        self.last_heartbeat = time.monotonic()  # when the page's loop last checked for jobs
        # Gradio keeps 2000 sessions and evicts the oldest, so one client with 2000 sessions would delete the messages
        # of all others. Here messages are deleted once no subscriber is waiting for them.
        self.pending_messages_per_session.max_size = sys.maxsize
        self._listeners: Counter[str] = Counter()
        self._closing: Counter[str] = Counter()  # finished streams whose clients are still connected
        self._joining: Counter[str] = Counter()  # jobs being accepted
        self._held: dict[str, HeldJob] = {}  # by job id
        self._held_bytes: Counter[str] = Counter()  # bytes of held jobs by address
        self._held_jobs: Counter[str] = Counter()  # number of held jobs by address
        # Sessions that have subscribed, each of size 1. The value is true while a job runs without a subscriber.
        self._subscribed_sessions: ByteLru[bool] = ByteLru(MAX_KNOWN_SESSIONS)

    # ------------------------------------------------------------ subscribers

    @contextmanager
    def subscribe(self, session: str) -> Iterator[Callable[[], None]]:
        """Count a stream as a subscriber of its session during the block. Yields a function that ends the subscription.

        The client may not have noticed the end yet. A job that it submits meanwhile gets its id after the block.
        """
        counter = self._listeners

        def end_subscription() -> None:
            nonlocal counter
            if counter is self._listeners:
                _decrement(counter, session)
                counter = self._closing
                counter[session] += 1

        counter[session] += 1
        self._subscribed_sessions.put(session, False, 1)
        self._start_held_jobs(session)
        try:
            yield end_subscription
        finally:
            _decrement(counter, session)
            if not self._listeners[session] and session in self.pending_event_ids_session:
                # The messages of finished jobs are dropped with the stream, even if unread.
                self.pending_event_ids_session[session] &= self.event_ids_to_events.keys()
            self._forget_sessions()

    @contextmanager
    def fetching(self, job: str) -> Iterator[None]:
        """Mark an API client as waiting for its job during the block. The job continues after the block."""
        self._start_held_jobs(job)
        with self.results.count_reader(job):
            yield

    def has_pending(self, session: str) -> bool:
        """Whether messages of this session are pending."""
        return bool(self.pending_event_ids_session.get(session))

    def is_expecting(self, session: str) -> bool:
        """Whether messages are pending, or a job of this session is being accepted."""
        return self.has_pending(session) or self._joining[session] > 0

    def wait_until_delivered(self, seconds: float) -> bool:
        """Wait at most `seconds`. Returns whether all subscribers have received their last message."""
        deadline = time.monotonic() + seconds
        while self.results.reader_count or any(self.has_pending(session) for session in list(self._listeners)):
            if time.monotonic() > deadline:
                return False
            time.sleep(POLL_SECONDS)
        return True

    def admit(self, name: str, visitor: Visitor) -> None:
        """Raise `PageError` if a job of this endpoint would wait too long."""
        self.request_queue.admit(visitor, kind=name, preceding=self._held_jobs[visitor.address])

    # ------------------------------------------------------------ overrides, called by Gradio

    def __len__(self) -> int:
        """Return the number of queued jobs. Gradio's loop calls this every millisecond: it is the heartbeat."""
        self.last_heartbeat = time.monotonic()
        return int(super().__len__())  # type: ignore[no-untyped-call]

    async def push(self, body: Any, request: Any, username: str | None) -> Any:
        """Add a job, or reject it if too many wait for a subscriber."""
        if self.request_queue.closed:
            raise PageError("data", "leaving")
        session = body.session_hash or ""
        await self._wait_for_close(session)
        size, address = _count_request_bytes(request), request.scope.get(ADDRESS, "")
        self._check_held_bytes(size, address)
        self._joining[session] += 1
        try:
            result = await super().push(body, request, username)
            if result[0]:
                self._hold(self.event_ids_to_events[str(result[1])], size)
            return result
        finally:
            _decrement(self._joining, session)
            await self._wait_for_close(session)

    def compute_analytics_summary(self, records: Any) -> Any:
        """Skip the statistics: they are not served, and Gradio would load pandas to count all jobs after each job."""
        return {"functions": {}}

    def send_message(self, event: Event, event_message: Any) -> None:
        """Store the result of an API job; send other messages to the session's stream."""
        if event._id not in self.results:
            super().send_message(event, event_message)
        elif event_message.msg == "process_generating" and event_message.success:
            partial = json.dumps(event_message.output.get("data"))
            self.results.put_partial(event._id, f"event: generating\ndata: {partial}\n\n".encode())
        elif event_message.msg == "process_completed":
            event_type, output = "complete" if event_message.success else "error", event_message.output
            data = output.get("data") if event_message.success else output
            self.results.put(event._id, f"event: {event_type}\ndata: {json.dumps(data)}\n\n".encode())

    async def process_events(self, events: list[Event], *rest: Any) -> None:
        """Run a job once its client has subscribed, with `VISITOR` and `HAS_LEFT` set for its function."""
        (event,) = events  # more only for functions that process batches
        VISITOR.set(Visitor(event.request.scope.get(ADDRESS, ""), event.session_hash))
        HAS_LEFT.set(lambda: not event.alive)
        try:
            await self._wait_for_subscriber(event)
        finally:
            try:
                await super().process_events(events, *rest)  # runs nothing if the job has expired or was cancelled
            finally:
                self._finish(event)

    # ------------------------------------------------------------ private

    def _check_held_bytes(self, size: int, address: str) -> None:
        is_full = sum(self._held_bytes.values()) + size > MAX_HELD_BYTES
        address_is_full = self._held_bytes[address] + size > MAX_HELD_BYTES // 4 and not is_loopback(address)
        if is_full or address_is_full:
            raise PageError("data", "line_full", {"seconds": RETRY_S})

    async def _wait_for_close(self, session: str) -> None:
        """Wait until clients have closed their finished streams."""
        while self._closing[session]:
            await asyncio.sleep(CLOSE_POLL_SECONDS)

    def _hold(self, event: Event, size: int) -> None:
        """Let a new job wait, unless its session is subscribed or can be expected to subscribe."""
        subscriber = str(event.session_hash)
        if event.request.scope.get(PROGRAM):
            subscriber = event._id
            self.results.register(subscriber)
        elif self._listeners[subscriber]:
            return
        elif self._subscribed_sessions.peek(subscriber) is False:
            self._subscribed_sessions.put(subscriber, True, 1)
            return
        address, loop = event.request.scope.get(ADDRESS, ""), asyncio.get_running_loop()
        self._held[event._id] = HeldJob(subscriber, address, size, loop.create_future())
        self._held_bytes[address] += size
        self._held_jobs[address] += 1
        loop.call_later(RETENTION_SECONDS, self._release, event._id, False)

    def _start_held_jobs(self, subscriber: str) -> None:
        """Start the jobs that wait for this subscriber."""
        for name in [name for name, job in self._held.items() if job.subscriber == subscriber]:
            self._release(name, True)

    async def _wait_for_subscriber(self, event: Event) -> None:
        """Wait until a held job may start. A job that expires or is cancelled is no longer `alive`."""
        job = self._held.get(event._id)
        if job is None:
            return
        may_start = False
        try:
            may_start = await job.may_start
        finally:
            self._release(event._id, False)
            event.alive = event.alive and may_start

    def _release(self, name: str, may_start: bool) -> None:
        """Let a held job start, or drop it. Does nothing if the job no longer waits."""
        job = self._held.pop(name, None)
        if job is None:
            return
        self._held_bytes[job.address] -= job.size
        _decrement(self._held_jobs, job.address)
        if not self._held_jobs[job.address]:
            del self._held_bytes[job.address]
        if not may_start:
            self.results.delete(name)
        if not job.may_start.done():
            job.may_start.set_result(may_start)

    def _finish(self, event: Event) -> None:
        """Delete what is no longer needed after a job: it has ended, expired or been cancelled."""
        if event._id in self.results:
            self._detach(event)
            if not self.results.has_finished(event._id):
                self.results.delete(event._id)
        elif not event.alive:  # the visitor has left
            self._detach(event)
        elif not self._listeners[event.session_hash]:
            asyncio.get_running_loop().call_later(RESULT_TTL_SECONDS, self._discard_unclaimed, event)
        self._forget_sessions()

    def _discard_unclaimed(self, event: Event) -> None:
        """Drop the messages of a job that started early and was never subscribed to."""
        if not self._listeners[event.session_hash]:
            self._detach(event)
            self._forget_sessions()

    def _detach(self, event: Event) -> None:
        self.pending_event_ids_session.get(event.session_hash, set()).discard(event._id)

    def _forget_sessions(self) -> None:
        """Delete idle sessions: Gradio keeps an entry and the messages of every session forever."""
        for name in {*self.pending_event_ids_session, *self.pending_messages_per_session}:
            if not self.is_expecting(name) and not self._listeners[name]:
                self.pending_event_ids_session.pop(name, None)
                self.pending_messages_per_session.pop(name, None)


def _count_request_bytes(request: Any) -> int:
    """Estimate the memory of a job in bytes from its content length."""
    length = str(request.headers.get("content-length", ""))
    return JOB_BYTES + (int(length) if length.isdecimal() and len(length) < 12 else 0)


def _decrement(counter: Counter[str], name: str) -> None:
    """Decrement a count and delete it at zero."""
    counter[name] -= 1
    if not counter[name]:
        del counter[name]


def install_queue(page: gr.Blocks, request_queue: RequestQueue) -> None:
    """Replace the queue of a built page."""
    page._queue = SubscriberQueue(page, request_queue)


def find_queue(page: Any) -> SubscriberQueue | None:
    """Return the queue of a page if `install_queue` replaced it."""
    queue = getattr(page, "_queue", None)
    return queue if isinstance(queue, SubscriberQueue) else None
