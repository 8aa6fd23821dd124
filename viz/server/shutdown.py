"""Graceful shutdown: running requests finish, new ones are rejected, then the process exits.

A container's first process ignores every signal without a handler; elsewhere SIGTERM would kill the process in the
middle of an answer.
"""

from __future__ import annotations

import logging
import signal
import time
from types import FrameType

import gradio as gr

from headlight.viz.server.gradio_queue import find_queue

POLL_SECONDS = 0.1  # seconds between checks for a signal
GRACE_SECONDS = 8.0  # seconds for running requests to finish: container runtimes send SIGKILL after ten
FLUSH_SECONDS = 1.0  # seconds to deliver the last answers
DISCONNECT_SECONDS = 1  # seconds for clients to disconnect

LOG = logging.getLogger(__name__)


def collect_signals() -> list[int]:
    """Append SIGTERM and SIGINT to the returned list instead of exiting; a second signal exits at once.

    A list, not an `Event`, because the handler may interrupt a thread that holds the event's lock.
    """
    signals: list[int] = []

    def record_signal(number: int, frame: FrameType | None) -> None:
        signals.append(number)
        for stop_signal in (signal.SIGTERM, signal.SIGINT):
            signal.signal(stop_signal, signal.SIG_DFL)

    for stop_signal in (signal.SIGTERM, signal.SIGINT):
        signal.signal(stop_signal, record_signal)
    return signals


def serve_until_signal(page: gr.Blocks, signals: list[int]) -> None:
    """Block until a signal arrives, then shut down the page."""
    while not signals:
        time.sleep(POLL_SECONDS)
    shut_down(page)


def shut_down(page: gr.Blocks) -> None:
    """Reject new requests, wait for running ones, close the server."""
    if (queue := find_queue(page)) is not None:
        queue.request_queue.close()
        if not queue.request_queue.wait_until_empty(GRACE_SECONDS):
            LOG.warning("An answer was not finished within %.0f seconds and is dropped.", GRACE_SECONDS)
        queue.wait_until_delivered(FLUSH_SECONDS)
    # If uvicorn is forced to exit, it skips its last shutdown step and logs an error; the timeout prevents that.
    page.server.config.timeout_graceful_shutdown = DISCONNECT_SECONDS
    page.close(verbose=False)
