"""The end of a server: running requests finish, new ones are refused, then the process ends.

The first process of a container ignores every signal without a handler, and elsewhere SIGTERM would end the process in
the middle of an answer.
"""

from __future__ import annotations

import logging
import signal
import time
from types import FrameType

import gradio as gr

from headlight.viz.server.gradio_internals import queue_of_page
from headlight.viz.server.gradio_queue import SubscriberQueue

POLL_SECONDS = 0.1  # seconds between two checks for a signal
GRACE_SECONDS = 8.0  # seconds for running requests: container runtimes kill after ten
FLUSH_SECONDS = 1.0  # seconds for the last answers to reach their streams
DISCONNECT_SECONDS = 1  # seconds for clients to disconnect

LOG = logging.getLogger(__name__)


def collect_signals() -> list[int]:
    """Collect SIGTERM and Ctrl-C in the returned list instead of ending at once; a second signal ends at once.

    It is a list and no `Event`: a handler may run while its own thread holds an event's lock.
    """
    told: list[int] = []

    def leave(number: int, frame: FrameType | None) -> None:
        told.append(number)
        for each in (signal.SIGTERM, signal.SIGINT):
            signal.signal(each, signal.SIG_DFL)

    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, leave)
    return told


def serve_until_signal(page: gr.Blocks, signals: list[int]) -> None:
    """Serve a launched page until a signal comes."""
    while not signals:
        time.sleep(POLL_SECONDS)
    shut_down(page)


def shut_down(page: gr.Blocks) -> None:
    """Refuse new requests, wait for running ones, close the server."""
    queue = queue_of_page(page)
    if isinstance(queue, SubscriberQueue):
        queue.line.close()
        if not queue.line.wait_until_empty(GRACE_SECONDS):
            LOG.warning("After %.0f seconds an answer was still not made; it is given up.", GRACE_SECONDS)
        queue.wait_until_delivered(FLUSH_SECONDS)
    # When uvicorn is forced to stop, it skips its own last step and reports that as an error.
    page.server.config.timeout_graceful_shutdown = DISCONNECT_SECONDS
    page.close(verbose=False)
