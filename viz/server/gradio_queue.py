"""A Gradio queue that starts a job only after its client has subscribed to the event stream.

Gradio begins every job that it gets, so a visitor who sends jobs and reads no result would delay all others. Who has
listened before is trusted with one job: it begins while the stream is still being opened, which on a long line takes
as long as the answer itself. A job that waits for its listener is held beside the queue, for `KEPT_S`; it is refused at
once where there is no room for it, and none is dropped to make room. The rule needs private parts of Gradio's queue, as
the pinned version has no public way.

A job that a program began by `call/NAME` is fetched by its number, and what it says is kept for that (`KeptAnswers`).
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import gradio as gr
from gradio.queueing import Event, Queue

from headlight.viz.errors import PageError
from headlight.viz.server.gradio_internals import find_page, queue_of_page
from headlight.viz.server.kept_answers import KEPT_S, KeptAnswers
from headlight.viz.server.visitors import ADDRESS, HAS_LEFT, PROGRAM, VISITOR
from headlight.viz.service.lru import ByteLru
from headlight.viz.service.request_queue import RequestQueue, Visitor, is_loopback

MAX_JOBS = 2000  # that run or wait in the line at once: each is a task, and none of those that wait has a thread
MAX_HELD_BYTES = 32_000_000  # of jobs without a listener; one address fills a quarter of it
JOB_BYTES = 8_000  # that a job takes beside its body
RETRY_S = 30  # after which a program may ask again where there is no room
CLOSE_POLL_SECONDS = 0.02  # seconds between two checks whether a reader let go
POLL_SECONDS = 0.05  # seconds between two checks for undelivered messages
RESULT_TTL_SECONDS = 30.0  # seconds until the messages of a page's finished job that nobody hears are forgotten
MAX_KNOWN_SESSIONS = 10_000  # sessions that have listened and are remembered


class SubscriberQueue(Queue):
    """Jobs in their order; those of a visitor who has never listened are held until one does."""

    def __init__(self, page: gr.Blocks, line: RequestQueue) -> None:
        super().__init__(live_updates=True, concurrency_count=MAX_JOBS, update_intervals=1, max_size=None, blocks=page)
        self.line = line
        self.answers = KeptAnswers()
        self.beat = time.monotonic()  # when the page's loop last looked for jobs
        # Gradio forgets the oldest of 2000: a visitor who sends as many jobs would delete the messages of all others.
        # Here messages go when no listener waits for them.
        self.pending_messages_per_session.max_size = sys.maxsize
        self._listeners: Counter[str] = Counter()
        self._closing: Counter[str] = Counter()  # finished streams whose clients are still connected
        self._joining: Counter[str] = Counter()  # jobs that are being taken
        self._held: dict[str, list[Event]] = {}  # by session, or by the number of a program's job
        self._held_bytes: Counter[str] = Counter()  # by address
        self._held_jobs: Counter[str] = Counter()  # the same
        # Sessions that have listened, each counted as one; true while a job has begun that they do not hear yet.
        self._known: ByteLru[bool] = ByteLru(MAX_KNOWN_SESSIONS)

    # ------------------------------------------------------------ who listens

    @contextmanager
    def subscribe(self, session: str) -> Iterator[Callable[[], None]]:
        """A stream of this session is open for the length of the block; it gives what hangs up.

        After that nobody listens, but the reader may still believe that somebody does: what is sent meanwhile gets its
        number once the block is over.
        """
        counter = self._listeners

        def hang_up() -> None:
            nonlocal counter
            if counter is self._listeners:
                _decrement(counter, session)
                counter = self._closing
                counter[session] += 1

        counter[session] += 1
        self._known.put(session, False, 1)
        self._begin(session)
        try:
            yield hang_up
        finally:
            _decrement(counter, session)
            if not self._listeners[session] and session in self.pending_event_ids_session:
                # The messages of finished jobs went with the stream, read or not.
                self.pending_event_ids_session[session] &= self.event_ids_to_events.keys()
            self._forget_sessions()

    @contextmanager
    def fetching(self, job: str) -> Iterator[None]:
        """A program asks for the answer of its job for the length of the block. The job goes on after that."""
        self._begin(job)
        with self.answers.reading(job):
            yield

    def has_pending(self, session: str) -> bool:
        """Whether any messages are still to come in a stream of this session."""
        return bool(self.pending_event_ids_session.get(session))

    def is_expecting(self, session: str) -> bool:
        """The same, or whether a job of this session is just being taken."""
        return self.has_pending(session) or self._joining[session] > 0

    def wait_until_delivered(self, seconds: float) -> bool:
        """Wait at most `seconds`; whether all listeners have received their last message."""
        deadline = time.monotonic() + seconds
        while self.answers.readers or any(self.has_pending(session) for session in list(self._listeners)):
            if time.monotonic() > deadline:
                return False
            time.sleep(POLL_SECONDS)
        return True

    def admit(self, name: str, visitor: Visitor) -> None:
        """A `PageError` where a job of this endpoint would wait too long."""
        self.line.admit(visitor, kind=name, besides=self._held_jobs[visitor.address])

    # ------------------------------------------------------------ what Gradio calls

    def start(self) -> None:
        """Begin to look for jobs. The page's number of threads, which Gradio has set, is no limit on jobs."""
        self.max_thread_count = MAX_JOBS
        super().start()  # type: ignore[no-untyped-call]

    def __len__(self) -> int:
        """How many jobs may begin. Gradio's loop asks that every millisecond, so it is the loop's heartbeat."""
        self.beat = time.monotonic()
        return sum(len(events.queue) for events in self.event_queue_per_concurrency_id.values())

    async def push(self, body: Any, request: Any, username: str | None) -> Any:
        """Add a job, or hold it until somebody listens."""
        if self.line.closed:
            raise PageError("data", "leaving")
        session = body.session_hash or ""
        await self._wait_for_close(session)
        size, address = _request_bytes(request), request.scope.get(ADDRESS, "")
        self._check_room(size, address)
        self._joining[session] += 1
        try:
            pushed = await super().push(body, request, username)
            if pushed[0]:
                self._hold(self.event_ids_to_events[str(pushed[1])], size)
            return pushed
        finally:
            _decrement(self._joining, session)
            await self._wait_for_close(session)

    def compute_analytics_summary(self, records: Any) -> Any:
        """None: nobody may read statistics, for which Gradio would load pandas and count all jobs after each."""
        return self.cached_event_analytics_summary

    def send_message(self, event: Event, event_message: Any) -> None:
        """A message of a job: what a program is owed is kept, all else goes to the session's stream."""
        if event._id not in self.answers:
            super().send_message(event, event_message)
        elif event_message.msg == "process_completed":
            kind, output = "complete" if event_message.success else "error", event_message.output
            told = output.get("data") if event_message.success else output
            self.answers.put(event._id, f"event: {kind}\ndata: {json.dumps(told)}\n\n".encode())

    async def process_events(self, events: list[Event], *rest: Any) -> None:
        """Run a job; `VISITOR` and `GONE` tell its function about the visitor."""
        first = events[0]
        VISITOR.set(Visitor(first.request.scope.get(ADDRESS, ""), first.session_hash))
        HAS_LEFT.set(lambda: not first.alive)
        try:
            await super().process_events(events, *rest)
        finally:
            for event in events:
                if event._id in self.answers:
                    self._detach(event)
                    if not self.answers.is_over(event._id):  # it was cancelled
                        self.answers.forget(event._id)
                elif not event.alive:  # the visitor has left, and fetches nothing
                    self._detach(event)
                elif not self._listeners[event.session_hash]:
                    asyncio.get_running_loop().call_later(RESULT_TTL_SECONDS, self._discard_unclaimed, event)
            self._forget_sessions()

    # ------------------------------------------------------------ inside

    def _check_room(self, size: int, address: str) -> None:
        full = sum(self._held_bytes.values()) + size > MAX_HELD_BYTES
        theirs = self._held_bytes[address] + size > MAX_HELD_BYTES // 4 and not is_loopback(address)
        if full or theirs:
            raise PageError("data", "line_full", {"seconds": RETRY_S})

    async def _wait_for_close(self, session: str) -> None:
        """Wait until clients have closed their finished streams."""
        while self._closing[session]:
            await asyncio.sleep(CLOSE_POLL_SECONDS)

    def _hold(self, event: Event, size: int) -> None:
        """Keep a new job from Gradio's loop, unless somebody listens to it, or will, by all that is known."""
        name = str(event.session_hash)
        if event.request.scope.get(PROGRAM):
            name = event._id
            self.answers.expect(name)
        elif self._listeners[name]:
            return
        elif self._known.peek(name) is False:
            self._known.put(name, True, 1)
            return
        address = event.request.scope.get(ADDRESS, "")
        self._event_queue(event).remove(event)
        self._held.setdefault(name, []).append(event)
        self._held_bytes[address] += size
        self._held_jobs[address] += 1
        asyncio.get_running_loop().call_later(KEPT_S, self._drop, name, event)

    def _begin(self, name: str) -> None:
        """Somebody listens: the jobs that were held for that may begin."""
        for event in self._held.pop(name, []):
            self._release(event)
            if event._id in self.event_ids_to_events:  # else it was cancelled
                self._event_queue(event).append(event)

    def _drop(self, name: str, event: Event) -> None:
        """Nobody has asked for a job in all its time."""
        held = self._held.get(name, [])
        if event not in held:
            return
        held.remove(event)
        if not held:
            del self._held[name]
        self._release(event)
        self.event_ids_to_events.pop(event._id, None)
        self.event_analytics.pop(event._id, None)
        self.answers.forget(event._id)
        self._detach(event)
        self._forget_sessions()

    def _release(self, event: Event) -> None:
        """A job is held no more."""
        address = event.request.scope.get(ADDRESS, "")
        self._held_bytes[address] -= _request_bytes(event.request)
        _decrement(self._held_jobs, address)
        if not self._held_jobs[address]:
            del self._held_bytes[address]

    def _event_queue(self, event: Event) -> list[Event]:
        queue: list[Event] = self.event_queue_per_concurrency_id[event.concurrency_id].queue
        return queue

    def _discard_unclaimed(self, event: Event) -> None:
        """A job that began ahead was never asked for: its messages go."""
        if not self._listeners[event.session_hash]:
            self._detach(event)
            self._forget_sessions()

    def _detach(self, event: Event) -> None:
        self.pending_event_ids_session.get(event.session_hash, set()).discard(event._id)

    def _forget_sessions(self) -> None:
        """Gradio keeps an empty entry of every session that it ever saw, and its messages."""
        for name in {*self.pending_event_ids_session, *self.pending_messages_per_session}:
            if not self.is_expecting(name) and not self._listeners[name]:
                self.pending_event_ids_session.pop(name, None)
                self.pending_messages_per_session.pop(name, None)


def _request_bytes(request: Any) -> int:
    """The bytes that a job takes until it is over."""
    length = str(request.headers.get("content-length", ""))
    return JOB_BYTES + (int(length) if length.isdecimal() and len(length) < 12 else 0)


def _decrement(counter: Counter[str], name: str) -> None:
    """One less, and no entry of nothing."""
    counter[name] -= 1
    if not counter[name]:
        del counter[name]


def install_queue(page: gr.Blocks, line: RequestQueue) -> None:
    """Give a built page this queue."""
    page._queue = SubscriberQueue(page, line)


def find_queue(scope: Any) -> SubscriberQueue | None:
    """The queue of the page that a request goes to."""
    queue = queue_of_page(find_page(scope))
    return queue if isinstance(queue, SubscriberQueue) else None
