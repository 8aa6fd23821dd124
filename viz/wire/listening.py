"""Gradio's queue, with one rule more: no job begins before its visitor has opened the stream of its messages.

Gradio begins every job that it gets, so a visitor who sends jobs and reads no result would delay all others. Who has
listened before is trusted with one job: it begins while the stream is still being opened, which on a long line takes
as long as the answer itself. The rule needs private parts of Gradio's queue, as the pinned version has no public way.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import gradio as gr
from gradio.queueing import Event, Queue

from headlight.viz.answers.line import Line, Visitor, own_machine
from headlight.viz.answers.lru import ByteLru
from headlight.viz.errors import PageError
from headlight.viz.wire.gradio_inside import page_of, queue_of_page
from headlight.viz.wire.visitors import ADDRESS, GONE, VISITOR

MOST = 128  # waiting jobs
MOST_UNHEARD = 8  # waiting jobs of one address without a listener: a program has one between its two requests
MOMENT = 0.02  # seconds between two checks whether a reader let go
GLANCE = 0.05  # seconds between two checks for undelivered messages
PATIENCE = 30.0  # seconds until a job without a listener is dropped: programs fetch the result in a second request
UNFETCHED = 30.0  # seconds until the messages of a finished job that nobody asked for are forgotten
MOST_KNOWN = 10_000  # sessions that have listened and are remembered


class ListeningQueue(Queue):
    """Jobs in their order; those of a visitor who has never listened wait until one does."""

    def __init__(self, page: gr.Blocks, line: Line) -> None:
        super().__init__(
            live_updates=True, concurrency_count=page.max_threads, update_intervals=1, max_size=MOST, blocks=page
        )
        self.line = line
        self.beat = time.monotonic()  # when the page's loop last looked for jobs
        # Gradio forgets the oldest of 2000: a visitor who sends as many jobs would delete the messages of all others.
        # Here messages go when no listener waits for them.
        self.pending_messages_per_session.max_size = sys.maxsize
        self._listeners: Counter[str] = Counter()
        self._closing: Counter[str] = Counter()  # streams that have said their last word to readers who still hold on
        self._joining: Counter[str] = Counter()  # jobs that are being taken
        # Sessions that have listened, each counted as one; true while a job has begun that they do not hear yet.
        self._known: ByteLru[bool] = ByteLru(MOST_KNOWN)

    # ------------------------------------------------------------ who listens

    @contextmanager
    def listening(self, session: str, *, returns: bool = False) -> Iterator[Callable[[], None]]:
        """A stream of this session is open for the length of the block; it gives what hangs up.

        `returns`: it is a page's, which will ask again; a program has another session for each of its jobs.

        After that nobody listens, but the reader may still believe that somebody does: what is sent meanwhile gets its
        number once the block is over.
        """
        counter = self._listeners

        def hang_up() -> None:
            nonlocal counter
            if counter is self._listeners:
                _less(counter, session)
                counter = self._closing
                counter[session] += 1

        counter[session] += 1
        if returns:
            self._known.put(session, False, 1)
        try:
            yield hang_up
        finally:
            _less(counter, session)
            if not self._listeners[session] and session in self.pending_event_ids_session:
                # The messages of finished jobs went with the stream, read or not.
                self.pending_event_ids_session[session] &= self.event_ids_to_events.keys()
            self._forget_sessions()

    def is_owed(self, session: str) -> bool:
        """Whether any messages are still to come in a stream of this session."""
        return bool(self.pending_event_ids_session.get(session))

    def is_awaited(self, session: str) -> bool:
        """The same, or whether a job of this session is just being taken."""
        return self.is_owed(session) or self._joining[session] > 0

    def session_of(self, event_id: str) -> str | None:
        """The session of a job whose result was not fetched yet."""
        event = self.event_ids_to_events.get(event_id)
        if event is not None:
            return str(event.session_hash)
        return next((name for name, ids in self.pending_event_ids_session.items() if event_id in ids), None)

    def spoken(self, seconds: float) -> bool:
        """Wait at most `seconds`; whether all listeners have received their last message."""
        deadline = time.monotonic() + seconds
        while any(self.is_owed(session) for session in list(self._listeners)):
            if time.monotonic() > deadline:
                return False
            time.sleep(GLANCE)
        return True

    # ------------------------------------------------------------ what Gradio calls

    def __len__(self) -> int:
        """How many jobs wait. Gradio's loop asks that every millisecond, so it is the loop's heartbeat."""
        self.beat = time.monotonic()
        return sum(len(events.queue) for events in self.event_queue_per_concurrency_id.values())

    async def push(self, body: Any, request: Any, username: str | None) -> Any:
        """Add a job. A full queue drops the oldest job without a listener."""
        if self.line.closed:
            raise PageError("data", "leaving")
        session = body.session_hash or ""
        await self._let_go(session)
        self._make_room(request)
        self._joining[session] += 1
        try:
            return await super().push(body, request, username)
        finally:
            _less(self._joining, session)
            await self._let_go(session)

    def _make_room(self, request: Any) -> None:
        address = request.scope.get(ADDRESS, "")
        unheard = [event for event in self._waiting() if not self._listeners[event.session_hash]]
        theirs = [event for event in unheard if event.request.scope.get(ADDRESS, "") == address]
        if len(theirs) >= MOST_UNHEARD and not own_machine(address):
            self._drop(theirs[0])
        elif len(self) >= MOST and unheard:
            self._drop(unheard[0])
        if len(self) >= MOST:
            raise PageError("data", "line_full", {"before": len(self)})

    async def _let_go(self, session: str) -> None:
        """Wait until no reader holds on to a stream that is closed."""
        while self._closing[session]:
            await asyncio.sleep(MOMENT)

    def get_events(self) -> Any:
        """The next job that may begin."""
        now = time.monotonic()
        for event in self._waiting():
            if not self._listeners[event.session_hash] and now - event.enqueue_time > PATIENCE:
                self._drop(event)
        orders = {name: list(events.queue) for name, events in self.event_queue_per_concurrency_id.items()}
        found = None
        try:
            for events in self.event_queue_per_concurrency_id.values():
                events.queue = [event for event in events.queue if self._may_begin(event.session_hash)]
            found = super().get_events()
        finally:
            begun = found[0] if found else []
            for event in begun:
                if not self._listeners[event.session_hash]:
                    self._known.put(event.session_hash, True, 1)
            for name, order in orders.items():
                self.event_queue_per_concurrency_id[name].queue = [event for event in order if event not in begun]
        return found

    async def process_events(self, events: list[Event], *rest: Any) -> None:
        """Run a job; `VISITOR` and `GONE` tell its function about the visitor."""
        first = events[0]
        VISITOR.set(Visitor(first.request.scope.get(ADDRESS, ""), first.session_hash))
        GONE.set(lambda: not first.alive)
        try:
            await super().process_events(events, *rest)
        finally:
            for event in events:
                if not event.alive:  # the visitor has left, and fetches nothing
                    self._disown(event)
                elif not self._listeners[event.session_hash]:
                    asyncio.get_running_loop().call_later(UNFETCHED, self._give_up, event)
            self._forget_sessions()

    # ------------------------------------------------------------ inside

    def _may_begin(self, session: str) -> bool:
        """Whether somebody listens to a job of this session, or will, by all that is known."""
        return self._listeners[session] > 0 or self._known.peek(session) is False

    def _give_up(self, event: Event) -> None:
        """A job that began ahead was never asked for: its messages go."""
        if not self._listeners[event.session_hash]:
            self._disown(event)
            self._forget_sessions()

    def _disown(self, event: Event) -> None:
        self.pending_event_ids_session.get(event.session_hash, set()).discard(event._id)

    def _waiting(self) -> list[Event]:
        """All waiting jobs, the oldest first."""
        found = [event for events in self.event_queue_per_concurrency_id.values() for event in events.queue]
        return sorted(found, key=lambda event: event.enqueue_time)

    def _drop(self, event: Event) -> None:
        self.event_queue_per_concurrency_id[event.concurrency_id].queue.remove(event)
        self.event_ids_to_events.pop(event._id, None)
        self.event_analytics.pop(event._id, None)
        self._disown(event)
        self._forget_sessions()

    def _forget_sessions(self) -> None:
        """Gradio keeps an empty entry of every session that it ever saw, and its messages."""
        for name in {*self.pending_event_ids_session, *self.pending_messages_per_session}:
            if not self.is_awaited(name) and not self._listeners[name]:
                self.pending_event_ids_session.pop(name, None)
                self.pending_messages_per_session.pop(name, None)


def _less(counter: Counter[str], name: str) -> None:
    """One less, and no entry of nothing."""
    counter[name] -= 1
    if not counter[name]:
        del counter[name]


def listen(page: gr.Blocks, line: Line) -> None:
    """Give a built page this queue."""
    page._queue = ListeningQueue(page, line)


def queue_of(scope: Any) -> ListeningQueue | None:
    """The queue of the page that a request goes to."""
    queue = queue_of_page(page_of(scope))
    return queue if isinstance(queue, ListeningQueue) else None
